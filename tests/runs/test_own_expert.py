"""An expert that a run makes for itself: announced, chosen by validation, kept, resumed, and found again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import hydraviper
from hydraviper.engines.local import LocalEngine
from hydraviper.experts import store
from hydraviper.runs import own_expert
from hydraviper.runs.run import load_run
from hydraviper.seeding import Purpose, rollout_seeds
from tests.helpers.command_line import refuses, snapshot
from tests.helpers.street import street_with

pytestmark = pytest.mark.slow

GAME = street_with(score="delay", steps=6)
BUDGET = ["--iterations", 2, "--train-budget", 2, "--valid-budget", 2, "--episodes", 2, "--workers", 1]
DISTILL = ["distill", GAME, *BUDGET]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Few candidates, and as many episodes as two rounds of them take."""
    monkeypatch.setattr(own_expert, "TUNED", {"candidates": 4, "episodes_each": 1, "validation": 2})
    monkeypatch.setattr(own_expert, "VALIDATED", 3)
    monkeypatch.setattr(own_expert, "FITTED", 10)
    monkeypatch.setattr(own_expert, "LEAST_TUNED", 12)
    monkeypatch.setattr(own_expert, "MOST", 12)


def test_one_command_from_a_network_to_trees(call):
    code, printed, complaint = call(*DISTILL, "--out", "run", "--json")
    assert code == 0, complaint
    words = " ".join(complaint.split())
    named, rules = GAME.partition(",")[0], "the best of longest queue, max-pressure, linear (6 minutes"
    assert f"No expert is at hand for {named}: {rules}".replace(" ", "") in "".join(complaint.split())  # paths wrap
    assert "A rollout takes" in words
    told, recipe = json.loads(printed), json.loads(Path("run/settings.json").read_text())
    assert recipe["expert"] == {
        "hash": told["expert_hash"],
        "file": "expert.safetensors",
        "made": {"minutes": 6.0, "episodes": 12},
    }
    assert told["seconds"]["expert"] > 0
    game = hydraviper.make(GAME)
    expert = store.load("run/expert.safetensors", game)
    made = expert.about["made"]
    seeds = rollout_seeds(0, Purpose.EXPERT_VALIDATION, 2, 3)
    for name in ("longest queue", made["chosen"]):
        policy = game.offers.scoring.yardsticks.get(name, expert)
        assert made["scores"][name] == pytest.approx(game.score.of(hydraviper.play(game, policy, seeds).returns).mean())
    assert made["chosen"] == min(made["scores"], key=made["scores"].get)
    assert any("12 episodes of training" in note for note in told["notes"])


def test_later_commands_find_it(call, monkeypatch):
    assert call(*DISTILL, "--out", "run")[0] == 0
    shutil.move("run", "moved")
    code, _, complaint = call("evaluate", "moved", "--episodes", 2, "--workers", 1, "--json")
    assert code == 0, complaint
    assert "Note" not in complaint
    code, _, complaint = call("explain", "moved", "--agent", "signal-1", "--episode", 0, "--step", 2)
    assert code == 0, complaint
    run = load_run("moved")
    Path("other").mkdir()
    assert run.hand_on_expert(Path("other")) == "expert.safetensors"
    assert Path("other/expert.safetensors").read_bytes() == Path("moved/expert.safetensors").read_bytes()


class Killed(BaseException):
    """The process is gone."""


