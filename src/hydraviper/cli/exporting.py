"""`hydraviper export`."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hydraviper.cli import options
from hydraviper.cli.application import app
from hydraviper.cli.common import open_run, out, tell
from hydraviper.cli.terminal import print_document
from hydraviper.data import InputError
from hydraviper.export import FORMATS
from hydraviper.runs import export as exporting
from hydraviper.version import __version__

Target = StrEnum("Target", list(FORMATS))


@app.command()
def export(
    run: options.RunPath,
    to: Annotated[
        Target,  # pyright: ignore[reportInvalidTypeForm] (the names are those of a table)
        typer.Option(help="Code (c, python, st: Structured Text), a model or a drawing."),
    ],
    agent: options.AgentName = None,
    out_path: Annotated[
        Path | None,
        typer.Option("--out", help="A file, or a folder for trees.c, trees.py, ...; default: the terminal."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over files that are there.")] = False,
    trees_only: Annotated[
        bool, typer.Option("--trees-only", help="Of signals the trees alone, without what keeps the lights safe.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Turn trees into code or a model for another machine: the same answers, bit for bit."""
    saved = open_run(run)
    names = [one.name for one in saved.trees.agents] if agent is None else [agent]
    if out_path is None:
        saved.trees.place(names[0])
        if as_json:
            raise InputError("--json tells which files were written: pass --out FILE.")
        if FORMATS[to].one_agent and len(names) > 1:
            raise InputError(
                f"an {to} file holds one tree: choose an --agent of {', '.join(names)}, or a folder with --out."
            )
    files = exporting.export(saved, to, agent=agent, out=out_path, force=force, trees_only=trees_only, tell=tell)
    if out_path is None:
        _print(next(iter(files.values())), to)
    elif as_json:
        whole = exporting.has_controllers(saved, to) and not trees_only
        told = {"to": to, "agents": names, "controllers": whole, "files": list(map(str, files))}
        print(json.dumps({**told, "version": __version__}))
    else:
        for path in files:
            out.print(f"written: {path}", soft_wrap=True)


def _print(content: str | bytes, to: str) -> None:
    if isinstance(content, bytes):
        ending = FORMATS[to].ending
        raise InputError(f"{to} is not text: pass a file with --out, e.g. --out trees.{ending}.")
    print_document(content)
