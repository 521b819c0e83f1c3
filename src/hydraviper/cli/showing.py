"""`hydraviper show` and `hydraviper map`."""

from enum import StrEnum
from typing import Annotated

import typer

from hydraviper.cli import options
from hydraviper.cli.application import app
from hydraviper.cli.common import open_run, tell
from hydraviper.cli.terminal import print_document
from hydraviper.export import only, to_dot
from hydraviper.runs import draw
from hydraviper.runs.edit import in_words
from hydraviper.runs.opening import game_named
from hydraviper.trees.file import TreesFile
from hydraviper.trees.text import to_text

ShowFormat = StrEnum("ShowFormat", "text svg dot map queues")


@app.command()
def show(
    run: options.RunPath,
    agent: options.AgentName = None,
    form: Annotated[
        ShowFormat,
        typer.Option("--format", help="text, svg or dot (Graphviz); of a traffic run also map and queues, as SVG."),
    ] = ShowFormat.text,
) -> None:
    """Show trees as text, as a picture (SVG) or as a graph (DOT), with the numbers of their nodes."""
    saved = open_run(run)
    trees = saved.trees if agent is None else only(saved.trees, saved.trees.place(agent))
    match form:
        case ShowFormat.text:
            _print_text(trees)
        case ShowFormat.svg:
            print_document(draw.tree_svg(saved, trees, tell))
        case ShowFormat.dot:
            print_document(to_dot(trees))
        case ShowFormat.map:
            print_document(draw.map_svg(saved.game, draw.teams_of(saved.game, saved.summary)))
        case ShowFormat.queues:
            print_document(draw.queues_svg(saved))


def _print_text(trees: TreesFile) -> None:
    for agent, tree in zip(trees.agents, trees.trees, strict=True):
        print(to_text(agent, tree))
        for record in trees.edits:
            if record.agent == agent.name:
                print(f"edited by hand: {in_words(record)}\n")


@app.command("map")
def draw_map(game: options.GameName) -> None:
    """Draw a road network with its signals numbered (SVG), before anything is trained."""
    print_document(draw.map_svg(game_named(game)))
