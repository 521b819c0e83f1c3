"""Where a study's results live: a folder with a file per finished cell, written whole or not at all.

`cells/NAME.json` is one cell. `cells.jsonl` holds many of them, one a line, once they are packed to be kept.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import hydraviper.version
from hydraviper.data import InputError
from hydraviper.studies import reading
from hydraviper.studies.design import Arm, Cell, Study
from hydraviper.trees import file
from hydraviper.trees.file import write_whole
from hydraviper.variants import VARIANTS

FORMAT = "hydraviper-study-1"
PACKED = "cells.jsonl"
BUSY = 0.5  # load beyond a cell's own cores that tells of other work
RUNNING = "running"  # what is only needed until nothing is missing


@dataclass(frozen=True)
class Result:
    """A finished cell."""

    cell: Cell
    arm: str  # the key of its arm in the study
    summary: Mapping[str, Any]  # what `hydraviper distill --json` printed
    timing: Mapping[str, Any]  # alone: whether no other cell ran; workers; load; wall
    commit: str | None
    machine: Mapping[str, Any]
    command: str

    def to_json(self) -> dict[str, Any]:
        """The result file."""
        return {
            "cell": self.cell.to_json(),
            "arm": self.arm,
            "summary": dict(self.summary),
            "timing": dict(self.timing),
            "commit": self.commit,
            "machine": dict(self.machine),
            "command": self.command,
        }

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Result:
        """What `to_json` wrote; `reading.result` makes sure that it is whole."""
        cell = Cell.from_json(values["cell"])
        rest = {name: values[name] for name in ("arm", "summary", "timing", "commit", "machine", "command")}
        return Result(cell, **rest)

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.cell.settings.seed

    @property
    def quiet(self) -> bool:
        """Whether its seconds were measured without another cell or other work beside it."""
        load, workers = self.timing["load"], self.timing["workers"] or 1
        return bool(self.timing["alone"]) and load is not None and load <= workers + BUSY

    @property
    def score(self) -> float:
        """The trees' mean score."""
        return float(self.summary["score"]["mean"])


@contextmanager
def joined(study: Study, folder: Path) -> Iterator[Callable[[], bool]]:
    """Work in a study's folder, or in a new or empty one, maybe beside other processes, on this machine or another.

    Gives a question to be asked when the work is done: are all others gone?
    """
    check(study, folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        note = (folder / "study.json").open("a+", encoding="utf-8")
        fcntl.flock(note, fcntl.LOCK_SH)  # whoever holds it alone is done soon
    except OSError as error:
        raise InputError(f"{folder} cannot be used ({error.strerror}): pass another folder with --out.") from None

    def alone() -> bool:
        try:
            fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    with note:
        with writing(folder):
            if not (folder / "study.json").stat().st_size:
                note.write(json.dumps({"format": FORMAT, "study": study.name}) + "\n")
                note.flush()
        try:
            yield alone
        finally:
            if alone():
                _sweep(folder / RUNNING)


def _sweep(running: Path) -> None:
    """Remove locks that nobody holds, and their folder if nothing else is in it."""
    for lock in running.glob("*.lock"):
        lock.unlink()
    if running.is_dir() and not any(running.iterdir()):
        running.rmdir()


def writing(folder: Path) -> AbstractContextManager[bool]:
    """Held by whoever writes what is not one cell's own, so that two never write the same file."""
    return locked(folder / RUNNING / "writing.lock")


@contextmanager
def locked(path: Path, wait: bool = True) -> Iterator[bool]:
    """Hold a lock that the system frees when its holder dies; without `wait`, False where somebody else has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True


def check(study: Study, folder: Path) -> None:
    """Refuse a folder that holds something else."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: pass a folder with --out.")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    try:
        text = (folder / "study.json").read_bytes()
        noted = (
            reading.document(text) if text else {"format": FORMAT, "study": study.name}
        )  # killed before its first word
        name = noted["study"] if noted["format"] == FORMAT else None
    except (OSError, ValueError, KeyError, TypeError):
        name = None
    if name is None:
        raise InputError(f"{folder} holds something that is not a study: pass an empty or a new folder with --out.")
    if name != study.name:
        raise InputError(f"{folder} holds the study {name}, not {study.name}: pass another folder with --out.")


def load(folder: Path) -> dict[str, Result]:
    """All finished cells of a folder by their keys."""
    found: dict[str, Result] = {}
    packed = folder / PACKED
    lines = _content(packed).splitlines() if packed.exists() else []
    sources = [(f"line {number} of {packed}", line) for number, line in enumerate(lines, 1)]
    sources += [(str(path), _content(path)) for path in sorted((folder / "cells").glob("*.json"))]
    for place, text in sources:
        try:
            result = Result.from_json(reading.result(text))
        except InputError as error:
            raise InputError(
                f"{place} is not a result of this package ({str(error).rstrip('.')}): remove {place} to run that cell "
                "again."
            ) from None
        found[result.cell.key] = result
    return found


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): remove it to run its cells again.") from None


