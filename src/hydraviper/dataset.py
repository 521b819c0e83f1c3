"""The samples that a team's trees learn from: arrays that grow with every iteration, so not frozen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hydraviper.data import Observations, Team
from hydraviper.memory import GrowingArray, Room


class Samples:
    """What everybody saw and the expert's actions; teams that learn from the same samples share one."""

    def __init__(self, features: Sequence[int], room: Room) -> None:
        self.observations = [GrowingArray((size,), np.float32, room) for size in features]
        self.actions = GrowingArray((len(features),), np.int64, room)
        self.worked_out: tuple[slice, np.ndarray] | None = None  # what the last team needed that is everybody's

    def append(self, observations: Observations, actions: np.ndarray) -> None:
        """Add samples, labelled with the expert's actions [S, N]."""
        for rows, new in zip(self.observations, observations, strict=True):
            rows.append(new)
        self.actions.append(actions)


class Dataset:
    """A team's samples: every agent's observation, the expert's actions and, for those weighed so far, weights."""

    def __init__(self, team: Team, features: Sequence[int], room: Room | None = None) -> None:
        self.team = team
        self.room = room or Room()
        self.episodes = 0
        self.first_rows = 0  # how many rows came with the first rollouts, the warm-up
        self._samples = Samples(features, self.room)
        self._acting: GrowingArray | None = None
        self._weights: GrowingArray | None = None
        self.scratch: dict[str, Any] = {}  # what a step keeps between iterations (binned features)

    def __len__(self) -> int:
        return len(self._samples.actions.array)

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
            self._acting = self._acting or GrowingArray((len(self.team),), np.bool_, self.room)
            self._acting.append(members[rows])
        self._samples.append(observations, actions)
        self._count_episodes(episodes)

    def share(self, other: Dataset, episodes: int) -> None:
        """Have the samples that another team has just been given, from the first ones on, without a copy."""
        if len(self) and self._samples is not other._samples:
            raise ValueError("a team that has samples of its own cannot share another's")
        self._samples = other._samples
        self._count_episodes(episodes)

    def _count_episodes(self, episodes: int) -> None:
        self.episodes += episodes
        self.first_rows = self.first_rows or len(self)

    def for_all(self, rows: slice, work: Callable[[], np.ndarray]) -> np.ndarray:
        """The result of some work on the rows that is the same for all teams with these samples; done by the first."""
        if self._samples.worked_out is None or self._samples.worked_out[0] != rows:
            self._samples.worked_out = rows, work()
        return self._samples.worked_out[1]

    def add_weights(self, weights: np.ndarray) -> None:
        """Add the weights [new, columns] of the samples that have none yet; they never change (Theorem 1)."""
        if self._weights is None:
            self._weights = GrowingArray((weights.shape[1],), np.float64, self.room)
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
        return [rows.array for rows in self._samples.observations]

    def column(self, agent: int) -> GrowingArray:
        """What an agent saw, [S, F_i], as the array that grows with the samples."""
        return self._samples.observations[agent]

    @property
    def actions(self) -> np.ndarray:
        """The expert's actions [S, N]."""
        return self._samples.actions.array

    @property
    def weights(self) -> np.ndarray:
        """The weighed samples' weights, [weighed, columns]: one column for the team, or one per member."""
        return np.empty((0, 1)) if self._weights is None else self._weights.array