def test_a_run_that_was_killed_trains_for_as_long_and_ends_the_same(call, monkeypatch):
    monkeypatch.setattr("hydraviper.runs.distil.QUICK", 0.0)  # the street's rollouts are short
    assert call(*DISTILL, "--out", "whole")[0] == 0
    played = []
    each = LocalEngine.each

    def counting(self, pieces, done=None):
        played.extend(pieces)
        return each(self, pieces, done)

    def killed(*arguments):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(store, "save", killed)
        assert call(*DISTILL, "--out", "run")[0] == 1
    assert not Path("run/expert.safetensors").exists()
    monkeypatch.setattr(own_expert, "MOST", 30)  # the machine is quicker now
    with monkeypatch.context() as patch:
        patch.setattr("hydraviper.runs.distil.distill", killed)
        patch.setattr(LocalEngine, "each", counting)
        assert call(*DISTILL, "--out", "run")[0] == 1
    assert not played  # every rollout of the search was remembered
    expert = Path("run/expert.safetensors").read_bytes()
    refuses(call, "already holds another run", *DISTILL, "--expert-minutes", 3, "--out", "run")
    code, _, complaint = call(*DISTILL, "--out", "run")
    assert code == 0, complaint
    assert "No expert is at hand" not in complaint
    assert Path("run/expert.safetensors").read_bytes() == expert
    resumed, whole = (store.load(f"{name}/expert.safetensors") for name in ("run", "whole"))
    assert store.digest(resumed) == store.digest(whole)
    assert resumed.about == whole.about
    trees = [[tree.to_json() for tree in hydraviper.load_trees(name).trees] for name in ("run", "whole")]
    assert trees[0] == trees[1]
    recipes = [json.loads(Path(name, "settings.json").read_text()) for name in ("run", "whole")]
    assert recipes[0] == recipes[1]


def test_too_few_episodes_or_no_minutes_take_the_best_rule(call, monkeypatch):
    pytest.importorskip("jax")
    monkeypatch.setattr(own_expert, "LEAST_TUNED", 10**9)
    code, _, complaint = call(*DISTILL, "--out", "run")
    assert code == 0, complaint
    assert "the best rule becomes the expert instead" in " ".join(complaint.split())
    code, _, complaint = call(*DISTILL, "--out", "none", "--expert-minutes", 0)
    assert code == 0, complaint
    assert "minutes of training" not in complaint
    first, second = (store.load(f"{name}/expert.safetensors", hydraviper.make(GAME)) for name in ("run", "none"))
    assert store.digest(first) == store.digest(second)
    assert first.policy.name == first.about["made"]["chosen"] in ("longest queue", "max-pressure")
    assert first.about["made"]["episodes"] == 0


def test_what_cannot_be_made_is_said_at_once(call):
    loops = street_with(score="delay", steps=6, detectors="loops", seconds_per_step=10)
    refuses(call, "can stand in for an expert", "distill", loops, *BUDGET, "--expert-minutes", 0, "--out", "run")
    refuses(call, "hydraviper train cooperative-navigation:agents=4", "distill", "cooperative-navigation:agents=4")
    refuses(call, "--expert-minutes must be at least 0", *DISTILL, "--expert-minutes", -1)
    refuses(call, "no expert of mplight ships", *DISTILL, "--expert", "mplight")
    refuses(call, "make one with `hydraviper train", "compare", GAME)


def test_loops_are_learned_by_a_network(call, monkeypatch):
    pytest.importorskip("jax")
    monkeypatch.setattr(own_expert, "LEAST", 2)
    monkeypatch.setattr(own_expert, "MOST", 2)
    loops = street_with(score="delay", steps=6, detectors="loops", seconds_per_step=10)
    code, _, complaint = call("distill", loops, *BUDGET, "--out", "run")
    assert code == 0, complaint
    assert store.load("run/expert.safetensors").about["made"]["scores"].keys() == {"idqn"}


def test_the_same_in_python(tmp_path, monkeypatch, small):
    game = hydraviper.make(GAME)
    said = []
    expert = hydraviper.make_expert(game, tmp_path / "expert.safetensors", episodes=12, tell=said.append)
    assert len(said) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["expert.safetensors"]
    before = snapshot(tmp_path)
    again = hydraviper.make_expert(game, tmp_path / "expert.safetensors")
    assert snapshot(tmp_path) == before
    seen = hydraviper.play(game, expert, np.arange(1, dtype=np.uint64), record=True).observations
    np.testing.assert_array_equal(again.q(seen, again.act(seen)), expert.q(seen, expert.act(seen)))
    settings = hydraviper.Settings(iterations=2, train_budget=2, valid_budget=2, rollouts_per_iteration=2)
    hydraviper.save_run(hydraviper.distill(game, expert, settings), tmp_path / "run", episodes=2)
    assert store.digest(load_run(tmp_path / "run", trust_path=True).expert) == store.digest(expert)
    with pytest.raises(hydraviper.InputError, match="hydraviper train cooperative-navigation:agents=4"):
        hydraviper.make_expert(hydraviper.make("cooperative-navigation:agents=4"), tmp_path / "other.safetensors")
