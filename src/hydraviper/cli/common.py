"""What all commands share: the application, their arguments, and how games, experts and engines are found."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from hydraviper.cli import trust
from hydraviper.cli.terminal import console
from hydraviper.data import InputError
from hydraviper.engines.local import LocalEngine
from hydraviper.experts import store
from hydraviper.experts.algorithms import ALGORITHMS
from hydraviper.games import catalogue
from hydraviper.protocols import Game, offers
from hydraviper.runs import distil as runs
from hydraviper.settings import (
    BUDGET,
    DEPTH,
    EPISODES,
    ITERATIONS,
    LEAVES,
    SELECTIONS,
    VALIDATION,
    WORKERS,
    Range,
    Settings,
    check_seed,
)
from hydraviper.trees import file
from hydraviper.trees.tree import Tree
from hydraviper.variants import VARIANTS, Variant
from hydraviper.verify import properties as book
from hydraviper.verify.constraints import Constraints, guard
from hydraviper.verify.obligations import obligations_for

out, err = console(), console(stderr=True)


class Budget(StrEnum):
    """The paper's two budgets."""

    low = "low"
    high = "high"


def within(name: str, allowed: Range) -> Callable[[Any], Any]:
    """What refuses an option's number outside its range, before any work is done."""

    def check(value: Any) -> Any:
        allowed.check(name, value)
        return value

    return check


def _seed(value: int) -> int:
    check_seed(value)
    return value


GameName = Annotated[str, typer.Argument(metavar="GAME", help="A game by name, e.g. cooperative-navigation:agents=4.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, or a trees.json.")]
AgentName = Annotated[str | None, typer.Option("--agent", help="One agent's tree; default: all.")]
ExpertFile = Annotated[
    Path | None,
    typer.Option("--expert", help="A file made by `train`, or a name (idqn, mplight, ...) for one that ships."),
]
Workers = Annotated[
    int, typer.Option(help="Cores to use; the result does not depend on it.", callback=within("--workers", WORKERS))
]
Seed = Annotated[int, typer.Option(help="Names every random choice.", callback=_seed)]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
BudgetChoice = Annotated[Budget, typer.Option(help="The game's low or high budget of rollouts.")]
TrainBudget = Annotated[
    int | None,
    typer.Option(help="Training rollouts, instead of --budget's.", callback=within("--train-budget", BUDGET)),
]
ValidBudget = Annotated[
    int | None,
    typer.Option(help="Validation rollouts, instead of --budget's.", callback=within("--valid-budget", VALIDATION)),
]
Iterations = Annotated[
    int,
    typer.Option(help="Students per agent, of which one is chosen.", callback=within("--iterations", ITERATIONS)),
]
Depth = Annotated[int, typer.Option(help="The most questions a tree may ask.", callback=within("--depth", DEPTH))]
Leaves = Annotated[int | None, typer.Option(help="The most leaves of a tree.", callback=within("--leaves", LEAVES))]
Episodes = Annotated[
    int | None,
    typer.Option(
        help="Unseen episodes to score on; default: what suits the game.", callback=within("--episodes", EPISODES)
    ),
]
FeatureChoice = Annotated[str, typer.Option(help="plain, or derived: distances, differences of distances or queues.")]
ConstraintsFile = Annotated[
    Path | None,
    typer.Option("--constraints", help="Properties (TOML) that the trees must have; `shipped`: the game's."),
]
DropQuantile = Annotated[float, typer.Option(help="The paper's epsilon as a quantile of the first weights.")]
Learner = Annotated[str, typer.Option(help="What a student is: tree, or a forest or mixture of trees (score only).")]
Selection = Annotated[
    str, typer.Option(help=f"How the best student is found: {', '.join(SELECTIONS)}; ucb1 is the paper's.")
]
CORES = os.cpu_count() or 1


def game_named(spec: str) -> Game:
    """The game that the user names."""
    path = catalogue.named_file(spec)
    if path is not None:
        trust.named(path)
    return catalogue.make(spec)


def game_of(trees: file.TreesFile) -> Game:
    """The game that trees were made for; a file that it lies in is opened only if the user knows it."""
    parameters = catalogue.completed(trees.game, trees.parameters)
    path = catalogue.named_file(trees.game, parameters)
    if path is not None:
        trust.ask(path)
    return catalogue.make(trees.game, parameters)


