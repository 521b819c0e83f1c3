"""A study's files when they are broken or not what they seem: one sentence, never a wrong or a raw answer."""

from __future__ import annotations

import json
import shutil
from copy import deepcopy
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from msgspec.structs import replace

import hydraviper
from hydraviper.data import InputError
from hydraviper.records import schema_of
from hydraviper.runs import distil as runs
from hydraviper.settings import Settings
from hydraviper.studies import cells, check, report, results, runner
from hydraviper.studies.adopting import adopt
from hydraviper.studies.catalogue import STUDIES
from hydraviper.studies.cells import Result
from hydraviper.studies.planning import Wanted, plan
from tests.helpers.command_line import TINY_STUDY, refuses

SETTINGS = Settings(iterations=2, train_budget=6, valid_budget=2, rollouts_per_iteration=2)
_UNREAD = tuple((name,) for name in ("selection", "yardsticks", "measures", "opponents", "over_time"))
WRONG = (None, True, -1, 0, 1.5, 1e308, 10**400, "", "x", [], {}, [[]], {"x": 1})


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A run folder of `distill`, as quick as can be."""
    folder = tmp_path_factory.mktemp("run") / "plain"
    game = hydraviper.make("cooperative-navigation")
    plan = runs.Plan(game, hydraviper.shipped_expert(game), hydraviper.VARIANTS["hydraviper"], SETTINGS)
    with runs.claimed(plan.recipe, folder):
        runs.execute(plan, folder, hydraviper.LocalEngine(lambda: game), episodes=20, command="distill")
    return folder


@pytest.fixture
def wanted(plain):
    """The cell that the run is, as if a study asked for it."""
    (cell, arm), *_ = plan(STUDIES["epsilon"], Wanted(1, ["cooperative-navigation"], ["0.3"]), {})
    settings = Settings.from_json(json.loads((plain / "settings.json").read_text())["settings"])
    return [(replace(cell, settings=settings, episodes=20), arm)]


def _with(name, **changed):
    document = json.loads(Path(name).read_text())
    Path(name).write_text(json.dumps({**document, **changed}))


def test_only_plain_runs_are_adopted(call, plain, wanted):
    """Trees that were edited, refined, repaired or constrained are not what the cell's settings make."""
    for name in ("plain", "edited", "refined", "noted", "constrained", "repaired"):
        shutil.copytree(plain, Path("runs") / name)
    edit = ["edit", "runs/edited", "--agent", "agent-0", "--node", "0", "--threshold", "5", "--episodes", "2"]
    assert call(*edit)[0] == 0
    made = json.loads(Path("runs/plain/trees.json").read_text())["made"]
    _with("runs/refined/trees.json", made={**made, "refined": [{}]})
    _with("runs/noted/settings.json", refined={})
    _with("runs/constrained/settings.json", constraints="[[property]]")
    _with("runs/repaired/trees.json", made={**made, "repair": {}})
    summary = json.loads(Path("runs/repaired/summary.json").read_text())
    Path("runs/repaired/summary.json").write_text(json.dumps({"score": summary["score"]}))  # as `repair` writes it

    found = adopt(Path("s"), wanted, Path("runs"))
    assert [one.score for one in found.results] == [summary["score"]["mean"]]
    assert set(found.left) == {
        "runs/constrained (constraints)",
        "runs/edited (edits)",
        "runs/noted (refined)",
        "runs/refined (refined)",
        "runs/repaired (repair)",
    }
    shutil.rmtree("runs/plain")
    assert adopt(Path("t"), wanted, Path("runs")).results == ()


def test_an_undone_edit_is_no_edit(call, plain, wanted):
    shutil.copytree(plain, "runs/one")
    edit = ["edit", "runs/one", "--agent", "agent-0", "--node", "0", "--threshold", "5", "--episodes", "2"]
    assert call(*edit)[0] == 0
    assert adopt(Path("s"), wanted, Path("runs")).results == ()
    assert call("edit", "runs/one", "--undo")[0] == 0
    assert len(adopt(Path("s"), wanted, Path("runs")).results) == 1


def test_a_study_says_which_runs_it_leaves_out(call, plain):
    shutil.copytree(plain, "runs/one")
    _with("runs/one/settings.json", constraints="")
    options = ["study", "epsilon", *TINY_STUDY, "--seeds", 1, "--no-run", "--out", "s", "--adopt", "runs"]
    code, printed, complaint = call(*options)
    assert code == 0
    assert json.loads(printed)["cells"]["adopted"] == 0
    assert "Not adopted" in complaint
    assert "runs/one (constraints)" in complaint


