"""Repair: existing trees, changed as little as lets them have all properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hydraviper.data import JobError
from hydraviper.trees.tree import Tree
from hydraviper.verify.constraints import changed_share, cheapest
from hydraviper.verify.limits import by_agent, check_possible, limits_of
from hydraviper.verify.mending import DEEPEST, mend
from hydraviper.verify.proof import check, misshapen
from hydraviper.verify.resolve import Rules

_ROUNDS = 30


@dataclass(frozen=True)
class Repair:
    """Repaired trees, and how much was changed."""

    students: Mapping[int, Tree]
    changed: Mapping[int, float]  # agent -> the share of its observations that get another action
    nodes: Mapping[int, tuple[int, int]]  # agent -> nodes before and after
    smallest: bool  # whether no smaller change exists among those that are looked for

    def to_json(self, rules: Rules) -> dict[str, Any]:
        """Plain values by agent."""
        agents = rules.scene.agents
        return {
            "changed": {agents[i].name: share for i, share in self.changed.items()},
            "nodes": {agents[i].name: list(pair) for i, pair in self.nodes.items()},
            "smallest": self.smallest,
        }


def repair(rules: Rules, students: Mapping[int, Tree], observations: Mapping[int, np.ndarray], depth: int) -> Repair:
    """Mend trees until all properties hold; the observations [S, F] by agent say what a change costs.

    Only what is broken is changed. A joint rule is handed to the agent that it costs least.
    """
    refuse_impossible(rules, students)
    trees, smallest = dict(students), True
    assigned: dict[int, int] = {}  # who keeps which joint rule
    active: set[int] = set()
    for _ in range(_ROUNDS):
        broken = _broken(rules, trees)
        agents = {shape.agent for shape in rules.shapes if misshapen(rules, shape, trees[shape.agent])}
        if not broken and not agents:
            return _finished(students, trees, observations, smallest)
        if broken <= active and not agents:
            names = sorted({rules.rules[number].property for number in broken})
            raise JobError(f"these properties could not be repaired: {', '.join(map(repr, names))}.")
        active |= broken
        answers = {i: tree.predict(np.asarray(observations[i], np.float32)) for i, tree in trees.items()}
        for number in broken:
            rule = rules.rules[number]
            if len(rule.agents) > 1:
                assigned[number] = cheapest(rules, rule, observations, answers)
            agents.add(assigned.get(number, next(iter(rule.agents))))
        kept = by_agent(rules, assigned)
        for agent in sorted(agents):
            limits = limits_of(rules, agent, kept[agent], trees[agent].derived)
            check_possible(limits, rules.scene.agents[agent].name, DEEPEST, None)
            wanted = limits.standing_for([rules.rules[number] for number in active])
            mended = mend(limits, trees[agent], observations[agent], depth, wanted)
            trees[agent], smallest = mended.tree, smallest and mended.smallest
    raise JobError("the trees still break a property after many repairs: drop one of the properties.")


def refuse_impossible(rules: Rules, students: Mapping[int, Tree]) -> None:
    """Refuse properties that no trees can have, joint rules left aside."""
    for agent, own in by_agent(rules, {}).items():
        if agent in students:
            limits = limits_of(rules, agent, own, students[agent].derived)
            check_possible(limits, rules.scene.agents[agent].name, DEEPEST, None)


def _broken(rules: Rules, trees: Mapping[int, Tree]) -> set[int]:
    """The rules, by number, that are broken or cannot be decided."""
    return {number for number, rule in enumerate(rules.rules) if check(rules, rule, trees) != (None, True)}


def _finished(
    before: Mapping[int, Tree], after: Mapping[int, Tree], observations: Mapping[int, np.ndarray], smallest: bool
) -> Repair:
    changed = {i: changed_share(before[i], after[i], observations[i]) for i in before}
    nodes = {i: (len(before[i]), len(after[i])) for i in before}
    return Repair(after, changed, nodes, smallest)
