"""`hydraviper show`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from hydraviper import edits
from hydraviper.cli.common import AgentName, RunPath, app
from hydraviper.data import InputError
from hydraviper.trees import file
from hydraviper.trees.export import only, to_dot
from hydraviper.trees.render import to_svg
from hydraviper.trees.words import to_text


class ShowFormat(StrEnum):
    """How a tree is shown."""

    text = "text"
    svg = "svg"
    dot = "dot"


@app.command()
def show(
    run: RunPath,
    agent: AgentName = None,
    form: Annotated[ShowFormat, typer.Option("--format", help="text, svg or dot (Graphviz).")] = ShowFormat.text,
) -> None:
    """Show trees as text, as a picture (SVG) or as a graph (DOT), with the numbers of their nodes."""
    trees = file.load(run)
    if agent is not None:
        trees = only(trees, trees.place(agent))
    if form is ShowFormat.dot:
        print(to_dot(trees), end="")
        return
    if form is ShowFormat.svg and len(trees.agents) > 1:
        names = ", ".join(own.name for own in trees.agents)
        raise InputError(f"an SVG shows one tree: choose an --agent of {names}.")
    for own, tree in zip(trees.agents, trees.trees, strict=True):
        if form is ShowFormat.svg:
            print(to_svg(own, tree))
            continue
        print(to_text(own, tree))
        for record in trees.edits:
            if record["agent"] == own.name:
                print(f"edited by hand: {edits.in_words(record)}\n")
