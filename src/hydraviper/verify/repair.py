"""Repair: trees changed as little as possible so that they have all properties."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from hydraviper.data import JobError
from hydraviper.trees.tree import Tree
from hydraviper.verify import meaning
from hydraviper.verify.bounds import bounds_of, by_agent, check_possible
from hydraviper.verify.constraints import cheapest
from hydraviper.verify.mending import DEEPEST, mend
from hydraviper.verify.obligations import Obligations
from hydraviper.verify.prover.proof import keeps_for_certain, shape_violations

_ROUNDS = 30


class Told(TypedDict):
    """How much was changed, with agents' names; see `Repair`."""

    changed: dict[str, float]
    nodes: dict[str, tuple[int, int]]
    smallest: bool


@dataclass(frozen=True)
class Repair:
    """Repaired trees, and how much was changed."""

    students: Mapping[int, Tree]
    changed: Mapping[int, float]  # agent -> the share of its observations that get another action
    nodes: Mapping[int, tuple[int, int]]  # agent -> nodes before and after
    smallest: bool  # whether provably no trees with the properties change the action at fewer observations

    def to_json(self, obligations: Obligations) -> Told:
        """Plain values by agent."""
        agents = obligations.scene.agents
        return {
            "changed": {agents[i].name: share for i, share in self.changed.items()},
            "nodes": {agents[i].name: pair for i, pair in self.nodes.items()},
            "smallest": self.smallest,
        }


def repair(
    obligations: Obligations, students: Mapping[int, Tree], observations: Mapping[int, np.ndarray], depth: int
) -> Repair:
    """Mend trees until all properties hold; a change costs as much as the observations [S, F] whose action changes.

    Only what is broken is changed. A joint obligation is assigned to the agent whom it costs least.
    """
    obligations.scene.check_trees(students)
    refuse_impossible(obligations, students)
    behaviour, trees = obligations.behaviour, dict(students)
    assigned: dict[int, int] = {}  # joint obligation -> agent
    active: set[int] = set()
    for _ in range(_ROUNDS):
        broken = {n for n, one in enumerate(behaviour) if not keeps_for_certain(obligations, one, trees)}
        agents = {s.agent for s in obligations.shapes if shape_violations(obligations, s, trees[s.agent])}
        if not broken and not agents:
            return _finished(obligations, students, trees, observations)
        if broken <= active and not agents:
            names = sorted({behaviour[number].property for number in broken})
            raise JobError(f"these properties could not be repaired: {', '.join(map(repr, names))}.")
        active |= broken
        actions = {i: tree.predict(np.asarray(observations[i], np.float32)) for i, tree in trees.items()}
        for number in broken:
            obligation = behaviour[number]
            if len(obligation.agents) > 1:
                assigned[number] = cheapest(obligations, obligation, observations, actions)
            agents.add(assigned.get(number, next(iter(obligation.agents))))
        keepers = by_agent(obligations, assigned)
        for agent in sorted(agents):
            bounds = bounds_of(obligations, agent, keepers[agent], trees[agent].derived)
            check_possible(bounds, obligations.scene.agents[agent].name, DEEPEST, None)
            wanted = bounds.boxes_of([behaviour[number] for number in active])
            trees[agent] = mend(bounds, trees[agent], observations[agent], depth, wanted)
    raise JobError("the trees still break a property after many repairs: drop one of the properties.")


def refuse_impossible(obligations: Obligations, students: Mapping[int, Tree]) -> None:
    """Refuse properties that no trees can have; joint obligations are not considered."""
    for agent, behaviour in by_agent(obligations, {}).items():
        if agent in students:
            bounds = bounds_of(obligations, agent, behaviour, students[agent].derived)
            check_possible(bounds, obligations.scene.agents[agent].name, DEEPEST, None)


def _finished(
    obligations: Obligations,
    before: Mapping[int, Tree],
    after: Mapping[int, Tree],
    observations: Mapping[int, np.ndarray],
) -> Repair:
    changed, smallest = {}, True
    for i in before:
        seen = np.asarray(observations[i], np.float32)
        differs = before[i].predict(seen) != after[i].predict(seen)
        changed[i] = float(differs.mean()) if len(seen) else 0.0
        # the action must change wherever a tree violates an obligation about its agent alone, and need not elsewhere
        smallest = smallest and np.array_equal(_violated(obligations, i, before[i], seen), differs)
    nodes = {i: (len(before[i]), len(after[i])) for i in before}
    return Repair(after, changed, nodes, smallest)


def _violated(obligations: Obligations, agent: int, tree: Tree, observations: np.ndarray) -> np.ndarray:
    """At which observations [S] a tree violates an obligation about its agent alone."""
    actions = tree.predict(observations)
    violated = np.zeros(len(observations), bool)
    for obligation in obligations.behaviour:
        if obligation.observers == (agent,):
            for row in np.flatnonzero(~violated & np.isin(actions, list(obligation.bad[0]))):
                violated[row] = meaning.holds(obligation.when, {agent: observations[row]})
    return violated
