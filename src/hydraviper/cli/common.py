"""What all commands share: their arguments, the consoles, progress, and how runs are opened."""

import os
import shlex
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from hydraviper.cli.terminal import console
from hydraviper.data import Progress
from hydraviper.runs import trust
from hydraviper.runs.run import Run, load_run
from hydraviper.settings import EPISODES, LEAVES, WORKERS, Range, check_seed

out, err = console(), console(stderr=True)
CORES = os.cpu_count() or 1
LINE_EVERY = 10.0  # seconds between lines about progress, where no bar can be drawn


def within(name: str, allowed: Range) -> Callable[[Any], Any]:
    """A callback that refuses an option's number outside its range, before any work is done."""

    def check(value: Any) -> Any:
        allowed.check(name, value)
        return value

    return check


GameName = Annotated[str, typer.Argument(metavar="GAME", help="A game by name, e.g. cooperative-navigation:agents=4.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, or a trees.json.")]
AgentName = Annotated[str | None, typer.Option("--agent", help="One agent's tree; default: all.")]
ExpertName = Annotated[
    str | None,
    typer.Option(
        "--expert",
        help="A file made by `train`, the name of one that ships (idqn, mplight, ...), or one from elsewhere: "
        "sb3:FILE.zip, torch:FILE, onnx:FILE, rllib:DIR, rollouts:FILE, python:MODULE:NAME, or AGENT=... for each.",
    ),
]
Values = Annotated[
    str | None,
    typer.Option(
        help="What an expert's actions are worth: fitted (by playing), policy (its log-probabilities) or none; "
        "default: what it says itself."
    ),
]
Workers = Annotated[
    int, typer.Option(help="Cores to use; the result does not depend on it.", callback=within("--workers", WORKERS))
]
Seed = Annotated[int, typer.Option(help="Names every random choice.", callback=check_seed)]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
Leaves = Annotated[int | None, typer.Option(help="The most leaves of a tree.", callback=within("--leaves", LEAVES))]
Episodes = Annotated[
    int | None,
    typer.Option(
        help="Unseen episodes to score on; default: what suits the game.", callback=within("--episodes", EPISODES)
    ),
]
FeatureChoice = Annotated[str, typer.Option(help="plain, or derived: distances, differences of distances or queues.")]


def open_run(path: Path, expert: str | None = None, workers: int = 1) -> Run:
    """Open a run; ask the user before opening a file that nobody but its trees.json names."""
    return load_run(path, expert=expert, workers=workers, ask=_ask, tell=tell, trust_code=trusted())


def trusted() -> bool:
    """Tell whether the user lets an expert's file run code."""
    return trust.CODE in sys.argv


def _ask(question: str) -> bool:
    if trust.OPTION in sys.argv:
        return True
    return sys.stdin.isatty() and sys.stderr.isatty() and typer.confirm(question, err=True)


def tell(sentence: str) -> None:
    """Print a note on stderr."""
    err.print(sentence, style="yellow")


def command_line(without: Collection[str] = ()) -> str:
    """The call as it was typed, without some options and their values."""
    words = iter(sys.argv[1:])
    kept = []
    for word in words:
        if word in without:
            next(words, None)
        elif word.partition("=")[0] not in without:
            kept.append(word)
    return shlex.join(["hydraviper", *kept])


@contextmanager
def progress_bar(as_json: bool) -> Iterator[Progress]:
    """Show progress on stderr: a bar per step on a terminal, in a log a line now and then."""
    if not err.is_terminal:
        yield _lines()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description:>12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Bar(*columns, console=err, transient=True, disable=as_json)
    tasks: dict[str, Any] = {}

    def show(step: str, done: int, of: int) -> None:
        bar.start()
        if step not in tasks:
            tasks[step] = bar.add_task(step, total=of)
        bar.update(tasks[step], completed=done)

    try:
        yield show
    finally:
        if tasks:
            bar.stop()


def _lines() -> Progress:
    """Progress that prints a line when a step begins, and then every ten seconds."""
    start = time.monotonic()
    last_step, last_line = "", start

    def show(step: str, done: int, of: int) -> None:
        nonlocal last_step, last_line
        now = time.monotonic()
        if step != last_step or now - last_line >= LINE_EVERY:
            last_step, last_line = step, now
            print(f"{step}: {done:,} of {of:,} after {now - start:.0f} s", file=sys.stderr, flush=True)

    return show
