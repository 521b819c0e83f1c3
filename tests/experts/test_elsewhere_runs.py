"""Experts from elsewhere through the command line: run folders, later commands, trust, wrong calls."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import hydraviper
from hydraviper.runs import trust
from tests.helpers.command_line import refuses

STAIRS = "python:tests.helpers.foreign:Stairs"
CLIMB = "python:tests.helpers.foreign:climb"
BUDGET = ["--iterations", 2, "--train-budget", 4, "--valid-budget", 4, "--episodes", 8, "--workers", 1]
LATER = ["--episodes", 8, "--workers", 1]


@pytest.fixture
def here(monkeypatch, call):
    """The command line in an empty folder from which the modules of these tests are found."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    return call


def works(call, *arguments):
    code, printed, complaint = call(*arguments)
    assert code == 0, complaint
    return printed, complaint


@pytest.mark.slow
@pytest.mark.parametrize("expert", [CLIMB, "python:tests.helpers.foreign:Climber"])
def test_a_function_or_a_class(here, expert):
    printed, _ = works(here, "distill", STAIRS, "--expert", expert, *BUDGET, "--out", "run", "--json")
    assert json.loads(printed)["difference"]["mean"] == 0
    assert Path("run/report.html").is_file()
    _, told = works(here, "evaluate", "run", *LATER)
    assert "another expert" not in told
    works(here, "refine", "run", "--rollouts", 100, *LATER, "--out", "refined")
    works(here, "evaluate", "refined", *LATER)
    works(here, "edit", "run", "--agent", "agent", "--node", 0, "--cut", *LATER)
    trust._list().unlink()  # as on the machine of somebody who got the folder
    for command in (["evaluate", "run"], ["evaluate", "refined"]):
        refuses(here, "add --trust-path", *command, *LATER)
    works(here, "evaluate", "run", *LATER, "--trust-path")


@pytest.mark.slow
def test_workers_do_not_change_the_trees(here):
    for workers in (1, 2):
        works(here, "distill", STAIRS, "--expert", CLIMB, *BUDGET[:-1], workers, "--out", f"run{workers}")
    one, two = (json.loads(Path(f"run{workers}/trees.json").read_text())["agents"] for workers in (1, 2))
    assert one == two


@pytest.mark.slow
def test_recorded_rollouts_are_kept_as_a_network(here):
    places = np.arange(500) % 5 + 1
    np.savez("walk.npz", observations=places, actions=np.where(places < 5, 1, 0), rewards=places)
    printed, _ = works(here, "distill", STAIRS, "--expert", "rollouts:walk.npz", *BUDGET, "--out", "run", "--json")
    summary = json.loads(printed)
    assert "imitates 500 recorded steps" in summary["notes"][0]
    assert summary["difference"]["mean"] == 0
    Path("walk.npz").unlink()
    _, told = works(here, "evaluate", "run", *LATER)
    assert "another expert" not in told
    run = hydraviper.load_run("run", trust_path=True)
    assert run.expert.about["name"].startswith("rollouts:")


@pytest.mark.slow
def test_values_are_part_of_the_recipe(here):
    places = np.arange(500) % 5 + 1
    np.savez("walk.npz", observations=places, actions=np.where(places < 5, 1, 0))
    call = ["distill", STAIRS, "--expert", "rollouts:walk.npz", *BUDGET, "--values"]
    works(here, *call, "none", "--out", "run")
    assert json.loads(Path("run/settings.json").read_text())["expert"]["values"] == "none"
    works(here, "compare", STAIRS, "--expert", "rollouts:walk.npz", "--algorithms", "hydraviper", *BUDGET[:-2],
          "--seeds", 1, "--workers", 1, "--values", "policy")  # fmt: skip
    Path("run/trees.json").unlink()
    refuses(here, "already holds another run", *call, "policy", "--out", "run")


@pytest.mark.parametrize(
    ("sentence", "arguments"),
    [
        ("--values 'more' is unknown", [STAIRS, "--expert", CLIMB, "--values", "more"]),
        ("only chooses actions", [STAIRS, "--expert", CLIMB, "--values", "policy"]),
        ("--values is for experts from elsewhere", ["cooperative-navigation", "--values", "none"]),
        ("needs the module nowhere", [STAIRS, "--expert", "python:nowhere:policy"]),
        ("has no 'nothing'", [STAIRS, "--expert", "python:tests.helpers.foreign:nothing"]),
        ("is no function of an observation", [STAIRS, "--expert", "agent=python:tests.helpers.foreign:Mute"]),
        ("there is no file nowhere.zip", [STAIRS, "--expert", "sb3:nowhere.zip"]),
        ("of the kinds sb3, torch, onnx, rllib, rollouts, python", [STAIRS, "--expert", "sb4:x.zip"]),
        ("there is no expert file x.zip", [STAIRS, "--expert", "x.zip"]),
    ],
)
def test_wrong_calls(here, sentence, arguments):
    refuses(here, sentence, "distill", *arguments, *BUDGET, "--out", "run")
