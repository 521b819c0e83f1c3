"""Properties as constraints on training, and a quick check for whatever changes trees afterwards."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from hydraviper.data import Derived
from hydraviper.trees.tree import Tree
from hydraviper.verify.bounds import Bounds, bounds_of, by_agent, check_possible, keeps, region_boxes
from hydraviper.verify.obligations import Obligation, Obligations
from hydraviper.verify.prover.proof import keeps_for_certain, shape_violations

_REMEMBERED = 1024  # trees whose result a guard remembers

# Bounds by an obligation's id, an agent and its tree's derived features, if that agent kept the obligation alone.
AloneBounds = dict[tuple[int, int, tuple[Derived, ...]], Bounds]


class Constraints:
    """Obligations that every student must keep; a joint one is assigned to the agent whom it costs least."""

    def __init__(self, obligations: Obligations, source: str = "") -> None:
        self.obligations, self.source = obligations, source
        self._assigned: dict[int, int] | None = None
        self._bounds: dict[tuple[int, tuple[Derived, ...], frozenset[int]], Bounds] = {}
        self._alone: AloneBounds = {}

    def check(self, depth: int, most_leaves: int | None, derived: Mapping[int, Sequence[Derived]]) -> None:
        """Refuse constraints that no trees of this size can keep; joint obligations are not considered."""
        for i, behaviour in by_agent(self.obligations, {}).items():
            bounds = bounds_of(self.obligations, i, behaviour, derived.get(i, ()))
            check_possible(bounds, self.obligations.scene.agents[i].name, depth, most_leaves)

    def assign(self, observations: Sequence[np.ndarray], actions: np.ndarray) -> None:
        """Assign each joint obligation to the agent whose expert's actions [S, N] break it least often."""
        if self._assigned is not None:
            return
        seen = dict(enumerate(observations))
        by_expert = {i: actions[:, i] for i in self.obligations.scene.distilled}
        self._assigned = {
            number: cheapest(self.obligations, obligation, seen, by_expert)
            for number, obligation in enumerate(self.obligations.behaviour)
            if len(obligation.agents) > 1
        }

    def joint(self, team: Sequence[int]) -> tuple[frozenset[int], frozenset[int]]:
        """The joint obligations, by number: those about a team alone, which its trees may keep by chance; the rest."""
        joint = {n: set(one.agents) for n, one in enumerate(self.obligations.behaviour) if len(one.agents) > 1}
        inside = frozenset(number for number, agents in joint.items() if agents <= set(team))
        return inside, frozenset(joint) - inside

    def broken(self, numbers: frozenset[int], students: Mapping[int, Tree]) -> frozenset[int]:
        """Those of the joint obligations that trees break, or of which that is undecided."""
        behaviour = self.obligations.behaviour
        return frozenset(
            number
            for number in sorted(numbers)
            if not keeps_jointly(self.obligations, behaviour[number], students, self._alone)
        )

    def keeper(self, number: int) -> int:
        """The agent to whom a joint obligation is assigned."""
        return (self._assigned or {})[number]

    def bounds(
        self,
        agent: int,
        derived: tuple[Derived, ...],
        depth: int,
        most_leaves: int | None,
        joint: frozenset[int] | None = None,
    ) -> Bounds | None:
        """The bounds of an agent's tree with some of its joint obligations (default: all); None if it is free."""
        assigned = self._assigned or {}
        mine = frozenset(n for n, keeper in assigned.items() if keeper == agent and (joint is None or n in joint))
        key = agent, derived, mine
        if key not in self._bounds:
            behaviour = by_agent(self.obligations, dict.fromkeys(mine, agent))[agent]
            bounds = bounds_of(self.obligations, agent, behaviour, derived)
            check_possible(bounds, self.obligations.scene.agents[agent].name, depth, most_leaves)
            self._bounds[key] = bounds
        bounds = self._bounds[key]
        free = not bounds.good and not bounds.banned.any() and bounds.most_leaves is bounds.most_depth is None
        return None if free else bounds


def keeps_jointly(
    obligations: Obligations, obligation: Obligation, students: Mapping[int, Tree], alone: AloneBounds
) -> bool:
    """Whether trees keep a joint obligation: one of them alone, or all together; `alone` caches bounds."""
    for agent, bad in zip(obligation.agents, obligation.bad, strict=True):
        if len(bad) < len(obligations.scene.agents[agent].actions):
            key = id(obligation), agent, students[agent].derived
            if key not in alone:
                alone[key] = bounds_of(obligations, agent, [obligation], students[agent].derived, shapes=False)
            if keeps(alone[key], students[agent]):
                return True
    return keeps_for_certain(obligations, obligation, students)


def cheapest(
    obligations: Obligations,
    obligation: Obligation,
    observations: Mapping[int, np.ndarray],
    actions: Mapping[int, np.ndarray],
) -> int:
    """The agent the fewest of whose actions [S] would change if it kept a joint obligation alone."""
    costs = {}
    for agent, bad in zip(obligation.agents, obligation.bad, strict=True):
        if len(bad) < len(obligations.scene.agents[agent].actions):
            seen, inside = observations[agent], np.zeros(len(observations[agent]), bool)
            for low, high in region_boxes(obligations, obligation, agent, ()):
                inside |= ((seen >= low) & (seen <= high)).all(axis=1)
            costs[agent] = int((inside & np.isin(actions[agent], list(bad))).sum())
    return min(costs, key=lambda agent: (costs[agent], agent))


def guard(obligations: Obligations) -> Callable[[Mapping[int, Tree]], bool]:
    """A function that tells whether trees have all the properties; it is quick for trees that it has seen before.

    A property that cannot be decided counts as broken.
    """
    remembered: dict[int, tuple[Tree, bool]] = {}
    cache: dict[tuple[int, tuple[Derived, ...]], Bounds] = {}
    single = by_agent(obligations, {})
    joint = [obligation for obligation in obligations.behaviour if len(obligation.agents) > 1]
    alone: AloneBounds = {}

    def keeps_its_own(agent: int, tree: Tree) -> bool:
        key = agent, tree.derived
        if key not in cache:
            cache[key] = bounds_of(obligations, agent, single[agent], tree.derived)
        if keeps(cache[key], tree):
            return True
        if any(shape_violations(obligations, shape, tree) for shape in obligations.shapes if shape.agent == agent):
            return False
        return all(keeps_for_certain(obligations, obligation, {agent: tree}) for obligation in single[agent])

    def allowed(students: Mapping[int, Tree]) -> bool:
        for agent in single:
            if agent not in students:
                continue
            tree = students[agent]
            result = remembered.get(id(tree))
            if result is None or result[0] is not tree:
                if len(remembered) >= _REMEMBERED:
                    remembered.clear()
                result = remembered[id(tree)] = (tree, keeps_its_own(agent, tree))
            if not result[1]:
                return False
        concerned = [obligation for obligation in joint if all(i in students for i in obligation.agents)]
        return all(keeps_jointly(obligations, obligation, students, alone) for obligation in concerned)

    return allowed
