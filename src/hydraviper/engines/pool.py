"""A pool of processes: pieces of work in, answers out, whichever process gives them.

A process that dies is replaced. In a watched pool so is one that stands still, which counts no step for far longer than
any step took before. Processes end when the pool is closed, when a call fails, and when the process that started them
is gone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Self

from hydraviper.data import InputError, JobError
from hydraviper.memory import peak_megabytes

Begin = Callable[[Any], Callable[[Any], Any]]  # called in a new process with its step counter; makes what answers
Message = Callable[[Any, dict[str, None]], Any]  # what to send for a piece, and names that the process has been sent
Done = Callable[[int, Any], None]  # called with the number of a piece and its answer, in the order of answers
Lost = Callable[[int, str, str], bool]  # a piece took its process down: what happened, advice; whether to try again

PATIENCE = 5.0  # seconds until a process that was asked to end is killed
# Seconds without a step until a process counts as standing still: while it imports, begins and takes its first steps;
# then at least, and as a multiple of the longest pause seen. A user's own number replaces the last two.
STILL_AT_FIRST, STILL_AT_LEAST, STILL_TIMES = 600.0, 120.0, 100.0
STILL_SETTING = "HYDRAVIPER_STALL_SECONDS"
BEGUN = 3  # steps that a process has counted when its slow beginning is over
LOOK = 0.5  # seconds between two looks at the processes


class Pool:
    """At most `count` processes, each with something of its own that answers (`begin`), started when needed."""

    def __init__(
        self, begin: Begin, count: int, message: Message = lambda piece, sent: piece, watched: bool = False
    ) -> None:
        self._begin, self._count, self._message, self._watched = begin, count, message, watched
        self._workers: list[_Worker] = []
        self._answers: SimpleQueue[tuple[_Worker, Any]] = SimpleQueue()
        self._longest_pause = 0.0  # between two steps, as far as looks can tell
        self._megabytes = 0.0  # that processes have held, as far as they told before they ended

    def run(self, pieces: Sequence[object], done: Done, lost: Lost) -> None:
        """Have every piece answered; an error in a process is raised here, and all processes end."""
        call = _Call(pieces, done, lost)
        try:
            for worker in self._workers:
                self._give(call, worker)
            while call.waiting and len(self._workers) < self._count:
                self._start(call)
            while any(worker.busy_with is not None for worker in self._workers):
                self._hear(call)
        except BaseException:  # also Ctrl-C
            self.close()
            raise

    @property
    def megabytes(self) -> float:
        """The most memory that the processes have held: the sum of each one's own most."""
        self._megabytes = max(self._megabytes, sum(worker.megabytes.value for worker in self._workers))
        return self._megabytes

    def close(self) -> None:
        """End all processes."""
        _ = self.megabytes  # they tell nothing once they are gone
        while self._workers:
            self._workers.pop().stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _start(self, call: _Call) -> None:
        """One more process, if there is work for it."""
        if call.waiting:
            self._workers.append(_Worker(self._begin, self._message, self._answers))
            self._give(call, self._workers[-1])

    def _give(self, call: _Call, worker: _Worker) -> None:
        """Hand the next piece to a process, if one is left."""
        if call.waiting:
            number = call.waiting.popleft()
            worker.occupy(number, call.pieces[number])

    def _hear(self, call: _Call) -> None:
        """Wait for one answer, and look meanwhile whether every process is still moving."""
        start = time.monotonic()
        try:
            worker, answer = self._answers.get(timeout=LOOK)
        except Empty:
            self._look(call, time.monotonic() - start)
            return
        self._look(call, time.monotonic() - start)
        if worker not in self._workers or worker.busy_with is None:
            return  # it was given up just now
        number, worker.busy_with = worker.busy_with, None
        if answer is None:
            self._workers.remove(worker)
            code = worker.stop(PATIENCE)
            call.lose(number, f"died (exit code {code})", "look for a crash of the simulator or too little memory")
            self._start(call)
        else:
            call.done(number, _unwrap(answer))
            self._give(call, worker)

    def _look(self, call: _Call, passed: float) -> None:
        """Replace processes that stand still; time in which we stood still ourselves (Ctrl-Z) hardly counts."""
        if not self._watched:
            return
        for worker in [worker for worker in self._workers if worker.busy_with is not None]:
            self._longest_pause = max(self._longest_pause, worker.look(min(passed, 2 * LOOK)))
            limit = stall_limit(self._longest_pause) if worker.begun else STILL_AT_FIRST
            if worker.silent > limit and worker.busy_with is not None:
                self._workers.remove(worker)
                worker.stop()
                advice = f"look for a simulator that hangs, or set {STILL_SETTING} higher if it is only slow"
                call.lose(worker.busy_with, f"took no step for {limit:.0f} seconds", advice)
                self._start(call)