def write(folder: Path, result: Result) -> None:
    """Add a finished cell."""
    write_whole(_file(folder, result.cell), json.dumps(result.to_json()))


def is_written(folder: Path, cell: Cell) -> bool:
    """Whether somebody has added a cell, unless it was packed since."""
    return _file(folder, cell).exists()


def _file(folder: Path, cell: Cell) -> Path:
    return folder / "cells" / f"{cell.name}.json"


def pack(folder: Path) -> int:
    """Put all cells into one file that is easy to keep; returns how many."""
    found = sorted(load(folder).values(), key=lambda result: result.cell.name)
    write_whole(folder / PACKED, "".join(json.dumps(result.to_json()) + "\n" for result in found))
    for path in (folder / "cells").glob("*.json"):
        path.unlink()
    if (folder / "cells").is_dir() and not any((folder / "cells").iterdir()):
        (folder / "cells").rmdir()
    return len(found)


def check_source(source: Path) -> None:
    """Refuse to adopt from what is no folder."""
    if not source.is_dir():
        raise InputError(f"{source} is no folder: pass one with runs or with results of a study to --adopt.")


@dataclass(frozen=True)
class Adopted:
    """What was taken from elsewhere, and which runs there are not what their settings make, with the reason."""

    results: tuple[Result, ...]
    left: tuple[str, ...]


def adopt(folder: Path, wanted: Iterable[tuple[Cell, Arm]], source: Path, made_from: str | None = None) -> Adopted:
    """Take what is finished elsewhere: run folders, and results of other studies, whose cells match exactly.

    Run folders do not say which commit they were `made_from`; they are taken to be of this machine. Trees that were
    edited, refined, repaired or grown under constraints are others than a cell's settings make: they stay out.
    """
    offered, left = _offered(source, made_from)
    offers = {_as_run(result.cell): result for result in offered}
    taken = []
    for cell, arm in wanted:
        offer = offers.get(_as_run(cell))
        if offer is None:
            continue
        # what was typed may name files of one machine: the cell's own command makes the same trees
        summary = {**offer.summary, "out": None, "command": cell.command}
        result = Result(
            cell, arm.key, summary, offer.timing, offer.commit, offer.machine, offer.command or cell.command
        )
        write(folder, result)
        taken.append(result)
    return Adopted(tuple(taken), tuple(left))


def _as_run(cell: Cell) -> str:
    """What decides a run: all but the scale that its settings came from, and validation where nothing is chosen."""
    values = json.loads(cell.key)
    values.pop("scale")
    if VARIANTS[cell.algorithm].iterations == 1:
        values["settings"].pop("valid_budget")
    return json.dumps(values, sort_keys=True)


def _offered(source: Path, made_from: str | None) -> tuple[list[Result], list[str]]:
    """The results below a folder, and the runs that are none."""
    offered = list(load(source).values()) if (source / "study.json").is_file() else []
    left = []
    for noted in sorted(source.rglob("settings.json")):
        run = noted.parent
        if not (run / "trees.json").is_file():
            continue  # trees.json comes last: the run is not finished
        if changed := _changed(run):
            left.append(f"{run} ({changed})")
        elif result := _of_run(run, made_from):
            offered.append(result)
    return offered, left


def _changed(run: Path) -> str:
    """What was done to a run's trees beside distilling them; nothing for a plain run."""
    try:
        trees = file.load(run)
        noted = dict(reading.document((run / "settings.json").read_bytes()))
    except (OSError, ValueError, TypeError):
        return "it cannot be read"
    marks = [word for word in ("constraints", "refined", "repair") if word in trees.made or word in noted]
    return ", ".join([*marks, *["edits"] * bool(trees.edits)])


def _of_run(run: Path, made_from: str | None) -> Result | None:
    """A finished run folder as the result of the cell that it is; its scale is one."""
    try:
        noted = json.loads((run / "settings.json").read_text(encoding="utf-8"))
        summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
        values = {
            "cell": {
                "game": noted["game"],
                "algorithm": noted["algorithm"],
                "settings": noted["settings"],
                "expert": {"name": "a run's", "hash": noted["expert"]["hash"]},
                "episodes": summary["score"]["episodes"],
                "scale": 1.0,
                "refine": 0.0,
            },
            "arm": "",
            "summary": summary,
            "timing": {"alone": None, "workers": None, "load": None, "wall": summary["seconds"]["total"]},
            "commit": made_from,
            "machine": machine(),
            "command": "",
        }
        return Result.from_json(reading.result(json.dumps(values).encode()))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


@cache
def commit() -> str | None:
    """The commit that the package runs from, marked if there are changes beside it; None for an installed one."""
    here = Path(hydraviper.version.__file__).parent

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", "-C", str(here), *arguments], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", str(here))
        return git("rev-parse", "HEAD") + ("+changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


@cache
def machine() -> Mapping[str, Any]:
    """What the cells run on, without any name of it."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: _version(name) for name in ("numpy", "numba", "libsumo")},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
