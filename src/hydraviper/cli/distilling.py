"""`hydraviper distill`, `evaluate` and `compare`."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hydraviper.cli import options
from hydraviper.cli.application import app
from hydraviper.cli.common import command_line, open_run, out, progress_bar, tell, trusted
from hydraviper.cli.options import number
from hydraviper.cli.printing import print_scores, print_summary
from hydraviper.data import InputError
from hydraviper.experts.worth import AnyExpert
from hydraviper.expressions.features import chosen
from hydraviper.logs import open_log
from hydraviper.protocols import Game
from hydraviper.records import Making, Summary, encode
from hydraviper.runs import compare as comparison
from hydraviper.runs import distil as runs
from hydraviper.runs import evaluate as evaluation
from hydraviper.runs.folder import point_to_latest
from hydraviper.runs.following import noted
from hydraviper.runs.opening import (
    engine_for,
    episodes_for,
    expert_for,
    file_of,
    game_named,
    is_at_hand,
    play_on,
    variant_named,
)
from hydraviper.runs.own_expert import MINUTES, check_makeable
from hydraviper.runs.properties import constraints_for
from hydraviper.runs.recipe import is_begun
from hydraviper.settings import EXPERT_MINUTES, PARTITIONS, SEEDS, SELECTIONS, Settings, settings_for
from hydraviper.variants import VARIANTS

Budget = StrEnum("Budget", "low high")  # the paper's two
BudgetChoice = Annotated[Budget, typer.Option(help="The game's low or high budget of rollouts.")]
ConstraintsFile = Annotated[
    Path | None,
    typer.Option("--constraints", help="Properties (TOML) that the trees must have; `shipped`: the game's."),
]
DropQuantile = Annotated[float, typer.Option(help="The paper's epsilon as a quantile of the first weights.")]
Learner = Annotated[str, typer.Option(help="What a student is: tree, or a forest or mixture of trees (score only).")]
Selection = Annotated[
    str, typer.Option(help=f"How the best student is found: {', '.join(SELECTIONS)}; ucb1 is the paper's.")
]
Algorithm = Annotated[str, typer.Option(help=f"One of {', '.join(VARIANTS)}.")]
Algorithms = Annotated[str, typer.Option(help="Names with commas between.")]
Partition = Annotated[str, typer.Option(help=f"How agents are split into teams: {', '.join(PARTITIONS)}.")]
Teams = Annotated[int, typer.Option(help="Teams that a partition makes.")]
JointActions = Annotated[
    int, typer.Option(help="The most joint actions of a team that an expert with joint critics may have to value.")
]
UcbScale = Annotated[float | None, typer.Option(help="The paper's c; default: what suits the game.")]
Price = Annotated[str, typer.Option("--price", help="What each constraint costs: each, all or none.")]
Refine = Annotated[float, typer.Option(help="Seconds of direct search for better trees in the end.")]
ExpertMinutes = Annotated[
    float,
    number("--expert-minutes", EXPERT_MINUTES, "Where no expert is at hand: minutes to make one; 0: the best rule."),
]
Out = Annotated[Path | None, typer.Option("--out", help="The run's folder; default: a new one in runs/.")]
Demand = Annotated[str | None, typer.Option(help="Also play with so many times the traffic, e.g. 0.8,1.0,1.2.")]
Seeds = Annotated[int, number("--seeds", SEEDS, "How many seeds each.")]
Table = Annotated[Path | None, typer.Option("--out", help="Write the table as FILE.json and FILE.md.")]


@app.command()
def distill(
    spec: options.GameName,
    algorithm: Algorithm = "hydraviper",
    budget: BudgetChoice = Budget.low,
    train_budget: options.TrainBudget = None,
    valid_budget: options.ValidBudget = None,
    iterations: options.Iterations = 100,
    depth: options.Depth = 4,
    leaves: options.Leaves = None,
    features: options.Features = None,
    seed: options.Seed = 0,
    partition: Partition = "none",
    teams: Teams = 2,
    max_joint_actions: JointActions = Settings.max_joint_actions,
    learner: Learner = Settings.learner,
    selection: Selection = Settings.selection,
    ucb_scale: UcbScale = None,
    drop_quantile: DropQuantile = Settings.drop_quantile,
    constraints: ConstraintsFile = None,
    prices: Price = "each",
    refine: Refine = 0.0,
    expert_name: options.ExpertName = None,
    values: options.Values = None,
    expert_minutes: ExpertMinutes = MINUTES,
    engine: options.EngineName = "local",
    address: options.Address = None,
    workers: options.Workers = options.CORES,
    episodes: options.Episodes = None,
    log: options.LogTarget = None,
    out_folder: Out = None,
    as_json: options.AsJson = False,
) -> None:
    """Distill an expert into small trees, score them on unseen episodes and write a report."""
    play_on(engine, address)
    game = game_named(spec)
    at_hand = values is not None or is_at_hand(game, expert_name)
    expert = _expert(game, expert_name, values, workers, as_json) if at_hand else _making(game, expert_minutes)
    changes = {"train_budget": train_budget, "valid_budget": valid_budget, "iterations": iterations, "depth": depth}
    changes |= {"most_leaves": leaves, "features": chosen(features), "seed": seed, "partition": partition}
    changes |= {"teams": teams, "max_joint_actions": max_joint_actions, "learner": learner, "selection": selection}
    changes |= {"ucb_scale": ucb_scale, "drop_quantile": drop_quantile, "refine_seconds": refine}
    settings = settings_for(game.recommended, train=budget, valid=budget, **changes)
    keeping = None if constraints is None else constraints_for(game, constraints, settings)
    plan = runs.Plan(game, expert, variant_named(algorithm), settings, file_of(expert_name, expert), keeping, prices)
    folder, summary = _executed(plan, out_folder, episodes_for(game, episodes), workers, log, as_json)
    point_to_latest(folder)
    print(encode(summary)) if as_json else print_summary(summary)


def _executed(
    plan: runs.Plan, wanted: Path | None, episodes: int, workers: int, log: str | None, as_json: bool
) -> tuple[Path, Summary]:
    """The run's folder, and what the run has to say."""
    command, resumed = command_line(), is_begun(wanted)
    with (
        runs.claimed(plan.recipe, wanted) as folder,
        progress_bar(as_json) as show,
        noted(folder, show, episodes=episodes, price=plan.price) as show,
        engine_for(plan.game, workers) as players,
    ):
        opened = None if log is None else open_log(log, os.path.normpath(folder), resumed=resumed)
        more = {"command": command, "progress": show, "tell": tell, "log": opened}
        return folder, runs.execute(plan, folder, players, episodes=episodes, **more)