def game_and_expert(spec: str, path: Path | None, workers: int) -> tuple[Game, store.StoredExpert]:
    """The game of a name, and its expert: the shipped one, or the one in a file."""
    game = game_named(spec)
    expert = _expert(path, game)
    trained_with = store.trained_with(expert, game)
    if trained_with != dict(game.parameters):
        err.print(f"Note: the expert was trained with {trained_with}, not {dict(game.parameters)}.")
    return game, replace(expert, workers=workers)


def expert_of(run: Path, trees: file.TreesFile, game: Game, path: Path | None, workers: int) -> store.StoredExpert:
    """The expert that made the trees: as given, as the run's folder says, or the shipped one."""
    if path is None:
        named = runs.expert_file_in(run if run.is_dir() else run.parent, trees.made["expert"])
        path = None if named is None else Path(named)
    if path is None:
        made_by = (expert for expert in store.all_shipped(game) if store.digest(expert) == trees.made["expert"])
        expert = next(made_by, None) or store.shipped(game)
    else:
        expert = _expert(path, game)
    if store.digest(expert) != trees.made["expert"]:
        err.print("Note: the trees were made from another expert than the one they are compared with.", style="yellow")
    return replace(expert, workers=workers)


EXPERTS = (
    *ALGORITHMS,
    "mplight-joint",
    "maddpg-seed-1",
    "maddpg-60000-episodes",
)  # names for what ships, where there is one


def is_file(path: Path | None) -> bool:
    """Tell whether --expert names a file rather than an expert that ships."""
    return path is not None and (path.exists() or str(path) not in EXPERTS)


def _expert(path: Path | None, game: Game) -> store.StoredExpert:
    if path is not None and is_file(path):
        return store.load(path, game)
    return store.shipped(game, None if path is None else str(path))


def engine_for(game: Game, workers: int) -> LocalEngine:
    """Where a game is played."""
    return LocalEngine(catalogue.maker(game), workers)


def settings_for(game: Game, budget: Budget, train: int | None, valid: int | None, **others: Any) -> Settings:
    """Settings with what suits the game, unless others are given; None is what was not given."""
    suits = game.recommended
    default = suits.low if budget is Budget.low else suits.high
    return Settings(
        **{
            "ucb_scale": suits.ucb_scale,
            "rollouts_per_iteration": suits.rollouts_per_iteration,
            "train_budget": default[0] if train is None else train,
            "valid_budget": default[1] if valid is None else valid,
            **{name: value for name, value in others.items() if value is not None},
        }
    )


def constraints_for(game: Game, path: Path, settings: Settings) -> Constraints:
    """The properties of a file, or those that ship, as constraints that trees with these settings can keep."""
    own = None if str(path) == "shipped" and not path.exists() else book.load(path)
    if own is not None and not own.properties:
        raise InputError(f"{path} has no property to keep to: write [[property]] (docs/verify.md).")
    made = Constraints(obligations_for(game, own), "shipped" if own is None else own.source)
    derived = offers(game).search.derived if settings.features == "derived" else ()
    made.check(settings.depth, settings.most_leaves, dict(enumerate(derived)))
    return made


def kept_by(trees: file.TreesFile, game: Game) -> Callable[[Mapping[int, Tree]], bool] | None:
    """A check of what trees were made to keep to; None if nothing was asked of them."""
    source = trees.made.get("constraints")
    if not source:
        return None
    own = None if source == "shipped" else book.read(str(source), "what the trees were made to keep to")
    return guard(obligations_for(game, own))


def variant_named(name: str) -> Variant:
    """An algorithm by its name."""
    if name not in VARIANTS:
        raise InputError(f"there is no algorithm {name!r}: choose one of {', '.join(VARIANTS)}.")
    return VARIANTS[name]


def command_line(without: Collection[str] = ()) -> str:
    """What was typed, without some options and their values."""
    words = iter(sys.argv[1:])
    told = []
    for word in words:
        if word in without:
            next(words, None)
        elif word.partition("=")[0] not in without:
            told.append(word)
    return shlex.join(["hydraviper", *told])


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A bar on stderr per kind of work."""
    columns = (TextColumn("{task.description:>12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=err, transient=True, disable=quiet)
    tasks: dict[str, Any] = {}

    def show(step: str, done: int, of: int) -> None:
        bar.start()
        if step not in tasks:
            tasks[step] = bar.add_task(step, total=of)
        bar.update(tasks[step], completed=done)

    try:
        yield show
    finally:
        if tasks:
            bar.stop()
