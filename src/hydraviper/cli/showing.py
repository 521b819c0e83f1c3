"""`hydraviper show` and `hydraviper map`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from hydraviper.cli.common import (
    GameName,
    RunPath,
    app,
    err,
)
from hydraviper.data import Icons, InputError, Team
from hydraviper.games import catalogue
from hydraviper.protocols import Game, HasPictures
from hydraviper.timeline import time_chart
from hydraviper.trees import file
from hydraviper.trees.render import to_svg
from hydraviper.trees.words import to_text


class Format(StrEnum):
    """How a tree is shown, or what else is drawn."""

    text = "text"
    svg = "svg"
    map = "map"
    queues = "queues"


@app.command()
def show(
    run: RunPath,
    agent: Annotated[str | None, typer.Option(help="One agent; default: all.")] = None,
    form: Annotated[
        Format, typer.Option("--format", help="text or svg: trees; map, queues: drawings of a traffic run, as SVG.")
    ] = Format.text,
) -> None:
    """Show trees as text or as a picture (SVG); for traffic also the map and the queues over time."""
    trees = file.load(run)
    names = [own.name for own in trees.agents]
    if agent is not None and agent not in names:
        raise InputError(f"there is no tree for {agent!r}: choose one of {', '.join(names)}.")
    if form is Format.svg and agent is None and len(names) > 1:
        raise InputError(f"an SVG shows one tree: choose an --agent of {', '.join(names)}.")
    if form is Format.map:
        game = catalogue.make(trees.game, trees.parameters)
        print(_map(game, _teams(game, _summary(run).get("teams"))))
        return
    if form is Format.queues:
        print(_queues(run))
        return
    for own, tree in zip(trees.agents, trees.trees, strict=True):
        if agent in (None, own.name):
            if form is Format.text:
                print(to_text(own, tree))
                continue
            icons = _icons(trees, own.name)
            print(to_svg(own, tree, icons.drawings.__getitem__, icons.meaning) if icons else to_svg(own, tree))


@app.command("map")
def draw_map(game: GameName) -> None:
    """Draw a road network with its signals numbered (SVG), before anything is trained."""
    made = catalogue.make(game)
    print(_map(made, made.teams))


def _map(game: Game, teams: Sequence[Team]) -> str:
    if not isinstance(game, HasPictures):
        raise InputError(f"{game.name} has no map: only traffic games have one.")
    return game.map_svg(teams)


def _queues(run: Path) -> str:
    summary = _summary(run)
    if not (summary.get("over_time") or {}).get("policies"):
        raise InputError(f"{run} holds no queues over time: pass the folder of a traffic run that `distill` made.")
    return time_chart(str(summary["score"]["name"]).capitalize(), summary["over_time"])


def _icons(trees: file.TreesFile, agent: str) -> Icons | None:
    """What the game draws for an agent's actions; nothing if it cannot draw, or cannot be made here."""
    try:
        game = catalogue.make(trees.game, trees.parameters)
        trees.students(game)  # raises if the trees belong to another version of it
    except InputError as error:
        err.print(f"Note: the drawing has no pictures of the actions ({error})", style="yellow")
        return None
    if not isinstance(game, HasPictures):
        return None
    return game.action_icons([own.name for own in game.agents].index(agent))


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
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}
