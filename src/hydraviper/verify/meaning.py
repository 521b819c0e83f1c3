"""The meaning of a property: whether given observations can occur, whether a rule applies to them and is violated.

This is the definition. Counterexamples, samples, repair and constraints ask here; the prover searches for what this
confirms. Features are float32, derived ones are computed as the trees compute them, comparisons are exact, and a fact
holds up to one float32 step of each feature that is not a whole number: games round what they show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from hydraviper.expressions.expression import Condition, Feature
from hydraviper.trees.derived import extend
from hydraviper.trees.tree import Tree
from hydraviper.verify.resolve import Rule, World

Seen = Mapping[int, np.ndarray]  # agent -> its observation, float32 [F_i]


def value(seen: Seen, feature: Feature) -> np.float32:
    """A plain or derived feature at the observations."""
    agent, which = feature
    if isinstance(which, int):
        return seen[agent][which]
    return extend(seen[agent][None], (which,))[0, -1]


def holds(condition: Condition, seen: Seen) -> bool:
    """Whether a condition is true at the observations."""
    return condition.holds(lambda feature: Fraction(float(value(seen, feature))))


def possible(world: World, seen: Seen, agents: Sequence[int]) -> bool:
    """Whether some agents' observations can occur: values within their domains, facts about these agents true."""
    for agent in agents:
        space, values = world.spaces[agent], seen[agent]
        if not ((values >= space.low) & (values <= space.high)).all() or (values[space.whole] % 1 != 0).any():
            return False
    return all(_fact_holds(world, fact, seen) for fact in world.about(agents))


def false_facts(world: World, seen: Seen) -> list[Condition]:
    """The facts that are false at the observations."""
    return [fact for fact in world.about(tuple(seen)) if not _fact_holds(world, fact, seen)]


def _fact_holds(world: World, fact: Condition, seen: Seen) -> bool:
    def step(feature: Feature) -> Fraction:
        agent, which = feature
        if isinstance(which, int) and world.spaces[agent].whole[which]:
            return Fraction(0)
        return Fraction(float(np.spacing(np.abs(value(seen, feature)))))

    return fact.holds(lambda feature: Fraction(float(value(seen, feature))), step)


def violated(rule: Rule, seen: Seen, actions: Mapping[int, int]) -> bool:
    """Whether actions at the observations violate a rule."""
    bad = all(actions[agent] in forbidden for agent, forbidden in zip(rule.agents, rule.bad, strict=True))
    return bad and holds(rule.when, seen)


def answers(rule: Rule, seen: Seen, students: Mapping[int, Tree]) -> dict[int, int]:
    """What the trees of a rule's agents answer at the observations."""
    return {agent: int(students[agent].predict(seen[agent][None])[0]) for agent in rule.agents}
