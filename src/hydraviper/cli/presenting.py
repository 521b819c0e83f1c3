"""`hydraviper studio` and `hydraviper runs`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from hydraviper.cli import options
from hydraviper.cli.application import app
from hydraviper.cli.common import out
from hydraviper.cli.options import number
from hydraviper.cli.printing import narrow
from hydraviper.data import InputError
from hydraviper.records import encode
from hydraviper.runs import trust
from hydraviper.runs.listing import is_run, list_runs
from hydraviper.settings import PORT

Folder = Annotated[Path, typer.Argument(metavar="[FOLDER]", help="A folder of runs.")]


@app.command()
def studio(
    folder: Folder = Path("runs"),
    port: Annotated[int, number("--port", PORT, "Where the page is, on this machine.")] = 8050,
    host: Annotated[
        str, typer.Option(help="Where it listens; beyond this machine, visitors need the token that it prints.")
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    copy: Annotated[
        Path | None, typer.Option("--export", metavar="DIR", help="Write a read-only copy as static files instead.")
    ] = None,
) -> None:
    """Open a web page to look at runs, question them, correct them and compare them."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder of runs: pass one, or make one by `hydraviper distill`.")
    if copy is not None:
        from hydraviper.studio.static import write_copy

        out.print(f"written: {len(write_copy(folder, copy))} pages; open {copy / 'index.html'}", soft_wrap=True)
        return
    from hydraviper.studio.server import serve

    serve(folder, port, browser, host, trust_path=trust.OPTION in sys.argv)


@app.command()
def runs(folder: Folder = Path("runs"), as_json: options.AsJson = False) -> None:
    """List the runs of a folder, finished or under way, with their scores."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder: pass one that holds runs.")
    if is_run(folder):
        raise InputError(
            f"{folder} is a run itself: pass the folder that it lies in, or use `hydraviper show {folder}`."
        )
    found = list_runs(folder)
    if as_json:
        print(encode({"runs": found}))
        return
    if not found:
        out.print(f"there are no runs in {folder}: `hydraviper distill GAME --out {folder / 'NAME'}` makes one.")
        return
    table = narrow("run", "state", "game", "algorithm", "depth", "score", "expert")
    for one in found:
        score = "" if one.score is None else f"{one.score.mean:.2f} ± {one.score.ci95:.2f}"
        expert, depth = "" if one.expert is None else f"{one.expert.mean:.2f}", "" if one.depth is None else one.depth
        table.add_row(one.name, one.problem or one.state, one.game, one.algorithm, str(depth), score, expert)
    out.print(table)
