"""What a game's yardsticks and experts reach, and what is beside the score: `python -m benchmarks.yardsticks GAME`."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import hydraviper
from hydraviper.games import catalogue
from hydraviper.protocols import offers
from hydraviper.seeding import Purpose, rollout_seeds


def main() -> None:
    """Print a table: the seeds are those of an evaluation with the same --seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game")
    parser.add_argument("--episodes", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--expert", action="append", default=[], help="a file or a shipped one's name; again for more")
    asked = parser.parse_args()
    game = hydraviper.make(asked.game)
    yardsticks = offers(game).scoring.yardsticks
    if not yardsticks:
        raise SystemExit(f"{asked.game} has no yardsticks.")
    try:
        experts: dict[str, hydraviper.Policy] = {"shipped expert": hydraviper.shipped_expert(game)}
    except hydraviper.InputError:
        experts = {}
    for name in asked.expert:
        file = Path(name)
        try:
            shipped = not file.exists()
            experts[name] = hydraviper.shipped_expert(game, name) if shipped else hydraviper.load_expert(file, game)
        except hydraviper.InputError as error:
            raise SystemExit(str(error)) from None
    seeds = rollout_seeds(asked.seed, Purpose.EVALUATE, 0, asked.episodes)
    table = Table("", "mean ± 95 %", "median", "worst")
    beside = Table("")
    with hydraviper.LocalEngine(catalogue.maker(game), asked.workers) as engine:
        for name, policy in (experts | dict(yardsticks)).items():
            played = engine.play(policy, seeds)
            scores = game.score.of(played.returns)
            mean = str(hydraviper.Estimate.of(scores))
            table.add_row(name, mean, f"{np.median(scores):.2f}", f"{scores.max():.2f}")
            if not beside.rows:
                for measure in played.measures:
                    beside.add_column(measure)
            beside.add_row(name, *(f"{values.mean():.1f} ({values.max():.0f})" for values in played.measures.values()))
    console = Console(width=150)
    console.print(f"{asked.game}: {game.score.name}, {asked.episodes} episodes, seed {asked.seed}")
    console.print(table)
    if len(beside.columns) > 1:
        console.print("beside the score, mean (largest)", beside)


if __name__ == "__main__":
    main()
