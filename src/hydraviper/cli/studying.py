"""`hydraviper study`: the paper's tables and figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from hydraviper.cli.common import CORES, AsJson, app, command_line, err, out
from hydraviper.data import InputError
from hydraviper.studies import catalogue, experts, results, runner
from hydraviper.studies.design import Arm, Cell, Study, check_scale
from hydraviper.studies.runner import Job, Wanted


@app.command()
def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(catalogue.STUDIES)}.")],
    games: Annotated[str | None, typer.Option(help="Games with commas between; default: all of the study.")] = None,
    seeds: Annotated[int, typer.Option(help="How many seeds each, from 0.")] = 10,
    algorithms: Annotated[str | None, typer.Option(help="Algorithms with commas between; default: all.")] = None,
    budget: Annotated[str | None, typer.Option(help="low, high or e.g. high/low, with commas between.")] = None,
    scale: Annotated[float, typer.Option(help="A quick look: this share of iterations, rollouts and episodes.")] = 1.0,
    expert: Annotated[
        list[Path] | None, typer.Option(help="An expert made by `train`, for its game; default: those that ship.")
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Cores: so many cells at once, or inside one cell where runtime is measured.")
    ] = CORES,
    adopt: Annotated[
        list[Path] | None, typer.Option(help="Take matching results from a folder of runs or another study's.")
    ] = None,
    commit: Annotated[str | None, typer.Option(help="The commit that adopted runs were made from.")] = None,
    run: Annotated[bool, typer.Option(help="With --no-run: only adopt and report.")] = True,
    check: Annotated[int, typer.Option(help="Run so many finished cells again and compare, change nothing.")] = 0,
    pack: Annotated[bool, typer.Option("--pack", help="Put the cells' results into one file, to be kept.")] = False,
    out_folder: Annotated[Path | None, typer.Option("--out", help="The study's folder; default: results/NAME.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a table or figure of the paper, with the published numbers beside; call again to continue."""
    chosen = catalogue.study_named(name)
    if seeds < 1:
        raise InputError(f"--seeds must be at least 1, not {seeds}.")
    if workers < 1:
        raise InputError(f"--workers must be at least 1, not {workers}.")
    check_scale(scale)
    folder = out_folder or Path("results") / chosen.name
    results.check(chosen, folder)
    given = experts.read(expert or ())
    cells = runner.plan(chosen, Wanted(seeds, _names(games), _names(algorithms), _names(budget), scale), given)
    with results.claimed(chosen, folder):
        runner.clean(folder)
        for source in adopt or ():
            results.adopt(folder, cells, source, commit)
        if run:
            _run(chosen, cells, folder, given, workers, as_json)
        if pack:
            results.pack(folder)
    print(json.dumps({"out": str(folder)})) if as_json else out.print(str(folder))


def _names(text: str | None) -> Sequence[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _run(
    study: Study, cells: Sequence[tuple[Cell, Arm]], folder: Path, given: experts.Given, workers: int, quiet: bool
) -> int:
    """Run what is missing; how many cells that were."""
    known = results.load(folder)
    at_once, inside = (1, workers) if study.timed else (workers, 1)
    jobs = [
        Job(cell, arm.key, folder.resolve(), given, command_line(), at_once == 1, inside)
        for cell, arm in cells
        if cell.key not in known
    ]
    with _bar(study.name, quiet) as show:
        runner.run(jobs, min(at_once, max(1, len(jobs))), show, list(known.values()))
    return len(jobs)


@contextmanager
def _bar(name: str, quiet: bool) -> Iterator[Callable[[int, int, float | None], None]]:
    """A bar on stderr with the time that is left."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.fields[left]}"), console=err, transient=True, disable=quiet) as bar:
        task = bar.add_task(name, total=None, left="")

        def show(done: int, of: int, left: float | None) -> None:
            bar.update(task, completed=done, total=of, left="" if left is None else f"about {_duration(left)} left")

        yield show


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    return f"{seconds:.0f} s" if seconds < 90 else f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
