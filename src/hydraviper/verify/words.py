"""Counterexamples in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from hydraviper.data import Derived
from hydraviper.drawing.trees import number
from hydraviper.trees.tree import Tree
from hydraviper.verify import meaning
from hydraviper.verify.proof import Counterexample
from hydraviper.verify.resolve import Rules


def in_words(rules: Rules, example: Counterexample, students: Mapping[int, Tree]) -> str:
    """A counterexample as a sentence: every input that the rule or the trees look at, and what the trees answer."""
    parts = []
    for agent in example.rule.seers:
        who, seen = rules.scene.agents[agent], example.observations[agent]
        asked = list(dict.fromkeys(_asked(example, agent, students)))
        inputs = dict.fromkeys(
            k
            for which in asked
            for k in ([which] if isinstance(which, int) else [i for term in which.terms for i in term.inputs])
        )
        zero = [k for k in inputs if seen[k] == 0]
        values = [f"{who.features[k]} = {_exactly(seen[k])}" for k in inputs if seen[k] != 0]
        values += [f"{who.features[k]} = 0" for k in zero] if len(zero) <= 3 else [f"{_listed(who.features, zero)} = 0"]
        derived = [which for which in asked if isinstance(which, Derived)]
        values += [f"so {d.name} = {_exactly(meaning.value({agent: seen}, (agent, d)))}" for d in derived]
        answer = f" and answers {who.actions[example.actions[agent]]!r}" if agent in example.actions else ""
        parts.append(f"{who.name} sees {', '.join(values) or 'anything'}{answer}")
    return "; ".join(parts)


def _asked(example: Counterexample, agent: int, students: Mapping[int, Tree]) -> Iterator[int | Derived]:
    """The features that the rule names and that the tree asks for on its way."""
    yield from (which for owner, which in example.rule.when.features() if owner == agent)
    if agent in example.actions:
        tree, seen = students[agent], example.observations[agent]
        for node in tree.path(seen)[:-1]:
            k = int(tree.feature[node])
            yield k if k < len(seen) else tree.derived[k - len(seen)]


def _listed(names: tuple[str, ...], columns: list[int]) -> str:
    return " = ".join(names[k] for k in columns)


def _exactly(value: np.float32) -> str:
    """A number with few digits if they tell it exactly, else with all that a float32 has."""
    short = number(float(value), 4)
    return short if np.float32(float(short)) == value else str(value)
