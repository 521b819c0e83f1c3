"""`hydraviper refine`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from hydraviper import runs
from hydraviper.cli.common import (
    CORES,
    AsJson,
    Episodes,
    ExpertFile,
    FeatureChoice,
    RunPath,
    Seed,
    Workers,
    app,
    check_episodes,
    command_line,
    engine_for,
    expert_of,
    is_file,
    kept_by,
    out,
    progress_bar,
)
from hydraviper.cli.printing import print_refined, print_scores
from hydraviper.games import catalogue
from hydraviper.steps.refine import RefineSettings
from hydraviper.trees import file


@app.command()
def refine(
    run: RunPath,
    seconds: Annotated[float | None, typer.Option(help="How long to search; such a result cannot repeat.")] = None,
    rollouts: Annotated[int | None, typer.Option(help="Episodes to play instead; such a result repeats.")] = None,
    features: FeatureChoice = "plain",
    depth: Annotated[int | None, typer.Option(help="The most questions of a tree; default: as now.")] = None,
    leaves: Annotated[int | None, typer.Option(help="The most leaves of a tree.")] = None,
    seed: Seed = 0,
    expert: ExpertFile = None,
    workers: Workers = CORES,
    episodes: Episodes = None,
    out_folder: Annotated[Path | None, typer.Option("--out", help="A new folder; default: one in runs/.")] = None,
    as_json: AsJson = False,
) -> None:
    """Search directly for better trees; never worse on held-out episodes than those of the run."""
    trees = file.load(run)
    game = catalogue.make(trees.game, trees.parameters)
    trees.students(game)  # refuses trees of another game before anything is played
    settings = RefineSettings(seconds, rollouts, features, seed, depth, leaves)
    teacher = expert_of(run, trees, game, expert, workers)
    count = game.recommended.evaluation_episodes if episodes is None else episodes
    check_episodes(count)
    folder = runs.new_folder(out_folder, Path("runs"), f"{game.name}-refined")
    noted = runs.settings_in(run if run.is_dir() else run.parent).get("expert") or {}
    expert_file = str(expert.resolve()) if expert and is_file(expert) else noted.get("file")
    with progress_bar(as_json) as show, engine_for(game, workers) as place:
        given = trees, game, teacher, settings, place, count, expert_file, folder, command_line(), show
        summary = runs.refine_run(*given, kept_by(trees, game))
    if as_json:
        print(json.dumps(summary))
        return
    print_scores(summary)
    print_refined(summary)
    for note in summary["notes"]:
        out.print(f"note: {note}", highlight=False)
    out.print(f"trees: {folder}/trees.json\nreport: {folder}/report.html", highlight=False, soft_wrap=True)
