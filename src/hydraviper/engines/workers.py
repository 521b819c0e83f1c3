"""Worker processes that keep a game warm: seeds in, rollouts out, in order, whoever played them.

A worker that dies is replaced and its work repeated; so is one that stands still, which takes no step of its game for
far longer than any step took before. Workers leave when they are closed, when the call fails, and when the process
that started them is gone, because then their pipe ends.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import pickle
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import numpy as np

from hydraviper.data import InputError, JobError, Observations, Rollouts
from hydraviper.protocols import Game, KnowsEpisodes, Policy
from hydraviper.rollout import play

Work = tuple[Policy, np.ndarray, bool]  # who plays, seeds, whether to keep the observations
Done = Callable[[int, Rollouts], None]  # told as soon as a piece of work is played: its number, and what came of it

ATTEMPTS = 3  # how often a piece of work may take a worker down with it
KEPT_POLICIES = 8  # unpacked policies that a worker remembers
PATIENCE = 5.0  # seconds until a worker that was asked to end is made to
# Seconds without a step until a worker counts as standing still: while it imports, makes its game and takes the first
# step; then at least, and as a multiple of the longest pause seen. A user's own number takes the place of the last two.
STILL_AT_FIRST, STILL_AT_LEAST, STILL_TIMES = 600.0, 120.0, 100.0
STILL_SETTING = "HYDRAVIPER_STALL_SECONDS"
BEGUN = 3  # what a worker has counted when that is behind it: its game, and two actions
LOOK = 0.5  # seconds between two looks at the workers


@dataclass(frozen=True)
class _Packed:
    """A policy as bytes, and their hash: a worker that knows the hash need not be sent the bytes again."""

    digest: str
    body: bytes

    @staticmethod
    def of(policy: Policy) -> _Packed:
        body = pickle.dumps(policy, pickle.HIGHEST_PROTOCOL)
        return _Packed(hashlib.sha256(body).hexdigest(), body)


class _Worker:
    """A process with a game of its own, and a thread of ours that talks to it.

    A process that stands still may do so in the middle of a message; then its thread waits, and nobody else.
    """

    def __init__(self, make_game: Callable[[], Game], answers: SimpleQueue[tuple[_Worker, Any]]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.steps = context.RawValue("Q", 0)  # how far it is; it counts, we look
        self.process = context.Process(target=_work, args=(theirs, self.steps, make_game), daemon=True)
        self.process.start()
        theirs.close()  # so that the worker's death ends our pipe
        self.known: deque[str] = deque(maxlen=KEPT_POLICIES)
        self.busy_with: int | None = None  # index of its piece of work
        self.silent = 0.0  # seconds without a step
        self._seen = 0
        self._tasks: SimpleQueue[tuple[_Packed, np.ndarray, bool] | None] = SimpleQueue()
        self._thread = Thread(target=self._talk, args=(answers,), daemon=True)
        self._thread.start()

    def occupy(self, number: int, packed: _Packed, seeds: np.ndarray, record: bool) -> None:
        """Give it a piece of work; what comes of it goes to the queue of answers, None if the worker is dead."""
        self.busy_with, self.silent = number, 0.0
        self._tasks.put((packed, seeds, record))

    def _talk(self, answers: SimpleQueue[tuple[_Worker, Any]]) -> None:
        while (task := self._tasks.get()) is not None:
            try:
                self.send(*task)
                answer = self.pipe.recv()
            except (EOFError, OSError):
                answer = None
            except Exception as error:  # what was sent cannot be read: for whoever waits, not for this thread
                answer = ("other", f"{type(error).__name__} while a worker was heard: {error}")
            answers.put((self, answer))

    def send(self, packed: _Packed, seeds: np.ndarray, record: bool) -> None:
        """Send it a piece of work, and the policy if it has not seen or no longer remembers it."""
        new = packed.digest not in self.known
        if new:
            self.known.append(packed.digest)
        self.pipe.send((packed.digest, packed.body if new else None, seeds, record))

    def look(self, seconds: float) -> float:
        """How long it paused before its last step, if it took one since the last look, so many seconds ago."""
        before, self._seen = self._seen, self.steps.value
        self.silent += seconds
        pause = self.silent if self._seen != before else 0.0
        self.silent -= pause
        return pause if before >= BEGUN else 0.0

    @property
    def begun(self) -> bool:
        """Whether all that happens once is behind it."""
        return self._seen >= BEGUN

    def stop(self, grace: float = 0.0) -> int | None:
        """End it, which holds nothing that must be saved; returns its exit code if it ends by itself before that."""
        self.process.join(grace)
        code = self.process.exitcode
        self.process.kill()  # nothing less ends a process that was stopped
        self.process.join()
        self._tasks.put(None)
        self._thread.join(PATIENCE)
        self.pipe.close()
        self.process.close()
        return code


class _Job:
    """Pieces of work on their way: which wait, how often each was tried, what came back."""

    def __init__(self, pieces: Sequence[Work], done: Done | None) -> None:
        self._pieces, self._done = pieces, done
        self._packed = {id(policy): _Packed.of(policy) for policy in {id(work[0]): work[0] for work in pieces}.values()}
        self.waiting = deque(range(len(pieces)))
        self.attempts = [0] * len(pieces)
        self.results: dict[int, Rollouts] = {}

    def give(self, worker: _Worker) -> None:
        """Hand the next piece to a worker, if one is left."""
        if self.waiting:
            number = self.waiting.popleft()
            policy, seeds, record = self._pieces[number]
            worker.occupy(number, self._packed[id(policy)], seeds, record)

    def take(self, number: int, answer: tuple[str, Any]) -> None:
        """Keep what a worker has played."""
        self.results[number] = _unwrap(answer)
        if self._done is not None:
            self._done(number, self.results[number])

    def failed(self, number: int, what: str, advice: str) -> None:
        """A piece of work took its worker down: it waits again, but not for ever."""
        self.waiting.appendleft(number)
        self.attempts[number] += 1
        if self.attempts[number] >= ATTEMPTS:
            seed = self._pieces[number][1][0]
            raise JobError(f"a worker process {what}, {ATTEMPTS} times at the same rollout (seed {seed}): {advice}.")


class Workers:
    """A fixed number of processes, each with a game of its own."""

    def __init__(self, make_game: Callable[[], Game], count: int) -> None:
        self._make_game, self._count = make_game, count
        self._workers: list[_Worker] = []
        self._answers: SimpleQueue[tuple[_Worker, Any]] = SimpleQueue()
        self._longest_pause = 0.0  # between two steps, as far as looks can tell

    def run(self, pieces: Sequence[Work], done: Done | None = None) -> list[Rollouts]:
        """Play every piece; if one fails, the error is raised here and the workers are gone."""
        job = _Job(pieces, done)
        try:
            for worker in self._workers:
                job.give(worker)
            while len(self._workers) < min(self._count, len(pieces)):
                self._begin(job)
            while any(worker.busy_with is not None for worker in self._workers):
                self._hear(job)
        except BaseException:  # also Ctrl-C
            self.close()
            raise
        return [job.results[number] for number in range(len(pieces))]

    def _hear(self, job: _Job) -> None:
        """Wait for one answer, and look meanwhile whether everybody is still moving."""
        start = time.monotonic()
        try:
            worker, answer = self._answers.get(timeout=LOOK)
        except Empty:
            self._look(job, time.monotonic() - start)
            return
        self._look(job, time.monotonic() - start)
        if worker not in self._workers or worker.busy_with is None:
            return  # it was given up just now
        number, worker.busy_with = worker.busy_with, None
        if answer is None:
            self._workers.remove(worker)
            code = worker.stop(PATIENCE)
            job.failed(number, f"died (exit code {code})", "look for a crash of the simulator or too little memory")
            self._begin(job)
        else:
            job.take(number, answer)
            job.give(worker)

    def _look(self, job: _Job, passed: float) -> None:
        """Replace workers that stand still; while we stood still ourselves (Ctrl-Z, a closed lid) is no proof."""
        for worker in [worker for worker in self._workers if worker.busy_with is not None]:
            self._longest_pause = max(self._longest_pause, worker.look(min(passed, 2 * LOOK)))
            limit = _limit(self._longest_pause) if worker.begun else STILL_AT_FIRST
            if worker.silent > limit and worker.busy_with is not None:
                self._workers.remove(worker)
                worker.stop()
                advice = f"look for a simulator that hangs, or set {STILL_SETTING} higher if it is only slow"
                job.failed(worker.busy_with, f"took no step for {limit:.0f} seconds", advice)
                self._begin(job)

    def close(self) -> None:
        """Let all workers go."""
        while self._workers:
            self._workers.pop().stop()

    def _begin(self, job: _Job) -> None:
        """One more worker, and work for it."""
        self._workers.append(_Worker(self._make_game, self._answers))
        job.give(self._workers[-1])


def _limit(longest_pause: float) -> float:
    """Seconds without a step after which nobody believes in a worker any more."""
    own = os.environ.get(STILL_SETTING, "")
    if not own:
        return max(STILL_AT_LEAST, STILL_TIMES * longest_pause)
    try:
        seconds = float(own)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise InputError(f"{STILL_SETTING} must be a number of seconds above 0, not {own!r}.")
    return seconds


def _unwrap(answer: tuple[str, Any]) -> Rollouts:
    kind, content = answer
    if kind == "rollouts":
        return content
    raise {"input": InputError, "job": JobError}.get(kind, RuntimeError)(content)


@dataclass(frozen=True)
class _Counted:
    """A policy that counts its steps where the process that waits for it can see them."""

    policy: Policy
    steps: Any  # a number in shared memory

    def begin(self, seeds: np.ndarray) -> Policy:
        return _Counted(self.policy.begin(seeds) if isinstance(self.policy, KnowsEpisodes) else self.policy, self.steps)

    def act(self, observations: Observations) -> np.ndarray:
        self.steps.value += 1
        return self.policy.act(observations)


def _work(pipe: Connection, steps: Any, make_game: Callable[[], Game]) -> None:
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
            steps.value += 1
            answer: tuple[str, Any] = ("rollouts", play(game, _Counted(policies[digest], steps), seeds, record))
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
