"""How far a run is: noted in its folder while it is under way, read by whoever follows it from another process."""

import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict

from hydraviper.data import InputError, Progress
from hydraviper.runs.folder import held
from hydraviper.runs.recipe import NOTE
from hydraviper.runs.run import read_ledger, read_recipe, read_summary
from hydraviper.trees import file

EVERY = 0.5  # seconds between two notes
FINISHED, RUNNING, STOPPED = "finished", "running", "stopped"


class Note(TypedDict, total=False):
    """What a run has noted of itself: its process, how far it is, and what its settings do not say."""

    pid: int
    began: float
    step: str
    done: int
    of: int
    episodes: int
    price: str


@contextmanager
def noted(folder: Path, progress: Progress, **facts: object) -> Iterator[Progress]:
    """Keep a note of how far a run is in its folder while it is under way; `facts` are what its settings do not say.

    A run that ends takes the note away; one that was killed leaves it.
    """
    start, last = time.time(), 0.0

    def write(step: str, done: int, of: int) -> None:
        known = {"pid": os.getpid(), "began": start, "step": step, "done": done, "of": of, **facts}
        with suppress(OSError):  # a full disk is found out by what matters more
            file.write_whole(folder / NOTE, json.dumps(known))

    def show(step: str, done: int, of: int) -> None:
        nonlocal last
        progress(step, done, of)
        if done == of or time.time() - last >= EVERY:
            last = time.time()
            write(step, done, of)

    write("begins", 0, 1)
    yield show
    (folder / NOTE).unlink(missing_ok=True)


@dataclass(frozen=True)
class Status:
    """How far a run is."""

    state: str  # finished, running or stopped
    step: str = ""  # what it does just now
    iteration: int = 0
    iterations: int = 0
    rollouts: int = 0
    scores: Sequence[float | None] = ()  # per iteration, of the episodes that it collected
    agreement: Sequence[float] = ()  # per iteration, with the expert: mean over the agents
    seconds: float = 0.0  # since it began, or as long as it took
    left: float | None = None  # seconds until the last iteration, by the pace so far


def status(folder: Path) -> Status:
    """How far the run in a folder is, whoever started it."""
    summary, lines, note = read_summary(folder), read_ledger(folder), read_note(folder)
    recipe = read_recipe(folder)
    total = int(recipe.settings.get("iterations") or 0) if recipe is not None else 0  # type: ignore[arg-type]
    agreement = [
        sum(shares) / len(shares)
        for line in lines
        if (shares := [share for share in line.accuracy.values() if share is not None])
    ]
    so_far = Status(
        STOPPED,
        iteration=len(lines),
        iterations=total or len(lines),
        rollouts=sum(line.rollouts for line in lines),
        scores=[line.score for line in lines],
        agreement=agreement,
    )
    if summary is not None and is_finished(folder):
        return replace(so_far, state=FINISHED, seconds=summary.seconds.get("total", 0.0))
    if not is_running(folder):
        return so_far
    seconds = max(0.0, time.time() - float(note.get("began", time.time())))
    spent = sum(sum(line.seconds.values()) for line in lines)
    left = spent / len(lines) * (total - len(lines)) if lines and total else None
    return replace(so_far, state=RUNNING, step=str(note.get("step", "")), seconds=seconds, left=left)


def is_running(folder: Path) -> bool:
    """Tell whether a process is making the run in a folder."""
    return _process(folder) is not None


def _process(folder: Path) -> int | None:
    """The number of the process that is making the run in a folder."""
    pid = read_note(folder).get("pid")
    if not isinstance(pid, int) or pid <= 0:  # 0 and less would be groups of processes
        return None
    try:
        os.kill(pid, 0)
        with held(folder):  # the process of that number may be another one, long after
            return None
    except InputError:
        return pid
    except OSError:
        return None


def is_finished(folder: Path) -> bool:
    """Tell whether a run has been made to its end."""
    return any((folder / name).is_file() for name in ("trees.json", "report.html"))


def read_note(folder: Path) -> Note:
    """What a run that is under way, or was stopped, has noted of itself; nothing if there is no note."""
    try:
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return Note(**note) if isinstance(note, dict) else {}


def stop(folder: Path) -> None:
    """Stop the run in a folder as Ctrl-C does; `again` and `start` go on with it."""
    pid = _process(folder)
    if pid is None:
        raise InputError(f"no process is making {folder.name}: there is nothing to stop.")
    os.kill(pid, signal.SIGINT)
