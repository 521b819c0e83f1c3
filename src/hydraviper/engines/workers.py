"""Worker processes that keep a game warm: seeds in, rollouts out, in order, whoever played them.

A worker that dies is replaced and its work repeated. Workers leave when they are closed, when the call fails, and
when the process that started them is gone, because then their pipe ends.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import pickle
import signal
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from threading import Thread
from typing import Any

import numpy as np

from hydraviper.data import InputError, JobError, Rollouts
from hydraviper.protocols import Game, Policy
from hydraviper.rollout import play

Work = tuple[Policy, np.ndarray, bool]  # who plays, seeds, whether to keep the observations
Done = Callable[[int, Rollouts], None]  # told as soon as a piece of work is played: its number, and what came of it

ATTEMPTS = 3  # how often a piece of work may take a worker down with it
KEPT_POLICIES = 8  # unpacked policies that a worker remembers
PATIENCE = 5.0  # seconds until a worker that was asked to end is made to


@dataclass(frozen=True)
class _Packed:
    """A policy as bytes, and their hash: a worker that knows the hash need not be sent the bytes again."""

    digest: str
    body: bytes

    @staticmethod
    def of(policy: Policy) -> _Packed:
        body = pickle.dumps(policy, pickle.HIGHEST_PROTOCOL)
        return _Packed(hashlib.sha256(body).hexdigest(), body)


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: Connection
    known: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_POLICIES))
    busy_with: int | None = None  # index of its piece of work

    def send(self, packed: _Packed, seeds: np.ndarray, record: bool) -> None:
        """Give it a piece of work, and the policy if it has not seen or no longer remembers it."""
        new = packed.digest not in self.known
        if new:
            self.known.append(packed.digest)
        self.pipe.send((packed.digest, packed.body if new else None, seeds, record))

    def stop(self) -> None:
        """End it; it holds nothing that must be saved."""
        self.pipe.close()
        self.process.terminate()
        self.process.join(PATIENCE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()


class _Job:
    """Pieces of work on their way: which wait, how often each was tried, what came back."""

    def __init__(self, pieces: Sequence[Work], done: Done | None) -> None:
        self._pieces, self._done = pieces, done
        self._packed = {id(policy): _Packed.of(policy) for policy in {id(work[0]): work[0] for work in pieces}.values()}
        self.waiting = deque(range(len(pieces)))
        self.attempts = [0] * len(pieces)
        self.results: dict[int, Rollouts] = {}

    def give(self, worker: _Worker) -> bool:
        """Hand the next piece to a worker; False if the worker turns out to be dead."""
        if not self.waiting:
            return True
        number = self.waiting[0]
        policy, seeds, record = self._pieces[number]
        try:
            worker.send(self._packed[id(policy)], seeds, record)
        except ConnectionError:
            return False
        worker.busy_with = self.waiting.popleft()
        return True

    def take(self, worker: _Worker) -> bool:
        """Take what a worker has played; False if the worker is dead."""
        try:
            answer = worker.pipe.recv()
        except (EOFError, ConnectionError):
            return False
        if worker.busy_with is not None:
            self.results[worker.busy_with] = _unwrap(answer)
            if self._done is not None:
                self._done(worker.busy_with, self.results[worker.busy_with])
        worker.busy_with = None
        return True


class Workers:
    """A fixed number of processes, each with a game of its own."""

    def __init__(self, make_game: Callable[[], Game], count: int) -> None:
        self._make_game, self._count = make_game, count
        self._workers: list[_Worker] = []

    def run(self, pieces: Sequence[Work], done: Done | None = None) -> list[Rollouts]:
        """Play every piece; if one fails, the error is raised here and the workers are gone."""
        job = _Job(pieces, done)
        try:
            while len(self._workers) < min(self._count, len(pieces)):
                self._workers.append(self._start())
            for worker in list(self._workers):
                self._occupy(worker, job)
            while busy := {worker.pipe: worker for worker in self._workers if worker.busy_with is not None}:
                for pipe in wait(list(busy)):
                    worker = busy[pipe]  # pyright: ignore[reportArgumentType] (only pipes were passed)
                    self._occupy(worker if job.take(worker) else self._replace(worker, job), job)
        except BaseException:  # also Ctrl-C
            self.close()
            raise
        return [job.results[number] for number in range(len(pieces))]

    def _occupy(self, worker: _Worker, job: _Job) -> None:
        while not job.give(worker):
            worker = self._replace(worker, job)

    def close(self) -> None:
        """Let all workers go."""
        while self._workers:
            self._workers.pop().stop()

    def _start(self) -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self._make_game), daemon=True)
        process.start()
        theirs.close()  # so that the worker's death ends our pipe
        return _Worker(process, ours)  # pyright: ignore[reportArgumentType] (its stubs also know Windows)

    def _replace(self, dead: _Worker, job: _Job) -> _Worker:
        """A new worker for a dead one, whose work waits again."""
        dead.process.join(PATIENCE)
        code, number = dead.process.exitcode, dead.busy_with
        self._workers.remove(dead)
        dead.stop()
        if number is not None:
            job.waiting.appendleft(number)
            job.attempts[number] += 1
            if job.attempts[number] >= ATTEMPTS:
                raise JobError(
                    f"a worker process died {ATTEMPTS} times at the same rollout (exit code {code}): "
                    "look for a crash of the simulator, or for too little memory."
                )
        worker = self._start()
        self._workers.append(worker)
        return worker


def _unwrap(answer: tuple[str, Any]) -> Rollouts:
    kind, content = answer
    if kind == "rollouts":
        return content
    raise {"input": InputError, "job": JobError}.get(kind, RuntimeError)(content)


def _work(pipe: Connection, make_game: Callable[[], Game]) -> None:
    """A worker's life: make the game once, then play until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us; it ends us
    Thread(target=_leave_with_parent, daemon=True).start()
    game: Game | None = None
    policies: dict[str, Policy] = {}
    while True:
        try:
            digest, body, seeds, record = pipe.recv()
        except (EOFError, ConnectionError):
            return
        try:
            if body is not None:
                policies[digest] = pickle.loads(body)
                while len(policies) > KEPT_POLICIES:
                    policies.pop(next(iter(policies)))
            game = make_game() if game is None else game
            answer: tuple[str, Any] = ("rollouts", play(game, policies[digest], seeds, record))
        except InputError as error:
            answer = ("input", str(error))
        except JobError as error:
            answer = ("job", str(error))
        except Exception as error:
            answer = ("other", f"{type(error).__name__} in a worker: {error}\n{traceback.format_exc()}")
        try:
            pipe.send(answer)
        except (BrokenPipeError, ConnectionError):
            return


def _leave_with_parent() -> None:
    """End this worker, whatever it is busy with, as soon as the process that started it is gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
