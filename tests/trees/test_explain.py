"""Explanations: what they say is what the tree does, and no smaller change flips the answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hydraviper
from hydraviper.data import Agent, Derived, InputError, Term
from hydraviper.trees.derived import extend
from hydraviper.trees.explain import change_in_words, changes, explain, in_words
from hydraviper.trees.flips import ordinals, values_of
from hydraviper.trees.observation import read_observation
from hydraviper.trees.tree import LEAF, Tree
from tests.helpers.trees import random_tree

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
    tree = random_tree(AGENT, draws, depth)
    row = draws.normal(size=4).astype(np.float32)
    if on_threshold and tree.feature[0] != LEAF:
        row[tree.feature[0]] = tree.threshold[0]
    made, unsettled = changes(AGENT, tree, row)
    assert unsettled == ()
    expected = {name: by_leaves(tree, row, feature) for feature, name in enumerate(AGENT.features)}
    assert {change.feature: change.to for change in made} == {k: to for k, to in expected.items() if to is not None}
    assert all(change.exact for change in made)
    amounts = [abs(change.amount) for change in made]
    assert amounts == sorted(amounts)


def term(draws: np.random.Generator) -> Term:
    """Any term; features may enter it several times."""
    kind, inputs = (("value", 1), ("size", 1), ("distance", 2), ("distance", 4))[draws.integers(4)]
    return Term(kind, tuple(draws.integers(len(AGENT.features), size=inputs).tolist()), int(draws.choice([-1, 1])))


def any_derived(draws: np.random.Generator) -> tuple[Derived, ...]:
    """Sums of one to four terms, some of them repeated."""
    sums = [[term(draws) for _ in range(draws.integers(1, 4))] for _ in range(3)]
    return tuple(
        Derived(f"sum {k}", tuple([*terms, terms[0]] if draws.random() < 0.4 else terms))
        for k, terms in enumerate(sums)
    )


def answers(tree: Tree, row: np.ndarray, feature: int, values: np.ndarray) -> np.ndarray:
    """What the tree does for other values of one feature."""
    rows = np.repeat(row[None], len(values), axis=0)
    rows[:, feature] = values
    return tree.predict(rows)


def every_float_near(value: np.float32, count: int) -> np.ndarray:
    """So many values on each side, one after the other."""
    return values_of(ordinals(np.array([value]))[0] + np.arange(-count, count + 1))


def check(tree: Tree, row: np.ndarray, draws: np.random.Generator, window: int) -> tuple[int, int, int]:
    """What is said of every feature is true of every float near by and of a spread of values far and wide."""
    made, unsettled = changes(AGENT, tree, row)
    named, open_ends = {change.feature: change for change in made}, {one.feature: one for one in unsettled}
    assert not set(named) & set(open_ends)
    now = tree.predict(row[None])[0]
    wide = np.concatenate([draws.normal(size=4_000, scale=4), draws.normal(size=2_000) * 10.0 ** draws.uniform(-6, 30)])
    for feature, name in enumerate(AGENT.features):
        change, own = named.get(name), row[feature]
        values = [every_float_near(own, window), wide.astype(np.float32), np.float32([-3.4e38, 3.4e38, 0, 1e-45])]
        if change is not None:
            assert AGENT.actions[answers(tree, row, feature, np.float32([change.to]))[0]] == change.action
            assert change.action != AGENT.actions[now]
            assert change.searched == abs(change.amount) if change.exact else change.searched <= abs(change.amount)
            values.append(every_float_near(np.float32(change.to), window))
            opposite = np.float32(2 * float(own) - change.to)
            values += [every_float_near(opposite, window)] if np.isfinite(opposite) else []
        tried = np.concatenate(values)
        nearer = np.abs(tried.astype(float) - float(own))
        limit = change.searched if change else open_ends[name].searched if name in open_ends else np.inf
        tried = tried[np.isfinite(tried) & (nearer < limit)]
        assert (answers(tree, row, feature, tried) == now).all(), (name, change)
    return len(made), sum(not change.exact for change in made), len(unsettled)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_derived_changes_are_the_smallest(seed, depth):
    draws = np.random.default_rng(seed)
    tree = random_tree(AGENT, draws, depth, derived=SINGLE)
    assert check(tree, draws.normal(size=4).astype(np.float32), draws, 200)[1:] == (0, 0)


@pytest.mark.slow
def test_any_derived_feature_against_every_float_near_by():
    found = np.zeros(3, int)
    for seed in range(120):
        draws = np.random.default_rng(seed)
        tree = random_tree(AGENT, draws, 3, derived=any_derived(draws))
        row = draws.normal(size=4).astype(np.float32)
        if seed % 4 == 0:  # whole numbers, where terms cancel and features meet
            row = np.round(row)
        elif seed % 4 == 1 and tree.feature[0] != LEAF:  # right at a threshold
            there = replace(tree, threshold=tree.threshold.copy())
            there.threshold[0] = extend(row[None], tree.derived)[0, tree.feature[0]]
            tree = there
        found += check(tree, row, draws, 2_000)
    assert found[0] > 150  # changes
    assert found[1] < 0.1 * found[0]  # of which few are not proved to be the smallest
    assert found[2] < 60


def question(feature: Derived, threshold: float) -> Tree:
    """Asks for a derived feature alone."""
    columns = [np.array(column) for column in ([4, LEAF, LEAF], [1, LEAF, LEAF], [2, LEAF, LEAF], [0, 0, 1])]
    values = np.array([threshold, 0, 0], np.float32)
    return Tree(columns[0], values, *columns[1:], counts=np.ones((3, 3)), derived=(feature,))


@pytest.mark.parametrize("start", [0.0, -3.0, 0.5, 5.0, 1000.0])
def test_a_narrow_dip_is_found(start):
    """Twice the distance less x falls to the root of 3 at x = 0.57735 alone."""
    dip = Derived("dip", (Term("distance", (0, 1)), Term("distance", (0, 1)), Term("value", (0,), -1)))
    row = np.array([start, 1, 0, 0], np.float32)
    bottom = every_float_near(np.float32(0.57735), 100_000)
    lowest = extend(np.stack([bottom, *np.float32([[1], [0], [0]]).repeat(len(bottom), 1)], axis=1), (dip,))[
        :, -1
    ].min()
    made, unsettled = changes(AGENT, question(dip, lowest), row)
    change = next(change for change in made if change.feature == "a")
    assert change.exact
    assert change.to == pytest.approx(0.57735, abs=1e-3)
    assert unsettled == ()


def test_what_is_not_settled_is_said():
    nothing = Derived("a less a", (Term("value", (0,)), Term("value", (0,), -1)))
    row = np.array([0.3, 0, 0, 0], np.float32)
    made = explain(AGENT, question(nothing, 0.0), row)
    assert made.changes == ()
    assert [one.feature for one in made.unsettled] == ["a"]
    assert 0 < made.unsettled[0].searched < 1
    assert made.to_json()["unsettled"][0]["feature"] == "a"
    words = in_words(made)
    assert "not settled: a, of which no change below 0.00" in words
    assert "no change of another feature alone would change the answer" in words


def test_a_change_that_is_not_proved_to_be_the_smallest_says_so():
    draws = np.random.default_rng(1229)
    tree = random_tree(AGENT, draws, 3, derived=any_derived(draws))
    made, _ = changes(AGENT, tree, draws.normal(size=4).astype(np.float32))
    (change,) = [change for change in made if not change.exact]
    assert 0 < change.searched < abs(change.amount)
    assert change_in_words(change).endswith("a smaller change may do, but none below 0.00358")


def test_only_finite_observations_of_the_right_size():
    tree = random_tree(AGENT, np.random.default_rng(0), 3, derived=SINGLE)
    for row in ([0, 0, 0], [0, 0, 0, np.inf], [0, 0, np.nan, 0]):
        with pytest.raises(InputError, match="4 finite numbers"):
            changes(AGENT, tree, np.array(row, float))


def test_numbering_floats_keeps_their_order():
    values = np.sort(
        np.array([-np.inf, -3e38, -1, -1e-45, 0, 1e-45, 0.5, np.nextafter(np.float32(0.5), 1), 3e38], np.float32)
    )
    order = ordinals(values)
    assert (np.diff(order) > 0).all()
    np.testing.assert_array_equal(values_of(order), values)
    assert ordinals(np.array([-0.0], np.float32))[0] == 0
    assert order[7] - order[6] == 1


def test_the_path_in_words_is_the_path():
    tree = random_tree(AGENT, np.random.default_rng(5), 4, derived=SINGLE)
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
    tree = random_tree(game.agents[0], draws, 4, derived=game.offers.search.derived[0])
    seen = game.reset(np.arange(3, dtype=np.uint64))[0]
    for row in seen:
        for change in explain(game.agents[0], tree, row).changes:
            moved = row.copy()
            moved[game.agents[0].features.index(change.feature)] = np.float32(change.to)
            assert game.agents[0].actions[tree.predict(moved[None])[0]] == change.action
