"""Trees that look ahead: a question that says nothing by itself, but what to ask for then."""

from __future__ import annotations

import numpy as np

from hydraviper.trees import cart
from hydraviper.trees.ahead import Memory, grow_ahead, grow_behind, joined, look
from hydraviper.trees.bins import Bins

DRAWS = np.random.default_rng(0)


def crossed(rows):
    """Whose turn it is (column 2, a derived feature) decides which of two columns tells the action: greed sees none."""
    data = DRAWS.uniform(-1, 1, (rows, 3)).astype(np.float32)
    actions = np.where(data[:, 2] <= 0, data[:, 0] > 0, data[:, 1] > 0) ^ (data[:, 2] <= 0)
    bins = Bins(3)
    bins.append(data)
    return bins, data, actions.astype(np.int64)


def test_it_finds_the_question_that_greed_misses():
    bins, data, actions = crossed(3000)
    weights = np.ones(len(actions))
    memory = Memory()
    tree = grow_ahead(memory, bins, 2, actions, weights, 2, 2, np.random.default_rng(1))
    assert tree.feature[0] == 2
    assert abs(tree.threshold[0]) < 0.1
    assert (tree.predict(data) == actions).mean() > 0.97
    assert tree.fidelity > cart.grow(bins, actions, weights, 2, 2).fidelity
    assert memory.ahead.feature == 2


def test_without_a_better_question_it_is_carts_tree():
    bins, data, _ = crossed(1000)
    actions, weights = (data[:, 0] > 0.3).astype(np.int64), np.ones(1000)
    greedy = cart.grow(bins, actions, weights, 2, 3)
    assert look(bins, 2, actions, weights, 2, 3, np.random.default_rng(1)) is None
    same = grow_behind(None, bins, actions, weights, 2, 3)
    np.testing.assert_array_equal(same.threshold, greedy.threshold)


def test_questions_are_kept_until_there_are_many_more_rows(monkeypatch):
    bins, _, actions = crossed(600)
    weights, memory, looks = np.ones(600), Memory(), []
    monkeypatch.setattr("hydraviper.trees.ahead.look", lambda *given: looks.append(given) or None)
    for _ in range(3):
        grow_ahead(memory, bins, 2, actions, weights, 2, 2, np.random.default_rng(1))
    assert len(looks) == 1


def test_a_joined_tree_asks_first_and_counts_both_sides():
    bins, data, actions = crossed(400)
    below = data[:, 2] <= 0
    yes, no = (cart.grow(bins, actions, np.ones(400), 2, 2, rows=np.flatnonzero(side)) for side in (below, ~below))
    tree = joined(2, np.float32(0), yes, no)
    assert tree.counts[0].sum() == 400
    np.testing.assert_array_equal(tree.predict(data), np.where(below, yes.predict(data), no.predict(data)))
