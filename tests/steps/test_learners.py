"""Forests and mixtures of trees: what they answer, what a run of them leaves, and who refuses them."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from typer.testing import CliRunner

import hydraviper
from hydraviper.cli.application import loaded
from hydraviper.engines.local import LocalEngine
from hydraviper.games import catalogue
from hydraviper.settings import Settings
from hydraviper.trees import cart, ensembles
from hydraviper.trees.bins import Bins

SMALL = {"iterations": 3, "train_budget": 20, "valid_budget": 24, "rollouts_per_iteration": 10}


def slanted(rows=4000):
    """Two actions by the sign of a sum of features, which a shallow tree only approximates."""
    seen = np.random.default_rng(3).uniform(-1, 1, (rows, 6)).astype(np.float32)
    bins = Bins(6)
    bins.append(seen)
    return bins, (seen.sum(axis=1) > 0).astype(np.int64)


@pytest.mark.parametrize("grow", [ensembles.grow_forest, ensembles.grow_mixture])
def test_several_trees_are_more_faithful_than_one(grow):
    bins, actions = slanted()
    single = cart.grow(bins, actions, np.ones(4000), 2, 2)
    several = grow(bins, actions, np.ones(4000), 2, 2, None, np.random.default_rng(0))
    fresh = np.random.default_rng(4).uniform(-1, 1, (4000, 6)).astype(np.float32)
    wanted = fresh.sum(axis=1) > 0
    assert (several.predict(fresh) == wanted).mean() > (single.predict(fresh) == wanted).mean() + 0.02


@pytest.mark.parametrize("grow", [ensembles.grow_forest, ensembles.grow_mixture])
def test_an_answer_depends_on_its_row_alone(grow):
    bins, actions = slanted(500)
    student = grow(bins, actions, np.ones(500), 2, 3, None, np.random.default_rng(0))
    rows = bins.features[:200]
    one_by_one = np.concatenate([student.predict(rows[k : k + 1]) for k in range(200)])
    np.testing.assert_array_equal(student.predict(rows), one_by_one)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(student)).predict(rows), one_by_one)


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["forest", "mixture"])
def test_workers_and_features_do_not_matter(navigation, learner):
    expert = hydraviper.shipped_expert(navigation)
    settings = Settings(**SMALL, learner=learner, features="derived")
    seeds = np.arange(10, dtype=np.uint64)
    played = []
    for workers in (1, 2):
        with LocalEngine(catalogue.maker(navigation), workers) as engine:
            profile = hydraviper.distill(navigation, expert, settings, engine=engine).profile
        played.append(hydraviper.play(navigation, profile, seeds).returns)
    np.testing.assert_array_equal(*played)


def call(*words):
    arguments = [str(word) for word in words]
    return CliRunner().invoke(loaded(arguments), arguments)


@pytest.mark.slow
def test_a_run_has_a_score_and_says_what_to_do_where_a_tree_is_needed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "run"
    few = [
        "--iterations",
        "3",
        "--train-budget",
        "20",
        "--valid-budget",
        "24",
        "--episodes",
        "20",
        "--workers",
        "1",
        "--json",
    ]
    made = call("distill", "cooperative-navigation", "--learner", "forest", "--out", run, *few)
    assert made.exit_code == 0, made.output
    summary = json.loads((run / "summary.json").read_text())
    assert np.isfinite(summary["score"]["mean"])
    assert summary["settings"]["learner"] == "forest"
    assert "--learner tree" in (run / "report.html").read_text()
    for words in (("show",), ("export", "--to", "c"), ("verify",), ("edit", "--undo"), ("evaluate",), ("refine",)):
        with pytest.raises(hydraviper.InputError, match="a forest per agent and no tree"):
            raise call(words[0], run, *words[1:]).exception or AssertionError(words)
    with pytest.raises(hydraviper.InputError, match="already holds this run, finished"):
        raise call("distill", "cooperative-navigation", "--learner", "forest", "--out", run, *few).exception


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--learner", "bush"), "--learner 'bush' is unknown"),
        (("--learner", "forest", "--refine", "1"), "--refine changes single trees"),
        (("--learner", "forest", "--constraints", "shipped"), "only single trees can keep to constraints"),
        (("--learner", "mixture", "--algorithm", "maviper"), "grow together are single trees"),
    ],
)
def test_what_needs_single_trees_refuses_other_learners(tmp_path, words, sentence):
    with pytest.raises(hydraviper.InputError, match=sentence):
        raise call("distill", "cooperative-navigation", "--out", tmp_path / "run", *words).exception
