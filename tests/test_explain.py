"""Explanations: what they say is what the tree does, and no smaller change flips the answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hydraviper
from hydraviper.data import Agent, Derived, InputError, Term
from hydraviper.trees.derived import extend
from hydraviper.trees.explain import _ordinal, _value, change_in_words, changes, explain, in_words
from hydraviper.trees.observation import read_observation
from hydraviper.trees.tree import LEAF, Tree
from tests.test_export import random_tree

AGENT = Agent("agent-0", ("a", "b", "c", "d"), ("stay", "go", "turn"))
SINGLE = (  # every input in one term only
    Derived("a less b", (Term("value", (0,)), Term("value", (1,), -1))),
    Derived("|c| less |d|", (Term("size", (2,)), Term("size", (3,), -1))),
    Derived("distance", (Term("distance", (0, 3)),)),
    Derived("distance between, less d", (Term("distance", (0, 1, 2, 3), -1),)),
)


def by_leaves(tree: Tree, row: np.ndarray, feature: int) -> float | None:
    """A twin for trees of plain features: the nearest value in the box of any leaf with another action."""
    now, best = tree.predict(row[None])[0], None

    def walk(node: int, low: np.float32, high: np.float32) -> None:
        nonlocal best
        if tree.feature[node] == LEAF:
            first = np.nextafter(low, np.float32(np.inf))
            if tree.action[node] != now and first <= high:
                nearest = min(max(row[feature], first), high)
                if best is None or abs(float(nearest) - float(row[feature])) < abs(best - float(row[feature])):
                    best = float(nearest)
            return
        threshold = tree.threshold[node]
        if tree.feature[node] == feature:
            walk(int(tree.left[node]), low, min(high, threshold))
            walk(int(tree.right[node]), max(low, threshold), high)
        else:
            goes_left = row[tree.feature[node]] <= threshold
            walk(int(tree.left[node] if goes_left else tree.right[node]), low, high)

    walk(0, np.float32(-np.inf), np.finfo(np.float32).max)
    return best


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 5), st.booleans())
def test_plain_changes_against_the_boxes_of_the_leaves(seed, depth, on_threshold):
    draws = np.random.default_rng(seed)
    tree = random_tree(AGENT, (), depth, draws)
    row = draws.normal(size=4).astype(np.float32)
    if on_threshold and tree.feature[0] != LEAF:
        row[tree.feature[0]] = tree.threshold[0]
    found = {change.feature: change for change in changes(AGENT, tree, row)}
    for feature, name in enumerate(AGENT.features):
        expected = by_leaves(tree, row, feature)
        assert (found[name].to if name in found else None) == expected
    amounts = [abs(change.amount) for change in changes(AGENT, tree, row)]
    assert amounts == sorted(amounts)


def check_no_smaller(tree: Tree, row: np.ndarray, draws: np.random.Generator) -> int:
    """The change flips the answer, nothing nearer does, and where no change is named none flips it."""
    now, named = tree.predict(row[None])[0], {change.feature: change for change in changes(AGENT, tree, row)}
    inexact = 0
    for feature, name in enumerate(AGENT.features):
        change = named.get(name)
        values = draws.normal(size=400, scale=3).astype(np.float32)
        if change is not None:
            to = np.float32(change.to)
            moved = row.copy()
            moved[feature] = to
            assert AGENT.actions[tree.predict(moved[None])[0]] == change.action != AGENT.actions[now]
            inexact += not change.exact
            if not change.exact:
                continue
            near = [np.nextafter(to, row[feature])]
            for _ in range(50):
                near.append(np.nextafter(near[-1], row[feature]))
            reach = abs(change.amount)
            other = np.float32(float(row[feature]) - np.sign(change.amount) * reach * 0.999999)
            between = draws.uniform(*sorted([float(other), float(near[0])]), 400)
            values = np.concatenate([near, between.astype(np.float32)])
            values = values[np.abs(values.astype(float) - float(row[feature])) < reach]
        rows = np.repeat(row[None], len(values), axis=0)
        rows[:, feature] = values
        assert (tree.predict(rows) == now).all(), (name, change)
    return inexact


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_derived_changes_are_the_smallest(seed, depth):
    draws = np.random.default_rng(seed)
    tree = random_tree(AGENT, SINGLE, depth, draws)
    assert check_no_smaller(tree, draws.normal(size=4).astype(np.float32), draws) == 0


def test_what_cannot_be_proved_is_said():
    against = Derived("d0 less d1", (Term("distance", (0, 1)), Term("distance", (0, 1, 2, 3), -1)))
    inexact = 0
    for seed in range(40):
        draws = np.random.default_rng(seed)
        tree = random_tree(AGENT, (against,), 3, draws)
        row = draws.normal(size=4).astype(np.float32)
        inexact += check_no_smaller(tree, row, draws)
        for change in changes(AGENT, tree, row):
            assert change.exact or "a smaller change may do" in change_in_words(change)
            assert change.exact or change.feature in ("a", "b")  # in both distances
    assert inexact > 0


def test_numbering_floats_keeps_their_order():
    values = np.sort(
        np.array([-np.inf, -3e38, -1, -1e-45, 0, 1e-45, 0.5, np.nextafter(np.float32(0.5), 1), 3e38], np.float32)
    )
    order = _ordinal(values)
    assert (np.diff(order) > 0).all()
    np.testing.assert_array_equal(_value(order), values)
    assert _ordinal(np.array([-0.0], np.float32))[0] == 0
    assert order[7] - order[6] == 1


def test_the_path_in_words_is_the_path():
    tree = random_tree(AGENT, SINGLE, 4, np.random.default_rng(5))
    row = np.array([0.3, -0.2, 1.1, 0.7], np.float32)
    made = explain(AGENT, tree, row)
    nodes, seen = tree.path(row), extend(row[None], tree.derived)[0]
    assert [step.node for step in made.path] == nodes[:-1]
    assert made.leaf == nodes[-1]
    assert made.action == AGENT.actions[tree.predict(row[None])[0]]
    assert made.reached == tree.counts[made.leaf].sum()
    assert made.agreement == pytest.approx(tree.counts[made.leaf, tree.action[made.leaf]] / made.reached)
    for step, node in zip(made.path, nodes[:-1], strict=True):
        assert step.value == seen[tree.feature[node]]
        assert step.at_most == (step.value <= step.threshold)
    words = in_words(made)
    assert all(f"node {step.node:>2}: {step.feature} is " in words for step in made.path)
    assert f"leaf {made.leaf} was reached by" in words
    assert change_in_words(made.changes[0]) in words


def test_a_single_leaf_has_little_to_say():
    none = np.array([LEAF])
    tree = Tree(none, np.zeros(1, np.float32), none, none, np.array([1]), np.zeros((1, 3)))
    made = explain(AGENT, tree, np.zeros(4))
    words = in_words(made)
    assert "always" in words
    assert "no change of one feature alone" in words
    assert made.to_json()["smallest_change"] is None
    assert made.to_json()["leaf"]["share"] is None


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": 2.5, "d": 4, "c": -3}',
        "[1, 2.5, -3, 4]",
        "1, 2.5, -3, 4\n",
        "b,a,c,d\n2.5,1,-3,4\n",
        '"a", "b", "c", "d"\n1,2.5,-3,4',
    ],
)
def test_observations_from_files(text):
    np.testing.assert_array_equal(read_observation(text, AGENT), np.array([1, 2.5, -3, 4], np.float32))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"a": 1}', "lacks 'b' and 2 more"),
        ('{"A": 1, "b": 1, "c": 1, "d": 1}', "has no feature 'A': did you mean 'a'"),
        ("[1, 2]", "has 2 numbers"),
        ("[1, 2, 3, null]", "'d' is None"),
        ("[1, 2, 3, 1e39]", "'d' is 1e"),
        ("1,2,3,x", "'d' is 'x'"),
        ("1,2,3,nan", "single precision"),
        ("{", "is not JSON"),
        ("", "has 0 lines"),
        ("a,b\n1,2,3", "2 names and 3 numbers"),
    ],
)
def test_observations_that_are_none(text, sentence):
    with pytest.raises(InputError, match=sentence):
        read_observation(text, AGENT)


def test_a_real_game_is_explained_quickly():
    game = hydraviper.make("cooperative-navigation")
    draws = np.random.default_rng(0)
    tree = random_tree(game.agents[0], game.derived[0], 4, draws)
    seen = game.reset(np.arange(3, dtype=np.uint64))[0]
    for row in seen:
        for change in explain(game.agents[0], tree, row).changes:
            moved = row.copy()
            moved[game.agents[0].features.index(change.feature)] = np.float32(change.to)
            assert game.agents[0].actions[tree.predict(moved[None])[0]] == change.action
