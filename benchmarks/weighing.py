"""What a partition saves: `python -m benchmarks.weighing` times the weights of a sample, C-Q's costly part.

On Ingolstadt, for all signals in one team and for two teams by METIS, from an expert with joint critics, which values
every joint action of a team, and from the same expert with local values, which need not be enumerated.
"""

from __future__ import annotations

import math
import time

import numpy as np

import hydraviper
from hydraviper.dataset import Dataset
from hydraviper.games import catalogue
from hydraviper.ledger import Ledger
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.steps.partition import by_settings
from hydraviper.steps.resample import team_weights
from hydraviper.steps.task import Task

GAME = "ingolstadt-corridor"
SAMPLES = 250


def main() -> None:
    """Print a row for each expert and partition; processor time, which a busy machine hardly changes."""
    game = hydraviper.make(GAME)
    print("| expert | partition | joint actions of the largest team | per sample, ms |")
    print("|---|---|---|---|")
    with hydraviper.LocalEngine(catalogue.maker(game)) as engine:
        for name in ("mplight-joint", "mplight"):
            expert = hydraviper.shipped_expert(game, name)
            seeds = rollout_seeds(0, Purpose.COLLECT, 1, 1)
            observations = engine.play(hydraviper.Profile(expert), seeds, record=True).observations or ()
            rows = np.linspace(0, len(observations[0]) - 1, SAMPLES).astype(int)
            seen = [own[rows] for own in observations]
            for partition in ("none", "graph-metis"):
                settings = hydraviper.Settings(partition=partition)
                task = Task(game, expert, engine, settings, Ledger())
                teams = by_settings(task)
                largest = max(math.prod(len(game.agents[i].actions) for i in team) for team in teams)
                spent = sum(seconds(task, team, seen) for team in teams)
                print(f"| {name} | {partition} | {largest:,} | {1000 * spent / SAMPLES:.3f} |", flush=True)


def seconds(task: Task, team: tuple[int, ...], seen: list[np.ndarray]) -> float:
    """Processor time to weigh all samples for a team."""
    dataset = Dataset(team, [own.shape[1] for own in seen])
    dataset.extend(seen, task.expert.act(seen), 1)
    team_weights(task, dataset, slice(0, 2))  # compile
    start = time.process_time()
    team_weights(task, dataset, slice(0, len(dataset)))
    return time.process_time() - start


if __name__ == "__main__":
    main()
