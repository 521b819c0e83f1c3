"""The histogram learner against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from hydraviper.trees import cart
from hydraviper.trees.bins import Bins
from hydraviper.trees.tree import Tree


def binned(features, pieces=1):
    bins = Bins(features.shape[1])
    for part in np.array_split(features, pieces):
        bins.append(part)
    return bins


def few_values(draws, rows, columns, values):
    features = draws.integers(0, values, (rows, columns)).astype(np.float32) / 7
    centred = (features - features.mean(axis=0)) / features.std(axis=0)
    signal = centred @ draws.normal(size=(columns, 5)) + draws.normal(size=(rows, 5))
    return features, signal.argmax(axis=1)


def weighted_accuracy(predicted, actions, weights):
    return (weights * (predicted == actions)).sum() / weights.sum()


@pytest.mark.parametrize("pieces", [1, 5])
@pytest.mark.parametrize("values", [2, 40, 256])
@pytest.mark.parametrize("seed", range(5))
def test_same_splits_where_values_are_few(seed, values, pieces):
    draws = np.random.default_rng(seed)
    features, actions = few_values(draws, 4000, 6, values)
    weights = draws.random(4000)
    ours = cart.grow(binned(features, pieces), actions, weights, 5, depth=4)
    theirs = DecisionTreeClassifier(max_depth=4, random_state=seed).fit(features, actions, sample_weight=weights).tree_
    np.testing.assert_array_equal(ours.feature, np.where(theirs.feature < 0, -1, theirs.feature))
    inner = ours.feature >= 0
    np.testing.assert_allclose(ours.threshold[inner], theirs.threshold[inner], rtol=1e-6)
    np.testing.assert_array_equal(ours.left, theirs.children_left)
    np.testing.assert_allclose(ours.counts.sum(axis=1), theirs.weighted_n_node_samples)


@pytest.mark.parametrize("leaves", [2, 7, 15])
@pytest.mark.parametrize("seed", range(3))
def test_same_tree_with_a_limit_of_leaves(seed, leaves):
    draws = np.random.default_rng(seed)
    features, actions = few_values(draws, 2000, 5, 60)
    weights = draws.random(2000)
    ours = cart.grow(binned(features), actions, weights, 5, depth=20, most_leaves=leaves)
    theirs = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(features, actions, sample_weight=weights)
    assert ours.leaves == leaves
    np.testing.assert_array_equal(ours.predict(features), theirs.predict(features))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_close_where_values_are_many(seed):
    draws = np.random.default_rng(seed)
    features = draws.normal(size=(30_000, 18)).astype(np.float32)
    features[:, 3] = np.exp(3 * features[:, 3])  # a long tail
    actions = (features[:, :6] @ draws.normal(size=(6, 5)) + draws.normal(size=(30_000, 5))).argmax(axis=1)
    weights = draws.multinomial(30_000, np.full(30_000, 1 / 30_000)).astype(float)
    # bins laid on the first rows must serve those that come later
    ours = cart.grow(binned(features, 9), actions, weights, 5, depth=4)
    drawn = weights > 0
    theirs = DecisionTreeClassifier(max_depth=4, random_state=0)
    theirs.fit(features[drawn], actions[drawn], sample_weight=weights[drawn])
    gap = weighted_accuracy(theirs.predict(features), actions, weights) - weighted_accuracy(
        ours.predict(features), actions, weights
    )
    assert gap < 0.005


def test_bins_see_every_step_of_an_episode():
    """Rows come in a rhythm, the steps of an episode; what decides where bins lie must not fall into step with it."""
    draws = np.random.default_rng(0)
    step = np.tile(np.arange(25), 20_000)
    features = (step * draws.random(len(step)))[:, None].astype(np.float32)  # always 0 at the first step
    actions = (features[:, 0] > 7.7).astype(int)
    tree = cart.grow(binned(features), actions, np.ones(len(step)), 2, depth=1)
    assert weighted_accuracy(tree.predict(features), actions, np.ones(len(step))) > 0.999


def test_deep_trees_need_little_memory():
    draws = np.random.default_rng(0)
    features = draws.normal(size=(20_000, 10)).astype(np.float32)
    actions = draws.integers(0, 5, 20_000)
    ours = cart.grow(binned(features), actions, np.ones(20_000), 5, depth=18)
    assert ours.depth == 18
    assert ours.leaves > 1000


def test_bins_follow_a_shift_of_the_data():
    """Rows that come later lie elsewhere: bins are laid anew when the rows have doubled."""
    draws = np.random.default_rng(0)
    first, later = draws.normal(size=(1000, 1)), draws.normal(loc=50, size=(9000, 1))
    features = np.concatenate([first, later]).astype(np.float32)
    actions = (features[:, 0] > 50.3).astype(int)
    bins = Bins(1)
    for start in range(0, 10_000, 500):
        bins.append(features[start : start + 500])
    tree = cart.grow(bins, actions, np.ones(10_000), 2, depth=1)
    assert weighted_accuracy(tree.predict(features), actions, np.ones(10_000)) > 0.99


def test_thresholds_keep_neighbouring_floats_apart():
    low = np.float32(1.0)
    high = np.nextafter(low, np.float32(2.0))
    features = np.array([[low], [high]] * 10, np.float32)
    tree = cart.grow(binned(features), np.array([0, 1] * 10), np.ones(20), 2, depth=1)
    np.testing.assert_array_equal(tree.predict(features), [0, 1] * 10)


def test_weights_count_like_copies():
    draws = np.random.default_rng(5)
    features, actions = few_values(draws, 500, 4, 30)
    counts = draws.integers(0, 4, 500)
    weighted = cart.grow(binned(features), actions, counts.astype(float), 5, depth=4)
    copied = cart.grow(
        binned(np.repeat(features, counts, axis=0)), np.repeat(actions, counts), np.ones(counts.sum()), 5, 4
    )
    np.testing.assert_array_equal(weighted.predict(features), copied.predict(features))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(2, 9))
def test_any_tree_survives_json_and_merging(seed, depth, classes):
    draws = np.random.default_rng(seed)
    features = draws.normal(size=(200, 3)).astype(np.float32)
    actions = draws.integers(0, classes, 200)
    tree = cart.grow(binned(features), actions, draws.random(200), classes, depth)
    assert tree.depth <= depth
    again = Tree.from_json(tree.to_json())
    merged = tree.merged()
    probe = draws.normal(size=(500, 3)).astype(np.float32)
    for other in (again, merged):
        np.testing.assert_array_equal(other.predict(probe), tree.predict(probe))
    np.testing.assert_array_equal(again.threshold, tree.threshold)
    inner = merged.feature >= 0
    both_leaves = (merged.feature[merged.left[inner]] < 0) & (merged.feature[merged.right[inner]] < 0)
    assert not (both_leaves & (merged.action[merged.left[inner]] == merged.action[merged.right[inner]])).any()
    for row in probe[:20]:
        assert tree.action[tree.path(row)[-1]] == tree.predict(row[None])[0]
