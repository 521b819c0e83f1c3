"""`hydraviper show`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from hydraviper.cli.common import (
    RunPath,
    app,
)
from hydraviper.data import InputError
from hydraviper.trees import file
from hydraviper.trees.render import to_svg
from hydraviper.trees.words import to_text


class Format(StrEnum):
    """How a tree is shown."""

    text = "text"
    svg = "svg"


@app.command()
def show(
    run: RunPath,
    agent: Annotated[str | None, typer.Option(help="One agent; default: all.")] = None,
    form: Annotated[Format, typer.Option("--format", help="text or svg.")] = Format.text,
) -> None:
    """Show trees as text or as a picture (SVG)."""
    trees = file.load(run)
    names = [own.name for own in trees.agents]
    if agent is not None and agent not in names:
        raise InputError(f"there is no tree for {agent!r}: choose one of {', '.join(names)}.")
    if form is Format.svg and agent is None and len(names) > 1:
        raise InputError(f"an SVG shows one tree: choose an --agent of {', '.join(names)}.")
    for own, tree in zip(trees.agents, trees.trees, strict=True):
        if agent in (None, own.name):
            print(to_text(own, tree) if form is Format.text else to_svg(own, tree))
