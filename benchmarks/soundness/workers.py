"""Jobs on several processes, each of which is replaced if it falls silent."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait

from benchmarks.soundness.checks import Verdict

SILENT = 120.0  # seconds after which a worker hangs
Job = tuple[str, int]


def _work(function: Callable[[Job], list[Verdict]], pipe: Connection) -> None:
    while (job := pipe.recv()) is not None:
        pipe.send(function(job))


def spread(function: Callable[[Job], list[Verdict]], jobs: list[Job], workers: int) -> Iterator[list[Verdict]]:
    """The verdicts of every job; a job that hangs or ends its process has a wrong one."""
    context = multiprocessing.get_context("spawn")
    left = list(reversed(jobs))
    running: dict[Connection, tuple[multiprocessing.process.BaseProcess, Job]] = {}

    def start() -> None:
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(function, theirs), daemon=True)
        process.start()
        theirs.close()
        give(ours, process)

    def give(pipe: Connection, process: multiprocessing.process.BaseProcess) -> None:
        if left:
            job = left.pop()
            pipe.send(job)
            running[pipe] = process, job
        else:
            pipe.send(None)

    for _ in range(min(workers, len(jobs))):
        start()
    while running:
        ready = wait(list(running), SILENT) or list(running)[:1]
        for pipe in ready:
            process, job = running.pop(pipe)
            try:
                if not pipe.poll():
                    raise EOFError
                found = pipe.recv()
            except (EOFError, OSError):
                process.kill()
                yield [Verdict(*job, "", "hangs", "", f"no answer after {SILENT:.0f} s, or the process ended")]
                start()
                continue
            yield found
            give(pipe, process)
