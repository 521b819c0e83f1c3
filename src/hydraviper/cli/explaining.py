"""`hydraviper explain`."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hydraviper.cli.application import app
from hydraviper.cli.common import AsJson, ExpertFile, RunPath, Seed, expert_of, game_of, within
from hydraviper.data import InputError
from hydraviper.profile import Profile
from hydraviper.rollout import play
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.settings import PLACE
from hydraviper.trees import file
from hydraviper.trees.explain import explain as explain_tree
from hydraviper.trees.explain import in_words
from hydraviper.trees.observation import read_observation

_MOST_BYTES = 10_000_000  # of an observation


@app.command()
def explain(
    run: RunPath,
    agent: Annotated[str, typer.Option(help="Whose tree.")],
    observation: Annotated[
        Path | None, typer.Option(help="A file: JSON by feature names or in order, or a row of CSV; - is the input.")
    ] = None,
    episode: Annotated[
        int | None,
        typer.Option(help="Instead: an episode of `evaluate`, from 0 ...", callback=within("--episode", PLACE)),
    ] = None,
    step: Annotated[
        int | None, typer.Option(help="... and the step of it, from 0.", callback=within("--step", PLACE))
    ] = None,
    seed: Seed = 0,
    expert: ExpertFile = None,
    as_json: AsJson = False,
) -> None:
    """Say why a tree answers as it does: the path in words, how sure it is, and the smallest change that flips it."""
    trees = file.load(run)
    place = trees.place(agent)
    if (observation is None) == (episode is None) or (episode is None) != (step is None):
        raise InputError("say what to explain: either --observation FILE, or --episode and --step.")
    facts: dict[str, Any] = {}
    if observation is not None:
        seen = read_observation(_text(observation), trees.agents[place])
    else:
        seen, facts = _replayed(run, trees, place, int(episode or 0), int(step or 0), seed, expert)
    made = explain_tree(trees.agents[place], trees.trees[place], seen)
    if as_json:
        numbers = dict(zip(trees.agents[place].features, seen.tolist(), strict=True))
        print(json.dumps({"run": str(run), **facts, **made.to_json(), "observation": numbers}))
        return
    if facts:
        print(f"episode {facts['episode']}, step {facts['step']}: the expert would do {facts['expert']}")
    print(in_words(made), end="")


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


def _replayed(
    run: Path, trees: file.TreesFile, place: int, episode: int, step: int, seed: int, expert: Path | None
) -> tuple[np.ndarray, dict[str, Any]]:
    """What an agent saw at a step of an episode that the trees play, on the seeds of `evaluate`."""
    game = game_of(trees)
    students = trees.students(game)
    teacher = expert_of(run, trees, game, expert, 1)
    seeds = rollout_seeds(seed, Purpose.EVALUATE, 0, 1, episode)
    played = play(game, Profile(teacher, students), seeds, record=True)
    length = int(played.lengths[0])
    if step >= length:
        raise InputError(f"episode {episode} has {length} steps: pass a --step from 0 to {length - 1}.")
    seen = [rows[step : step + 1] for rows in played.observations or ()]
    agent = [own.name for own in game.agents].index(trees.agents[place].name)
    answer = game.agents[agent].actions[int(teacher.act(seen)[0, agent])]
    return seen[agent][0], {"episode": episode, "step": step, "seed": seed, "expert": answer}
