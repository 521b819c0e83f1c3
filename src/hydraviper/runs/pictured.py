"""The episode of a run's report: played by the trees, on the game's own picture."""

from collections.abc import Callable, Mapping

import numpy as np

from hydraviper.data import InputError, Observations, Rollouts
from hydraviper.drawing.pages.episode import Deeds, Episode
from hydraviper.drawing.stages import Stage, blank_stage, picture_stage, plane_stage, road_stage
from hydraviper.geometry import Frame, Scene
from hydraviper.profile import Profile
from hydraviper.protocols import Expert, Game, Policy, SeededPolicy, offers
from hydraviper.rollout import play
from hydraviper.runs.replay import TreesAlone
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.trees.file import TreesFile
from hydraviper.trees.tree import Tree
from hydraviper.trees.words import number, short_actions

PICTURES = 120  # of an environment's own, at most
SECONDS = 5  # of traffic between two pictures, at most


def pictured(game: Game, trees: TreesFile, expert: Callable[[], Expert]) -> Episode:
    """The first unseen episode; whatever stands in its way, a run is not lost by it."""
    seeds = rollout_seeds(0, Purpose.EVALUATE, 0, 1)
    try:
        return _episode(game, trees.students(game), _at_hand(expert), seeds)
    except Exception as error:
        return Episode(int(seeds[0]), problem=f"{type(error).__name__}: {error}")


def _at_hand(expert: Callable[[], Expert]) -> Expert | None:
    try:
        return expert()
    except InputError:  # trees for everybody play without it
        return None


def _episode(game: Game, students: Mapping[int, Tree], expert: Expert | None, seeds: np.ndarray) -> Episode:
    policy = TreesAlone(students) if expert is None else Profile(expert, students)
    played, stage = _filmed(game, policy, seeds)
    seen, paid = played.observations or (), played.rewards
    wanted = None if expert is None else expert.act(seen)
    deeds = [
        Deeds(
            game.agents[i].name,
            short_actions(game.agents[i]),
            np.where(played.moments(i), tree.apply(seen[i]), -1).tolist(),
            tree.predict(seen[i]).tolist(),
            None if wanted is None or wanted[:, i].min(initial=0) < 0 else wanted[:, i].tolist(),  # a program's choice
        )
        for i, tree in students.items()
    ]
    sums = np.zeros((1, len(game.agents)))
    if paid is not None:
        sums = np.concatenate([sums, np.cumsum(paid, axis=0)])
    unit = f" {game.score.unit}" * bool(game.score.unit)
    scores = [number(score, 4) + unit for score in game.score.of(sums)]
    return Episode(int(seeds[0]), game.score.name, scores, deeds, stage)


class _Camera:
    """A policy that keeps where everybody is before each of its answers."""

    def __init__(self, policy: Policy, look: Callable[[], Scene]) -> None:
        self._policy, self._look = policy, look
        self.scenes: list[Scene] = []

    def begin(self, seeds: np.ndarray) -> "_Camera":
        """The same for the episodes of these seeds."""
        if isinstance(self._policy, SeededPolicy):
            self._policy = self._policy.begin(seeds)
        return self

    def act(self, observations: Observations) -> np.ndarray:
        """What the policy does."""
        self.scenes.append(self._look())
        return self._policy.act(observations)


def _filmed(game: Game, policy: Policy, seeds: np.ndarray) -> tuple[Rollouts, Stage]:
    """An episode, and its picture by whichever way the game can be drawn."""
    drawing, label = offers(game).drawing, f"{game.name} at this step"
    if drawing.scene is not None:
        camera = _Camera(policy, drawing.scene)
        played = play(game, camera, seeds, record=True)
        return played, plane_stage([*camera.scenes, drawing.scene()], label)
    minutes = offers(game).scoring.step_minutes
    if drawing.film is not None and drawing.road_map is not None and minutes is not None:
        road_map, frames, seconds = drawing.road_map(), list[Frame](), 60 * minutes
        drawing.film(frames.append, next(k for k in range(SECONDS, 0, -1) if round(seconds) % k == 0))
        played = play(game, policy, seeds, record=True)
        return played, road_stage(road_map, frames, seconds, int(played.lengths[0]), label)
    played = play(game, policy, seeds, record=True)
    length = int(played.lengths[0])
    taken = [] if drawing.pictures is None else drawing.pictures(policy, int(seeds[0]), min(length + 1, PICTURES))
    return played, picture_stage(taken, length) if taken else blank_stage(length)
