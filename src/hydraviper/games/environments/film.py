"""Pictures of an episode, from an environment that can draw itself."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from hydraviper.data import Observations
from hydraviper.protocols import Policy, SeededPolicy
from hydraviper.rollout import play


def filmed(game: Any, policy: Policy, seed: int, count: int) -> list[tuple[int, np.ndarray]]:
    """Pictures [H, W, 3] at `count` steps of an episode from its start to its end, each with its step."""
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # else pygame complains, though it opens no window
    seeds = np.array([seed], np.uint64)
    length = int(play(game, policy, seeds).lengths[0])
    wanted = set(np.linspace(0, length, count).round().astype(int).tolist())
    stage = game.drawn()
    camera = _Camera(policy, stage, wanted)
    play(stage, camera, seeds)
    camera.take()
    stage.close()
    return camera.pictures


class _Camera:
    """A policy that takes pictures of the episode that it plays."""

    def __init__(self, policy: Policy, stage: Any, wanted: set[int]) -> None:
        self._policy, self._stage, self._wanted, self._step = policy, stage, wanted, 0
        self.pictures: list[tuple[int, np.ndarray]] = []

    def begin(self, seeds: np.ndarray) -> _Camera:
        if isinstance(self._policy, SeededPolicy):
            self._policy = self._policy.begin(seeds)
        return self

    def act(self, observations: Observations) -> np.ndarray:
        self.take()
        self._step += 1
        return self._policy.act(observations)

    def take(self) -> None:
        if self._step in self._wanted:
            picture = np.asarray(self._stage.picture())
            if picture.dtype == np.uint8 and picture.ndim == 3 and picture.shape[2] in (3, 4):
                self.pictures.append((self._step, picture[:, :, :3]))
