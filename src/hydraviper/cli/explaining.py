"""`hydraviper explain`."""

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from hydraviper.cli import options
from hydraviper.cli.application import app
from hydraviper.cli.common import open_run
from hydraviper.cli.options import number
from hydraviper.data import InputError
from hydraviper.runs import explain as explaining
from hydraviper.settings import PLACE

_MOST_BYTES = 10_000_000  # of an observation


@app.command()
def explain(
    run: options.RunPath,
    agent: Annotated[str, typer.Option(help="Whose tree.")],
    observation: Annotated[
        Path | None, typer.Option(help="A file: JSON by feature names or in order, or a row of CSV; - is the input.")
    ] = None,
    episode: Annotated[int | None, number("--episode", PLACE, "Instead: an episode of `evaluate`, from 0 ...")] = None,
    step: Annotated[int | None, number("--step", PLACE, "... and the step of it, from 0.")] = None,
    seed: options.Seed = 0,
    expert: options.ExpertName = None,
    as_json: options.AsJson = False,
) -> None:
    """Say why a tree answers as it does: the path in words, how sure it is, and the smallest change that flips it."""
    saved = open_run(run, expert)
    saved.trees.place(agent)
    text = None if observation is None or episode is not None else _text(observation)
    if observation is not None and text is None:
        raise InputError("say what to explain: either --observation FILE, or --episode and --step.")
    explained = explaining.explain(saved, agent=agent, observation=text, episode=episode, step=step, seed=seed)
    if as_json:
        print(json.dumps({"run": str(run), **explained.to_json()}))
    else:
        print(explained, end="")


def _text(path: Path) -> str:
    try:
        with nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb") as source:
            content = source.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise InputError(f"{path} has more than {_MOST_BYTES:,} bytes: pass one observation with --observation.")
        return content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(f"{path} cannot be read ({reason}): pass a JSON or CSV file with --observation.") from None
