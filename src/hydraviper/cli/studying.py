"""`hydraviper study`: the paper's tables and figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from hydraviper.cli.application import app
from hydraviper.cli.common import CORES, AsJson, command_line, err, out, within
from hydraviper.data import InputError
from hydraviper.runs.folder import as_input_error
from hydraviper.settings import SAMPLE, SEEDS, STUDY_SCALE, WORKERS
from hydraviper.studies import catalogue, experts, report, results, runner, statistics, tables
from hydraviper.studies import check as checking
from hydraviper.studies.design import Arm, Cell, Study
from hydraviper.studies.results import Result
from hydraviper.studies.runner import Job, Wanted

PLACES = ("--out", "--adopt")  # folders of one machine, of no use to who reads a result elsewhere


@app.command()
def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(catalogue.STUDIES)}.")],
    games: Annotated[str | None, typer.Option(help="Games with commas between; default: all of the study.")] = None,
    seeds: Annotated[int, typer.Option(help="How many seeds each, from 0.", callback=within("--seeds", SEEDS))] = 10,
    algorithms: Annotated[str | None, typer.Option(help="Algorithms with commas between; default: all.")] = None,
    budget: Annotated[str | None, typer.Option(help="low, high or e.g. high/low, with commas between.")] = None,
    scale: Annotated[
        float,
        typer.Option(
            help="A quick look: this share of iterations, rollouts and episodes.",
            callback=within("--scale", STUDY_SCALE),
        ),
    ] = 1.0,
    expert: Annotated[
        list[str] | None, typer.Option(help="A file made by `train`, for its game; or a name (mplight): only that one.")
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            help="Cores: so many cells at once, or inside one cell where runtime is measured.",
            callback=within("--workers", WORKERS),
        ),
    ] = CORES,
    adopt: Annotated[
        list[Path] | None, typer.Option(help="Take matching results from a folder of runs or another study's.")
    ] = None,
    commit: Annotated[str | None, typer.Option(help="The commit that adopted runs were made from.")] = None,
    run: Annotated[bool, typer.Option(help="With --no-run: only adopt and report.")] = True,
    check: Annotated[bool, typer.Option("--check", help="Run some finished cells again and compare.")] = False,
    sample: Annotated[
        int | None,
        typer.Option(
            help="How many cells --check runs; default: 4.", show_default=False, callback=within("--sample", SAMPLE)
        ),
    ] = None,
    pack: Annotated[bool, typer.Option("--pack", help="Put the cells' results into one file, to be kept.")] = False,
    out_folder: Annotated[Path | None, typer.Option("--out", help="The study's folder; default: results/NAME.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a table or figure of the paper, with the published numbers beside; call again to continue."""
    chosen = catalogue.study_named(name)
    folder = out_folder or Path("results") / chosen.name
    with as_input_error(folder):
        results.check(chosen, folder)
    if sample is not None and not check:
        raise InputError("--sample says how many cells --check runs: add --check.")
    if commit and not adopt:
        raise InputError("--commit says what adopted runs were made from: add --adopt FOLDER.")
    for source in adopt or ():
        results.check_source(source)
    names, given = _experts(chosen, expert or ())
    wanted = Wanted(seeds, _names(games), _names(algorithms), _names(budget), scale, names or None)
    cells = runner.plan(chosen, wanted, given)
    if check:
        asked = {(cell.game, cell.expert, arm.key) for cell, arm in cells}  # of any scale and seed
        found = results.load(folder).values()
        finished = [result for result in found if (result.cell.game, result.cell.expert, result.arm) in asked]
        _check(chosen, finished, folder, given, 4 if sample is None else sample, workers, as_json)
        return
    measuring = runner.measuring(folder) if chosen.timed and run else nullcontext()
    with results.joined(chosen, folder) as alone, measuring:
        with results.writing(folder):
            adopted = sum(_adopt(folder, cells, source, commit) for source in adopt or ())
        try:
            ran = _run(chosen, cells, folder, given, workers, as_json) if run else 0
        finally:  # also a study that is stopped, or of which a cell failed, tells what it has
            with results.writing(folder):
                finished = results.load(folder)
                told = report.Report.of(chosen, list(finished.values()), scale)
                files = told.save(folder)
        missing = sum(cell.key not in finished for cell, _ in cells)
        if alone():
            if not missing:
                runner.clean(folder)
            if pack:
                results.pack(folder)
        else:
            words = "the last one writes the whole report" + (", and call again to pack" if pack else "")
            err.print(f"Other processes work on {folder}, too: {words}.", highlight=False, soft_wrap=True)
    asked = {(cell.game, cell.expert) for cell, _ in cells}  # what is printed; the files hold the whole folder
    own = [result for result in finished.values() if (result.cell.game, result.cell.expert) in asked]
    told = report.Report.of(chosen, own, scale)
    counts = {"wanted": len(cells), "adopted": adopted, "ran": ran, "missing": missing}
    if as_json:
        paths = [str(file) for file in files]
        print(json.dumps({"study": name, "cells": counts, **report.printed(told), "out": str(folder), "files": paths}))
    else:
        _print(told, counts, files)


