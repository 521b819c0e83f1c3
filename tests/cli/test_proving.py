"""`verify`, `repair` and `distill --constraints` as a user types them, with good and with bad input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import hydraviper
from hydraviper.controllers import Controller, Timing
from hydraviper.data import Agent
from hydraviper.games import traffic_facts
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.verify import properties
from hydraviper.verify.obligations import resolve
from hydraviper.verify.prover import solver
from hydraviper.verify.prover.proof import verify
from hydraviper.verify.scene import Scene
from hydraviper.verify.verdicts import in_words
from tests.helpers.command_line import refuses, snapshot
from tests.helpers.trees import save_constant_trees

OUTSIDE = """
[[property]]
name = "never left when outside"
agent = "agent-*"
when = "position x < -1"
never = "left"
"""
QUICK = ["--iterations", "2", "--train-budget", "6", "--valid-budget", "9", "--episodes", "20", "--workers", "1"]


@pytest.mark.slow
def test_verify_says_what_breaks_and_repair_mends_it(call):
    save_constant_trees(Path("run"))
    Path("p.toml").write_text(OUTSIDE)
    code, printed, _ = call("verify", "run", "p.toml")
    assert code == 1
    assert "broken" in printed
    assert "agent-0 sees position x = -2" in printed
    code, printed, _ = call("verify", "run", "p.toml", "--json")
    assert code == 1
    (one,) = json.loads(printed)["properties"]
    assert one["holds"] is False
    assert one["counterexamples"][0]["actions"] == {"agent-0": "left"}
    before = snapshot(Path("run"))
    code, printed, complaint = call("repair", "run", "p.toml", "--episodes", 20, "--workers", 1, "--json")
    assert code == 0, complaint
    summary = json.loads(printed)
    assert snapshot(Path("run")) == before
    assert Path(summary["out"]).name == "run-repaired-1"
    assert summary["nodes"]["agent-0"] == [1, 3]
    assert call("verify", "run-repaired-1", "p.toml")[0] == 0
    assert json.loads(Path("run-repaired-1/trees.json").read_text())["made"]["repair"]["smallest"] is True
    refuses(call, "already holds something", "repair", "run", "p.toml", "--out", "run")


@pytest.mark.slow
def test_shipped_properties_are_the_default(call):
    save_constant_trees(Path("run"), action=0)
    code, printed, _ = call("verify", "run", "--json")
    assert code == 0
    answers = {one["property"]: one["holds"] for one in json.loads(printed)["properties"]}
    assert len(answers) == 3
    assert all(answers.values())  # whoever stays breaks nothing


@pytest.mark.slow
def test_distill_with_constraints_says_what_they_cost(call):
    Path("p.toml").write_text(OUTSIDE)
    arguments = ["distill", "cooperative-navigation", *QUICK, "--constraints", "p.toml"]
    code, printed, complaint = call(*arguments, "--out", "run", "--json")
    assert code == 0, complaint
    known = json.loads(printed)["constraints"]
    assert known["properties"] == {"never left when outside": True}
    assert set(known["price"]["all"]) == {"without", "with", "cost"}
    difference = known["price"]["all"]["with"]["mean"] - known["price"]["all"]["without"]["mean"]
    assert known["price"]["all"]["cost"]["mean"] == pytest.approx(difference)
    assert "What the trees keep to" in Path("run/report.html").read_text()
    assert call("verify", "run", "p.toml")[0] == 0


@pytest.mark.slow
def test_bad_properties_touch_nothing(call):
    save_constant_trees(Path("run"))
    cases = {
        "is not TOML (Expected '=' after a key in a key/value pair (at line 2": "# fine\nname 'p'\n",
        "has no feature 'position z': did you mean 'position": OUTSIDE.replace("position x", "position z"),
        "has no action 'lift': did you mean 'left'?": OUTSIDE.replace('"left"', '"lift"'),
        "no tree is for 'agnt-0': did you mean 'agent-0'": OUTSIDE.replace('"agent-*"', '"agnt-0"'),
    }
    for sentence, text in cases.items():
        Path("bad.toml").write_text(text)
        for command in (["verify", "run"], ["repair", "run"]):
            refuses(call, sentence, *command, "bad.toml")
        refuses(call, sentence, "distill", "cooperative-navigation", *QUICK, "--constraints", "bad.toml")
    clash = OUTSIDE + OUTSIDE.replace("never left", "always left").replace("never =", "action =")
    Path("bad.toml").write_text(clash)
    for command in (["repair", "run", "bad.toml"], ["distill", "cooperative-navigation", "--constraints", "bad.toml"]):
        refuses(call, "clash", *command)
    Path("empty.toml").write_text("# nothing yet\n")
    refuses(call, "has no property to repair", "repair", "run", "empty.toml")
    refuses(call, "has no property to prove", "verify", "run", "empty.toml")
    Path("card.toml").write_text('[[property]]\nname = "card"\nagent = "*"\nnever_asks = ["moving from *"]\n')
    assert call("verify", "run", "card.toml")[0] == 0  # a pattern may fit nothing in this game
    quick = ["distill", "cooperative-navigation", *QUICK]
    refuses(call, "has no property to keep to", *quick, "--constraints", "empty.toml")
    refuses(call, "nowhere.toml cannot be read (No such file or directory)", "verify", "run", "nowhere.toml")
    refuses(call, "there are no trees", "verify", "nowhere")


@pytest.mark.slow
def test_boxes_need_no_z3_and_the_rest_says_so(call, monkeypatch):
    def missing():
        raise hydraviper.InputError("needs the package z3-solver")

    monkeypatch.setattr(solver, "z3_package", missing)
    save_constant_trees(Path("run"))
    Path("p.toml").write_text(OUTSIDE)
    assert call("verify", "run", "p.toml")[0] == 1
    save_constant_trees(Path("still"), action=0)
    assert call("verify", "still", "p.toml")[0] == 0


SERVED = np.array([[1, 0, 1], [0, 1, 0]], bool)


def crossing(action_of_b: int) -> tuple[Scene, Tree]:
    """A signal with three movements; its tree looks at one queue only."""
    movements = ("west", "north", "east")
    counts = [f"{what} from {movement}" for what in ("queue", "moving", "pressure") for movement in movements]
    features = ("phase 1 is green", "phase 2 is green", *counts)
    actions = ("phase 1: west-east", "phase 2: north")
    agent = Agent("signal-1", features, actions, traffic_facts.values(features))
    columns = [np.array(v) for v in ([3, LEAF, LEAF], [9.5, 0, 0], [1, LEAF, LEAF], [2, LEAF, LEAF])]
    actions = np.array([0, 0, action_of_b])
    tree = Tree(columns[0], columns[1].astype(np.float32), *columns[2:], actions, np.ones((3, 2)))
    controller = Controller(("GrG", "rGr"), movements, SERVED, (2, 3, 4), Timing(20, 3, max_red=120), memory=False)
    return Scene((agent,), ((),), (0,), (SERVED,), traffic_facts.knowledge([agent]), (controller,)), tree


@pytest.mark.slow
def test_a_lone_queue_at_any_signal():
    book = properties.shipped("a network of mine", crossing(0)[0].agents)
    assert book is not None
    for action, starving in ((1, False), (0, True)):
        scene, tree = crossing(action)
        obligations = resolve(book, scene)
        lone, heavy, whole = verify(obligations, {0: tree})
        assert lone.cases == heavy.cases == whole.cases == 3
        assert whole.holds  # whatever the tree does
        assert lone.holds is not starving
        for example in lone.counterexamples:
            seen = dict(zip(scene.agents[0].features, example.observations[0], strict=True))
            assert seen["queue from north"] >= 10
            assert seen["queue from west"] == seen["queue from east"] == 0
            words = in_words(obligations, example, {0: tree})
            assert f"queue from north = {seen['queue from north']:.0f}" in words
            assert "queue from west is empty" in words
            assert seen["pressure from north"] <= seen["queue from north"]
            assert tree.predict(example.observations[0][None])[0] == 0
