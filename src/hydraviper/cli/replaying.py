"""`hydraviper replay`."""

from pathlib import Path
from typing import Annotated

import typer

from hydraviper.cli import options
from hydraviper.cli.application import app
from hydraviper.cli.common import open_run, out
from hydraviper.cli.options import number
from hydraviper.runs import replay as replaying
from hydraviper.settings import PLACE


@app.command()
def replay(
    run: options.RunPath,
    agent: Annotated[str | None, typer.Option(help="One signal and its surroundings; default: all.")] = None,
    episode: Annotated[int, number("--episode", PLACE, "An episode of `evaluate`, from 0.")] = 0,
    seed: options.Seed = 0,
    expert: options.ExpertName = None,
    out_file: Annotated[
        Path | None, typer.Option("--out", help="Write a film instead: FILE.gif, or by ffmpeg FILE.mp4 or FILE.webm.")
    ] = None,
) -> None:
    """Show an episode with the trees in charge: in SUMO's own window, or as a film where there is no screen."""
    saved = open_run(run, expert)
    shown = replaying.replay(saved, agent=agent, seed=seed, episode=episode, out=out_file)
    if shown.score is None:
        out.print("the window was closed before the episode had ended")
        return
    score = saved.game.score
    out.print(f"episode {episode}: {score.name} {shown.score:.2f} {score.unit}".rstrip())
    if shown.out is not None:
        out.print(f"written: {shown.out}", soft_wrap=True)
