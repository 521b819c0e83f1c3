"""What all engines share: rollouts are cut into pieces of work by their seeds, and put together in order.

Every episode depends on its seed alone, so whoever plays a piece, and however many play at once, the rollouts are the
same, bit for bit.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from hydraviper.data import Rollouts
from hydraviper.protocols import Game, Policy, offers

Work = tuple[Policy, np.ndarray, bool]  # who plays, seeds, whether to keep the observations
Done = Callable[[int, Rollouts], None]  # called as soon as a piece of work is played: its number, and its rollouts

CHUNK = 512  # episodes per piece of work, where a game can step that many at once
ATTEMPTS = 3  # how often a piece of work may take a worker down with it


class PieceEngine(ABC):
    """Plays pieces of work with `workers` games at once; close it, or use it with `with`."""

    def __init__(self, game: Game, workers: int) -> None:
        self.workers = workers
        self.megabytes = 0.0  # the most memory that other processes have held for it, all together
        self._game = game
        self._compiled = offers(game).compiled

    def play(self, policy: Policy, seeds: np.ndarray, record: bool = False) -> Rollouts:
        """Play one episode per seed; with `record`, keep the observations."""
        return self._run([(policy, part, record) for part in self._cut(seeds)])[0]

    def play_many(self, policies: Sequence[Policy], seeds: Sequence[np.ndarray]) -> list[Rollouts]:
        """Play several policies, each on its own seeds, as one piece of work."""
        pieces = [
            [(policy, part, False) for part in self._cut(episodes)]
            for policy, episodes in zip(policies, seeds, strict=True)
        ]
        return self._run(*pieces)

    def _cut(self, seeds: np.ndarray) -> list[np.ndarray]:
        return [seeds] if self.workers == 1 or len(seeds) == 0 else self.parts(seeds)

    def parts(self, seeds: np.ndarray) -> list[np.ndarray]:
        """Seeds [E] as pieces of work: as many as are stepped at once, or fewer so that every worker has some."""
        size = min(CHUNK, self._game.width or CHUNK)
        if not self._compiled:
            size = max(1, min(size, -(-len(seeds) // self.workers)))
        return [seeds[start : start + size] for start in range(0, len(seeds), size)]

    def _run(self, *groups: list[Work]) -> list[Rollouts]:
        rollouts = iter(self.each([work for group in groups for work in group]))
        return [Rollouts.join([next(rollouts) for _ in group]) for group in groups]

    @abstractmethod
    def each(self, pieces: Sequence[Work], done: Done | None = None) -> list[Rollouts]:
        """Play pieces of work; `done` is told of each as soon as it is played, in whatever order that is."""

    @abstractmethod
    def close(self) -> None:
        """End the workers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
