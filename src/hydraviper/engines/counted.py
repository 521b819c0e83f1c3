"""An engine that tells how far the work is: where episodes are dear, it plays a few of them at a time."""

from collections.abc import Callable, Sequence

import numpy as np

from hydraviper.data import Rollouts
from hydraviper.protocols import Engine, Game, Policy, offers

FEWEST = 12  # episodes at a time: many enough that workers seldom wait for each other, few enough to tell now and then
EACH = 4  # episodes at a time for each game that a worker plays, so that a large engine is not kept waiting


class Counted:
    """Plays as another engine does, and tells after every few episodes how many there have been."""

    def __init__(self, engine: Engine, tell: Callable[[int], None], at_once: int | None) -> None:
        """`at_once` is how many episodes are played at a time; None: as many as are asked for."""
        self._engine, self._tell, self._at_once, self._played = engine, tell, at_once, 0
        self.workers: int = getattr(engine, "workers", 1)

    @property
    def direct(self) -> Engine:
        """The engine that plays, without anybody who counts or remembers."""
        return getattr(self._engine, "direct", self._engine)

    @property
    def megabytes(self) -> float:
        """The most memory that the engine's workers have held."""
        return getattr(self._engine, "megabytes", 0.0)

    def play(self, policy: Policy, seeds: np.ndarray, record: bool = False) -> Rollouts:
        """Play one episode per seed; with `record`, keep the observations."""
        return Rollouts.join([self._count(self._engine.play(policy, part, record)) for part in self._parts(seeds)])

    def play_many(self, policies: Sequence[Policy], seeds: Sequence[np.ndarray]) -> list[Rollouts]:
        """Play several policies, each on its own seeds, and return when all are done."""
        if self._at_once is None:
            return [self._count(rollouts) for rollouts in self._engine.play_many(policies, seeds)]
        whose = [(k, part) for k, own in enumerate(seeds) for part in self._parts(own)]
        played: list[list[Rollouts]] = [[] for _ in policies]
        while whose:
            sums = np.cumsum([len(part) for _, part in whose])
            count = max(1, int(np.searchsorted(sums, self._at_once, side="right")))
            now, whose = whose[:count], whose[count:]
            done = self._engine.play_many([policies[k] for k, _ in now], [part for _, part in now])
            for (k, _), rollouts in zip(now, done, strict=True):
                played[k].append(self._count(rollouts))
        return [Rollouts.join(parts) for parts in played]

    def _count(self, rollouts: Rollouts) -> Rollouts:
        self._played += rollouts.episodes
        self._tell(self._played)
        return rollouts

    def _parts(self, seeds: np.ndarray) -> list[np.ndarray]:
        """Some seeds at a time; none at all are one part."""
        size = self._at_once or max(len(seeds), 1)
        return [seeds[start : start + size] for start in range(0, max(len(seeds), 1), size)]


def counted(game: Game, engine: Engine, tell: Callable[[int], None]) -> Counted:
    """The engine, but it tells how many episodes it has played; those of a compiled game are over before one asks."""
    if offers(game).compiled:
        return Counted(engine, tell, None)
    return Counted(engine, tell, max(FEWEST, EACH * getattr(engine, "workers", 1) * (game.width or 1)))
