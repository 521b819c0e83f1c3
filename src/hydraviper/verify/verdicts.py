"""Verdicts: what the prover says of each property, with counterexamples, and these in words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hydraviper.data import Agent, Derived, Values
from hydraviper.trees.questions import is_possible
from hydraviper.trees.questions import seen as told
from hydraviper.trees.tree import Tree
from hydraviper.trees.words import number
from hydraviper.verify import meaning
from hydraviper.verify.obligations import Obligation, Obligations

HOLDS, BROKEN, NOWHERE, UNDECIDED = OUTCOMES = ("holds", "broken", "applies nowhere", "undecided")


@dataclass(frozen=True)
class Counterexample:
    """Observations at which trees violate an obligation; the trees were run on them."""

    obligation: Obligation
    observations: Mapping[int, np.ndarray]  # agent -> float32 [F_i]; also of agents that facts relate to these
    actions: Mapping[int, int]  # agent -> its tree's action, for the agents of the obligation


@dataclass(frozen=True)
class Verdict:
    """What is known of one property."""

    property: str
    outcome: str  # one of OUTCOMES
    cases: int  # obligations and shape limits that were checked
    broken: int  # how many of them are violated
    nowhere: int  # how many of the obligations apply to no observation
    counterexamples: tuple[Counterexample, ...]  # one for each violated obligation
    problems: tuple[str, ...]  # violated shape limits, and what could not be decided, in words
    seconds: float

    @cached_property
    def holds(self) -> bool | None:
        """True if it holds, False if it is broken, None if it applies nowhere or is undecided."""
        return {HOLDS: True, BROKEN: False}.get(self.outcome)


def in_words(obligations: Obligations, example: Counterexample, students: Mapping[int, Tree]) -> str:
    """A counterexample as a sentence: each input that the obligation or a tree looks at, and the trees' actions."""
    parts = []
    for agent in example.obligation.observers:
        who, seen = obligations.scene.agents[agent], example.observations[agent]
        features = list(dict.fromkeys(_features(example, agent, students)))
        inputs = dict.fromkeys(
            k for feature in features for k in ([feature] if isinstance(feature, int) else feature.inputs)
        )
        said = {k: _said(who, k, float(seen[k])) for k in inputs}
        zero = [who.features[k] for k in inputs if seen[k] == 0 and not said[k]]
        values = [said[k] or f"{who.features[k]} = {_exactly(seen[k])}" for k in inputs if said[k] or seen[k] != 0]
        values += [f"{name} = 0" for name in zero] if len(zero) <= 3 else [f"{' = '.join(zero)} = 0"]
        derived = [feature for feature in features if isinstance(feature, Derived)]
        values += [f"so {d.name} = {_exactly(meaning.value({agent: seen}, (agent, d)))}" for d in derived]
        answer = f" and answers {who.actions[example.actions[agent]]!r}" if agent in example.actions else ""
        parts.append(f"{who.name} sees {', '.join(values) or 'anything'}{answer}")
    return "; ".join(parts)


def _said(agent: Agent, feature: int, value: float) -> str:
    """A flag, or a count of nothing, in the game's words; nothing where a number tells it better."""
    name, values = agent.features[feature], agent.values[feature] if agent.values else Values()
    in_words = values.kind == "flag" or (value == 0 and bool(values.nought))
    return told(name, values, value) if in_words and is_possible(values, value) else ""


def _features(example: Counterexample, agent: int, students: Mapping[int, Tree]) -> Iterator[int | Derived]:
    """The agent's features that the obligation names, then those that its tree asks for on the path."""
    yield from (feature for owner, feature in example.obligation.when.features() if owner == agent)
    if agent in example.actions:
        tree, seen = students[agent], example.observations[agent]
        for node in tree.path(seen)[:-1]:
            k = int(tree.feature[node])
            yield k if k < len(seen) else tree.derived[k - len(seen)]


def _exactly(value: np.float32) -> str:
    """A number with few digits if they give it exactly, else with all digits of a float32."""
    short = number(float(value), 4)
    return short if np.float32(float(short)) == value else str(value)
