"""`hydraviper refine`."""

from pathlib import Path
from typing import Annotated

import typer

from hydraviper.cli import options
from hydraviper.cli.application import app
from hydraviper.cli.common import command_line, open_run, progress_bar
from hydraviper.cli.options import number
from hydraviper.cli.printing import print_files, print_refined, print_scores
from hydraviper.expressions.features import chosen
from hydraviper.records import encode
from hydraviper.refine.records import RefineSettings
from hydraviper.runs import refine as refining
from hydraviper.runs.folder import point_to_latest
from hydraviper.runs.opening import file_of, play_on
from hydraviper.settings import DEPTH, ROLLOUTS, SOME_SECONDS

Seconds = Annotated[
    float | None, number("--seconds", SOME_SECONDS, "How long to search, above 0; such a result cannot repeat.")
]
Rollouts = Annotated[int | None, number("--rollouts", ROLLOUTS, "Episodes to play instead; such a result repeats.")]
Depth = Annotated[int | None, number("--depth", DEPTH, "The most questions of a tree; default: as now.")]
Out = Annotated[Path | None, typer.Option("--out", help="A new folder; default: one in runs/.")]


@app.command()
def refine(
    run: options.RunPath,
    seconds: Seconds = None,
    rollouts: Rollouts = None,
    features: options.Features = None,
    depth: Depth = None,
    leaves: options.Leaves = None,
    seed: options.Seed = 0,
    expert: options.ExpertName = None,
    engine: options.EngineName = "local",
    address: options.Address = None,
    workers: options.Workers = options.CORES,
    episodes: options.Episodes = None,
    out_folder: Out = None,
    as_json: options.AsJson = False,
) -> None:
    """Search directly for better trees; never worse on held-out episodes than those of the run."""
    play_on(engine, address)
    saved = open_run(run, expert, workers)
    settings = RefineSettings(
        seconds=seconds, rollouts=rollouts, features=chosen(features) or "plain", seed=seed, depth=depth, leaves=leaves
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
    print_files(summary, "trees: {}/trees.json", "report: {}/report.html")
