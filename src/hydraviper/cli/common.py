"""What all commands share: the consoles, progress, and how runs are opened."""

import shlex
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from hydraviper.cli.terminal import console
from hydraviper.data import Progress
from hydraviper.runs import trust
from hydraviper.runs.run import Run, load_run

out, err = console(), console(stderr=True)
LINE_EVERY = 10.0  # seconds between lines about progress, where no bar can be drawn


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
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description:>12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Bar(*columns, console=err, transient=True, disable=as_json)
    tasks: dict[str, TaskID] = {}

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
    """Progress that prints a line when a step begins, and then every ten seconds, however many steps go on at once."""
    start = time.monotonic()
    begun, last_line = set[str](), start

    def show(step: str, done: int, of: int) -> None:
        nonlocal last_line
        now = time.monotonic()
        if step not in begun or now - last_line >= LINE_EVERY:
            begun.add(step)
            last_line = now
            print(f"{step}: {done:,} of {of:,} after {now - start:.0f} s", file=sys.stderr, flush=True)

    return show
