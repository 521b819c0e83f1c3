"""The replay: the last samples of all games, in a ring buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Samples(NamedTuple):
    """One row per game step; drawn batches have one axis more in front."""

    observations: list[Any]  # per agent [S, F_i]
    actions: Any  # [S, N]
    rewards: Any  # [S, R], one column per critic
    continues: Any  # [S] 0 where the episode ended before its horizon, else 1
    next_observations: list[Any]  # per agent [S, F_i]

    def columns(self) -> list[Any]:
        """All arrays, in the order of the fields."""
        return [*self.observations, self.actions, self.rewards, self.continues, *self.next_observations]

    @staticmethod
    def of(columns: Sequence[object]) -> Samples:
        """The inverse of `columns`."""
        agents = (len(columns) - 3) // 2
        actions, rewards, continues = columns[agents : agents + 3]
        return Samples(list(columns[:agents]), actions, rewards, continues, list(columns[agents + 3 :]))


class Replay:
    """A ring buffer of samples."""

    def __init__(self, features: Sequence[int], rewards: int, capacity: int) -> None:
        before, after = ([np.empty((capacity, size), np.float32) for size in features] for _ in range(2))
        actions = np.empty((capacity, len(features)), np.int32)
        paid, continues = np.empty((capacity, rewards), np.float32), np.empty(capacity, np.float32)
        self._rows = Samples(before, actions, paid, continues, after).columns()
        self.capacity = capacity
        self.count = 0  # ever added

    def add(self, samples: Samples, kept: np.ndarray) -> None:
        """Add the samples that are `kept` (bool [S]), over the oldest ones."""
        where = (self.count + np.arange(kept.sum())) % self.capacity
        for rows, new in zip(self._rows, samples.columns(), strict=True):
            rows[where] = new[kept]
        self.count += len(where)

    def draw(self, random: np.random.Generator, updates: int, batch: int) -> Samples:
        """Uniform samples for several updates at once, with replacement: [updates, batch, ...]."""
        chosen = random.integers(0, min(self.count, self.capacity), (updates, batch))
        return Samples.of([rows[chosen] for rows in self._rows])
