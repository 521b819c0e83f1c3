"""The samples that a team's trees learn from: arrays that grow with every iteration, so not frozen."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from hydraviper.data import Observations, Team


class GrowingArray:
    """An array that grows at its end; its capacity doubles when it is full."""

    def __init__(self, shape: tuple[int, ...], dtype: DTypeLike) -> None:
        self._array = np.empty((0, *shape), dtype)
        self._count = 0

    def append(self, rows: np.ndarray) -> None:
        """Add rows at the end."""
        needed = self._count + len(rows)
        if needed > len(self._array):
            grown = np.empty((max(needed, 2 * len(self._array)), *self._array.shape[1:]), self._array.dtype)
            grown[: self._count] = self._array[: self._count]
            self._array = grown
        self._array[self._count : needed] = rows
        self._count = needed

    @property
    def array(self) -> np.ndarray:
        """All rows so far, as a view."""
        return self._array[: self._count]


class Dataset:
    """A team's samples: every agent's observation, the expert's actions and, for those weighed so far, weights."""

    def __init__(self, team: Team, features: Sequence[int]) -> None:
        self.team = team
        self.episodes = 0
        self.first_rows = 0  # how many rows came with the first rollouts, the warm-up
        self._observations = [GrowingArray((size,), np.float32) for size in features]
        self._actions = GrowingArray((len(features),), np.int64)
        self._acting: GrowingArray | None = None
        self._weights: GrowingArray | None = None
        self.scratch: dict[str, Any] = {}  # what a step keeps between iterations (binned features)

    def __len__(self) -> int:
        return len(self._actions.array)

    def extend(
        self, observations: Observations, actions: np.ndarray, episodes: int, acting: np.ndarray | None = None
    ) -> None:
        """Add the samples of some episodes, labelled with the expert's actions [S, N].

        With `acting`, bool [S, N]: only those in which the action of somebody of the team counted.
        """
        if acting is not None:
            members = acting[:, self.team]
            rows = members.any(axis=1)
            observations, actions = [seen[rows] for seen in observations], actions[rows]
            self._acting = self._acting or GrowingArray((len(self.team),), np.bool_)
            self._acting.append(members[rows])
        self.episodes += episodes
        self.first_rows = self.first_rows or len(actions)
        for rows, new in zip(self._observations, observations, strict=True):
            rows.append(new)
        self._actions.append(actions)

    def add_weights(self, weights: np.ndarray) -> None:
        """Add the weights [new, columns] of the samples that have none yet; they never change (Theorem 1)."""
        if self._weights is None:
            self._weights = GrowingArray((weights.shape[1],), np.float64)
        self._weights.append(weights)

    def counted(self, counts: np.ndarray) -> np.ndarray:
        """Counts of samples [A, S] without those in which a member's action did not count.

        A member of whom nothing is left takes each of its samples once.
        """
        if self._acting is None:
            return counts
        acting = self._acting.array.T
        kept = counts * acting
        alone = ~kept.any(axis=1) & acting.any(axis=1)
        kept[alone] = acting[alone]
        return np.where(
            np.any(kept, axis=1, keepdims=True), kept, counts
        )  # who never acts learns something all the same

    @property
    def observations(self) -> list[np.ndarray]:
        """Per agent [S, F_i]."""
        return [rows.array for rows in self._observations]

    @property
    def actions(self) -> np.ndarray:
        """The expert's actions [S, N]."""
        return self._actions.array

    @property
    def weights(self) -> np.ndarray:
        """The weighed samples' weights, [weighed, columns]: one column for the team, or one per member."""
        return np.empty((0, 1)) if self._weights is None else self._weights.array
