"""Rollouts on this machine: in this process, in threads (compiled games) or in worker processes.

Work is cut by seeds, never by workers, and every episode depends on its seed alone: any number of workers gives
the same rollouts, bit for bit.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from threading import local
from types import TracebackType
from typing import Self

import numpy as np

from hydraviper.data import Rollouts
from hydraviper.protocols import Game, Policy
from hydraviper.rollout import play

CHUNK = 512  # episodes per piece of work, where a game can step that many at once

Work = tuple[Policy, np.ndarray, bool]


class LocalEngine:
    """Plays with `workers` games at once; close it, or use it with `with`, when worker processes are involved."""

    def __init__(self, make_game: Callable[[], Game], workers: int = 1) -> None:
        self.workers = workers
        self._game = make_game()
        self._make_game = make_game
        self._compiled = getattr(self._game, "compiled", False)
        self._pool: Executor | None = None
        self._thread = local()

    def play(self, policy: Policy, seeds: np.ndarray, record: bool = False) -> Rollouts:
        """Play one episode per seed; with `record`, keep the observations."""
        return self._run([(policy, part, record) for part in self._cut(seeds)])[0]

    def play_many(self, policies: Sequence[Policy], seeds: Sequence[np.ndarray]) -> list[Rollouts]:
        """Play several policies, each on its own seeds, as one piece of work."""
        pieces = [
            [(policy, part, False) for part in self._cut(own)] for policy, own in zip(policies, seeds, strict=True)
        ]
        return self._run(*pieces)

    def _cut(self, seeds: np.ndarray) -> list[np.ndarray]:
        if self.workers == 1:
            return [seeds]
        size = min(CHUNK, self._game.width or CHUNK)
        return [seeds[start : start + size] for start in range(0, len(seeds), size)]

    def _run(self, *groups: list[Work]) -> list[Rollouts]:
        flat = [work for group in groups for work in group]
        if self.workers == 1 or len(flat) == 1:
            played = iter([play(self._game, *work) for work in flat])
        elif self._compiled:
            played = self._executor().map(self._play_in_thread, flat)
        else:
            played = self._executor().map(_play_in_process, flat, chunksize=1)
        return [Rollouts.join([next(played) for _ in group]) for group in groups]

    def _executor(self) -> Executor:
        if self._pool is None:
            if self._compiled:
                self._pool = ThreadPoolExecutor(self.workers)
            else:
                context = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(self.workers, context, _start_process, (self._make_game,))
        return self._pool

    def _play_in_thread(self, work: Work) -> Rollouts:
        if not hasattr(self._thread, "game"):
            self._thread.game = self._make_game()
        return play(self._thread.game, *work)

    def close(self) -> None:
        """Let the workers go."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_process_game: Game | None = None


def _start_process(make_game: Callable[[], Game]) -> None:
    global _process_game
    _process_game = make_game()


def _play_in_process(work: Work) -> Rollouts:
    if _process_game is None:
        raise RuntimeError("the worker was not started by an engine")
    return play(_process_game, *work)
