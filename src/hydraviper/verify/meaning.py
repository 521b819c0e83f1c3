"""The meaning of properties: whether observations can occur, whether an obligation applies to them and is violated.

This is the definition: whatever the prover finds, counterexamples and repaired trees included, is confirmed here.
Features are float32, derived features are computed as the trees compute them, and comparisons are exact. A fact may be
off by one float32 step of each feature that is not a whole number, because games round the observations they show.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from hydraviper.expressions.expression import Condition, Feature
from hydraviper.trees.derived import extend
from hydraviper.trees.tree import Tree
from hydraviper.verify.obligations import Obligation
from hydraviper.verify.world import Space, World

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


def outside(space: Space, values: np.ndarray) -> np.ndarray:
    """Which plain features [F] have values that do not belong to their space."""
    return ~((values >= space.low) & (values <= space.high)) | (space.whole & (values % 1 != 0))


def possible(world: World, seen: Seen, agents: Sequence[int]) -> bool:
    """Whether these agents' observations can occur: values in their domains, facts about these agents true."""
    for agent in agents:
        if outside(world.spaces[agent], seen[agent]).any():
            return False
    return all(_fact_holds(world, fact, seen) for fact in world.facts_about(agents))


def false_facts(world: World, seen: Seen) -> list[Condition]:
    """The facts that are false at the observations."""
    return [fact for fact in world.facts_about(tuple(seen)) if not _fact_holds(world, fact, seen)]


def _fact_holds(world: World, fact: Condition, seen: Seen) -> bool:
    def step(feature: Feature) -> Fraction:
        agent, which = feature
        if isinstance(which, int) and world.spaces[agent].whole[which]:
            return Fraction(0)
        return Fraction(float(np.spacing(np.abs(value(seen, feature)))))

    return fact.holds(lambda feature: Fraction(float(value(seen, feature))), step)


def actions(obligation: Obligation, seen: Seen, students: Mapping[int, Tree]) -> dict[int, int]:
    """The actions of the trees of an obligation's agents at the observations."""
    return {agent: int(students[agent].predict(seen[agent][None])[0]) for agent in obligation.agents}
