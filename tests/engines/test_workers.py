"""Worker processes: one that dies is replaced, none is left behind, and policies travel once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import hydraviper
from hydraviper.engines import pool, workers
from hydraviper.games.scripts import Staying
from tests.helpers.slow_world import Slow

pytestmark = pytest.mark.slow

SEEDS = np.arange(6, dtype=np.uint64)


class Fragile(Slow):
    """A world that takes its process down at one seed, as often as a file has room for."""

    def __init__(self, marks: Path, deaths: int, word: str = "die"):
        super().__init__("cooperative-navigation")
        self._marks, self._deaths, self._word = marks, deaths, word

    def reset(self, seeds):
        if seeds[0] == 3 and len(list(self._marks.iterdir())) < self._deaths:
            (self._marks / f"{time.time_ns()}").touch()
            if self._word == "refuse":
                raise hydraviper.InputError("this seed is not played here.")
            if self._word == "break":
                raise KeyError("broken")
            if self._word == "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            while self._word == "loop":
                pass
            os._exit(7)
        return self._game.reset(seeds)


@pytest.fixture
def marks(tmp_path):
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


def test_a_worker_that_dies_is_replaced_and_its_rollout_repeated(navigation, marks):
    whole = hydraviper.play(navigation, Staying(3), SEEDS, record=True)
    with hydraviper.LocalEngine(partial(Fragile, marks, 2), workers=2) as engine:
        played = engine.play(Staying(3), SEEDS, record=True)
        assert len(list(marks.iterdir())) == 2
        again = engine.play(Staying(3), SEEDS[:2], record=True)
    np.testing.assert_array_equal(played.returns, whole.returns)
    np.testing.assert_array_equal(played.observations[1], whole.observations[1])
    np.testing.assert_array_equal(again.returns, whole.returns[:2])
    assert multiprocessing.active_children() == []


def test_a_policy_travels_once_per_worker_and_an_idle_death_is_mended(monkeypatch, navigation, marks):
    sent = []

    def noted(piece, names, message=workers._message):
        sent.append(piece[0].digest not in names)
        return message(piece, names)

    monkeypatch.setattr(workers, "_message", noted)
    with hydraviper.LocalEngine(partial(Fragile, marks, 0), workers=2) as engine:
        engine.play(Staying(3), SEEDS)
        engine.play(Staying(3), SEEDS)  # the same content, another object
        assert len(sent) == 12
        assert sum(sent) == 2
        multiprocessing.active_children()[0].kill()
        time.sleep(0.2)
        played = engine.play(Staying(3), SEEDS)
    np.testing.assert_array_equal(played.returns, hydraviper.play(navigation, Staying(3), SEEDS).returns)


@pytest.mark.parametrize(
    ("word", "error", "sentence"),
    [
        ("die", hydraviper.JobError, r"died \(exit code 7\), 3 times at the same rollout \(seed 3\)"),
        ("refuse", hydraviper.InputError, "this seed is not played here"),
        ("break", RuntimeError, "KeyError in a worker"),
    ],
)
def test_what_cannot_be_played_leaves_nobody_behind(marks, word, error, sentence):
    engine = hydraviper.LocalEngine(partial(Fragile, marks, 99, word), workers=2)
    with pytest.raises(error, match=sentence):
        engine.play(Staying(3), SEEDS)
    assert multiprocessing.active_children() == []
    engine.close()


@pytest.mark.parametrize("word", ["stop", "loop"])
def test_a_worker_that_stands_still_is_replaced_and_its_rollout_repeated(navigation, marks, monkeypatch, word):
    monkeypatch.setenv(pool.STILL_SETTING, "4")
    whole = hydraviper.play(navigation, Staying(3), SEEDS, record=True)
    with hydraviper.LocalEngine(partial(Fragile, marks, 1, word), workers=2) as engine:
        played = engine.play(Staying(3), SEEDS, record=True)
    assert len(list(marks.iterdir())) == 1
    np.testing.assert_array_equal(played.returns, whole.returns)
    np.testing.assert_array_equal(played.observations[1], whole.observations[1])
    assert multiprocessing.active_children() == []


def test_a_rollout_that_always_stands_still_is_an_error_that_says_so(marks, monkeypatch):
    monkeypatch.setattr(workers, "ATTEMPTS", 1)
    monkeypatch.setenv(pool.STILL_SETTING, "4")
    engine = hydraviper.LocalEngine(partial(Fragile, marks, 99, "loop"), workers=2)
    with pytest.raises(hydraviper.JobError, match=r"took no step for 4 seconds.*seed 3.*HYDRAVIPER_STALL_SECONDS"):
        engine.play(Staying(3), SEEDS)
    assert multiprocessing.active_children() == []


def test_a_worker_that_was_stopped_between_two_calls_is_replaced(navigation, marks, monkeypatch):
    """Even though nothing larger than a pipe can be sent to it."""
    with hydraviper.LocalEngine(partial(Fragile, marks, 0), workers=2) as engine:
        engine.play(Staying(3), SEEDS)
        os.kill(multiprocessing.active_children()[0].pid, signal.SIGSTOP)
        monkeypatch.setenv(pool.STILL_SETTING, "4")
        played = engine.play(Large(3), SEEDS)
    np.testing.assert_array_equal(played.returns, hydraviper.play(navigation, Staying(3), SEEDS).returns)
    assert multiprocessing.active_children() == []


class Large(Staying):
    """A policy that is a megabyte when it travels."""

    def __reduce__(self):
        return _unpacked, (3, bytes(2**20))


def _unpacked(agents, _):
    return Staying(agents)


def test_how_long_a_worker_may_pause(monkeypatch):
    monkeypatch.delenv(pool.STILL_SETTING, raising=False)
    assert pool.stall_limit(0.01) == 120
    assert pool.stall_limit(30.0) == 3000  # slow but honest
    monkeypatch.setenv(pool.STILL_SETTING, "7.5")
    assert pool.stall_limit(30.0) == 7.5
    for word in ("0", "-1", "nan", "soon", "inf"):
        monkeypatch.setenv(pool.STILL_SETTING, word)
        with pytest.raises(hydraviper.InputError, match=f"not '{word}'"):
            pool.stall_limit(1.0)


PROGRAM = """
import numpy as np, sys, time
from functools import partial
from pathlib import Path
import hydraviper
from hydraviper.games.scripts import Staying
from tests.engines.test_workers import Endless
if __name__ == "__main__":
    with hydraviper.LocalEngine(Endless, workers=2) as engine:
        engine.play(Staying(3), np.arange(2, dtype=np.uint64))
        print("playing", flush=True)
        engine.play(Staying(3), np.arange(100, dtype=np.uint64))
"""


class Endless(Slow):
    """A world in which the later episodes take a minute."""

    def __init__(self):
        super().__init__("cooperative-navigation")

    def reset(self, seeds):
        time.sleep(60 if seeds[0] > 1 else 0)
        return self._game.reset(seeds)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="this system has no /proc to find the children in")
def test_ctrl_c_and_a_killed_parent_leave_nobody_behind(tmp_path, ending):
    path = tmp_path / "endless.py"
    path.write_text(PROGRAM)
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    # a shell that runs these tests in the background ignores Ctrl-C, and children inherit that
    heeding = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    parent = subprocess.Popen([sys.executable, str(path)], env=environment, **pipes, **heeding)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "playing\n"
    time.sleep(0.3)
    children = [int(child) for child in Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()]
    assert len(children) >= 2
    parent.send_signal(ending)
    parent.communicate(timeout=20)  # waits, and closes the pipe
    deadline = time.monotonic() + (5 if ending == signal.SIGINT else 1)
    while any(map(_runs, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = [child for child in children if _runs(child)]
    for child in left:
        os.kill(child, signal.SIGKILL)
    assert left == []


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
