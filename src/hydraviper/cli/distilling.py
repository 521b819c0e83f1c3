"""`hydraviper distill`, `evaluate` and `compare`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hydraviper.cli.application import app
from hydraviper.cli.common import (
    CORES,
    AsJson,
    Episodes,
    ExpertName,
    FeatureChoice,
    GameName,
    Leaves,
    RunPath,
    Seed,
    Values,
    Workers,
    command_line,
    open_run,
    out,
    progress_bar,
    tell,
    trusted,
    within,
)
from hydraviper.cli.printing import print_scores, print_summary
from hydraviper.data import InputError
from hydraviper.experts.worth import AnyExpert
from hydraviper.protocols import Game
from hydraviper.records import encode
from hydraviper.runs import compare as comparison
from hydraviper.runs import distil as runs
from hydraviper.runs import evaluate as evaluation
from hydraviper.runs.folder import point_to_latest
from hydraviper.runs.opening import engine_for, episodes_for, file_of, game_and_expert, variant_named
from hydraviper.runs.properties import constraints_for
from hydraviper.settings import (
    BUDGET,
    DEPTH,
    ITERATIONS,
    PARTITIONS,
    SEEDS,
    SELECTIONS,
    VALIDATION,
    Settings,
    settings_for,
)
from hydraviper.variants import VARIANTS

Budget = StrEnum("Budget", "low high")  # the paper's two
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
    int, typer.Option(help="Students per agent, of which one is chosen.", callback=within("--iterations", ITERATIONS))
]
Depth = Annotated[int, typer.Option(help="The most questions a tree may ask.", callback=within("--depth", DEPTH))]
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
EngineName = Annotated[str, typer.Option("--engine", help="Where rollouts are played: local.")]
Out = Annotated[Path | None, typer.Option("--out", help="The run's folder; default: a new one in runs/.")]
Seeds = Annotated[int, typer.Option(help="How many seeds each.", callback=within("--seeds", SEEDS))]
Table = Annotated[Path | None, typer.Option("--out", help="Write the table as FILE.json and FILE.md.")]


@app.command()
def distill(
    spec: GameName,
    algorithm: Algorithm = "hydraviper",
    budget: BudgetChoice = Budget.low,
    train_budget: TrainBudget = None,
    valid_budget: ValidBudget = None,
    iterations: Iterations = 100,
    depth: Depth = 4,
    leaves: Leaves = None,
    features: FeatureChoice = Settings.features,
    seed: Seed = 0,
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
    expert_name: ExpertName = None,
    values: Values = None,
    engine_name: EngineName = "local",
    workers: Workers = CORES,
    episodes: Episodes = None,
    out_folder: Out = None,
    as_json: AsJson = False,
) -> None:
    """Distill an expert into small trees, score them on unseen episodes and write a report."""
    if engine_name != "local":
        raise InputError(f"there is no engine {engine_name!r}: choose local.")
    game, expert = _opened(spec, expert_name, values, workers, as_json)
    changes = {"train_budget": train_budget, "valid_budget": valid_budget, "iterations": iterations, "depth": depth}
    changes |= {"most_leaves": leaves, "features": features, "seed": seed, "partition": partition, "teams": teams}
    changes |= {"max_joint_actions": max_joint_actions, "learner": learner, "selection": selection}
    changes |= {"ucb_scale": ucb_scale, "drop_quantile": drop_quantile, "refine_seconds": refine}
    settings = settings_for(game.recommended, train=budget, valid=budget, **changes)
    keeping = None if constraints is None else constraints_for(game, constraints, settings)
    plan = runs.Plan(game, expert, variant_named(algorithm), settings, file_of(expert_name, expert), keeping, prices)
    count, command = episodes_for(game, episodes), command_line()
    with (
        runs.claimed(plan.recipe, out_folder) as folder,
        progress_bar(as_json) as show,
        engine_for(game, workers) as engine,
    ):
        summary = runs.execute(plan, folder, engine, episodes=count, command=command, progress=show)
    point_to_latest(folder)
    print(encode(summary)) if as_json else print_summary(summary)


def _opened(
    spec: str, expert_name: str | None, values: str | None, workers: int, as_json: bool
) -> tuple[Game, AnyExpert]:
    """The game and its expert."""
    more = {"values": values, "trust_code": trusted()}
    with progress_bar(as_json) as show:
        return game_and_expert(spec, expert_name, workers=workers, tell=tell, progress=show, **more)


@app.command()
def evaluate(
    run: RunPath,
    episodes: Episodes = None,
    seed: Seed = 0,
    expert: ExpertName = None,
    workers: Workers = CORES,
    as_json: AsJson = False,
) -> None:
    """Score trees, expert and yardsticks on the same unseen episodes."""
    summary = evaluation.evaluate(open_run(run, expert, workers), episodes=episodes, seed=seed)
    print(encode(summary)) if as_json else print_scores(summary)


@app.command()
def compare(
    spec: GameName,
    algorithms: Algorithms = "imitation,iviper,maviper,hydraviper",
    seeds: Seeds = 3,
    budget: BudgetChoice = Budget.low,
    train_budget: TrainBudget = None,
    valid_budget: ValidBudget = None,
    iterations: Iterations = 100,
    depth: Depth = 4,
    features: FeatureChoice = Settings.features,
    learner: Learner = Settings.learner,
    selection: Selection = Settings.selection,
    drop_quantile: DropQuantile = Settings.drop_quantile,
    expert_name: ExpertName = None,
    values: Values = None,
    workers: Workers = CORES,
    episodes: Episodes = None,
    out_file: Table = None,
    as_json: AsJson = False,
) -> None:
    """Compare algorithms side by side, with intervals over seeds."""
    game, expert = _opened(spec, expert_name, values, workers, as_json)
    variants = [variant_named(name.strip()) for name in algorithms.split(",")]
    changes = {"train_budget": train_budget, "valid_budget": valid_budget, "iterations": iterations, "depth": depth}
    changes |= {"features": features, "learner": learner, "selection": selection, "drop_quantile": drop_quantile}
    settings = settings_for(game.recommended, train=budget, valid=budget, **changes)
    count = episodes_for(game, episodes)
    target = None if out_file is None else comparison.target(out_file)
    with progress_bar(as_json) as show:
        result = comparison.compare(
            game, expert, variants, settings, seeds=seeds, episodes=count, workers=workers, progress=show
        )
    if target is not None:
        comparison.save(result, target, command_line())
    print(encode(result)) if as_json else out.print(comparison.to_markdown(result, command_line()))
