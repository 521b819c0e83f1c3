"""Run folders: claimed before the work, never lost, whatever is killed, full, odd or not trusted."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pytest

import hydraviper
from hydraviper.records import Iteration
from hydraviper.refine import search
from hydraviper.runs import distil as runs
from hydraviper.runs import folder as folders
from hydraviper.runs import trust
from hydraviper.trees import file
from hydraviper.trees.file import load
from tests.helpers.command_line import QUICK, refuses, snapshot
from tests.helpers.experts import random_expert
from tests.helpers.trees import question_of

GAME = "cooperative-navigation"


@pytest.fixture(scope="module")
def made(tmp_path_factory, navigation):
    """A small run, made once."""
    folder = tmp_path_factory.mktemp("made") / "run"
    settings = hydraviper.Settings(iterations=3, train_budget=6, valid_budget=9)
    plan = runs.Plan(navigation, hydraviper.shipped_expert(navigation), hydraviper.VARIANTS["hydraviper"], settings)
    with runs.claimed(plan.recipe, folder):
        runs.execute(plan, folder, hydraviper.LocalEngine(lambda: navigation), episodes=20, command="distill")
    return folder


@pytest.fixture
def run(call, made):
    """A copy of it in the folder `run`."""
    shutil.copytree(made, "run")
    return Path("run")


# --------------------------------------------------------------------------- claiming


def test_two_at_once_never_get_the_same_folder(tmp_path):
    with folders.new_folder(None, tmp_path, "x-refined") as first:
        with folders.new_folder(None, tmp_path, "x-refined") as second:
            assert first != second
            (second / "trees.json").touch()
        with (
            pytest.raises(hydraviper.InputError, match="another process is writing"),
            folders.new_folder(first, tmp_path, ""),
        ):
            pass
    assert not first.exists()  # nothing came of it
    assert second.exists()


def test_refine_and_repair_hold_their_folder_from_the_start(call, run, monkeypatch):
    seen = []

    def look(*arguments, **named):
        seen.append(sorted(path.name for path in [*Path("runs").iterdir(), *Path().iterdir()] if path.is_dir()))
        raise hydraviper.InputError("enough.")

    monkeypatch.setattr(search, "refine", look)
    assert call("refine", run, "--rollouts", 100)[0] == 2
    monkeypatch.setattr("hydraviper.runs.repair.mend", look)
    monkeypatch.setattr("hydraviper.runs.repair.refuse_impossible", lambda *arguments: None)
    assert call("repair", run, "--episodes", 2)[0] == 2
    assert f"{GAME}-refined-1" in seen[0]
    assert "run-repaired-1" in seen[1]
    assert not Path(f"runs/{GAME}-refined-1").exists()
    assert not Path("run-repaired-1").exists()


@pytest.mark.parametrize("left", [["ledger.jsonl"], ["settings.json.part"], ["ledger.jsonl", "settings.json.part"]])
def test_a_folder_that_was_claimed_and_no_more_is_taken_up(call, left):
    Path("run").mkdir()
    for name in left:
        Path("run", name).write_text("" if name == "ledger.jsonl" else '{"game": {"na')
    assert call("distill", GAME, *QUICK, "--out", "run")[0] == 0
    assert len(Path("run/ledger.jsonl").read_text().splitlines()) == 3


def test_wrong_numbers_leave_no_folder(call):
    refuses(call, "--episodes must be at least 2", "distill", GAME, "--episodes", "1")
    assert not Path("runs").exists()


BAD = b"\xff-run".decode("utf-8", "surrogateescape")


@pytest.mark.slow
@pytest.mark.parametrize("out", ["file/x", "/proc/nowhere/x", "n" * 300, BAD])
@pytest.mark.parametrize("command", ["distill", "train", "critic", "refine", "repair", "compare", "edit"])
def test_a_bad_out_is_noticed_before_any_work(call, run, command, out, monkeypatch):
    def work(*arguments, **named):
        raise AssertionError("work was done")

    monkeypatch.setattr("hydraviper.engines.local.LocalEngine.play", work)
    monkeypatch.setattr("hydraviper.engines.local.LocalEngine.play_many", work)
    monkeypatch.setattr(search, "refine", work)
    monkeypatch.setattr("hydraviper.experts.algorithms.ALGORITHMS", {"maddpg": work})
    monkeypatch.setattr("hydraviper.runs.repair.refuse_impossible", lambda *arguments: None)
    Path("file").write_text("")
    node, _ = question_of(load(run))
    calls = {
        "edit": ["edit", run, "--agent", "agent-1", "--node", node, "--threshold", "0.5"],
        **{name: [name, GAME] for name in ("distill", "train", "critic", "compare")},
        **{name: [name, run] for name in ("refine", "repair")},
    }
    refuses(call, "pass another --out", *calls[command], "--out", out)


# --------------------------------------------------------------------------- edits are one step


@pytest.mark.slow
def test_an_edit_killed_at_any_point_has_happened_or_not(call, run, monkeypatch):
    """Every rename and removal of an edit is the last thing that its process does, in turn."""
    before = snapshot(run)
    node, _ = question_of(load(run))
    change = ["edit", run, "--agent", "agent-1", "--node", node, "--threshold", "0.5", "--episodes", "20"]
    assert call(*change)[0] == 0
    after = snapshot(run)
    assert call("edit", run, "--undo")[0] == 0
    assert snapshot(run) == before
    outcomes = set()
    for allowed in range(20):
        if not _killed_after(allowed, call, change):
            break
        node_is_new = load(run).edits != ()
        outcomes.add(node_is_new)
        if node_is_new:
            assert call("edit", run, "--undo")[0] == 0
        else:
            assert call("edit", run, "--undo")[0] == 2  # nothing to undo
        assert snapshot(run) == before, allowed
    assert outcomes == {True, False}
    assert snapshot(run) == after


def _killed_after(allowed: int, call, arguments) -> bool:
    """Run a command in a process of its own that is gone at its n-th change of a name; tells whether it was killed."""
    child = os.fork()
    if child == 0:
        count = 0

        def counted(original):
            def change(*names, **how):
                nonlocal count
                count += 1
                if count > allowed:
                    os._exit(9)
                return original(*names, **how)

            return change

        os.replace, os.unlink = counted(os.replace), counted(os.unlink)
        os._exit(call(*arguments)[0])
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_agreement_before_and_after_is_counted_on_the_same_data(call, run, navigation):
    node, _ = question_of(load(run))
    old = load(run).trees[1]
    code, printed, _ = call("edit", run, "--agent", "agent-1", "--node", node, "--threshold", "0.5", "--json")
    assert code == 0
    known = json.loads(printed)["agreement"]
    expert, new = hydraviper.shipped_expert(navigation), load(run)
    from hydraviper.seeding import Purpose, rollout_seeds

    students = new.students(navigation)
    played = hydraviper.play(
        navigation, hydraviper.Profile(expert, students), rollout_seeds(0, Purpose.EVALUATE, 0, 20), record=True
    )
    labels = expert.act(played.observations)[:, 1]
    for when, tree in (("before", old), ("after", new.trees[1])):
        assert known[when] == pytest.approx((tree.predict(played.observations[1]) == labels).mean())
    assert known["observations"] == len(labels)
    assert "of the same" in call("show", run)[1]


# --------------------------------------------------------------------------- where runs lie


@pytest.mark.slow
def test_latest_is_the_run_that_was_last_made_or_changed(call, run):
    assert call("distill", GAME, *QUICK, "--out", "mine")[0] == 0
    assert Path("runs/latest").resolve() == Path("mine").resolve()
    assert call("distill", GAME, *QUICK)[0] == 0
    assert Path("runs/latest").resolve().name == f"{GAME}-hydraviper-1"
    node, _ = question_of(load(run))
    change = ["--agent", "agent-1", "--node", node, "--threshold", "0.5", "--episodes", "20"]
    before = snapshot(run)
    assert call("edit", run, *change, "--out", "other")[0] == 0
    assert snapshot(run) == before  # --out leaves RUN as it is
    assert len(load("other").edits) == 1
    assert Path("runs/latest").resolve().name == "other"
    assert call("edit", run, *change)[0] == 0
    assert Path("runs/latest").resolve() == run.resolve()
    assert call("refine", "other", "--rollouts", 2000, "--episodes", 2)[0] == 0
    assert Path("runs/latest").resolve().name == f"{GAME}-refined-1"
    assert call("edit", "other", "--undo")[0] == 0
    assert Path("runs/latest").resolve().name == "other"


def test_latest_is_never_missing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        Path("runs", name).mkdir(parents=True)
    folders.point_to_latest(Path("runs/a"))
    replace = os.replace

    def look(source, target, **how):
        assert Path("runs/latest").exists()
        replace(source, target, **how)

    monkeypatch.setattr(os, "replace", look)
    folders.point_to_latest(Path("runs/b"))
    assert Path("runs/latest").resolve().name == "b"
    Path("runs/latest").unlink()
    Path("runs/latest").mkdir()
    folders.point_to_latest(Path("runs/a"))  # somebody's own folder of that name
    assert not Path("runs/latest").is_symlink()


# --------------------------------------------------------------------------- odd files


ODD = (None, True, -1, 10**30, float("nan"), "", "x", [], {}, [None], {"mean": "x"})


def odd_texts(name: str, text: str, draws: random.Random, count: int) -> list[str]:
    """Versions of a run's file that no run writes: torn, nested too deep, keys missing, values of other types."""
    made = [text[: len(text) // 2], text[:-9], "", "null", "[]", "{}", "[" * 100_000, '{"a":' * 50_000]
    for _ in range(count):
        lines = text.splitlines() if name == "ledger.jsonl" else [text]
        document = json.loads(lines[0])
        place = document
        while True:
            key = draws.choice(list(place) if isinstance(place, dict) else range(len(place)))
            if not isinstance(place[key], dict | list) or not place[key] or draws.random() < 0.3:
                break
            place = place[key]
        if draws.random() < 0.4:
            del place[key]
        else:
            place[key] = draws.choice(ODD)
        made.append("\n".join([json.dumps(document), *lines[1:]]))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trees.json", "summary.json", "settings.json", "ledger.jsonl"])
def test_odd_files_are_sentences(call, run, name):
    node, _ = question_of(load(run))
    change = ["--agent", "agent-1", "--node", node, "--episodes", 2, "--workers", 1]
    assert call("edit", run, *change, "--threshold", "0.5")[0] == 0
    shutil.copytree(run, "good")
    commands = [
        ["edit", run, *change, "--threshold", "0.7"],
        ["edit", run, "--undo"],
        ["evaluate", run, "--episodes", 2, "--workers", 1],
        ["show", run],
    ]
    draws = random.Random(name)
    for k, text in enumerate(odd_texts(name, Path("good", name).read_text(), draws, 12)):
        shutil.rmtree(run)
        shutil.copytree("good", run)
        Path(run, name).write_text(text)
        code, _, complaint = call(*commands[k % len(commands)])
        assert code in (0, 2), (text[:200], complaint)
        assert "Traceback" not in complaint


@pytest.mark.parametrize("agreement", [1, {}, {"before": "x", "after": 1, "observations": 1}])
def test_an_odd_agreement_of_an_edit_is_a_sentence(call, run, agreement):
    node, _ = question_of(load(run))
    assert call("edit", run, "--agent", "agent-1", "--node", node, "--threshold", "0.5", "--episodes", "2")[0] == 0
    document = json.loads(Path("run/trees.json").read_text())
    document["edits"][0]["agreement"] = agreement
    Path("run/trees.json").write_text(json.dumps(document))
    refuses(call, "at edits/0/agreement", "show", run)


def test_a_full_disk_is_named(tmp_path):
    path = tmp_path / "trees.json"
    Path(f"{path}.part").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as caught:
        file.write_whole(path, "x" * 100)
    assert caught.value.filename == str(path)
    full = tmp_path / "ledger.jsonl"
    full.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as caught:
        hydraviper.Ledger(full).write(Iteration(iteration=1))
    assert caught.value.filename == str(full)


# --------------------------------------------------------------------------- paths that a file names


@pytest.mark.slow
def test_a_path_from_a_file_is_opened_only_if_the_user_knows_it(call, run, monkeypatch):
    opened = []

    def make(file: str, steps: int = 125):
        opened.append(file)
        return hydraviper.make(GAME)

    monkeypatch.setitem(hydraviper.games.catalogue.MAKERS, "traffic", make)
    document = json.loads(Path("run/trees.json").read_text())
    network = Path("street.sumocfg").resolve()
    cut = ["edit", "--agent", "agent-1", "--node", 0, "--cut"]
    for name, parameters in (("traffic", {"file": str(network)}), (f"traffic:{network}", {})):
        document["game"] = {"name": name, "parameters": parameters}
        Path("foreign.json").write_text(json.dumps(document))
        for command, *options in (["evaluate"], ["refine", "--rollouts", 10], ["repair"], cut):
            refuses(call, "add --trust-path", command, "foreign.json", *options)
        assert call("verify", "foreign.json")[0] == 2
        assert "no pictures" in call("show", "foreign.json", "--agent", "agent-1", "--format", "svg")[2]
        assert opened == []
    arguments = "evaluate", "foreign.json", "--episodes", 2
    assert call(*arguments, "--trust-path")[0] == 0
    assert call(*arguments)[0] == 0  # known by now
    trust._list().unlink()
    assert call(*arguments)[0] == 2
    call("map", f"traffic:{network}")  # the user's own words
    assert call(*arguments)[0] == 0


# --------------------------------------------------------------------------- Python


def test_public_functions_take_plain_strings(tmp_path, navigation, run):
    path = str(tmp_path / "mine.safetensors")
    hydraviper.save_expert(random_expert(navigation), path)
    assert hydraviper.load_expert(path, navigation).observation_sizes == (18, 18, 18)
    trees = hydraviper.load_trees("run")
    hydraviper.save_trees(trees, "again.json")
    assert hydraviper.load_trees("again.json").to_json() == trees.to_json()
    hydraviper.Ledger("ledger.jsonl").write(Iteration(iteration=1))
    assert Path("ledger.jsonl").is_file()


def test_every_public_name_is_there():
    assert {name for names in hydraviper._HOMES.values() for name in names} == set(hydraviper.__all__)
    assert all(getattr(hydraviper, name) is not None for name in hydraviper.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = hydraviper.nonsense
