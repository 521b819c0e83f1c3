"""Takes results from elsewhere: run folders of `distill`, and other studies, where their cells match exactly."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from hydraviper.studies import cells, provenance, results
from hydraviper.studies.cells import Cell, Result, Timing
from hydraviper.studies.design import Arm
from hydraviper.trees import file
from hydraviper.variants import VARIANTS


@dataclass(frozen=True)
class Adopted:
    """What was taken, and which runs were left, with the reason."""

    results: tuple[Result, ...]
    left: tuple[str, ...]


def adopt(folder: Path, wanted: Iterable[tuple[Cell, Arm]], source: Path, made_from: str | None = None) -> Adopted:
    """Copy finished results below a folder whose cells are wanted here.

    Run folders do not say which commit they were `made_from`; they are taken to be of this machine. Trees that were
    edited, refined, repaired or grown under constraints are not what a cell's settings make: those runs are left.
    """
    offers, left = _offers(source, made_from)
    taken = []
    for cell, arm in wanted:
        if (offer := offers.get(_as_run(cell))) is None:
            continue
        # what was typed may name files of one machine: the cell's own command makes the same trees
        summary = {**offer["summary"], "out": None, "command": cell.command()}
        changed = {"cell": cell.to_json(), "arm": arm.key, "summary": summary}
        taken.append(results.write(folder, cell, {**offer, **changed, "command": offer["command"] or cell.command()}))
    return Adopted(tuple(taken), tuple(left))


def _as_run(cell: Cell) -> str:
    """What decides a run: all but the scale that its settings came from, and validation where nothing is chosen."""
    values = json.loads(cell.key)
    values.pop("scale")
    if VARIANTS[cell.algorithm].iterations == 1:
        values["settings"].pop("valid_budget")
    return json.dumps(values, sort_keys=True)


def _offers(source: Path, made_from: str | None) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The documents of results below a folder by what decides a run, and the runs that are no results."""
    offers, left = {}, []
    if (source / "study.json").is_file():
        offers = {_as_run(result.cell): json.loads(text) for result, text in results.documents(source)}
    for note in sorted(source.rglob("settings.json")):
        run = note.parent
        if not (run / "trees.json").is_file():
            continue  # trees.json comes last: the run is not finished
        if changes := _changes(run):
            left.append(f"{run} ({changes})")
        else:
            offers |= _of_run(run, made_from)
    return offers, left


def _changes(run: Path) -> str:
    """What was done to a run's trees beside distilling them; nothing for a plain run."""
    try:
        trees = file.load(run)
        note = msgspec.json.decode((run / "settings.json").read_bytes(), type=dict[str, object])
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError):
        return "it cannot be read"
    marks = [word for word in ("constraints", "refined", "repair") if word in trees.made or word in note]
    return ", ".join([*marks, *["edits"] * bool(trees.edits)])


def _of_run(run: Path, made_from: str | None) -> dict[str, dict[str, Any]]:
    """A finished run folder as the result of the cell that it is, of scale 1; nothing if its files do not fit."""
    try:
        note = msgspec.json.decode((run / "settings.json").read_bytes())
        summary = msgspec.json.decode((run / "summary.json").read_bytes())
        values = {
            "cell": {
                "game": note["game"],
                "algorithm": note["algorithm"],
                "settings": note["settings"],
                "expert": {"name": "a run's", "hash": note["expert"]["hash"]},
                "episodes": summary["score"]["episodes"],
            },
            "arm": "",
            "summary": summary,
            "timing": msgspec.to_builtins(Timing(None, None, None, summary["seconds"]["total"])),
            "commit": made_from,
            "machine": msgspec.to_builtins(provenance.machine()),
            "command": "",
        }
        return {_as_run(cells.decode(json.dumps(values).encode()).cell): values}
    except (OSError, ValueError, KeyError, TypeError, msgspec.MsgspecError, RecursionError):
        return {}
