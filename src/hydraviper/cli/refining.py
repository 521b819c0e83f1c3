"""`hydraviper refine`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from hydraviper.cli.application import app
from hydraviper.cli.common import (
    CORES,
    AsJson,
    Episodes,
    ExpertFile,
    FeatureChoice,
    Leaves,
    RunPath,
    Seed,
    Workers,
    command_line,
    engine_for,
    expert_of,
    game_of,
    is_file,
    kept_by,
    out,
    progress_bar,
    within,
)
from hydraviper.cli.printing import print_refined, print_scores
from hydraviper.refine.records import RefineSettings
from hydraviper.runs import distil as runs
from hydraviper.runs.folder import new_folder, point_to_latest
from hydraviper.settings import DEPTH, ROLLOUTS, SOME_SECONDS
from hydraviper.trees import file


@app.command()
def refine(
    run: RunPath,
    seconds: Annotated[
        float | None,
        typer.Option(
            help="How long to search, above 0; such a result cannot repeat.",
            callback=within("--seconds", SOME_SECONDS),
        ),
    ] = None,
    rollouts: Annotated[
        int | None,
        typer.Option(help="Episodes to play instead; such a result repeats.", callback=within("--rollouts", ROLLOUTS)),
    ] = None,
    features: FeatureChoice = "plain",
    depth: Annotated[
        int | None,
        typer.Option(help="The most questions of a tree; default: as now.", callback=within("--depth", DEPTH)),
    ] = None,
    leaves: Leaves = None,
    seed: Seed = 0,
    expert: ExpertFile = None,
    workers: Workers = CORES,
    episodes: Episodes = None,
    out_folder: Annotated[Path | None, typer.Option("--out", help="A new folder; default: one in runs/.")] = None,
    as_json: AsJson = False,
) -> None:
    """Search directly for better trees; never worse on held-out episodes than those of the run."""
    trees = file.load(run)
    game = game_of(trees)
    trees.students(game)  # refuses trees of another game before anything is played
    settings = RefineSettings(
        seconds=seconds, rollouts=rollouts, features=features, seed=seed, depth=depth, leaves=leaves
    )
    teacher = expert_of(run, trees, game, expert, workers)
    count = game.recommended.evaluation_episodes if episodes is None else episodes
    noted = runs.expert_file_in(run if run.is_dir() else run.parent, trees.made["expert"])
    expert_file = str(expert.resolve()) if expert and is_file(expert) else noted
    target = new_folder(out_folder, Path("runs"), f"{game.name}-refined")
    with target as folder, progress_bar(as_json) as show, engine_for(game, workers) as place:
        given = trees, game, teacher, settings, place, count, expert_file, folder, command_line(), show
        summary = runs.refine_run(*given, kept_by(trees, game))
    point_to_latest(folder)
    if as_json:
        print(json.dumps(summary))
        return
    print_scores(summary)
    print_refined(summary)
    for note in summary["notes"]:
        out.print(f"note: {note}", highlight=False)
    out.print(f"trees: {folder}/trees.json\nreport: {folder}/report.html", highlight=False, soft_wrap=True)
