"""`hydraviper refine`."""

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
    Leaves,
    RunPath,
    Seed,
    Workers,
    command_line,
    open_run,
    progress_bar,
    within,
)
from hydraviper.cli.printing import print_files, print_notes, print_refined, print_scores
from hydraviper.records import encode
from hydraviper.refine.records import RefineSettings
from hydraviper.runs import refine as refining
from hydraviper.runs.folder import point_to_latest
from hydraviper.runs.opening import file_of
from hydraviper.settings import DEPTH, ROLLOUTS, SOME_SECONDS


@app.command()
def refine(
    run: RunPath,
    seconds: Annotated[
        float | None,
        typer.Option(
            help="How long to search, above 0; such a result cannot repeat.", callback=within("--seconds", SOME_SECONDS)
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
    expert: ExpertName = None,
    workers: Workers = CORES,
    episodes: Episodes = None,
    out_folder: Annotated[Path | None, typer.Option("--out", help="A new folder; default: one in runs/.")] = None,
    as_json: AsJson = False,
) -> None:
    """Search directly for better trees; never worse on held-out episodes than those of the run."""
    saved = open_run(run, expert, workers)
    settings = RefineSettings(
        seconds=seconds, rollouts=rollouts, features=features, seed=seed, depth=depth, leaves=leaves
    )
    where = {"out": out_folder, "expert_file": file_of(expert, saved.expert), "command": command_line()}
    with progress_bar(as_json) as show:
        refined = refining.refine(saved, settings, episodes=episodes, progress=show, **where)
    folder, summary = refined.saved
    point_to_latest(folder)
    if as_json:
        print(encode(summary))
        return
    print_scores(summary)
    print_refined(summary)
    print_notes(summary)
    print_files(summary, "trees: {}/trees.json", "report: {}/report.html")