class _Call:
    """One call of `run`: the pieces that wait, and whom to tell."""

    def __init__(self, pieces: Sequence[object], done: Done, lost: Lost) -> None:
        self.pieces, self.done, self._lost = pieces, done, lost
        self.waiting = deque(range(len(pieces)))

    def lose(self, number: int, what: str, advice: str) -> None:
        """A piece took its process down."""
        if self._lost(number, what, advice):
            self.waiting.appendleft(number)


class _Worker:
    """A process, and a thread of ours that talks to it.

    A process that stands still may do so in the middle of a message; then only its thread waits.
    """

    def __init__(self, begin: Begin, message: Message, answers: SimpleQueue[tuple[_Worker, object]]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.steps = context.RawValue("Q", 0)  # the process counts, we look
        self.megabytes = context.RawValue("d", 0.0)  # the most memory that it has held, as it tells with each answer
        self.process = context.Process(target=_work, args=(theirs, self.steps, self.megabytes, begin), daemon=True)
        self.process.start()
        theirs.close()  # so that the death of the process ends our pipe
        self.busy_with: int | None = None  # number of its piece
        self.silent = 0.0  # seconds without a step
        self._seen = 0
        self._sent: dict[str, None] = {}
        self._message = message
        self._pieces: SimpleQueue[tuple[Any] | None] = SimpleQueue()
        self._thread = Thread(target=self._talk, args=(answers,), daemon=True)
        self._thread.start()

    def occupy(self, number: int, piece: object) -> None:
        """Give it a piece of work; its answer goes to the queue of answers, None if the process is dead."""
        self.busy_with, self.silent = number, 0.0
        self._pieces.put((piece,))

    def _talk(self, answers: SimpleQueue[tuple[_Worker, object]]) -> None:
        while (piece := self._pieces.get()) is not None:
            try:
                self.pipe.send(self._message(piece[0], self._sent))
                answer = self.pipe.recv()
            except (EOFError, OSError):
                answer = None
            except Exception as error:  # an answer that cannot be read is for the caller, not for this thread
                answer = (RuntimeError, f"{type(error).__name__} while a worker was heard: {error}")
            answers.put((self, answer))

    def look(self, seconds: float) -> float:
        """How long it paused before its last step, if it took one since the last look, so many seconds ago."""
        before, self._seen = self._seen, self.steps.value
        self.silent += seconds
        pause = self.silent if self._seen != before else 0.0
        self.silent -= pause
        return pause if before >= BEGUN else 0.0

    @property
    def begun(self) -> bool:
        """Whether its slow beginning is over."""
        return self._seen >= BEGUN

    def stop(self, grace: float = 0.0) -> int | None:
        """End it; returns its exit code if it ends by itself within `grace` seconds."""
        self.process.join(grace)
        code = self.process.exitcode
        self.process.kill()  # nothing less ends a process that was stopped
        self.process.join()
        self._pieces.put(None)
        self._thread.join(PATIENCE)
        self.pipe.close()
        self.process.close()
        return code


def stall_limit(longest_pause: float) -> float:
    """Seconds without a step after which a process counts as standing still."""
    setting = os.environ.get(STILL_SETTING, "")
    if not setting:
        return max(STILL_AT_LEAST, STILL_TIMES * longest_pause)
    try:
        seconds = float(setting)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise InputError(f"{STILL_SETTING} must be a number of seconds above 0, not {setting!r}.")
    return seconds


def _unwrap(answer: tuple[type[Exception] | None, object]) -> Any:
    error, content = answer
    if error is not None:
        raise error(content)
    return content


def _work(pipe: Connection, steps: Any, megabytes: Any, begin: Begin) -> None:
    """The life of a process: begin once, then answer until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us; it ends us
    Thread(target=_leave_with_parent, daemon=True).start()
    respond: Callable[[Any], Any] | None = None
    while True:
        try:
            message = pipe.recv()
        except (EOFError, ConnectionError):
            return
        answer: tuple[type[Exception] | None, Any]
        try:
            respond = respond or begin(steps)
            answer = None, respond(message)
        except InputError as error:
            answer = InputError, str(error)
        except JobError as error:
            answer = JobError, str(error)
        except Exception as error:
            answer = RuntimeError, f"{type(error).__name__} in a worker: {error}\n{traceback.format_exc()}"
        megabytes.value = peak_megabytes()
        try:
            pipe.send(answer)
        except (BrokenPipeError, ConnectionError):
            return


def _leave_with_parent() -> None:
    """End this process, whatever it is busy with, as soon as the one that started it is gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