@pytest.mark.parametrize("name", ["settings.json", "summary.json", "trees.json"])
@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b"{}", b"[" * 100_000, b'{"game": 1, "score": 2}'])
def test_broken_runs_are_not_adopted(plain, wanted, tmp_path, name, content):
    shutil.copytree(plain, tmp_path / "runs/one")
    (tmp_path / "runs/one" / name).write_bytes(content)
    assert adopt(tmp_path / "s", wanted, tmp_path / "runs").results == ()


def _places(values, path=()):
    """Every place in a document; of a list, the first two entries stand for all."""
    entries = values.items() if isinstance(values, dict) else enumerate(values[:2]) if isinstance(values, list) else ()
    for key, value in entries:
        yield (*path, key)
        yield from _places(value, (*path, key))


def _broken(document):
    """The document with each of its places left out, or with a wrong value in it."""
    for path in (path for path in _places(document) if path[1:2] not in _UNREAD):
        for value in (..., *WRONG):
            copy = deepcopy(document)
            inside = copy
            for key in path[:-1]:
                inside = inside[key]
            if value is ...:
                del inside[path[-1]]
            else:
                inside[path[-1]] = value
            yield path, value, copy


@pytest.mark.slow
def test_broken_cells_are_sentences(whole, tmp_path, monkeypatch):
    """Whatever is wrong in a cell: either the report can be made of it or one sentence says what to remove."""
    shutil.copytree(whole, tmp_path / "s")
    results.archive(tmp_path / "s")
    lines = (tmp_path / "s/cells.jsonl").read_text().splitlines()[:3]
    monkeypatch.setattr(report, "_html_figures", lambda told: "")  # they are slow, and show what the tables have
    refused = told = 0
    for path, value, document in _broken(json.loads(lines[1])):
        (tmp_path / "s/cells.jsonl").write_text("\n".join([lines[0], json.dumps(document), lines[2]]))
        try:
            found = list(results.load(tmp_path / "s").values())
        except InputError as error:
            refused, sentence = refused + 1, str(error)
        else:
            sentence = None
        if sentence is not None:
            assert "remove line 2 of" in sentence, (path, value)
            assert len(sentence.splitlines()) == 1, (path, value)
            continue
        told += 1
        made = report.Report.of(STUDIES["epsilon"], found, 0.02)
        assert "nan" not in report.to_markdown(made), (path, value)
        report.to_csv(made)
        report.to_html(made)
        runner.Clock([], 1, found)
        check.sample(found, 2)
    assert refused > 300
    assert told > 50  # what nobody computes with may be anything


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b"NaN", b"1e999", b"{}", b"[" * 100_000, b"1" * 10_000])
def test_broken_files_are_refused(call, whole, content):
    shutil.copytree(whole, "s")
    cell = next(Path("s/cells").glob("*.json"))
    cell.write_bytes(content)
    refuses(call, "is not a result of this package", "study", "epsilon", *TINY_STUDY, "--no-run", "--out", "s")
    shutil.copytree(whole, "t")
    Path("t/study.json").write_bytes(content or b" ")
    refuses(call, "holds something that is not a study", "study", "epsilon", *TINY_STUDY, "--no-run", "--out", "t")


@pytest.mark.slow
def test_folders_in_place_of_files_are_refused(call, whole):
    for name in ("cells.jsonl", "cells/x.json"):
        shutil.copytree(whole, "s")
        (Path("s") / name).mkdir()
        refuses(call, f"s/{name} cannot be read", "study", "epsilon", *TINY_STUDY, "--no-run", "--out", "s")
        shutil.rmtree("s")


def test_the_published_schema_is_current_and_committed_cells_fit_it():
    schema = json.loads((resources.files("hydraviper") / "schema" / "cell.json").read_text())
    assert schema == schema_of(Result), "run python -m hydraviper.studies.cells"
    for archive in Path(__file__).parents[2].glob("results/*/cells.jsonl"):
        lines = archive.read_bytes().splitlines()
        jsonschema.validate(json.loads(lines[0]), schema)
        assert all(cells.decode(line).arm for line in lines)
