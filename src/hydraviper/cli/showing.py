"""`hydraviper show` and `hydraviper map`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from hydraviper.cli.application import app
from hydraviper.cli.common import AgentName, GameName, RunPath, err, game_named, game_of
from hydraviper.cli.terminal import print_document
from hydraviper.data import InputError, Team
from hydraviper.drawing.icons import Icons, draw_icons
from hydraviper.drawing.maps import draw_map as map_svg
from hydraviper.drawing.timeline import time_chart
from hydraviper.drawing.trees import to_svg
from hydraviper.export import only, to_dot
from hydraviper.export.common import heading
from hydraviper.protocols import Game, offers
from hydraviper.runs import edit as edits
from hydraviper.trees import file
from hydraviper.trees.words import to_text


class ShowFormat(StrEnum):
    """How a tree is shown, or what else is drawn."""

    text = "text"
    svg = "svg"
    dot = "dot"
    map = "map"
    queues = "queues"


@app.command()
def show(
    run: RunPath,
    agent: AgentName = None,
    form: Annotated[
        ShowFormat,
        typer.Option("--format", help="text, svg or dot (Graphviz); of a traffic run also map and queues, as SVG."),
    ] = ShowFormat.text,
) -> None:
    """Show trees as text, as a picture (SVG) or as a graph (DOT), with the numbers of their nodes."""
    trees = file.load(run)
    if agent is not None:
        trees = only(trees, trees.place(agent))
    match form:
        case ShowFormat.text:
            _print_text(trees)
        case ShowFormat.svg:
            print_document(drawing(trees))
        case ShowFormat.dot:
            print_document(to_dot(trees))
        case ShowFormat.map:
            game = game_of(trees)
            print_document(_map(game, _teams(game, _summary(run).get("teams"))))
        case ShowFormat.queues:
            print_document(_queues(run))


def _print_text(trees: file.TreesFile) -> None:
    for own, tree in zip(trees.agents, trees.trees, strict=True):
        print(to_text(own, tree))
        for record in trees.edits:
            if record["agent"] == own.name:
                print(f"edited by hand: {edits.in_words(record)}\n")


def drawing(trees: file.TreesFile) -> str:
    """One agent's tree as SVG, with pictures of its actions where the game has them."""
    if len(trees.agents) > 1:
        names = ", ".join(own.name for own in trees.agents)
        raise InputError(f"an SVG shows one tree: choose an --agent of {names}.")
    own, tree = next(zip(trees.agents, trees.trees, strict=True))
    icons = _icons(trees)
    about = "\n".join(heading(trees))
    return to_svg(own, tree, icons, about) + "\n"


@app.command("map")
def draw_map(game: GameName) -> None:
    """Draw a road network with its signals numbered (SVG), before anything is trained."""
    made = game_named(game)
    print_document(_map(made, made.teams))


def _map(game: Game, teams: Sequence[Team]) -> str:
    road_map = offers(game).drawing.road_map
    if road_map is None:
        raise InputError(f"{game.name} has no map: only traffic games have one.")
    return map_svg(road_map(), teams)


def _queues(run: Path) -> str:
    summary = _summary(run)
    if not (summary.get("over_time") or {}).get("policies"):
        raise InputError(f"{run} holds no queues over time: pass the folder of a traffic run that `distill` made.")
    return time_chart(str(summary["score"]["name"]).capitalize(), summary["over_time"])


def _icons(trees: file.TreesFile) -> Icons | None:
    """What the game draws for an agent's actions; nothing if it cannot draw, or cannot be made here."""
    try:
        game = game_of(trees)
        trees.students(game)  # raises if the trees belong to another version of the game
    except InputError as error:
        err.print(f"Note: the drawing has no pictures of the actions ({error})", style="yellow")
        return None
    intersection = offers(game).drawing.intersections.get(trees.agents[0].name)
    return None if intersection is None else draw_icons(intersection)


def _teams(game: Game, noted: Any) -> Sequence[Team]:
    """The teams that a run was made with, as its summary names them; else the game's own."""
    at = {own.name: i for i, own in enumerate(game.agents)}
    try:
        return tuple(tuple(at[name] for name in team) for team in noted)
    except (KeyError, TypeError):
        return game.teams


def _summary(run: Path) -> dict[str, Any]:
    """What a run's summary.json says; nothing if there is none or if it cannot be read."""
    try:
        noted = json.loads(((run if run.is_dir() else run.parent) / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return noted if isinstance(noted, dict) else {}
