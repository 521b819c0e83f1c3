"""`hydraviper distill`, `evaluate` and `compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from hydraviper.cli.application import app
from hydraviper.cli.common import (
    CORES,
    AsJson,
    Budget,
    BudgetChoice,
    ConstraintsFile,
    Depth,
    DropQuantile,
    Episodes,
    ExpertFile,
    FeatureChoice,
    GameName,
    Iterations,
    Learner,
    Leaves,
    RunPath,
    Seed,
    Selection,
    TrainBudget,
    ValidBudget,
    Workers,
    command_line,
    constraints_for,
    engine_for,
    expert_of,
    game_and_expert,
    game_of,
    is_file,
    out,
    progress_bar,
    settings_for,
    variant_named,
    within,
)
from hydraviper.cli.printing import print_scores, print_summary
from hydraviper.data import InputError
from hydraviper.runs import compare as comparison
from hydraviper.runs import distil as runs
from hydraviper.runs import evaluate as evaluation
from hydraviper.runs.folder import point_to_latest
from hydraviper.settings import PARTITIONS, SEEDS, Settings
from hydraviper.trees import file
from hydraviper.variants import VARIANTS


@app.command()
def distill(
    game: GameName,
    algorithm: Annotated[str, typer.Option(help=f"One of {', '.join(VARIANTS)}.")] = "hydraviper",
    budget: BudgetChoice = Budget.low,
    train_budget: TrainBudget = None,
    valid_budget: ValidBudget = None,
    iterations: Iterations = 100,
    depth: Depth = 4,
    leaves: Leaves = None,
    features: FeatureChoice = Settings.features,
    seed: Seed = 0,
    partition: Annotated[str, typer.Option(help=f"How agents are split into teams: {', '.join(PARTITIONS)}.")] = "none",
    teams: Annotated[int, typer.Option(help="Teams that a partition makes.")] = 2,
    max_joint_actions: Annotated[
        int, typer.Option(help="The most joint actions of a team that an expert with joint critics may have to value.")
    ] = Settings.max_joint_actions,
    learner: Learner = Settings.learner,
    selection: Selection = Settings.selection,
    ucb_scale: Annotated[float | None, typer.Option(help="The paper's c; default: what suits the game.")] = None,
    drop_quantile: DropQuantile = Settings.drop_quantile,
    constraints: ConstraintsFile = None,
    prices: Annotated[str, typer.Option("--price", help="What each constraint costs: each, all or none.")] = "each",
    refine: Annotated[float, typer.Option(help="Seconds of direct search for better trees in the end.")] = 0.0,
    expert: ExpertFile = None,
    engine: Annotated[str, typer.Option(help="Where rollouts are played: local.")] = "local",
    workers: Workers = CORES,
    episodes: Episodes = None,
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="The run's folder; default: a new one in runs/.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Distill an expert into small trees, score them on unseen episodes and write a report."""
    made, teacher = game_and_expert(game, expert, workers)
    if engine != "local":
        raise InputError(f"there is no engine {engine!r}: choose local.")
    settings = settings_for(
        made,
        budget,
        train_budget,
        valid_budget,
        seed=seed,
        iterations=iterations,
        depth=depth,
        most_leaves=leaves,
        features=features,
        partition=partition,
        teams=teams,
        max_joint_actions=max_joint_actions,
        learner=learner,
        selection=selection,
        drop_quantile=drop_quantile,
        refine_seconds=refine,
        ucb_scale=ucb_scale,
    )
    keeping = None if constraints is None else constraints_for(made, constraints, settings)
    if prices not in runs.PRICES:
        raise InputError(f"--price {prices!r} is unknown: choose one of {', '.join(runs.PRICES)}.")
    path = str(expert.resolve()) if expert and is_file(expert) else None
    run = runs.Run(made, teacher, variant_named(algorithm), settings, path, keeping, prices)
    episodes = made.recommended.evaluation_episodes if episodes is None else episodes
    with runs.claimed(run, out_folder) as folder, progress_bar(as_json) as show, engine_for(made, workers) as place:
        summary = runs.execute(run, folder, place, episodes, command_line(), show)
    point_to_latest(folder)
    print(json.dumps(summary)) if as_json else print_summary(summary)


@app.command()
def evaluate(
    run: RunPath,
    episodes: Episodes = None,
    seed: Seed = 0,
    expert: ExpertFile = None,
    workers: Workers = CORES,
    as_json: AsJson = False,
) -> None:
    """Score trees, expert and yardsticks on the same unseen episodes."""
    trees = file.load(run)
    made = game_of(trees)
    students = trees.students(made)
    teacher = expert_of(run, trees, made, expert, workers)
    with engine_for(made, workers) as place:
        count = made.recommended.evaluation_episodes if episodes is None else episodes
        fields = evaluation.evaluate(made, teacher, students, place, count, seed)
    summary = {"game": made.name, "algorithm": trees.made["algorithm"], "seed": seed, **fields, "run": str(run)}
    print(json.dumps(summary)) if as_json else print_scores(summary)


@app.command()
def compare(
    game: GameName,
    algorithms: Annotated[str, typer.Option(help="Names with commas between.")] = "imitation,iviper,maviper,hydraviper",
    seeds: Annotated[int, typer.Option(help="How many seeds each.", callback=within("--seeds", SEEDS))] = 3,
    budget: BudgetChoice = Budget.low,
    train_budget: TrainBudget = None,
    valid_budget: ValidBudget = None,
    iterations: Iterations = 100,
    depth: Depth = 4,
    features: FeatureChoice = Settings.features,
    learner: Learner = Settings.learner,
    selection: Selection = Settings.selection,
    drop_quantile: DropQuantile = Settings.drop_quantile,
    expert: ExpertFile = None,
    workers: Workers = CORES,
    episodes: Episodes = None,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the table as FILE.json and FILE.md.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare algorithms side by side, with intervals over seeds."""
    made, teacher = game_and_expert(game, expert, workers)
    variants = [variant_named(name.strip()) for name in algorithms.split(",")]
    settings = settings_for(
        made,
        budget,
        train_budget,
        valid_budget,
        iterations=iterations,
        depth=depth,
        features=features,
        learner=learner,
        selection=selection,
        drop_quantile=drop_quantile,
    )
    count = made.recommended.evaluation_episodes if episodes is None else episodes
    target = None if out_file is None else comparison.target(out_file)
    with progress_bar(as_json) as show:
        result = comparison.compare(made, teacher, variants, settings, seeds, count, workers, show)
    if target is not None:
        comparison.save(result, target, command_line())
    print(json.dumps(result)) if as_json else out.print(comparison.to_markdown(result, command_line()), highlight=False)
