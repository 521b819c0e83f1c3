"""distill(): Algorithm 1 of the paper on one screen. Line numbers at the margin are the paper's."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from hydraviper.data import Dataset, Ledger, Team
from hydraviper.engines.local import LocalEngine
from hydraviper.profile import Profile
from hydraviper.protocols import Engine, Expert, Game, HasNotes, Student
from hydraviper.settings import Settings
from hydraviper.steps.select import Choice
from hydraviper.steps.task import Task
from hydraviper.trees.tree import Tree
from hydraviper.trees.verify.constraints import Constraints
from hydraviper.variants import HYDRAVIPER, Variant

Progress = Callable[[str, int, int], None]  # what is done, how much of it, out of how much


@dataclass(frozen=True)
class Distilled:
    """Coordinated students, and how they came about."""

    profile: Profile  # the chosen students; everybody else plays the expert
    teams: tuple[Team, ...]
    choices: tuple[Choice, ...]  # per team
    ledger: Ledger
    settings: Settings
    algorithm: str


def distill(
    game: Game,
    expert: Expert,
    settings: Settings | None = None,
    variant: Variant = HYDRAVIPER,
    engine: Engine | None = None,
    ledger: Ledger | None = None,
    progress: Progress = lambda step, done, of: None,
    constraints: Constraints | None = None,
) -> Distilled:
    """Turn an expert into one small tree per distilled agent; settings, seed, game and expert decide every bit."""
    settings = replace(settings or Settings(), **({"iterations": variant.iterations} if variant.iterations else {}))
    ledger = ledger or Ledger()
    for note in game.notes if isinstance(game, HasNotes) else ():
        ledger.note(note)
    task = Task(game, expert, engine or LocalEngine(lambda: game), settings, ledger, constraints)

    profile = Profile(expert)  # 1   students^0 are the experts
    dropped = math.inf  # 3
    with ledger.time("partition"):
        teams = variant.partition(task)  # 4
    features = [len(agent.features) for agent in game.agents]
    datasets = [Dataset(team, features) for team in teams]
    students: list[list[dict[int, Student]]] = [[] for _ in teams]

    for iteration in range(1, settings.iterations + 1):  # 5
        with ledger.time("collect"):
            rollouts = variant.collect(task, datasets, profile, iteration, dropped)  # 6
        dropped, accuracy = math.inf, {}  # 7
        for dataset, own in zip(datasets, students, strict=True):  # 8
            with ledger.time("resample"):
                counts, dropped_here = variant.resample(task, dataset, iteration)  # 9
                dropped = min(dropped, dropped_here)  # 10
            with ledger.time("train"):
                own.append(variant.train(task, dataset, counts, iteration))  # 11-12
            accuracy |= _agreement(game, own[-1])
        profile = Profile(expert, {i: tree for own in students for i, tree in own[-1].items()})
        _write_line(ledger, iteration, rollouts, sum(map(len, datasets)), dropped, accuracy)
        progress("students", iteration, settings.iterations)

    shared = replace(task, settings=replace(settings, valid_budget=max(1, settings.valid_budget // len(teams))))
    with ledger.time("select"):
        choices = tuple(variant.select(shared, team, own) for team, own in zip(teams, students, strict=True))  # 13-14
    progress("selected", 1, 1)
    best = {i: tree for own, choice in zip(students, choices, strict=True) for i, tree in own[choice.chosen].items()}
    _note_unspent(ledger, settings)
    return Distilled(Profile(expert, best), teams, choices, ledger, settings, variant.name)  # 15


def _agreement(game: Game, students: dict[int, Student]) -> dict[str, float]:
    """How much of the drawn data each tree answers as the expert does."""
    return {game.agents[i].name: tree.fidelity for i, tree in students.items() if isinstance(tree, Tree)}


def _write_line(
    ledger: Ledger, iteration: int, rollouts: int, samples: int, dropped: float, accuracy: dict[str, float]
) -> None:
    spent = {
        step: seconds - sum(line["seconds"][step] for line in ledger.lines) for step, seconds in ledger.seconds.items()
    }
    ledger.write(
        {
            "iteration": iteration,
            "rollouts": rollouts,
            "samples": samples,
            "dropped": None if math.isinf(dropped) else int(dropped),
            "accuracy": accuracy,
            "seconds": spent,
        }
    )


def _note_unspent(ledger: Ledger, settings: Settings) -> None:
    used = ledger.rollouts["train"]
    if used < settings.train_budget and used + ledger.rollouts["warmup"] != settings.train_budget:
        ledger.note(
            f"{used} of {settings.train_budget} training rollouts were used: resampling "
            "dropped too few samples to ask for more (raise --drop-quantile or --iterations)."
        )
