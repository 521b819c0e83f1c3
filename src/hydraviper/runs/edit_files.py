"""Write an edited run in one step, whenever the process is killed; complete an edit that was interrupted."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from hydraviper.data import InputError
from hydraviper.runs.folder import held
from hydraviper.runs.opening import EXPERT
from hydraviper.trees import file
from hydraviper.trees.file import TreesFile

PENDING = "edit.pending"  # what stands beside trees.json after an edit that is under way
BESIDE = ("summary.json", "report.html")
RUN_FILES = ("settings.json", "ledger.jsonl", EXPERT, *BESIDE, "trees.json")
LEFTOVERS = (*(f"{name}.part" for name in ("trees.json", *BESIDE, PENDING)), PENDING)  # of an edit that was killed


def home(run: Path) -> Path:
    """The run's folder, also where its trees.json was named; a trees.json by itself has none."""
    is_inside = run.name == "trees.json" and (run.parent / "summary.json").is_file()
    return run.parent if run.is_file() and is_inside else run


def save(run: Path, old: TreesFile, new: TreesFile, beside: Mapping[str, str]) -> Path | None:
    """Write the trees, and summary.json and report.html if they are given; returns the report's path.

    The edit happens when trees.json gets its new content, in one step. What stands beside it is noted before, so that
    `finish` completes an edit that was interrupted just then.
    """
    path = run / "trees.json" if run.is_dir() else run
    text = json.dumps(new.to_json(), indent=1)
    with held(path.parent):
        if file.load(path).to_json() != old.to_json():
            raise InputError(f"{path} was changed by something else meanwhile: nothing was written, repeat the edit.")
        if beside:
            file.write_whole(run / PENDING, json.dumps({"trees": digest(text), "files": dict(beside)}))
        file.write_whole(path, text)
        if beside:
            _complete(run)
    return run / "report.html" if beside else None


def copy(run: Path, folder: Path) -> None:
    """Copy a run to a new folder, so that the edit leaves the run as it is."""
    sources = {"trees.json": run} if run.is_file() else {name: run / name for name in RUN_FILES}
    for name, source in sources.items():
        if source.is_file():
            file.write_whole(folder / name, source.read_bytes())


def finish(run: Path) -> None:
    """Complete an edit that was killed after it wrote its trees; drop one that was killed before."""
    if run.is_dir() and any((run / name).exists() for name in LEFTOVERS):
        with held(run):
            _complete(run)


def _complete(run: Path) -> None:
    try:
        noted = json.loads((run / PENDING).read_text(encoding="utf-8"))
        if noted["trees"] == digest((run / "trees.json").read_text(encoding="utf-8")):
            for name in BESIDE:
                file.write_whole(run / name, str(noted["files"][name]))
    except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
        pass  # nothing under way, or nothing that an edit left
    for name in LEFTOVERS:
        (run / name).unlink(missing_ok=True)


def digest(text: str) -> str:
    """A hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()
