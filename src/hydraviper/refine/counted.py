"""An engine that tells how far a search is: where episodes are dear, it plays a few of them at a time."""

from collections.abc import Callable, Sequence

import numpy as np

from hydraviper.data import Rollouts
from hydraviper.protocols import Engine, Policy

AT_ONCE = 12  # episodes: many enough that workers seldom wait for each other, few enough to tell every some seconds


class Counted:
    """Plays as another engine does, and tells after every few episodes how many there have been."""

    def __init__(self, engine: Engine, tell: Callable[[int], None]) -> None:
        self._engine, self._tell, self._played = engine, tell, 0
        self.workers: int = getattr(engine, "workers", 1)

    def play(self, policy: Policy, seeds: np.ndarray, record: bool = False) -> Rollouts:
        """Play one episode per seed; with `record`, keep the observations."""
        return Rollouts.join([self._count(self._engine.play(policy, part, record)) for part in _parts(seeds)])

    def play_many(self, policies: Sequence[Policy], seeds: Sequence[np.ndarray]) -> list[Rollouts]:
        """Play several policies, each on its own seeds, and return when all are done."""
        whose = [(k, part) for k, own in enumerate(seeds) for part in _parts(own)]
        played: list[list[Rollouts]] = [[] for _ in policies]
        while whose:
            count = max(1, int(np.searchsorted(np.cumsum([len(part) for _, part in whose]), AT_ONCE, side="right")))
            now, whose = whose[:count], whose[count:]
            done = self._engine.play_many([policies[k] for k, _ in now], [part for _, part in now])
            for (k, _), rollouts in zip(now, done, strict=True):
                played[k].append(self._count(rollouts))
        return [Rollouts.join(parts) for parts in played]

    def _count(self, rollouts: Rollouts) -> Rollouts:
        self._played += rollouts.episodes
        self._tell(self._played)
        return rollouts


def _parts(seeds: np.ndarray) -> list[np.ndarray]:
    """Some seeds at a time; none at all are one part."""
    return [seeds[start : start + AT_ONCE] for start in range(0, max(len(seeds), 1), AT_ONCE)]
