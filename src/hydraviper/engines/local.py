"""Rollouts on this machine: in this process, in threads (compiled games) or in worker processes."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import local

from hydraviper.data import InputError, Rollouts
from hydraviper.engines.pieces import Done, PieceEngine, Work
from hydraviper.engines.workers import Workers
from hydraviper.protocols import Game
from hydraviper.rollout import play

STARTING = 3.0  # seconds that processes take to start, more or less


class LocalEngine(PieceEngine):
    """Plays with `workers` games at once; close it, or use it with `with`, when worker processes are involved.

    A game that is not compiled is made again in every worker, so `make_game` must be something that can be sent to a
    process: a function of a module, or a `functools.partial` of one.
    """

    def __init__(self, make_game: Callable[[], Game], workers: int = 1) -> None:
        super().__init__(make_game(), workers)
        self._make_game = make_game
        if workers > 1 and self._compiled and make_game() is self._game:
            raise InputError("several workers need a game each: pass a function that makes a new game every time.")
        self._threads: ThreadPoolExecutor | None = None
        self._processes: Workers | None = None
        self._seconds_here = 0.0  # played before there were processes
        self._thread = local()

    def each(self, pieces: Sequence[Work], done: Done | None = None) -> list[Rollouts]:
        """Play pieces of work; `done` is told of each as soon as it is played, in whatever order that is."""
        if not self._compiled and self.workers > 1 and len(pieces) > 1:
            return self._in_processes(pieces, done)
        if self.workers == 1 or len(pieces) == 1:
            played = map(self._play_here, pieces)
        else:
            self._threads = self._threads or ThreadPoolExecutor(self.workers)
            played = self._threads.map(self._play_in_thread, pieces)
        rollouts = []
        for number, one in enumerate(played):
            rollouts.append(one)
            if done is not None:
                done(number, one)
        return rollouts

    def _in_processes(self, pieces: Sequence[Work], done: Done | None) -> list[Rollouts]:
        """Play in processes; of a game that steps many episodes, the first seconds here: processes start slowly."""
        rollouts: list[Rollouts] = []
        while self._processes is None and len(rollouts) < len(pieces) and self._game.width != 1:
            if self._seconds_here >= STARTING:
                break
            start = time.perf_counter()
            rollouts.append(self._play_here(pieces[len(rollouts)]))
            self._seconds_here += time.perf_counter() - start
            if done is not None:
                done(len(rollouts) - 1, rollouts[-1])
        left, first = pieces[len(rollouts) :], len(rollouts)
        if not left:
            return rollouts
        self._processes = self._processes or Workers(self._make_game, self.workers)
        rollouts += self._processes.run(left, None if done is None else lambda k, one: done(first + k, one))
        self.megabytes = max(self.megabytes, self._processes.megabytes)
        return rollouts

    def _play_here(self, work: Work) -> Rollouts:
        return play(self._game, *work)

    def _play_in_thread(self, work: Work) -> Rollouts:
        if not hasattr(self._thread, "game"):
            self._thread.game = self._make_game()
        return play(self._thread.game, *work)

    def close(self) -> None:
        """End the workers."""
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        if self._processes is not None:
            self._processes.close()
        self._threads = self._processes = None
