"""`show`, `explain` and `export` as a user types them, with good and with bad input."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import hydraviper
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.trees.file import load, save
from tests.helpers.command_line import refuses
from tests.helpers.trees import CASES


@pytest.fixture
def team(call):
    """A trees.json with derived features in the current folder; returns its command line."""
    save(CASES["derived"], Path("team.json"))
    return call


def test_show_numbers_the_nodes_in_every_format(team):
    code, printed, _ = team("show", "team.json")
    assert code == 0
    assert all(f"agent-{k}: " in printed for k in range(3))
    tree = CASES["derived"].trees[1]
    code, printed, _ = team("show", "team.json", "--agent", "agent-1")
    lines = [line for line in printed.splitlines() if line[:4].strip().isdigit()]
    assert [int(line[:4]) for line in lines] == list(range(len(tree)))
    code, printed, _ = team("show", "team.json", "--agent", "agent-1", "--format", "svg")
    assert code == 0
    ElementTree.fromstring(printed)
    code, printed, _ = team("show", "team.json", "--format", "dot")
    assert code == 0
    assert printed.count("subgraph") == 3
    assert printed.count("{") == printed.count("}")
    refuses(team, "did you mean 'agent-1'", "show", "team.json", "--agent", "agent1")


@pytest.mark.slow
@pytest.mark.parametrize("to", ["c", "python", "st", "json", "dot"])
def test_text_goes_to_the_terminal_or_a_file(team, to):
    code, printed, _ = team("export", "team.json", "--to", to)
    assert code == 0
    code, told, _ = team("export", "team.json", "--to", to, "--out", "made/here.txt", "--json")
    assert code == 0
    assert json.loads(told)["files"] == ["made/here.txt"]
    assert Path("made/here.txt").read_text() == printed
    refuses(team, "already exists", "export", "team.json", "--to", to, "--out", "made/here.txt")
    assert team("export", "team.json", "--to", to, "--out", "made/here.txt", "--agent", "agent-2", "--force")[0] == 0
    alone = Path("made/here.txt").read_text()
    assert "agent-2" in alone
    assert "agent-0" not in alone
    if to == "python":
        ast.parse(printed, feature_version=(3, 8))
    if to == "json":
        assert json.loads(printed)["version"] == hydraviper.__version__


@pytest.mark.slow
def test_folders_and_binaries(team):
    assert team("export", "team.json", "--to", "svg", "--out", "drawings")[0] == 0
    assert sorted(path.name for path in Path("drawings").iterdir()) == ["agent_0.svg", "agent_1.svg", "agent_2.svg"]
    assert f"exported by hydraviper {hydraviper.__version__}" in Path("drawings/agent_0.svg").read_text()
    assert team("export", "team.json", "--to", "onnx", "--out", "models")[0] == 0
    assert Path("models/trees.onnx").stat().st_size > 1000
    refuses(team, "is not text", "export", "team.json", "--to", "onnx")
    refuses(team, "holds one tree", "export", "team.json", "--to", "svg")
    Path("file").write_text("")
    refuses(team, "is a file", "export", "team.json", "--to", "svg", "--out", "file")
    refuses(team, "cannot be used", "export", "team.json", "--to", "c", "--out", "file/trees.c")
    refuses(team, "pass --out", "export", "team.json", "--to", "c", "--json")
    refuses(team, "did you mean", "export", "team.json", "--to", "c", "--agent", "agent-7")
    refuses(team, "there are no trees", "export", "nowhere", "--to", "c")


@pytest.mark.slow
def test_explain_an_observation_in_any_form(team):
    agent = CASES["derived"].agents[1]
    row = np.random.default_rng(0).normal(size=len(agent.features)).astype(np.float32)
    Path("named.json").write_text(json.dumps(dict(zip(agent.features, row.tolist(), strict=True))))
    Path("row.csv").write_text(",".join(map(str, row.tolist())))
    printed = [
        team("explain", "team.json", "--agent", "agent-1", "--observation", f) for f in ("named.json", "row.csv")
    ]
    assert printed[0] == printed[1]
    assert printed[0][0] == 0
    assert "agent-1 answers: " in printed[0][1]
    _, told, _ = team("explain", "team.json", "--agent", "agent-1", "--observation", "row.csv", "--json")
    told = json.loads(told)
    tree = load(Path("team.json")).trees[1]
    assert told["action"] == agent.actions[tree.predict(row[None])[0]]
    change = told["smallest_change"]
    row[agent.features.index(change["feature"])] = change["to"]
    assert change["action"] == agent.actions[tree.predict(row[None])[0]]
    refuses(team, "cannot be read", "explain", "team.json", "--agent", "agent-1", "--observation", "nowhere")
    refuses(team, "say what to explain", "explain", "team.json", "--agent", "agent-1")
    refuses(team, "say what to explain", "explain", "team.json", "--agent", "agent-1", "--episode", 1)
    Path("bad.json").write_text('{"velocity X": 1}')
    refuses(
        team, "did you mean 'velocity x'", "explain", "team.json", "--agent", "agent-1", "--observation", "bad.json"
    )


@pytest.mark.slow
def test_explain_a_step_of_an_episode(team, navigation):
    trees, expert = load(Path("team.json")), hydraviper.shipped_expert(navigation)
    profile = hydraviper.Profile(expert, trees.students(navigation))
    seeds = rollout_seeds(5, Purpose.EVALUATE, 0, 4)
    rows = hydraviper.play(navigation, profile, seeds, record=True).observations
    code, printed, _ = team(
        "explain", "team.json", "--agent", "agent-1", "--episode", 3, "--step", 7, "--seed", 5, "--json"
    )
    assert code == 0
    told, place = json.loads(printed), 3 * navigation.horizon + 7
    np.testing.assert_array_equal(np.array(list(told["observation"].values()), np.float32), rows[1][place])
    actions = navigation.agents[1].actions
    assert told["expert"] == actions[expert.act([own[place : place + 1] for own in rows])[0, 1]]
    assert told["action"] == actions[trees.trees[1].predict(rows[1][place : place + 1])[0]]
    whom = ["explain", "team.json", "--agent", "agent-1", "--episode"]
    code, _, complaint = team(*whom, 0, "--step", 99)
    assert code == 2
    assert "has 25 steps: pass a --step from 0 to 24" in complaint
    refuses(team, "--episode must be at least 0, not -1: the first one is 0", *whom, -1, "--step", 0)
