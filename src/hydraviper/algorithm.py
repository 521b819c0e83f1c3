"""distill(): Algorithm 1 of the paper on one screen. Line numbers at the margin are the paper's."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hydraviper.data import Progress, Team
from hydraviper.dataset import Dataset
from hydraviper.drawing import notebooks
from hydraviper.drawing.panels import panel
from hydraviper.engines.local import LocalEngine
from hydraviper.ledger import Ledger
from hydraviper.memory import Room
from hydraviper.profile import Profile
from hydraviper.protocols import Engine, Expert, Game, Student, check_game, offers
from hydraviper.records import Iteration
from hydraviper.refine.records import Refined, RefineSettings
from hydraviper.refine.search import refine
from hydraviper.settings import Settings
from hydraviper.steps import affordable, meeting
from hydraviper.steps.select import Choice
from hydraviper.steps.task import Task
from hydraviper.trees.tree import Tree
from hydraviper.variants import HYDRAVIPER, Variant
from hydraviper.verify.constraints import Constraints, guard

OTHER_STARTS = 2  # of the students that were not chosen, for a search that goes on from them


@dataclass(frozen=True)
class Distilled:
    """Coordinated students, and how they came about."""

    game: Game
    profile: Profile  # the chosen students; everybody else plays the expert
    teams: tuple[Team, ...]
    choices: tuple[Choice, ...]  # per team
    ledger: Ledger
    settings: Settings
    algorithm: str
    refined: Refined | None = None  # what the search for better trees has found, if there was one

    def _repr_html_(self) -> str | None:
        """What notebooks show: every tree as a drawing, with zoom and paths that light up."""
        trees = {i: tree for i, tree in sorted(self.profile.students.items()) if isinstance(tree, Tree)}
        look = offers(self.game).drawing
        panels = [panel(self.game.agents[i], tree, look) for i, tree in trees.items()]
        return notebooks.cell(panels, f"{self.game.name}: {self.algorithm}") if panels else None


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
    ledger = _opened(ledger or Ledger(), game)
    task = Task(game, expert, engine or LocalEngine(lambda: game), settings, ledger, constraints)

    profile = Profile(expert)  # 1   students^0 are the experts
    dropped = math.inf  # 3
    with ledger.time("partition"):
        teams = variant.partition(task)  # 4
    affordable.check(task, teams, variant.resample)
    datasets = _empty_datasets(game, teams)
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
        ledger.weigh(task.engine)
        _write_line(ledger, iteration, rollouts, sum(map(len, datasets)), dropped, accuracy)
        progress("students", iteration, settings.iterations)

    each, together = meeting.budgets(task, teams, variant.meets)
    shared = replace(task, settings=replace(settings, valid_budget=each))
    with ledger.time("select"):
        choices = tuple(variant.select(shared, team, own) for team, own in zip(teams, students, strict=True))  # 13-14
        choices = meeting.meet(task, teams, students, choices, together)  # beyond the paper, if teams were split
    progress("selected", 1, 1)
    best = {i: tree for own, choice in zip(students, choices, strict=True) for i, tree in own[choice.chosen].items()}
    _note_unspent(ledger, settings)
    affordable.tell_gaps(task, datasets)
    result = Distilled(game, Profile(expert, best), teams, choices, ledger, settings, variant.name)  # 15
    return result if settings.refine_seconds == 0 else _refined(task, result, students, progress)


def _opened(ledger: Ledger, game: Game) -> Ledger:
    """The ledger, with what the game has to say of itself."""
    check_game(game)
    for note in offers(game).notes:
        ledger.note(note)
    return ledger


def _empty_datasets(game: Game, teams: Sequence[Team]) -> list[Dataset]:
    """One per team; together they keep to one limit of memory."""
    features, room = [len(agent.features) for agent in game.agents], Room()
    return [Dataset(team, features, room) for team in teams]


def _refined(task: Task, result: Distilled, students: list[list[dict[int, Student]]], progress: Progress) -> Distilled:
    """Beyond the paper: a direct search, which starts from the chosen trees and the next best ones."""
    settings, ledger = task.settings, task.ledger
    limits = RefineSettings(
        seconds=settings.refine_seconds,
        features=settings.features,
        seed=settings.seed,
        depth=settings.depth,
        leaves=settings.most_leaves,
    )
    orders = [meeting.by_merit(choice, choice.chosen) for choice in result.choices]
    next_best = [
        {i: tree for own, order in zip(students, orders, strict=True) for i, tree in own[order[rank]].items()}
        for rank in range(1, min(OTHER_STARTS + 1, *(len(order) for order in orders)))
    ]
    with ledger.time("refine"):
        best = result.profile.students
        keeping = None if task.constraints is None else guard(task.constraints.obligations)
        found = refine(
            task.game, task.expert, best, task.engine, limits, starts=next_best, allowed=keeping, progress=progress
        )
    ledger.rollouts["refine"] = found.rollouts
    ledger.note(found.sentence())
    return replace(result, profile=Profile(task.expert, found.students), refined=found)


def _agreement(game: Game, students: dict[int, Student]) -> dict[str, float]:
    """How much of the drawn data each tree answers as the expert does."""
    return {game.agents[i].name: tree.fidelity for i, tree in students.items() if isinstance(tree, Tree)}


def _write_line(
    ledger: Ledger, iteration: int, rollouts: int, samples: int, dropped: float, accuracy: dict[str, float]
) -> None:
    spent = {
        step: seconds - sum(line.seconds[step] for line in ledger.lines) for step, seconds in ledger.seconds.items()
    }
    ledger.write(
        Iteration(
            iteration=iteration,
            rollouts=rollouts,
            samples=samples,
            dropped=None if math.isinf(dropped) else int(dropped),
            accuracy=dict(accuracy),
            score=ledger.score,
            seconds=spent,
            megabytes=ledger.megabytes,
        )
    )


def _note_unspent(ledger: Ledger, settings: Settings) -> None:
    used = ledger.rollouts["train"]
    if used < settings.train_budget and used + ledger.rollouts["warmup"] != settings.train_budget:
        ledger.note(
            f"{used} of {settings.train_budget} training rollouts were used: resampling "
            "dropped too few samples to ask for more (raise --drop-quantile or --iterations)."
        )
