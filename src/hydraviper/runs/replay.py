"""Show an episode of a run: in the simulator's own window, or as a film."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hydraviper.data import InputError, Observations, naming
from hydraviper.drawing import film
from hydraviper.games.simulation import WindowClosedError
from hydraviper.geometry import Frame
from hydraviper.profile import Profile
from hydraviper.protocols import Game, Policy, offers
from hydraviper.rollout import play
from hydraviper.runs.folder import check_file, check_new_file
from hydraviper.runs.run import Run, Source, opened
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.trees.tree import Tree

EVERY, PER_SECOND = 3, 12.5  # seconds of traffic between two pictures; pictures in a second of the film


@dataclass(frozen=True)
class Replayed:
    """What was shown."""

    episode: int
    seed: int
    score: float | None  # None if somebody closed the window before the episode had ended
    out: Path | None  # the film; None if there was a window


def replay(
    run: Source,
    *,
    agent: str | None = None,
    seed: int = 0,
    episode: int = 0,
    out: Path | str | None = None,
) -> Replayed:
    """Play an episode of `evaluate` with the trees in charge, where people can see it; episodes count from 0.

    It opens the simulator's window, or writes a film: to `out`, or into the run's folder where there is no screen.
    `agent` shows the surroundings of one agent, by its name.
    """
    run = opened(run)
    if agent is not None:
        run.trees.place(agent)
    drawing = offers(run.game).drawing
    if drawing.window is None:
        raise InputError(f"there is nothing to replay of {run.game.name}: only traffic games have a window and a map.")
    run.check_expert()
    policy = players(run)
    seeds = rollout_seeds(seed, Purpose.EVALUATE, 0, 1, episode)
    if out is None and os.environ.get("DISPLAY"):
        try:
            with drawing.window(agent):
                played = play(run.game, policy, seeds)
        except WindowClosedError:
            return Replayed(episode, seed, None, None)
        return Replayed(episode, seed, float(run.game.score.of(played.returns)[0]), None)
    path = (run.folder or Path()) / f"replay-{seed}-{episode}.gif" if out is None else Path(out)
    film.check(path)
    (check_file if out is None else check_new_file)(path)
    return Replayed(episode, seed, _filmed(run.game, policy, seeds, path, agent), path)


def players(run: Run) -> Policy:
    """Who plays a run's episodes: its trees, and the expert for agents that have none."""
    students = run.students
    return TreesAlone(students) if len(students) == len(run.game.agents) else Profile(run.expert, students)


@dataclass(frozen=True)
class TreesAlone:
    """Trees for everybody, so that no expert is needed."""

    students: Mapping[int, Tree]

    def act(self, observations: Observations) -> np.ndarray:
        """One action per episode and agent, [B, N]."""
        return np.stack([self.students[i].predict(seen) for i, seen in enumerate(observations)], axis=1)


def _filmed(game: Game, policy: Policy, seeds: np.ndarray, path: Path, agent: str | None) -> float:
    """Play an episode, write the film of it, and return its score."""
    drawing = offers(game).drawing
    if drawing.film is None or drawing.road_map is None:
        raise InputError(f"{game.name} cannot be filmed: only traffic games can.")
    road_map = drawing.road_map()
    around = next((signal.position for signal in road_map.signals if signal.agent == agent), None)
    studio = film.Film(road_map, f"{game.name}{'' if agent is None else f', {agent}'}", around)
    frames: list[Frame] = []
    drawing.film(frames.append, EVERY)
    played = play(game, policy, seeds)
    with naming(path):
        film.write(path, map(studio.picture, frames), studio.size, PER_SECOND)
    return float(game.score.of(played.returns)[0])