def _making(game: Game, minutes: float) -> Making:
    """That the run makes an expert by itself."""
    check_makeable(game)
    return Making(minutes=minutes)


def _expert(game: Game, name: str | None, values: str | None, workers: int, as_json: bool) -> AnyExpert:
    """The expert that is named or ships."""
    more = {"values": values, "trust_code": trusted()}
    with progress_bar(as_json) as show:
        return expert_for(game, name, workers=workers, tell=tell, progress=show, **more)


@app.command()
def evaluate(
    run: options.RunPath,
    episodes: options.Episodes = None,
    seed: options.Seed = 0,
    demand: Demand = None,
    expert: options.ExpertName = None,
    engine: options.EngineName = "local",
    address: options.Address = None,
    workers: options.Workers = options.CORES,
    as_json: options.AsJson = False,
) -> None:
    """Score trees, expert and yardsticks on the same unseen episodes."""
    play_on(engine, address)
    factors = _factors(demand)
    saved = open_run(run, expert, workers)
    with progress_bar(as_json) as show:
        summary = evaluation.evaluate(saved, episodes=episodes, seed=seed, demand=factors, progress=show)
    print(encode(summary)) if as_json else print_scores(summary)


def _factors(text: str | None) -> list[float]:
    """The numbers of --demand, each once."""
    try:
        return list(dict.fromkeys(map(float, text.split(",")))) if text is not None else []
    except ValueError:
        raise InputError(f"--demand must be numbers with commas between, such as 0.8,1.0,1.2, not {text!r}.") from None


@app.command()
def compare(
    spec: options.GameName,
    algorithms: Algorithms = "imitation,iviper,maviper,hydraviper",
    seeds: Seeds = 3,
    budget: BudgetChoice = Budget.low,
    train_budget: options.TrainBudget = None,
    valid_budget: options.ValidBudget = None,
    iterations: options.Iterations = 100,
    depth: options.Depth = 4,
    features: options.Features = None,
    learner: Learner = Settings.learner,
    selection: Selection = Settings.selection,
    drop_quantile: DropQuantile = Settings.drop_quantile,
    expert_name: options.ExpertName = None,
    values: options.Values = None,
    engine: options.EngineName = "local",
    address: options.Address = None,
    workers: options.Workers = options.CORES,
    episodes: options.Episodes = None,
    out_file: Table = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare algorithms side by side, with intervals over seeds."""
    play_on(engine, address)
    game = game_named(spec)
    expert = _expert(game, expert_name, values, workers, as_json)
    variants = [variant_named(name.strip()) for name in algorithms.split(",")]
    changes = {"train_budget": train_budget, "valid_budget": valid_budget, "iterations": iterations, "depth": depth}
    changes |= {"features": chosen(features), "learner": learner, "selection": selection}
    changes |= {"drop_quantile": drop_quantile}
    settings = settings_for(game.recommended, train=budget, valid=budget, **changes)
    count = episodes_for(game, episodes)
    target = None if out_file is None else comparison.target(out_file)
    with progress_bar(as_json) as show:
        result = comparison.compare(
            game, expert, variants, settings, seeds=seeds, episodes=count, workers=workers, progress=show
        )
    if target is not None:
        comparison.save(result, target, command_line())
    print(encode(result)) if as_json else out.print(comparison.to_markdown(result, command_line()), soft_wrap=True)