def _adopt(folder: Path, cells: Sequence[tuple[Cell, Arm]], source: Path, commit: str | None) -> int:
    """Take matching results from a folder, and say which runs there were changed after they were distilled."""
    found = results.adopt(folder, cells, source, commit)
    if found.left:
        more = f" and {len(found.left) - 3} more" * (len(found.left) > 3)
        words = f"Not adopted, because their trees are not those of a plain run: {', '.join(found.left[:3])}{more}."
        err.print(words, highlight=False, soft_wrap=True)
    return len(found.results)


def _experts(study: Study, given: Sequence[str]) -> tuple[list[str], experts.Given]:
    """What --expert says: names of experts that the study knows, and files."""
    known = list(dict.fromkeys(name for own in study.experts.values() for name in own))
    names = [name for name in given if name in known]
    files = [Path(name) for name in given if name not in known]
    for file in files:
        if not file.suffix and not file.exists():
            raise InputError(
                f"{study.name} has no expert {str(file)!r}: choose among {', '.join(known)}, or pass a file."
            )
    return names, experts.read(files)


def _print(told: report.Report, counts: dict[str, int], files: Sequence[Path]) -> None:
    """A short table, the answers and where the rest is."""
    for (game, expert), rows in tables.by_game(told.rows).items():
        score = rows[0].first["score"]
        better = "lower" if score["lower_is_better"] else "higher"
        out.print(f"\n{game}, {expert} expert: {score['name']} ({better} is better)", highlight=False)
        shown = Table("", "rollouts", "score", "seeds", "seconds", "published")
        for row in rows:
            value = statistics.t_interval(list(row.scores.values()))
            spent = statistics.t_interval(list(row.seconds.values()))
            theirs = "" if row.published is None else f"{row.published.mean:.2f} ± {row.published.ci95:.2f}"
            name = row.arm.name if not row.arm.group else f"{row.arm.group} {row.arm.name}"
            half = "" if value.count < 2 else f" ± {value.half:.2f}"
            shown.add_row(name, row.budget, f"{value.mean:.2f}{half}", str(value.count), f"{spent.mean:.1f}", theirs)
        out.print(shown)
    for answer in told.answers:
        out.print(f"{answer.question} {answer.sentence}", highlight=False)
    words = ", ".join(f"{number} {word}" for word, number in counts.items())
    out.print(f"cells: {words}\nreport: {files[0]}, {files[1].name}, {files[2].name}", highlight=False, soft_wrap=True)


def _check(
    study: Study,
    finished: Sequence[Result],
    folder: Path,
    given: experts.Given,
    count: int,
    workers: int,
    as_json: bool,
) -> None:
    """Run a sample again; a score that differs is a failure."""
    chosen = checking.sample(finished, count)
    checked = []
    with _bar(f"{study.name} again", as_json) as show:
        for done, result in enumerate(chosen):
            show(done, len(chosen), None)
            checked.append(checking.again(result, given, workers))
    differing = [one.result.cell.name for one in checked if one.differs]
    sentence = f"{len(differing)} of {len(checked)} cells came out differently, first {', '.join(differing[:1])}."
    if as_json:
        told = {"study": study.name, "checked": [one.to_json() for one in checked], "out": str(folder)}
        print(json.dumps(told | ({"error": sentence, "exit_code": 1} if differing else {})))
    else:
        for one in checked:
            same = "the same" if not one.differs else f"DIFFERENT: {', '.join(one.differs)}"
            words = f"score {one.result.score} then, {one.score} now, {same}; {one.ratio:.2f} times the seconds"
            out.print(f"{one.result.cell.name}: {words}", highlight=False, soft_wrap=True)
    if differing:
        err.print(f"hydraviper: {sentence}", highlight=False, soft_wrap=True)  # a JobError would be a second object
        raise typer.Exit(1)


def _names(text: str | None) -> Sequence[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _run(
    study: Study, cells: Sequence[tuple[Cell, Arm]], folder: Path, given: experts.Given, workers: int, quiet: bool
) -> int:
    """Run what is missing; how many cells that were."""
    known = results.load(folder)
    at_once, inside = (1, workers) if study.timed else (workers, 1)
    jobs = [
        Job(cell, arm.key, folder.resolve(), given, command_line(PLACES), study.timed, inside, not study.timed)
        for cell, arm in cells
        if cell.key not in known
    ]
    with _bar(study.name, quiet) as show:
        return runner.run(jobs, min(at_once, len(jobs)), show, list(known.values()))


@contextmanager
def _bar(name: str, quiet: bool) -> Iterator[Callable[[int, int, float | None], None]]:
    """A bar on stderr with the time that is left; in a log, where bars do not show, a line per cell."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    hidden = quiet or not err.is_terminal
    with Progress(*columns, TextColumn("{task.fields[left]}"), console=err, transient=True, disable=hidden) as bar:
        task = bar.add_task(name, total=None, left="")

        def show(done: int, of: int, left: float | None) -> None:
            words = "" if left is None else f"about {_duration(left)} left"
            bar.update(task, completed=done, total=of, left=words)
            if hidden and not quiet:
                err.print(", ".join(filter(None, (f"{name}: {done} of {of} cells", words))), highlight=False)

        yield show


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    return f"{seconds:.0f} s" if seconds < 90 else f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
