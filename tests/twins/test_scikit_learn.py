"""Trees as classifiers of scikit-learn and back: its own code walks them to the same answers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text

import hydraviper
from hydraviper.data import Agent
from hydraviper.trees.edit import Wish, apply
from hydraviper.trees.tree import LEAF, Tree
from tests.helpers.trees import CASES, leaf, random_tree

AGENT = Agent("one", tuple(f"feature {k}" for k in range(4)), tuple(f"action {k}" for k in range(5)))


def around(tree: Tree, draws: np.random.Generator) -> np.ndarray:
    """Observations on, just above and just below thresholds, and random ones."""
    asked = tree.threshold[tree.feature != LEAF] if len(tree) > 1 else np.zeros(1, np.float32)
    near = np.concatenate([asked, np.nextafter(asked, np.float32(np.inf)), np.nextafter(asked, np.float32(-np.inf))])
    return np.concatenate([draws.choice(near, (300, 4)), draws.normal(size=(300, 4)).astype(np.float32)])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 6))
def test_scikit_learn_gives_the_same_answers(seed, depth):
    draws = np.random.default_rng(seed)
    tree = random_tree(AGENT, draws, depth)
    model, seen = tree.to_sklearn(AGENT), around(tree, draws)
    np.testing.assert_array_equal(model.predict(seen), tree.predict(seen))
    np.testing.assert_array_equal(model.apply(seen), tree.apply(seen))
    wide = seen.astype(np.float64) * (1 + draws.choice([-1e-9, 0.0, 1e-9], seen.shape))  # between two float32
    np.testing.assert_array_equal(model.predict(wide), tree.predict(wide))
    again = Tree.from_sklearn(model, 5)
    for column in ("feature", "threshold", "left", "right", "action"):
        np.testing.assert_array_equal(getattr(again, column), getattr(tree, column))


def test_counts_come_back_where_they_speak_for_the_answer():
    draws = np.random.default_rng(1)
    tree = random_tree(AGENT, draws)
    heaviest = tree.counts.argmax(axis=1)
    honest = Tree(tree.feature, tree.threshold, tree.left, tree.right, heaviest, tree.counts)
    model = honest.to_sklearn(AGENT)
    np.testing.assert_allclose(Tree.from_sklearn(model).counts, tree.counts)
    shares = honest.counts / honest.counts.sum(axis=1, keepdims=True)
    seen = around(tree, draws)
    np.testing.assert_allclose(model.predict_proba(seen), shares[honest.apply(seen)])


@pytest.mark.parametrize("case", CASES)
def test_trees_of_games_survive_pickling_and_the_way_back(case):
    draws = np.random.default_rng(2)
    for agent, tree in zip(CASES[case].agents, CASES[case].trees, strict=True):
        seen = draws.normal(size=(500, len(agent.features))).astype(np.float32)
        model = tree.to_sklearn(agent)
        clone(model)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(seen), tree.predict(seen))
        again = Tree.from_sklearn(model, len(agent.actions))
        assert again.derived == tree.derived
        np.testing.assert_array_equal(again.predict(seen), tree.predict(seen))


def test_an_edited_tree_and_a_leaf_answer_as_they_do_here():
    agent = CASES["plain"].agents[0]
    tree = apply(Wish(1, cut=True), agent, CASES["plain"].trees[0]).tree
    seen = np.random.default_rng(3).normal(size=(200, len(agent.features)))
    np.testing.assert_array_equal(tree.to_sklearn(agent).predict(seen), tree.predict(seen))
    assert leaf(3).to_sklearn().predict(np.zeros((2, 1))).tolist() == [3, 3]


def test_scikit_learns_own_tools_read_it():
    tree = random_tree(AGENT, np.random.default_rng(4), 2, splits=1.0)
    model = tree.to_sklearn(AGENT)
    assert export_text(model, feature_names=list(AGENT.features)).count("class:") == tree.leaves
    assert (model.get_depth(), model.get_n_leaves()) == (tree.depth, tree.leaves)


def test_a_scikit_learn_tree_becomes_ours():
    draws = np.random.default_rng(7)
    features = draws.normal(size=(3000, 4)).astype(np.float32)
    actions = np.where(features[:, 0] > features[:, 1], 1, 3)  # actions 0 and 2 never occur
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(features, actions)
    tree = Tree.from_sklearn(model, 5)
    np.testing.assert_array_equal(tree.predict(features), model.predict(features))
    assert tree.counts.shape[1] == 5
    asked = features[:, : tree.feature.max() + 1]
    np.testing.assert_array_equal(tree.to_sklearn().predict(asked), tree.predict(features))


def test_thresholds_between_two_float32_keep_their_sides():
    low = np.float32(1000.0)
    high = np.nextafter(low, np.float32(np.inf))
    features = np.array([[low], [high]] * 10, np.float32)
    model = DecisionTreeClassifier(random_state=0).fit(features, [0, 1] * 10)
    assert low < model.tree_.threshold[0] < high  # halfway, which only a float64 can be
    np.testing.assert_array_equal(Tree.from_sklearn(model).predict(features), [0, 1] * 10)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (DecisionTreeClassifier(), "after fit"),
        (DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0]), "no decision tree"),
        (RandomForestClassifier(2).fit([[0.0], [1.0]], [0, 1]), "no decision tree"),
        (DecisionTreeClassifier().fit([[0.0], [1.0]], ["up", "down"]), "no numbers of actions"),
        (DecisionTreeClassifier().fit([[0.0], [1.0]], [-1, 1]), "no numbers of actions"),
        (DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 7]), "answers with action 7"),
        (object(), "no decision tree"),
    ],
)
def test_what_is_no_tree_of_actions_is_refused(model, words):
    with pytest.raises(hydraviper.InputError, match=words):
        Tree.from_sklearn(model, 5)


def test_trees_that_need_an_agent_say_so():
    with pytest.raises(hydraviper.InputError, match="pass the agent"):
        CASES["derived"].trees[0].to_sklearn()
    with pytest.raises(hydraviper.InputError, match="has 4 of them"):
        CASES["plain"].trees[0].to_sklearn(AGENT)
