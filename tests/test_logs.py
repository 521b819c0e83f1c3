"""Logs of runs as CSV and for TensorBoard: what is there stays; a run that is resumed goes on behind its last row."""

from __future__ import annotations

import csv
import struct
from pathlib import Path

import pytest
from tensorboardX.proto.event_pb2 import Event, SessionLog
from tensorboardX.record_writer import masked_crc32c

import hydraviper
from hydraviper.experts import algorithms
from hydraviper.experts.dqn import DqnStatus
from hydraviper.experts.training import Training
from hydraviper.logs import flat

SMALL = ("--iterations", 4, "--train-budget", 20, "--valid-budget", 20, "--episodes", 20, "--workers", 1)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def events(folder: Path) -> list:
    """The events in a folder: records and checksums as tensorboardX makes them, messages as it reads them."""
    found = []
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        while data:
            (length,) = struct.unpack("<Q", data[:8])
            checks = [masked_crc32c(part) for part in (data[:8], data[12 : 12 + length])]
            assert [data[8:12], data[12 + length : 16 + length]] == [struct.pack("<I", check) for check in checks]
            found.append(Event.FromString(data[12 : 12 + length]))
            data = data[16 + length :]
    return found


def test_numbers_inside_get_both_names():
    assert flat({"a": 1, "b": {"x": 2.0, "y": None}, "c": (3, 4), "d": float("nan")}) == {
        "a": 1, "b/x": 2.0, "b/y": None, "c/0": 3, "c/1": 4, "d": None,
    }  # fmt: skip


def test_runs_share_a_file_and_go_on_where_they_were(tmp_path):
    path = tmp_path / "logs" / "all.csv"
    for run in ("one, two", "three"):
        log = hydraviper.open_log(path, run)
        for step in (1, 2):
            log.write(step, {"score": step / 2, "other": None})
    with path.open("a") as file:
        file.write("three,3,0.")  # the run was killed in the middle of a row
    again = hydraviper.open_log(path, "three", resumed=True)
    for step in (1, 2, 3, 4):
        again.write(step, {"score": step / 2, "other": None})
    found = rows(path)
    assert [(row["run"], row["step"]) for row in found] == [
        ("one, two", "1"), ("one, two", "2"), ("three", "1"), ("three", "2"), ("three", "3"), ("three", "4"),
    ]  # fmt: skip
    assert [row["score"] for row in found[2:]] == ["0.5", "1.0", "1.5", "2.0"]
    assert {row["other"] for row in found} == {""}
    with pytest.raises(hydraviper.InputError, match="already holds rows of three"):
        hydraviper.open_log(path, "three")
    with pytest.raises(hydraviper.InputError, match="other columns"):
        hydraviper.open_log(path, "four").write(1, {"another": 1})


@pytest.mark.parametrize("content", ["name,value\n1,2\n", "no log"])
def test_a_file_that_is_no_log_stays_as_it_is(tmp_path, content):
    path = tmp_path / "notes.csv"
    path.write_text(content)
    with pytest.raises(hydraviper.InputError, match="not a log"):
        hydraviper.open_log(path, "run")
    assert path.read_text() == content


def test_places_that_cannot_hold_a_log(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder.csv").mkdir()
    for target, words in (("file", "is a file"), ("file/log.csv", "cannot be used"), ("folder.csv", "is a folder")):
        with pytest.raises(hydraviper.InputError, match=words):
            hydraviper.open_log(tmp_path / target, "run")


def test_curves_for_tensorboard(tmp_path):
    log = hydraviper.open_log(tmp_path / "curves", "runs/one")
    log.write(1, {"accuracy": {"agent-0": 0.5}, "dropped": None})
    log.write(300, {"x" * 200: -2.5})
    folder = tmp_path / "curves" / "one"
    values = {(value.tag, event.step): value.simple_value for event in events(folder) for value in event.summary.value}
    assert values == {("accuracy/agent-0", 1): 0.5, ("x" * 200, 300): -2.5}
    with pytest.raises(hydraviper.InputError, match="already holds something"):
        hydraviper.open_log(tmp_path / "curves", "elsewhere/one")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    again = hydraviper.open_log(tmp_path / "curves", "runs/one", resumed=True)
    again.write(1, {"accuracy": {"agent-0": 0.75}})
    assert {path: path.read_bytes() for path in before} == before
    starts = [event for event in events(folder) if event.session_log.status == SessionLog.START]
    assert [event.step for event in starts] == [0, 0]  # TensorBoard hides what came before a start
    assert events(folder)[-1].summary.value[0].simple_value == 0.75


@pytest.mark.slow
def test_a_resumed_run_logs_every_iteration_once(call, monkeypatch, tmp_path):
    command = ("distill", "cooperative-navigation", *SMALL, "--log", "log.csv", "--out", "run")
    write = hydraviper.Ledger.write

    def killed(self, line):
        write(self, line)
        if line.iteration == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(hydraviper.Ledger, "write", killed)
    assert call(*command)[0] == 130
    assert [row["step"] for row in rows(tmp_path / "log.csv")] == ["1", "2"]
    monkeypatch.setattr(hydraviper.Ledger, "write", write)
    assert call(*command)[0] == 0
    found = rows(tmp_path / "log.csv")
    assert [(row["run"], row["step"]) for row in found] == [("run", str(k)) for k in (1, 2, 3, 4)]
    assert 0 < float(found[-1]["accuracy/agent-1"]) <= 1
    code, _, err = call("distill", "cooperative-navigation", *SMALL, "--log", "run/trees.json", "--out", "other")
    assert (code, "is a file" in err, (tmp_path / "other").exists()) == (2, True, False)


@pytest.mark.slow
def test_training_logs_its_curve(navigation, monkeypatch, tmp_path):
    expert = hydraviper.shipped_expert(navigation)
    curve = (DqnStatus(10, 1.5, 0.5, 0.1), DqnStatus(20, 2.5, 0.25, 0.1, 3.0, 4.0))

    def trained_at_once(game, changes, engine, told):
        for status in curve:
            told(status, 20)
        return Training(expert, curve, 3.0)

    monkeypatch.setitem(algorithms.ALGORITHMS, "idqn", trained_at_once)
    told = []
    hydraviper.train(
        navigation,
        algorithm="idqn",
        out=tmp_path / "expert.safetensors",
        log=tmp_path / "curve.csv",
        progress=lambda *step: told.append(step),
    )
    found = rows(tmp_path / "curve.csv")
    assert [(row["step"], row["training_score"], row["worst"]) for row in found] == [
        ("10", "1.5", ""),
        ("20", "2.5", "4.0"),
    ]
    assert told[:2] == [("episodes", 10, 20), ("episodes", 20, 20)]
    step, done, of = told[-1]
    assert (step, done) == ("evaluated", of)
