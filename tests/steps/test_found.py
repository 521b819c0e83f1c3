"""Features that the search finds."""

from __future__ import annotations

import numpy as np
import pytest

from hydraviper.data import Agent
from hydraviper.steps import found
from hydraviper.trees.derived import extend

AGENT = Agent("agent-0", ("x", "y", "z", "same"), ("left", "right"))


def data(rows=3000, seed=0):
    seen = np.random.default_rng(seed).uniform(-1, 1, (rows, 4)).astype(np.float32)
    seen[:, 3] = 1
    return seen


@pytest.mark.parametrize(
    ("rule", "formula"),
    [(lambda s: s[:, 0] > s[:, 1], "[x] - [y]"), (lambda s: np.abs(s[:, 0]) > np.abs(s[:, 2]), "|[x]| - |[z]|")],
)
def test_the_formula_behind_the_actions_comes_first(rule, formula):
    seen = data()
    features = found.find(AGENT, seen, rule(seen).astype(np.int64), np.random.default_rng(0))
    assert features[0].name == formula
    assert len(features) <= found.MOST
    unseen = data(seed=1)
    column = extend(unseen, features[:1])[:, -1]
    assert ((column > 0) == rule(unseen)).mean() > 0.99


def test_the_same_data_find_the_same_and_nothing_is_named_twice():
    seen = data()
    actions = (seen[:, 0] + seen[:, 1] > seen[:, 2]).astype(np.int64)
    first, second = (found.find(AGENT, seen, actions, np.random.default_rng(3)) for _ in range(2))
    assert first == second
    assert len({feature.name for feature in first}) == len(first)
    assert all("same" not in feature.name for feature in first)  # it never varies


def test_nothing_is_found_where_nothing_varies_or_nobody_chooses():
    seen = data(50)
    assert found.find(AGENT, np.ones_like(seen), np.zeros(50, np.int64), np.random.default_rng(0)) == ()
    assert found.find(AGENT, seen, np.zeros(50, np.int64), np.random.default_rng(0)) == ()
    assert found.find(AGENT, seen[:1], np.zeros(1, np.int64), np.random.default_rng(0)) == ()
