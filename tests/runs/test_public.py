"""What the command line can do, by public names alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hydraviper

SETTINGS = hydraviper.Settings(iterations=3, train_budget=6, valid_budget=8, rollouts_per_iteration=6, depth=3)
STILL = """
[[property]]
name = "agent 0 stands still where it is fast"
agent = "agent-0"
when = "velocity x >= 0.5"
action = "stay"
"""


@pytest.fixture
def result(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    game = hydraviper.make("cooperative-navigation")
    return hydraviper.distill(game, hydraviper.shipped_expert(game), SETTINGS)


@pytest.fixture
def run(result):
    return hydraviper.save_run(result, "run", episodes=20)


def test_save_and_load_a_run(result, run):
    assert {path.name for path in Path("run").iterdir()} == {
        *("settings.json", "ledger.jsonl", "trees.json", "summary.json", "report.html")
    }
    again = hydraviper.load_run("run")
    assert again.trees.to_json() == run.trees.to_json() == hydraviper.load_trees("run").to_json()
    assert again.summary.score.episodes == 20
    assert again.students.keys() == result.profile.students.keys()
    with pytest.raises(hydraviper.InputError, match="finished"):
        hydraviper.save_run(result, "run", episodes=20)


def test_evaluate_takes_a_result_a_run_or_a_path(result, run):
    scores = [hydraviper.evaluate(source, episodes=20) for source in (result, run, "run", Path("run/trees.json"))]
    assert len({score.score.mean for score in scores}) == 1
    assert scores[0].score.mean == run.summary.score.mean
    assert scores[0].expert.mean != hydraviper.evaluate(result, episodes=20, seed=1).expert.mean


@pytest.mark.slow
def test_refine_writes_a_run_of_its_own(run):
    refined = hydraviper.refine(run, hydraviper.RefineSettings(rollouts=2000), episodes=20, out="refined")
    assert refined.summary.refined.unseen.episodes == 20
    assert hydraviper.load_trees("refined").to_json() == refined.trees.to_json()


@pytest.mark.slow
def test_verify_and_repair(run):
    Path("still.toml").write_text(STILL)
    before = hydraviper.verify(run, "still.toml")
    assert [answer.holds for answer in before.properties] == [False]
    assert "agent-0" in before.properties[0].counterexamples[0].actions
    with pytest.raises(hydraviper.InputError, match="repairing does not cut trees"):
        hydraviper.repair(run, "still.toml", episodes=20, out="repaired", depth=1)
    repaired = hydraviper.repair(run, "still.toml", episodes=20, out="repaired")
    assert hydraviper.verify(repaired, "still.toml").holds
    assert repaired.summary.cost.ci95 >= 0
    assert 0 < repaired.summary.changed["agent-0"] < 1


def test_export_gives_files_and_writes_them(result, run):
    (text,) = hydraviper.export(result, "json").values()
    assert len(json.loads(text)["agents"]) == 3
    assert list(hydraviper.export(run, "c", agent="agent-1", out="code")) == [Path("code/trees.c")]
    assert Path("code/trees.c").is_file()
    with pytest.raises(hydraviper.InputError, match="already exists"):
        hydraviper.export(run, "c", out="code")
    with pytest.raises(hydraviper.InputError, match="choose one of c, python"):
        hydraviper.export(run, "fortran")


@pytest.mark.slow
def test_explain_an_observation_or_a_moment(run):
    agent = run.trees.agents[0]
    moment = hydraviper.explain(run, agent=agent.name, episode=0, step=3)
    assert moment.moment.expert in agent.actions
    again = hydraviper.explain("run", agent=agent.name, observation=moment.observation)
    assert again.explanation == moment.explanation
    assert agent.name in str(again)
    with pytest.raises(hydraviper.InputError, match="say what to explain"):
        hydraviper.explain(run, agent=agent.name)


def test_rooms_do_not_take_the_place_of_functions():
    import hydraviper.export.c
    import hydraviper.refine.search
    import hydraviper.verify.properties

    assert all(callable(getattr(hydraviper, name)) for name in ("export", "refine", "verify"))
