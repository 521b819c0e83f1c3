"""Other people's learners in place of ours, as the examples show them."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import hydraviper
from hydraviper.trees.tree import Tree

LEARNERS = Path(__file__).parents[1] / "examples" / "learners"
needs_streed = pytest.mark.filterwarnings("ignore::DeprecationWarning:pystreed.*", "ignore::FutureWarning:sksurv.*")


def optimal_tree(**more):
    pytest.importorskip("pystreed")
    return runpy.run_path(str(LEARNERS / "optimal_trees.py"))["OptimalTree"](**more)


@pytest.mark.slow
@needs_streed
def test_an_optimal_tree_finds_what_a_greedy_one_misses():
    draws = np.random.default_rng(0)
    seen = draws.uniform(-1, 1, (600, 3)).astype(np.float32)
    actions = ((seen[:, 0] > 0) ^ (seen[:, 1] > 0)).astype(int)  # no first question helps by itself
    model = optimal_tree(depth=2, thresholds=19).fit(seen, actions)
    assert (model.predict(seen) == actions).mean() > 0.9
    tree = Tree.from_sklearn(model, 2)
    np.testing.assert_array_equal(tree.predict(seen), model.predict(seen))
    assert tree.depth == 2
    assert tree.counts[0].sum() == 600


@pytest.mark.slow
@needs_streed
def test_optimal_trees_are_distilled_into_trees_of_ours(navigation, small):
    variant = hydraviper.VARIANTS["hydraviper"].with_classifier(optimal_tree(depth=2, thresholds=3))
    result = hydraviper.distill(navigation, hydraviper.shipped_expert(navigation), small, variant)
    assert all(isinstance(tree, Tree) and tree.depth <= 2 for tree in result.profile.students.values())


@pytest.mark.slow
def test_a_forest_is_a_student_without_a_drawing(capsys):
    runpy.run_path(str(LEARNERS / "forest.py"), run_name="__main__")
    forest, expert = map(float, re.search(r"trees (\S+) .*, expert (\S+) ", capsys.readouterr().out).groups())
    assert 0.9 * expert < forest < 1.6 * expert


def test_what_only_calls_its_nodes_a_tree_stays_a_classifier(navigation, small):
    class Own(RandomForestClassifier):
        tree_ = "not scikit-learn's"

    variant = hydraviper.VARIANTS["imitation"].with_classifier(Own(2, max_depth=2, random_state=0))
    result = hydraviper.distill(navigation, hydraviper.shipped_expert(navigation), small, variant)
    assert all(isinstance(student, Own) for student in result.profile.students.values())
