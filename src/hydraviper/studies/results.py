"""Where a study's results are stored: a folder with a file per finished cell, written whole or not at all.

`cells/NAME.json` is one cell. `cells.jsonl` holds many of them, one a line, once they are archived (`--pack`).
"""

import fcntl
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from hydraviper.data import InputError
from hydraviper.engines import journal
from hydraviper.studies import cells
from hydraviper.studies.cells import Cell, Result
from hydraviper.trees.file import write_whole

FORMAT = "hydraviper-study-1"
ARCHIVE = "cells.jsonl"
LEFT_OUT = ("over_time",)
RUNNING = "running"  # a folder for what is only needed until no cell is missing


@contextmanager
def joined(study: str, folder: Path) -> Iterator[Callable[[], bool]]:
    """Work in a study's folder, or in a new or empty one, maybe beside other processes, on this machine or another.

    Gives a function to call when the work is done: whether all other processes have left.
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
                note.write(json.dumps({"format": FORMAT, "study": study}) + "\n")
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


def rollouts_kept(folder: Path) -> int:
    """How many rollouts all processes keep for the cells that are not finished, where rollouts are dear."""
    kept = 0
    for path in (folder / RUNNING).rglob("*.journal"):
        with suppress(FileNotFoundError):  # its cell has just been finished
            kept += journal.count(path)
    return kept


def clean(folder: Path) -> None:
    """Remove what was kept for cells that were under way."""
    shutil.rmtree(folder / RUNNING, ignore_errors=True)


def writing(folder: Path) -> AbstractContextManager[bool]:
    """The lock for files that belong to the study rather than to one cell."""
    return locked(folder / RUNNING / "writing.lock")


@contextmanager
def locked(path: Path, wait: bool = True) -> Iterator[bool]:
    """Hold a lock that the system frees when its holder dies; without `wait`, False where another process holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True


def check(study: str, folder: Path) -> None:
    """Refuse a folder that holds something other than this study."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: pass a folder with --out.")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    try:
        text = (folder / "study.json").read_bytes()
        # a process that was killed before it wrote leaves an empty file
        note = msgspec.json.decode(text, type=dict[str, str]) if text else {"format": FORMAT, "study": study}
        name = note["study"] if note["format"] == FORMAT else None
    except (OSError, msgspec.MsgspecError, ValueError, KeyError, RecursionError):
        name = None
    if name is None:
        raise InputError(f"{folder} holds something that is not a study: pass an empty or a new folder with --out.")
    if name != study:
        raise InputError(f"{folder} holds the study {name}, not {study}: pass another folder with --out.")


def load(folder: Path) -> dict[str, Result]:
    """All finished cells of a folder by their keys."""
    return {result.cell.key: result for result, _ in documents(folder)}


def documents(folder: Path) -> Iterator[tuple[Result, bytes]]:
    """All finished cells of a folder, each with the text that its file has."""
    archive = folder / ARCHIVE
    lines = _content(archive).splitlines() if archive.exists() else []
    sources = [(f"line {number} of {archive}", line) for number, line in enumerate(lines, 1)]
    sources += [(str(path), _content(path)) for path in sorted((folder / "cells").glob("*.json"))]
    for source, text in sources:
        try:
            yield cells.decode(text), text
        except InputError as error:
            raise InputError(
                f"{source} is not a result of this package ({error}): remove {source} to run that cell again."
            ) from None


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): remove it to run its cells again.") from None


def write(folder: Path, cell: Cell, document: Mapping[str, Any]) -> Result:
    """Add a finished cell, without what is large in its summary and read by no report."""
    summary = {name: value for name, value in document["summary"].items() if name not in LEFT_OUT}
    text = json.dumps({**document, "summary": summary})
    result = cells.decode(text.encode())
    write_whole(_file(folder, cell), text)
    return result


def is_written(folder: Path, cell: Cell) -> bool:
    """Whether a process has added a cell, unless it was archived since."""
    return _file(folder, cell).exists()


def _file(folder: Path, cell: Cell) -> Path:
    return folder / "cells" / f"{cell.name}.json"


def archive(folder: Path) -> int:
    """Put all cells into one file that is easy to keep; returns how many."""
    texts = {result.cell.key: (result.cell.name, text) for result, text in documents(folder)}
    lines = [msgspec.json.format(text, indent=0).decode() + "\n" for _, text in sorted(texts.values())]
    write_whole(folder / ARCHIVE, "".join(lines))
    for path in (folder / "cells").glob("*.json"):
        path.unlink()
    if (folder / "cells").is_dir() and not any((folder / "cells").iterdir()):
        (folder / "cells").rmdir()
    return len(lines)
