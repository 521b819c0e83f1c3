"""The command line around its commands: Ctrl-C, errors as JSON, a full output, no place for kernels, ranges."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from hydraviper.kernels import cache as kernel_cache
from hydraviper.settings import Range
from tests.helpers.command_line import refuses

GAME = "cooperative-navigation"
STOPPED_WHILE_IMPORTING = """
import sys

class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == "numba":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Stop())
sys.argv = ["hydraviper", "games"]
from hydraviper.cli import main
main()
"""


@pytest.mark.slow
def test_stopped_while_importing():
    done = subprocess.run([sys.executable, "-c", STOPPED_WHILE_IMPORTING], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "hydraviper: stopped.\n")


def test_stopped_while_working(call, monkeypatch):
    def stop(*arguments, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("hydraviper.runs.distil.execute", stop)
    assert call("distill", GAME, "--out", "run") == (130, "", "hydraviper: stopped.\n")


@pytest.mark.parametrize(
    "arguments", [["evaluate", "nowhere"], ["games", "--wings"], ["distill", GAME, "--depth", "0"]]
)
def test_an_error_is_an_object_with_json(call, arguments):
    code, printed, complaint = call(*arguments, "--json")
    assert code == 2
    assert json.loads(printed) == {"error": complaint.removeprefix("hydraviper: ").strip(), "exit_code": 2}


def test_a_failure_is_an_object_with_json(call, monkeypatch):
    def fail(*arguments, **named):
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr("hydraviper.runs.distil.execute", fail)
    code, printed, _ = call("distill", GAME, "--json", "--out", "run")
    assert code == 1
    assert "ZeroDivisionError: of ours" in json.loads(printed)["error"]


def test_a_full_output_is_told(call, monkeypatch):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr("sys.stdout", full)
        code, _, complaint = call("--version")
    assert code == 1
    assert "No space left on device: the output" in complaint


def test_kernels_find_a_place_of_their_own(monkeypatch, tmp_path):
    import numba

    for name in ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"):
        monkeypatch.setenv(name, "/proc/nowhere")
    monkeypatch.setattr(kernel_cache, "__file__", "/proc/nowhere/kernel_cache.py")
    monkeypatch.setattr(kernel_cache, "note", None)
    monkeypatch.setattr(numba.config, "CACHE_DIR", numba.config.CACHE_DIR)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kernel_cache.ensure()
    folder = tmp_path / f"hydraviper-kernels-{os.getuid()}"
    assert os.environ["NUMBA_CACHE_DIR"] == numba.config.CACHE_DIR == str(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert "kernels are compiled anew" in kernel_cache.note
    folder.chmod(0o777)  # anybody could have put code there
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/proc/nowhere")
    kernel_cache.ensure()
    assert os.environ["NUMBA_CACHE_DIR"] != str(folder)


BIG = "9" * 30


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sentence", "arguments"),
    [
        ("--episodes must be at most 1,000,000", ["distill", GAME, "--episodes", BIG]),
        ("--episodes must be at most 1,000,000", ["evaluate", "nowhere", "--episodes", BIG]),
        ("--episodes must be at most 1,000,000", ["edit", "nowhere", "--episodes", BIG]),
        ("--episodes must be at most 1,000,000", ["repair", "nowhere", "--episodes", BIG]),
        ("--episodes must be at most 100,000,000", ["train", GAME, "--episodes", BIG]),
        ("--episodes must be at least 1", ["train", GAME, "--episodes", "0"]),
        ("--workers must be at least 1", ["train", GAME, "--workers", "0"]),
        ("--workers must be at least 1", ["critic", GAME, "--workers", "0"]),
        ("--workers must be at most 1,024", ["distill", GAME, "--workers", BIG]),
        ("--iterations must be at most 10,000", ["distill", GAME, "--iterations", BIG]),
        ("--train-budget must be at most", ["compare", GAME, "--train-budget", BIG]),
        ("--valid-budget must be at most", ["distill", GAME, "--valid-budget", BIG]),
        ("--leaves must be at most", ["refine", "nowhere", "--leaves", BIG]),
        ("--depth must be at most 20", ["refine", "nowhere", "--depth", BIG]),
        ("--rollouts must be at most", ["refine", "nowhere", "--rollouts", BIG]),
        ("--rollouts must be at most", ["critic", GAME, "--rollouts", BIG]),
        ("--updates must be at least 1", ["critic", GAME, "--updates", "0"]),
        ("--teams must be at most 1,000", ["distill", GAME, "--teams", BIG]),
        ("--refine must be at most", ["distill", GAME, "--refine", "inf"]),
        ("--refine must be a number from 0 to 10,000,000, not nan", ["distill", GAME, "--refine", "nan"]),
        ("--ucb-scale must be at least 0", ["distill", GAME, "--ucb-scale", "-1"]),
        ("--drop-quantile must be at most 1", ["distill", GAME, "--drop-quantile", "2"]),
        ("--seeds must be at most 10,000", ["compare", GAME, "--seeds", BIG]),
        ("--seconds must be at least 0.001", ["verify", "nowhere", "--seconds", "0"]),
        ("--seconds must be at most 10,000,000, not inf", ["verify", "nowhere", "--seconds", "1e999"]),
        ("--seconds must be a number from 0.001", ["refine", "nowhere", "--seconds", "nan"]),
        ("--episodes must be at most 100,000", ["verify", "nowhere", "--episodes", BIG]),
        ("--depth must be at most 20", ["repair", "nowhere", "--depth", BIG]),
        ("--episode must be at most", ["explain", "nowhere", "--agent", "x", "--episode", BIG]),
        ("--step must be at least 0", ["explain", "nowhere", "--agent", "x", "--step", "-1"]),
        ("--seeds must be at most 10,000", ["study", "table1", "--seeds", BIG]),
        ("--workers must be at most 1,024", ["study", "table1", "--workers", BIG]),
        ("--scale must be a number from 0.001 to 1", ["study", "table1", "--scale", "nan"]),
        ("--sample must be at most", ["study", "table1", "--check", "--sample", BIG]),
        ("students are chosen by rollouts", ["distill", GAME, "--valid-budget", "0"]),
        ("--rollouts must be at least 10", ["critic", GAME, "--rollouts", "9"]),
        ("steps must be at most 10,000", ["distill", f"cologne-corridor:steps={BIG}"]),
        ("seconds_per_step must be at most 3,600", ["map", "cologne-corridor:seconds_per_step=99999"]),
        ("yellow must be at most 60", ["map", "resco:grid4x4,yellow=61,seconds_per_step=100"]),
        ("reach must be at most 10,000", ["map", f"ingolstadt-corridor:reach={BIG}"]),
        ("moving must be at most 1", ["map", "cologne-corridor:moving=2"]),
        ("agents must be at most 30", ["distill", f"{GAME}:agents=99999"]),
        ("agents must be at most 30", ["train", f"{GAME}:agents={BIG}"]),
        ("defenders must be at most 30", ["distill", "physical-deception:defenders=99999"]),
        ("horizon must be at most 10,000", ["train", f"{GAME}:horizon={BIG}"]),
    ],
)
def test_every_number_has_a_range(call, sentence, arguments):
    refuses(call, sentence, *arguments)


LONG, NOT_UTF8 = "n" * 300, b"\xff".decode("utf-8", "surrogateescape")
RUN_COMMANDS = (
    ["show"],
    ["evaluate", "--json"],
    ["edit"],
    ["refine", "--json"],
    ["repair"],
    ["verify", "--json"],
    ["explain", "--agent", "agent-0"],
    ["export", "--to", "c"],
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "run", ["nowhere", "empty", "binary", "half.json", "loop", LONG, f"{LONG}/trees.json", NOT_UTF8]
)
def test_a_run_that_is_none(call, run):
    Path("empty").mkdir()
    Path("binary").write_bytes(b"\xff\xfe")
    Path("half.json").write_text('{"format"')
    Path("loop").symlink_to("loop")
    for command, *options in RUN_COMMANDS:
        refuses(call, "", command, run, *options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sentence", "arguments"),
    [
        *(
            ("--depth must be a whole number", ["distill", GAME, "--depth", n])
            for n in ("nan", "1e999", "", "1.5", "x")
        ),
        ("--depth must be a whole number, not '999", ["distill", GAME, "--depth", "9" * 5000]),
        ("--scale must be a number, not 'x'", ["study", "table1", "--scale", "x"]),
        ("agents must be a whole number", ["train", f"{GAME}:agents=nan"]),
        ("agents has no value: write agents=VALUE", ["train", f"{GAME}:agents"]),
        ("agents is given twice", ["train", f"{GAME}:agents=3,agents=4"]),
        ("there is no file", ["map", "traffic:loop"]),
        ("there is no file", ["map", "traffic:~nobody-here/x"]),
        ("there is no file", ["map", "traffic:file"]),
        ("there is no file", ["map", f"traffic:{LONG}"]),
        ("'x' is not one of 'low', 'high'", ["distill", GAME, "--budget", "x"]),
        ("Choose from: c, python", ["export", "nowhere"]),
        ("Did you mean 'distill'", ["distil", GAME]),
        ("File name too long", ["distill", GAME, "--expert", LONG]),
        ("File name too long", ["study", "table1", "--adopt", LONG]),
        ("pass another --out", ["study", "table1", "--out", LONG]),
    ],
)
@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_wrong_calls_are_sentences(call, sentence, arguments, as_json):
    Path("loop").symlink_to("loop")
    if arguments[0] == "map" and as_json:
        sentence = "No such option"
    refuses(call, sentence, *arguments, *as_json)


def test_a_range_gives_its_reason():
    with pytest.raises(ValueError, match=r"--x must be at most 3, not 4: it is enough\."):
        Range(1, 3, "", "it is enough").check("--x", 4)


def test_one_agent_has_yardsticks():
    import numpy as np

    import hydraviper

    game = hydraviper.make(f"{GAME}:agents=1")
    for policy in game.offers.scoring.yardsticks.values():
        assert hydraviper.play(game, policy, np.arange(3, dtype=np.uint64)).returns.shape == (3, 1)
