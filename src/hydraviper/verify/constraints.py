"""Properties as constraints on training, and a quick check for whoever changes trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from hydraviper.data import Derived
from hydraviper.trees.tree import Tree
from hydraviper.verify.limits import Limits, boxes_of, by_agent, check_possible, keeps, limits_of
from hydraviper.verify.proof import HOLDS, NOWHERE, check, misshapen
from hydraviper.verify.resolve import Rule, Rules

_REMEMBERED = 1024  # trees whose answers a check remembers


class Constraints:
    """Properties that every student must have; a joint rule is kept by one of its agents, the one it costs least."""

    def __init__(self, rules: Rules, source: str = "") -> None:
        self.rules, self.source = rules, source
        self._assigned: dict[int, int] | None = None
        self._limits: dict[tuple[int, tuple[Derived, ...], frozenset[int]], Limits] = {}
        self._apart: Apart = {}

    def check(self, depth: int, most_leaves: int | None, derived: Mapping[int, Sequence[Derived]]) -> None:
        """Refuse what no tree can keep, joint rules left aside."""
        for i, own in by_agent(self.rules, {}).items():
            limits = limits_of(self.rules, i, own, derived.get(i, ()))
            check_possible(limits, self.rules.scene.agents[i].name, depth, most_leaves)

    def assign(self, observations: Sequence[np.ndarray], actions: np.ndarray) -> None:
        """Settle who keeps each joint rule: whose expert's actions [S, N] break it least often."""
        if self._assigned is not None:
            return
        shown = dict(enumerate(observations))
        answers = {i: actions[:, i] for i in self.rules.scene.distilled}
        self._assigned = {
            number: cheapest(self.rules, rule, shown, answers)
            for number, rule in enumerate(self.rules.rules)
            if len(rule.agents) > 1
        }

    def joint(self, team: Sequence[int]) -> tuple[frozenset[int], frozenset[int]]:
        """The joint rules, by number: those about a team alone, which it may also keep by chance, and the others."""
        numbers = {number for number, rule in enumerate(self.rules.rules) if len(rule.agents) > 1}
        own = {number for number in numbers if set(self.rules.rules[number].agents) <= set(team)}
        return frozenset(own), frozenset(numbers - own)

    def broken(self, numbers: frozenset[int], students: Mapping[int, Tree]) -> frozenset[int]:
        """Those of the joint rules that trees break, or that cannot be decided."""
        rules = self.rules
        kept = {n: keeps_together(rules, rules.rules[n], students, self._apart) for n in sorted(numbers)}
        return frozenset(number for number, held in kept.items() if not held)

    def keeper(self, number: int) -> int:
        """Who keeps a joint rule."""
        return (self._assigned or {})[number]

    def limits(
        self,
        agent: int,
        derived: tuple[Derived, ...],
        depth: int,
        most_leaves: int | None,
        joint: frozenset[int] | None = None,
    ) -> Limits | None:
        """What one agent's tree must keep to, with some of the joint rules (default: all); None if nothing."""
        known = self._assigned or {}
        mine = frozenset(n for n, keeper in known.items() if keeper == agent and (joint is None or n in joint))
        key = agent, derived, mine
        if key not in self._limits:
            own = by_agent(self.rules, dict.fromkeys(mine, agent))[agent]
            limits = limits_of(self.rules, agent, own, derived)
            check_possible(limits, self.rules.scene.agents[agent].name, depth, most_leaves)
            self._limits[key] = limits
        limits = self._limits[key]
        free = not limits.good and not limits.banned.any() and limits.most_leaves is limits.most_depth is None
        return None if free else limits


def kept(rules: Rules, rule: Rule, students: Mapping[int, Tree]) -> bool:
    """Whether trees keep a rule for certain."""
    return check(rules, rule, students).answer in (HOLDS, NOWHERE)


Apart = dict[tuple[int, int, tuple[Derived, ...]], Limits]  # a rule's id, an agent and what its tree derives


def keeps_together(rules: Rules, rule: Rule, students: Mapping[int, Tree], apart: Apart) -> bool:
    """Whether trees keep a joint rule: one of them by itself, or all together; `apart` remembers boxes."""
    for agent, bad in zip(rule.agents, rule.bad, strict=True):
        if len(bad) < len(rules.scene.agents[agent].actions):
            key = id(rule), agent, students[agent].derived
            if key not in apart:
                apart[key] = limits_of(rules, agent, [rule], students[agent].derived, shapes=False)
            if keeps(apart[key], students[agent]):
                return True
    return kept(rules, rule, students)


def cheapest(
    rules: Rules, rule: Rule, observations: Mapping[int, np.ndarray], actions: Mapping[int, np.ndarray]
) -> int:
    """The agent whose actions [S] change least if it keeps a joint rule alone, wherever it may apply."""
    costs = {}
    for agent, bad in zip(rule.agents, rule.bad, strict=True):
        if len(bad) < len(rules.scene.agents[agent].actions):
            seen, inside = observations[agent], np.zeros(len(observations[agent]), bool)
            for low, high in boxes_of(rules, rule, agent, ()):
                inside |= ((seen >= low) & (seen <= high)).all(axis=1)
            costs[agent] = int((inside & np.isin(actions[agent], list(bad))).sum())
    return min(costs, key=lambda agent: (costs[agent], agent))


def guard(rules: Rules) -> Callable[[Mapping[int, Tree]], bool]:
    """A check whether trees have all the properties; trees that it has seen and boxes that they keep cost little.

    A property that cannot be decided counts as broken.
    """
    seen: dict[int, tuple[Tree, bool]] = {}
    boxes: dict[tuple[int, tuple[Derived, ...]], Limits] = {}
    own = by_agent(rules, {})
    joint = [rule for rule in rules.rules if len(rule.agents) > 1]
    apart: Apart = {}

    def alone(agent: int, tree: Tree) -> bool:
        key = agent, tree.derived
        if key not in boxes:
            boxes[key] = limits_of(rules, agent, own[agent], tree.derived)
        if keeps(boxes[key], tree):
            return True
        if any(misshapen(rules, shape, tree) for shape in rules.shapes if shape.agent == agent):
            return False
        return all(kept(rules, rule, {agent: tree}) for rule in own[agent])

    def allowed(students: Mapping[int, Tree]) -> bool:
        for agent in own:
            if agent not in students:
                continue
            tree = students[agent]
            known = seen.get(id(tree))
            if known is None or known[0] is not tree:
                if len(seen) >= _REMEMBERED:
                    seen.clear()
                known = seen[id(tree)] = (tree, alone(agent, tree))
            if not known[1]:
                return False
        asked = [rule for rule in joint if all(i in students for i in rule.agents)]
        return all(keeps_together(rules, rule, students, apart) for rule in asked)

    return allowed


def changed_share(before: Tree, after: Tree, observations: np.ndarray) -> float:
    """How much of what an agent sees [S, F] gets another action."""
    if len(observations) == 0:
        return 0.0
    return float((before.predict(observations) != after.predict(observations)).mean())
