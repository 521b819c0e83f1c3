"""Every command with a game of another package: CartPole, from an expert in a file, and games of one's own code."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import hydraviper
from hydraviper.games.environments.kinds import GymnasiumGame
from hydraviper.runs.pictured import PICTURES
from tests.helpers.balance import balance_expert
from tests.helpers.command_line import refuses
from tests.test_borders import Right

pytestmark = pytest.mark.slow

GAME = "gymnasium:CartPole-v1"
SMALL = ["--iterations", "3", "--train-budget", "6", "--valid-budget", "6", "--episodes", "10", "--workers", "1"]
FOLLOWS = """
[[property]]
name = "a pole that falls to the right is followed"
when = ["[pole angle] >= 0.1", "[pole turning speed] >= 0.5"]
action = "push right"
"""
OWN = """
from tests.helpers.environments import Rooms
from tests.test_borders import Walk

class Forgetful(Rooms):
    def reset(self, *, seed=None, options=None):
        return super().reset()
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with an expert and a run of its trees."""
    folder = tmp_path_factory.mktemp("cartpole")
    game, expert = hydraviper.make(GAME), balance_expert()
    hydraviper.save_expert(expert, folder / "balance.safetensors")
    settings = hydraviper.Settings(iterations=3, train_budget=6, valid_budget=6, rollouts_per_iteration=4)
    hydraviper.save_run(hydraviper.distill(game, expert, settings), folder / "run", episodes=10)
    return folder


@pytest.fixture
def here(made, call):
    """An empty working folder with a copy of it."""
    shutil.copytree(made, ".", dirs_exist_ok=True)
    recipe = json.loads(Path("run/settings.json").read_text())
    recipe["expert"]["file"] = str(Path("balance.safetensors").resolve())
    Path("run/settings.json").write_text(json.dumps(recipe))
    return call


def answer(call, *arguments):
    code, printed, complaint = call(*arguments)
    assert code == 0, complaint
    return printed


def test_distill_leaves_a_whole_run_in_a_folder_of_its_name(here):
    summary = json.loads(answer(here, "distill", GAME, "--expert", "balance.safetensors", *SMALL, "--json"))
    assert summary["out"] == "runs/gymnasium-CartPole-v1-hydraviper-1"
    assert summary["score"]["mean"] > 300
    page = (Path(summary["out"]) / "report.html").read_text()
    assert page.count('"data:image/png;base64,') == PICTURES
    assert len(page) < 1_000_000
    again = json.loads(answer(here, "distill", GAME, "--expert", "balance.safetensors", *SMALL, "--json"))
    trees = [(Path(one["out"]) / "trees.json").read_bytes() for one in (summary, again)]
    assert trees[0] == trees[1]


def test_evaluate_explain_verify_show_and_export(here):
    assert json.loads(answer(here, "evaluate", "run", "--episodes", "10", "--workers", "1", "--json"))["expert"]
    told = answer(here, "explain", "run", "--agent", "agent", "--episode", "0", "--step", "3")
    assert "pole turning speed" in told or "pole angle" in told
    Path("follows.toml").write_text(FOLLOWS)
    assert json.loads(answer(here, "verify", "run", "follows.toml", "--json"))["holds"]
    assert "push left" in answer(here, "show", "run")
    assert "cart position" in answer(here, "export", "run", "--to", "c")


def test_edits_are_undone_to_the_last_picture(here):
    before = {path.name: path.read_bytes() for path in Path("run").iterdir()}
    leaf = max(node for node, *_ in re.findall(r"^ +(\d+) .*→ push", answer(here, "show", "run"), re.M))
    edit = ["--agent", "agent", "--node", leaf, "--action"]
    for action in ("push left", "push right"):  # one of them is what it does already
        code, *_ = here("edit", "run", *edit, action, "--episodes", "10", "--workers", "1")
        if code == 0:
            break
    assert code == 0
    assert Path("run/trees.json").read_bytes() != before["trees.json"]
    answer(here, "edit", "run", "--undo")
    after = {path.name: path.read_bytes() for path in Path("run").iterdir()}
    assert after["trees.json"] == before["trees.json"]
    pictures = [re.findall(r"base64,([^\"]+)", page["report.html"].decode()) for page in (before, after)]
    assert pictures[0] == pictures[1]


def test_refine_finds_better_trees_where_nothing_is_compiled(here):
    run = hydraviper.load_run("run", expert="balance.safetensors")
    (tree,) = run.trees.trees
    wrong = hydraviper.Tree.from_json({**tree.to_json(), "action": [1 - a for a in tree.to_json()["action"]]})
    shutil.copytree("run", "worse")
    trees = hydraviper.load_trees("run")
    hydraviper.save_trees(type(trees)(**{**vars(trees), "trees": (wrong,)}), "worse/trees.json")
    arguments = ["refine", "worse", "--rollouts", "200", "--episodes", "20", "--workers", "1", "--out", "better"]
    refined = json.loads(answer(here, *arguments, "--json"))["refined"]
    assert refined["kept"]
    assert refined["unseen"]["after"]["mean"] > 2 * refined["unseen"]["before"]["mean"]


def test_compare_and_a_study_of_ones_own(here):
    table = answer(
        here, "compare", GAME, "--expert", "balance.safetensors", "--algorithms", "imitation", "--seeds", "2", *SMALL
    )
    assert "| imitation |" in table
    Path("mine.toml").write_text(
        f'title = "Mine"\nepisodes = 10\n[[game]]\ngame = "{GAME}"\nexpert = "balance.safetensors"\n'
        f'[[game]]\ngame = "{GAME},steps=50"\nexpert = {{short = "balance.safetensors"}}\n'
        '[[arm]]\nalgorithm = "imitation"\ntrain_budget = 4\n[[arm]]\nalgorithm = "hydraviper"\nname = "small"\n'
        "iterations = 2\ntrain_budget = 4\nvalid_budget = 4\ndepth = 2\nrefine_rollouts = 10\n"
    )
    study = ["study", "mine.toml", "--seeds", "1", "--workers", "1", "--json"]
    told = json.loads(answer(here, *study))
    assert told["cells"] == {"wanted": 4, "adopted": 0, "ran": 4, "missing": 0}
    assert [(row["game"], row["expert"], row["arm"]) for row in told["rows"]] == [
        (game, expert, arm)
        for game, expert in ((GAME, "balance.safetensors"), (f"{GAME},steps=50", "short"))
        for arm in ("imitation", "small")
    ]
    assert json.loads(answer(here, *study))["cells"]["ran"] == 0
    commands = [json.loads(path.read_text())["summary"]["command"] for path in Path("results/mine/cells").iterdir()]
    assert sorted("refine RUN --rollouts 10" in command for command in commands) == [False, False, True, True]
    assert all(" --expert balance.safetensors " in command for command in commands)  # not its name in the study
    assert "paper" not in Path("results/mine/report.md").read_text()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "names no game"),
        ("[[game]]\ngmae = 'x'", "unknown field `gmae`"),
        ("[[game]]\ngame = 'gymnasium:CartPole-v1'\n[[arm]]\nalgorithm = 'hydravipr'", "did you mean hydraviper?"),
        ("[[game]]\ngame = 'gymnasium:CartPole-v1'\n[[arm]]\nalgorithm = 'viper'\ndepth = 'x'", "Expected `int`"),
        (
            "[[game]]\ngame = 'gymnasium:CartPole-v1'\n[[arm]]\nalgorithm = 'viper'\ndepth = 0",
            "--depth must be at least 1",
        ),
        (
            "[[game]]\ngame = 'gymnasium:CartPole-v1'\n[[arm]]\nalgorithm = 'viper'\nbudget = 'tiny'",
            "the budget 'tiny'",
        ),
        (
            "[[game]]\ngame = 'gymnasium:CartPole-v1'\n[[arm]]\nalgorithm = 'viper'\nrefine = -4",
            "refine must be at least 0.001",
        ),
        (
            "[[game]]\ngame = 'gymnasium:CartPole-v1'\n[[arm]]\nalgorithm = 'viper'\nrefine_rollouts = 3",
            "refine_rollouts must be at least 10",
        ),
        (
            "[[game]]\ngame = 'gymnasium:CartPole-v1'\n[[arm]]\nalgorithm = 'viper'\nrefine = 1\nrefine_rollouts = 30",
            "write refine or refine_rollouts",
        ),
        ("[[game]]\ngame = 'gymnasium:CartPole-v1'\n" * 2, "twice"),
        (
            "[[game]]\ngame = 'gymnasium:CartPole-v1'\n" + "[[arm]]\nalgorithm = 'viper'\n" * 2,
            "two arms called 'viper'",
        ),
        ("reference = 'x'\n[[game]]\ngame = 'gymnasium:CartPole-v1'", "compares with 'x'"),
        ("[[game]]\ngame = 'gymnasium:CartPole-v1'\nexpert = 'nowhere.safetensors'", "there is no expert file"),
        ("[[game]", "is no TOML"),
    ],
)
def test_studies_that_are_none(call, text, sentence):
    Path("mine.toml").write_text(text)
    refuses(call, sentence, "study", "mine.toml", "--json")


@pytest.fixture
def own_code(call, monkeypatch):
    """A module in the working folder."""
    Path("own.py").write_text(OWN)
    monkeypatch.setattr("sys.path", sys.path.copy())
    yield
    sys.modules.pop("own", None)


@pytest.mark.usefixtures("own_code")
def test_code_that_only_a_file_names_is_not_run(call):
    game = hydraviper.make("python:own:Walk")
    settings = hydraviper.Settings(iterations=2, train_budget=4, valid_budget=4, rollouts_per_iteration=3)
    hydraviper.save_run(hydraviper.distill(game, Right(), settings), "run", episodes=10)
    refuses(call, "made by the code python:own:Walk, which nobody has named", "evaluate", "run", "--workers", "1")
    assert hydraviper.load_run("run", trust_path=True).game.agents == game.agents
    assert hydraviper.load_run("run").game.agents == game.agents  # remembered


@pytest.mark.parametrize(
    ("game", "sentence"),
    [
        ("gymnasium:Pendulum-v1", "continuous actions"),
        ("gymnasium:CartPoll-v1", "Gymnasium cannot make 'CartPoll-v1'"),
        ("python:own:Forgetful", "does not repeat itself"),
        ("python:own:nothing", "has no 'nothing'"),
        ("pettingzoo:mpe2.simple_tag_v3,distil=nobody", "has no agent 'nobody'"),
    ],
)
@pytest.mark.usefixtures("own_code")
def test_bad_games_are_refused_and_nothing_is_written(call, game, sentence):
    refuses(call, sentence, "distill", game, "--out", "run", "--json")


def test_a_run_that_was_killed_goes_on(here, monkeypatch):
    arguments = ["distill", GAME, "--expert", "balance.safetensors", *SMALL, "--json"]
    whole = json.loads(answer(here, *arguments, "--out", "whole"))
    played = 0

    plain = GymnasiumGame.step

    def step(self, actions):
        nonlocal played
        played += 1
        if played == 1500:
            raise MemoryError  # in place of a signal
        return plain(self, actions)

    monkeypatch.setattr(GymnasiumGame, "step", step)
    assert here(*arguments, "--out", "killed")[0] == 1
    assert not Path("killed/trees.json").exists()
    monkeypatch.setattr(GymnasiumGame, "step", plain)
    resumed = json.loads(answer(here, *arguments, "--out", "killed"))
    assert resumed["score"] == whole["score"]
    assert Path("killed/trees.json").read_bytes() == Path("whole/trees.json").read_bytes()
    assert np.isfinite(resumed["seconds"]["total"])
