"""`hydraviper study`: the paper's tables and figures."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Annotated

import msgspec
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from hydraviper.cli import options
from hydraviper.cli.application import app
from hydraviper.cli.common import command_line, err, out
from hydraviper.cli.options import number
from hydraviper.data import InputError
from hydraviper.runs.folder import as_input_error
from hydraviper.runs.opening import play_on
from hydraviper.settings import SAMPLE, SEEDS, STUDY_SCALE, WORKERS
from hydraviper.studies import catalogue, expert_files, own, results
from hydraviper.studies.check import Checked, recheck
from hydraviper.studies.conduct import Call, Outcome, conduct
from hydraviper.studies.planning import Wanted, plan
from hydraviper.studies.rows import by_game
from hydraviper.studies.tables import told

LOOK, LINE = 2.0, 60.0  # seconds between two looks at cells under way: for a bar, for a line in a log
PLACES = ("--out", "--adopt", "--figures")  # folders of one machine, of no use to who reads a result elsewhere


Name = Annotated[
    str, typer.Argument(metavar="NAME", help=f"One of {', '.join(catalogue.STUDIES)}; or FILE.toml, one of your own.")
]
Games = Annotated[str | None, typer.Option(help="Games with commas between; default: all of the study.")]
Seeds = Annotated[int, number("--seeds", SEEDS, "How many seeds each, from 0.")]
Algorithms = Annotated[str | None, typer.Option(help="Algorithms with commas between; default: all.")]
Budgets = Annotated[str | None, typer.Option(help="low, high or e.g. high/low, with commas between.")]
Scale = Annotated[
    float, number("--scale", STUDY_SCALE, "A quick look: this share of iterations, rollouts and episodes.")
]
Experts = Annotated[
    list[str] | None, typer.Option(help="A file made by `train`, for its game; or a name (mplight): only that one.")
]
Cores = Annotated[
    int, number("--workers", WORKERS, "Cores: so many cells at once, or inside one cell where runtime is measured.")
]
Adopt = Annotated[
    list[Path] | None, typer.Option(help="Take matching results from a folder of runs or another study's.")
]
Commit = Annotated[str | None, typer.Option(help="The commit that adopted runs were made from.")]
Run = Annotated[bool, typer.Option(help="With --no-run: only adopt and report.")]
Check = Annotated[bool, typer.Option("--check", help="Run some finished cells again and compare.")]
Sample = Annotated[
    int | None, number("--sample", SAMPLE, "How many cells --check runs; default: 4.", show_default=False)
]
Pack = Annotated[bool, typer.Option("--pack", help="Put the cells' results into one file, to be kept.")]
Out = Annotated[Path | None, typer.Option("--out", help="The study's folder; default: results/NAME.")]
Figures = Annotated[Path | None, typer.Option(help="Also write every figure as PDF and SVG into this folder.")]


@app.command()
def study(
    name: Name,
    games: Games = None,
    seeds: Seeds = 10,
    algorithms: Algorithms = None,
    budget: Budgets = None,
    scale: Scale = 1.0,
    expert: Experts = None,
    engine: options.EngineName = "local",
    address: options.Address = None,
    workers: Cores = options.CORES,
    adopt: Adopt = None,
    commit: Commit = None,
    run: Run = True,
    check: Check = False,
    sample: Sample = None,
    pack: Pack = False,
    out_folder: Out = None,
    figures: Figures = None,
    as_json: options.AsJson = False,
) -> None:
    """Make a table or figure of the paper, with the published numbers beside; call again to continue."""
    play_on(engine, address)
    chosen, own_experts = own.read(Path(name)) if own.is_file(name) else (catalogue.study_named(name), {})
    folder = out_folder or Path("results") / chosen.name
    with as_input_error(folder):
        results.check(chosen.name, folder)
    if sample is not None and not check:
        raise InputError("--sample says how many cells --check runs: add --check.")
    if commit and not adopt:
        raise InputError("--commit says what adopted runs were made from: add --adopt FOLDER.")
    for source in adopt or ():
        if not source.is_dir():
            raise InputError(f"{source} is no folder: pass one with runs or with results of a study to --adopt.")
    names, files = expert_files.chosen(chosen, expert or ())
    wanted = Wanted(seeds, _names(games), _names(algorithms), _names(budget), scale, names or None)
    cells, files = plan(chosen, wanted, files, own_experts), {**own_experts, **files}
    call = Call(chosen, folder, cells, files, workers, scale)
    if check:
        _check(call, 4 if sample is None else sample, as_json)
    else:
        more = {"adopt": adopt or (), "commit": commit, "run": run, "pack": pack, "figures": figures}
        _conduct(replace(call, command=command_line(PLACES), **more), as_json)


def _conduct(call: Call, as_json: bool) -> None:
    with _bar(call.study.name, call.folder, as_json) as show:
        outcome = conduct(call, show)
    _warn(outcome, call)
    if not as_json:
        _print(outcome)
        return
    told = {"study": call.study.name, "cells": outcome.counts, **outcome.report.to_json(), "out": str(call.folder)}
    print(json.dumps({**told, "files": [str(file) for file in outcome.files]}))


def _check(call: Call, count: int, as_json: bool) -> None:
    asked = [(cell.game.key, cell.expert.name, arm.key) for cell, arm in call.cells]  # of any scale and seed
    with _bar(f"{call.study.name} again", call.folder, as_json) as show:
        checked = recheck(call.folder, asked, count, call.files, call.workers, show)
    _print_checked(call.study.name, checked, call.folder, as_json)


def _names(text: str | None) -> Sequence[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _warn(outcome: Outcome, call: Call) -> None:
    """Say which runs were not adopted, and who else works in the folder."""
    if left := outcome.left:
        more = f" and {len(left) - 3} more" * (len(left) > 3)
        words = f"Not adopted, because their trees are not those of a plain run: {', '.join(left[:3])}{more}."
        err.print(words, soft_wrap=True)
    if outcome.shared:
        words = "the last one writes the whole report" + (", and call again to pack" if call.pack else "")
        err.print(f"Other processes work on {call.folder}, too: {words}.", soft_wrap=True)


def _print(outcome: Outcome) -> None:
    """A short table, the answers and where the rest is."""
    report, files = outcome.report, outcome.files
    for (game, expert), rows in by_game(report.rows).items():
        out.print(f"\n{game}, {expert} expert: {rows[0].score_name}")
        measure = [other.measure for row in rows[:1] if (other := row.as_published)]
        shown = Table("", "rollouts", "score", "seeds", "seconds", *measure, "published")
        for row in rows:
            beside = row.as_published
            values = [row.name, row.budget, f"{row.score}", str(row.score.count), f"{row.spent().mean:.1f}"]
            values += [told(beside.score if beside else None)] * len(measure)
            shown.add_row(*values, told((beside or row).published))
        out.print(shown)
    for finding in report.findings:
        out.print(f"{finding.question} {finding.sentence}")
    words = ", ".join(f"{number} {word}" for word, number in outcome.counts.items())
    names = ", ".join([str(files[0]), *(file.name for file in files[1:])])
    out.print(f"cells: {words}\nreport: {names}", soft_wrap=True)


def _print_checked(name: str, checked: Sequence[Checked], folder: Path, as_json: bool) -> None:
    """What came out; a score that differs is a failure."""
    differing = [one.cell for one in checked if not one.same]
    sentence = f"{len(differing)} of {len(checked)} cells came out differently, first {', '.join(differing[:1])}."
    if as_json:
        told = {"study": name, "checked": msgspec.to_builtins(checked), "out": str(folder)}
        print(json.dumps(told | ({"error": sentence, "exit_code": 1} if differing else {})))
    else:
        for one in checked:
            same = "the same" if one.same else f"DIFFERENT: {', '.join(one.differs)}"
            seconds = f"{one.seconds_ratio:.2f} times the seconds"
            words = f"score {one.score.then} then, {one.score.now} now, {same}; {seconds}"
            out.print(f"{one.cell}: {words}", soft_wrap=True)
    if differing:
        err.print(f"hydraviper: {sentence}", soft_wrap=True)  # a JobError would be a second object
        raise typer.Exit(1)


@contextmanager
def _bar(name: str, folder: Path, quiet: bool) -> Iterator[Callable[[int, int, float | None], None]]:
    """A bar on stderr with the time that is left; in a log, where bars do not show, a line per cell.

    Cells that take long show the rollouts that are played meanwhile, by whatever process.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    hidden = quiet or not err.is_terminal
    over = Event()
    with Progress(*columns, TextColumn("{task.fields[words]}"), console=err, transient=True, disable=hidden) as bar:
        task = bar.add_task(name, total=None, words="")
        left = ""

        def show(done: int, of: int, seconds: float | None) -> None:
            nonlocal left
            left = "" if seconds is None else f"about {_duration(seconds)} left"
            bar.update(task, completed=done, total=of, words=left)
            if hidden and not quiet:
                err.print(", ".join(filter(None, (f"{name}: {done} of {of} cells", left))))

        def look() -> None:
            before = 0
            while not over.wait(LINE if hidden else LOOK):
                if (kept := results.rollouts_kept(folder)) > before:
                    words = f"{kept:,} rollouts so far"
                    bar.update(task, words=", ".join(filter(None, (words, left))))
                    if hidden:
                        err.print(f"{name}: {words}")
                before = kept

        looking = Thread(target=look, daemon=True)
        if not quiet:
            looking.start()
        try:
            yield show
        finally:
            over.set()


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    return f"{seconds:.0f} s" if seconds < 90 else f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
