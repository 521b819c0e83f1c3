"""Repair: existing trees, changed as little as lets them have all properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hydraviper.data import JobError
from hydraviper.trees.tree import Tree
from hydraviper.verify import meaning
from hydraviper.verify.constraints import changed_share, cheapest, kept
from hydraviper.verify.limits import by_agent, check_possible, limits_of
from hydraviper.verify.mending import DEEPEST, mend
from hydraviper.verify.proof import misshapen
from hydraviper.verify.resolve import Rules

_ROUNDS = 30


@dataclass(frozen=True)
class Repair:
    """Repaired trees, and how much was changed."""

    students: Mapping[int, Tree]
    changed: Mapping[int, float]  # agent -> the share of its observations that get another action
    nodes: Mapping[int, tuple[int, int]]  # agent -> nodes before and after
    smallest: bool  # whether no trees that have the properties answer more observations as before, for certain

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
    rules.scene.check_trees(students)
    refuse_impossible(rules, students)
    trees = dict(students)
    assigned: dict[int, int] = {}  # who keeps which joint rule
    active: set[int] = set()
    for _ in range(_ROUNDS):
        broken = _broken(rules, trees)
        agents = {shape.agent for shape in rules.shapes if misshapen(rules, shape, trees[shape.agent])}
        if not broken and not agents:
            return _finished(rules, students, trees, observations)
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
        keepers = by_agent(rules, assigned)
        for agent in sorted(agents):
            limits = limits_of(rules, agent, keepers[agent], trees[agent].derived)
            check_possible(limits, rules.scene.agents[agent].name, DEEPEST, None)
            wanted = limits.standing_for([rules.rules[number] for number in active])
            trees[agent] = mend(limits, trees[agent], observations[agent], depth, wanted).tree
    raise JobError("the trees still break a property after many repairs: drop one of the properties.")


def refuse_impossible(rules: Rules, students: Mapping[int, Tree]) -> None:
    """Refuse properties that no trees can have, joint rules left aside."""
    for agent, own in by_agent(rules, {}).items():
        if agent in students:
            limits = limits_of(rules, agent, own, students[agent].derived)
            check_possible(limits, rules.scene.agents[agent].name, DEEPEST, None)


def _broken(rules: Rules, trees: Mapping[int, Tree]) -> set[int]:
    """The rules, by number, that are broken or cannot be decided."""
    return {number for number, rule in enumerate(rules.rules) if not kept(rules, rule, trees)}


def _finished(
    rules: Rules, before: Mapping[int, Tree], after: Mapping[int, Tree], observations: Mapping[int, np.ndarray]
) -> Repair:
    changed = {i: changed_share(before[i], after[i], observations[i]) for i in before}
    nodes = {i: (len(before[i]), len(after[i])) for i in before}
    # every observation at which a tree violates a rule of its own must change: where nothing else did, no less would do
    smallest = all(
        np.array_equal(_violated(rules, i, before[i], seen), before[i].predict(seen) != after[i].predict(seen))
        for i, seen in ((i, np.asarray(observations[i], np.float32)) for i in before)
    )
    return Repair(after, changed, nodes, smallest)


def _violated(rules: Rules, agent: int, tree: Tree, observations: np.ndarray) -> np.ndarray:
    """At which observations [S] a tree violates a rule about its agent alone."""
    answers = tree.predict(observations)
    violated = np.zeros(len(observations), bool)
    for rule in rules.rules:
        if rule.seers == (agent,):
            for row in np.flatnonzero(~violated & np.isin(answers, list(rule.bad[0]))):
                violated[row] = meaning.holds(rule.when, {agent: observations[row]})
    return violated
