"""Every command as a user types it, with good and with bad input."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hydraviper
from hydraviper.experts import store
from hydraviper.experts.networks import Network
from hydraviper.games import catalogue
from tests.helpers.command_line import QUICK, refuses
from tests.helpers.experts import random_expert


@pytest.mark.slow
def test_games_are_listed(call):
    code, printed, _ = call("games", "--json")
    assert code == 0
    rows = {row["game"]: row for row in json.loads(printed)["games"]}
    assert rows["cooperative-navigation"]["joint actions"] == 125
    assert rows["physical-deception"]["joint actions"] == 25
    assert call("games")[0] == 0


@pytest.mark.slow
def test_from_distilling_to_showing(call):
    code, printed, _ = call("distill", "cooperative-navigation", *QUICK, "--json", "--out", "run")
    summary = json.loads(printed)
    assert code == 0
    assert {"game", "algorithm", "seed", "score", "expert", "rollouts", "seconds", "out"} <= set(summary)
    assert set(summary["score"]) == {"name", "mean", "ci95", "episodes", "lower_is_better"}
    assert summary["rollouts"] == {"warmup": 50, "train": 6, "valid": 8}
    assert set(summary["seconds"]) == {"total", "partition", "collect", "resample", "train", "select", "refine"}
    assert {path.name for path in Path("run").iterdir()} == {
        "settings.json",
        "ledger.jsonl",
        "trees.json",
        "summary.json",
        "report.html",
    }
    assert len(Path("run/ledger.jsonl").read_text().splitlines()) == 3

    code, printed, _ = call("evaluate", "run", "--episodes", 20, "--json")
    again = json.loads(printed)
    assert code == 0
    assert again["score"] == summary["score"]  # same trees, same seeds
    assert "best assignment" in again["yardsticks"]
    code, printed, _ = call("show", "run", "--agent", "agent-1")
    assert code == 0
    assert printed.startswith("agent-1")
    code, printed, _ = call("show", "run", "--agent", "agent-1", "--format", "svg")
    assert code == 0
    assert printed.startswith("<svg")


@pytest.mark.slow
def test_deception_reports_the_adversary(call):
    code, printed, _ = call("distill", "physical-deception", *QUICK, "--json")
    summary = json.loads(printed)
    assert code == 0
    assert "adversary's distance to the goal" in summary["measures"]
    assert set(summary["opponents"]) == {"nearest landmark", "midpoint", "where defenders crowd"}
    assert {agent["name"] for agent in json.loads(Path("runs/latest/trees.json").read_text())["agents"]} == {
        "defender-1",
        "defender-2",
    }
    code, printed, _ = call("evaluate", "runs/latest", "--episodes", 20)
    assert code == 0
    assert "midpoint" in printed


@pytest.mark.slow
def test_runs_without_a_folder_get_one_each(call):
    for number in (1, 2):
        assert call("distill", "cooperative-navigation", *QUICK, "--algorithm", "imitation")[0] == 0
        assert Path(f"runs/cooperative-navigation-imitation-{number}/trees.json").is_file()
    assert Path("runs/latest").resolve().name == "cooperative-navigation-imitation-2"


@pytest.mark.slow
def test_compare_writes_a_table(call):
    options = [*QUICK, "--algorithms", "imitation,hydraviper", "--seeds", "2", "--out", "table.json"]
    code, _, complaint = call("compare", "cooperative-navigation", *options)
    assert code == 0, complaint
    result = json.loads(Path("table.json").read_text())
    assert set(result["algorithms"]) == {"imitation", "hydraviper"}
    assert len(result["algorithms"]["hydraviper"]["scores"]) == 2
    assert "| hydraviper |" in Path("table.md").read_text()


@pytest.mark.slow
def test_an_interrupted_run_is_taken_up_and_ends_the_same(call):
    arguments = ["distill", "cooperative-navigation", *QUICK, "--json", "--out"]
    assert call(*arguments, "whole")[0] == 0
    assert call(*arguments, "stopped")[0] == 0
    for name in ("trees.json", "summary.json", "report.html"):
        Path("stopped", name).unlink()
    ledger = Path("stopped/ledger.jsonl")
    ledger.write_text("".join(ledger.read_text().splitlines(keepends=True)[:1]))
    assert call(*arguments, "stopped")[0] == 0
    assert Path("stopped/trees.json").read_text() == Path("whole/trees.json").read_text()
    assert len(ledger.read_text().splitlines()) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sentence", "arguments"),
    [
        ("did you mean cooperative-navigation?", ["distill", "cooperative-navigatoin"]),
        ("choose one of", ["distill", "chess"]),
        ("has no parameter", ["distill", "cooperative-navigation:wings=2"]),
        ("must be a whole number", ["distill", "cooperative-navigation:agents=many"]),
        ("agents must be at least 1", ["distill", "cooperative-navigation:agents=0"]),
        ("physics", ["distill", "cooperative-navigation:physics=quantum"]),
        ("there is no algorithm 'magic'", ["distill", "cooperative-navigation", "--algorithm", "magic"]),
        ("viper is for one agent", ["distill", "cooperative-navigation", "--algorithm", "viper", *QUICK]),
        ("--train-budget must be at least 1", ["distill", "cooperative-navigation", "--train-budget", "0"]),
        ("--valid-budget must be at least 1", ["distill", "cooperative-navigation", "--valid-budget", "0"]),
        ("--iterations must be at least 1", ["distill", "cooperative-navigation", "--iterations", "0"]),
        ("--depth must be at least 1", ["distill", "cooperative-navigation", "--depth", "0"]),
        ("--depth must be at most 20", ["distill", "cooperative-navigation", "--depth", "50"]),
        ("--seed must be 0 or more", ["distill", "cooperative-navigation", "--seed", "-1"]),
        ("--leaves must be at least 2", ["distill", "cooperative-navigation", "--leaves", "1"]),
        ("--workers must be at least 1", ["distill", "cooperative-navigation", "--workers", "0"]),
        ("--seed must be 0 or more and less", ["distill", "cooperative-navigation", "--seed", str(2**64)]),
        ("--seed must be 0 or more", ["train", "cooperative-navigation", "--seed", "-1"]),
        (
            "--train-budget must be at least 3",
            ["distill", "cooperative-navigation", "--algorithm", "iviper", "--train-budget", "2"],
        ),
        ("--episodes must be at least 2", ["distill", "cooperative-navigation", "--episodes", "1"]),
        ("there is no engine 'moon'", ["distill", "cooperative-navigation", "--engine", "moon"]),
        ("--partition 'guess' is unknown", ["distill", "cooperative-navigation", "--partition", "guess"]),
        ("--selection 'dice' is unknown", ["distill", "cooperative-navigation", "--selection", "dice"]),
        ("no expert ships for", ["distill", "cooperative-navigation:agents=4"]),
        ("there is no expert file nowhere", ["distill", "cooperative-navigation", "--expert", "nowhere"]),
        ("there are no trees at nowhere", ["evaluate", "nowhere"]),
        ("there are no trees at nowhere", ["show", "nowhere"]),
        ("--seeds must be at least 1", ["compare", "cooperative-navigation", "--seeds", "0"]),
        ("there is no algorithm 'x'", ["compare", "cooperative-navigation", "--algorithms", "x"]),
        ("'middle' is not one of 'low', 'high'", ["distill", "cooperative-navigation", "--budget", "middle"]),
        ("--depth must be a whole number, not 'four'", ["distill", "cooperative-navigation", "--depth", "four"]),
        ("Missing argument 'GAME'", ["distill"]),
        ("No such command 'nonsense'", ["nonsense"]),
        ("'cobol' is not one of", ["export", "nowhere", "--to", "cobol"]),
        ("there is no way to train", ["train", "cooperative-navigation", "--algorithm", "ppo"]),
    ],
)
def test_wrong_calls(call, sentence, arguments):
    refuses(call, sentence, *arguments)


@pytest.mark.slow
def test_folders_and_files_are_not_written_over(call):
    assert call("distill", "cooperative-navigation", *QUICK, "--out", "run")[0] == 0
    distill = ["distill", "cooperative-navigation", *QUICK]
    refuses(call, "already holds this run, finished", *distill, "--out", "run")
    refuses(call, "already holds another run", *distill, "--depth", "2", "--out", "run")
    Path("run/trees.json").unlink()  # interrupted, but with another seed
    refuses(call, "already holds another run", *distill, "--seed", "1", "--out", "run")
    Path("other").mkdir()
    Path("other/thesis.txt").write_text("years of work")
    refuses(call, "not a run", *distill, "--out", "other")
    refuses(call, "is a file", *distill, "--out", "other/thesis.txt")
    refuses(call, "already exists", "train", "cooperative-navigation", "--out", "other/thesis.txt")


@pytest.mark.slow
def test_broken_and_foreign_trees(call):
    assert call("distill", "cooperative-navigation", *QUICK, "--out", "run")[0] == 0
    trees = Path("run/trees.json")
    good = json.loads(trees.read_text())

    def with_change(change):
        document = json.loads(json.dumps(good))
        change(document)
        Path("bad.json").write_text(json.dumps(document))

    def set_tree(column, value):
        return lambda document: document["agents"][0]["tree"].update({column: value})

    nodes = len(good["agents"][0]["tree"]["feature"])
    cases = {
        "not a trees.json": lambda document: document.pop("agents"),
        "hydraviper-trees-1": lambda document: document.update(format="somebody-elses-2"),
        "differ in length": set_tree("threshold", [0.0]),
        "not a tree": set_tree("left", [0] * nodes),
        "feature that the agent does not have": set_tree("feature", [99, *good["agents"][0]["tree"]["feature"][1:]]),
        "knows other actions": set_tree("action", [77] * nodes),
        "not a number": set_tree("threshold", [float("inf")] * nodes),
        "columns cannot be read": set_tree("left", [10**400] * nodes),
        "has no parameter 'wings'": lambda document: document["game"].update(parameters={"wings": 2}),
        "a number, not 'three'": lambda document: document["game"].update(parameters={"agents": "three"}),
        "same agent": lambda document: document["agents"].append(document["agents"][0]),
        "there is no game 'chess'": lambda document: document["game"].update(name="chess", parameters={}),
        "has no agent agent-0": lambda document: document["game"].update(name="physical-deception", parameters={}),
    }
    for sentence, change in cases.items():
        with_change(change)
        refuses(call, sentence, "evaluate", "bad.json")
    Path("bad.json").write_text("{ not json")
    refuses(call, "is not JSON", "show", "bad.json")
    Path("bad.json").write_bytes(b"\xff\xfe\x00")
    refuses(call, "is not text", "show", "bad.json")
    refuses(call, "there is no tree for 'nobody'", "show", "run", "--agent", "nobody")
    refuses(call, "choose an --agent", "show", "run", "--format", "svg")


def test_folders_that_cannot_be_used(call):
    Path("file").write_text("")
    refuses(call, "cannot be used", "distill", "cooperative-navigation", *QUICK, "--out", "file/run")
    Path("runs").write_text("")
    refuses(call, "cannot be used", "distill", "cooperative-navigation", *QUICK)
    Path("table.md").write_text("a table of mine")
    refuses(call, "table.md already exists", "compare", "cooperative-navigation", *QUICK, "--out", "table.json")


def test_folders_without_runs_or_trees(call):
    Path("empty").mkdir()
    assert "there are no runs in empty" in call("runs", "empty")[1]
    Path("run").mkdir()
    Path("run/settings.json").write_text("{}")
    refuses(call, "run is a run itself", "runs", "run")
    refuses(call, "run has no trees yet", "show", "run")
    refuses(call, "there are no trees at", "show", "nowhere")


def test_a_folder_in_use_is_left_alone(call):
    with pytest.MonkeyPatch.context() as patch:
        stopped = []

        def interfere(*arguments, **named):
            stopped.append(call("distill", "cooperative-navigation", *QUICK, "--out", "run"))
            raise hydraviper.InputError("enough.")

        patch.setattr("hydraviper.runs.distil.execute", interfere)
        original, calls = interfere, []

        def once(*arguments, **named):
            calls.append(1)
            if len(calls) == 1:
                return original(*arguments, **named)
            raise AssertionError("the second run must not start")

        patch.setattr("hydraviper.runs.distil.execute", once)
        call("distill", "cooperative-navigation", *QUICK, "--out", "run")
    code, _, complaint = stopped[0]
    assert code == 2
    assert "another process is writing" in complaint


def test_names_with_brackets_are_only_names(call):
    code, printed, _ = call("distill", "cooperative-navigation", *QUICK, "--out", "m[/red]x")
    assert code == 0
    assert "m[/red]x/trees.json" in printed
    assert "Better than the trees: agent i to landmark i, best assignment" in printed  # and what to do about it
    assert "next: the same command with --features derived" in printed
    assert "next: hydraviper refine m[/red]x" in printed


def test_broken_and_foreign_experts(call, deception, navigation):
    Path("noise.safetensors").write_bytes(b"this is not a safetensors file")
    distill = ["distill", "cooperative-navigation", *QUICK, "--expert"]
    refuses(call, "cannot be read as an expert", *distill, "noise.safetensors")
    store.save(random_expert(deception), Path("deception.safetensors"))
    refuses(call, "is an expert for physical-deception", *distill, "deception.safetensors")
    four = random_expert(hydraviper.make("cooperative-navigation:agents=4"))
    store.save(four, Path("four.safetensors"))
    refuses(call, "has 3 agents", *distill, "four.safetensors")
    arrays = store.to_arrays(random_expert(navigation))
    arrays["critic.0.weight.1"][0, 0] = np.nan
    from safetensors.numpy import save_file

    save_file(arrays, "nan.safetensors", {"format": store.FORMAT, "about": '{"game": "cooperative-navigation"}'})
    refuses(call, "not numbers", *distill, "nan.safetensors")
    del arrays["critic.0.weight.1"]
    save_file(arrays, "part.safetensors", {"format": store.FORMAT, "about": '{"game": "cooperative-navigation"}'})
    refuses(call, "cannot be read as an expert", *distill, "part.safetensors")
    save_file(arrays, "foreign.safetensors", {})
    refuses(call, "is not an expert of this package", *distill, "foreign.safetensors")


def test_an_experts_own_file_serves_evaluate(call, navigation):
    store.save(random_expert(navigation), Path("mine.safetensors"))
    assert call("distill", "cooperative-navigation", *QUICK, "--expert", "mine.safetensors", "--out", "run")[0] == 0
    code, printed, complaint = call("evaluate", "run", "--episodes", 20, "--json")
    assert code == 0
    assert "another expert" not in complaint  # found by itself
    Path("elsewhere.json").write_text(Path("run/trees.json").read_text())
    own, shipped = json.loads(printed), call("evaluate", "elsewhere.json", "--episodes", 20, "--json")
    assert "another expert" in shipped[2]
    assert own["expert"] != json.loads(shipped[1])["expert"]


class Broken(catalogue.CooperativeNavigation):
    """A game that stops making sense after a while."""

    where = "observation"

    def step(self, actions):
        observations, rewards, done = super().step(actions)
        if self._clock == 5:
            (rewards if self.where == "reward" else observations[1])[0, 0] = np.nan
        return observations, rewards, done


@pytest.mark.slow
@pytest.mark.parametrize("where", ["observation", "reward"])
def test_a_game_that_says_nan(call, monkeypatch, where):
    monkeypatch.setitem(catalogue.MAKERS, "cooperative-navigation", Broken)
    monkeypatch.setattr(Broken, "where", where)
    code, _, complaint = call("distill", "cooperative-navigation", *QUICK, "--out", "run")
    assert code == 2
    assert "not a number" in complaint
    assert not Path("run/trees.json").exists()


def test_an_expert_that_says_nan(navigation, small):
    expert = hydraviper.shipped_expert(navigation)
    huge = [layer * np.float32(1e30) for layer in expert.actors[0].layers]
    noisy = replace(expert, actors=(Network(tuple(huge)), *expert.actors[1:]))
    with pytest.raises(hydraviper.InputError, match="not a number"):
        hydraviper.distill(navigation, noisy, small)


def test_help_and_version(call):
    code, printed, _ = call("--help")
    assert code == 0
    assert "distill" in printed


def test_only_traffic_has_a_demand(call):
    assert call("distill", "cooperative-navigation", *QUICK, "--out", "run")[0] == 0
    refuses(call, "has no traffic of which there could be more", "evaluate", "run", "--demand", "1.2")
