"""`hydraviper games` and `hydraviper train`."""

import json
import math
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Column, Table

from hydraviper import outside
from hydraviper.cli import options
from hydraviper.cli.application import app
from hydraviper.cli.common import out, progress_bar
from hydraviper.cli.options import number
from hydraviper.cli.printing import print_scores
from hydraviper.data import InputError
from hydraviper.experts import store
from hydraviper.experts.algorithms import ALGORITHMS
from hydraviper.games import catalogue
from hydraviper.protocols import Game
from hydraviper.runs import train as training
from hydraviper.runs.opening import game_named, play_on
from hydraviper.settings import TRAINING_EPISODES


@app.command()
def games(as_json: options.AsJson = False) -> None:
    """List what can be distilled, with sizes."""
    rows, missing = [], {}
    for name in [*catalogue.GAMES, *outside.added(outside.GAMES)]:
        try:
            rows.append(_describe(catalogue.make(name)))
        except InputError as error:
            missing[name] = str(error)
    families = list(catalogue.EXAMPLES.values())
    if as_json:
        print(json.dumps({"games": rows, "families": families, "missing": missing}))
        return
    table = Table(Column("game", no_wrap=True, min_width=22), "agents", "joint actions", "score", "expert")
    for row in rows:
        score = f"{row['score']} ({row['better']} is better)"
        table.add_row(row["game"], str(row["agents"]), f"{row['joint actions']:,}", score, row["expert"])
    out.print(table)
    out.print(f"and others by what they are given: {', '.join(families)}")
    for name, reason in missing.items():
        out.print(f"{name}: {reason}")


@app.command()
def train(
    game: options.GameName,
    algorithm: Annotated[
        str | None, typer.Option(help=f"{', '.join(ALGORITHMS)}; default: what suits the game.")
    ] = None,
    episodes: Annotated[int | None, number("--episodes", TRAINING_EPISODES, "Episodes to train for.")] = None,
    seed: options.Seed = 0,
    engine: options.EngineName = "local",
    address: options.Address = None,
    workers: options.Workers = options.CORES,
    log: options.LogTarget = None,
    out_file: Annotated[Path | None, typer.Option("--out", help="Where the expert goes.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Train an expert for a game."""
    play_on(engine, address)
    with progress_bar(as_json) as show:
        trained = training.train(
            game_named(game),
            algorithm=algorithm,
            episodes=episodes,
            seed=seed,
            workers=workers,
            out=out_file,
            progress=show,
            log=log,
        )
    if as_json:
        print(json.dumps(trained.to_json()))
    else:
        print_scores(trained.summary, trees=False)
        out.print(f"saved as {trained.path}")


def _describe(game: Game) -> dict[str, object]:
    try:
        expert = str(store.shipped(game).about.get("algorithm", "yes"))
    except InputError:
        expert = "none"
    counts = {len(agent.actions) for agent in game.agents}
    sizes = {len(agent.features) for agent in game.agents}
    return {
        "game": game.name,
        "agents": len(game.agents),
        "features": "-".join(str(size) for size in sorted(sizes)),
        "actions": "-".join(str(count) for count in sorted(counts)),
        "joint actions": max(math.prod(len(game.agents[i].actions) for i in team) for team in game.teams),
        "steps": game.horizon,
        "score": game.score.name,
        "better": "lower" if game.score.lower_is_better else "higher",
        "expert": expert,
    }
