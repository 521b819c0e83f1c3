"""Runs the cells of a study: finished ones never again, several at once unless runtime is measured.

A cell's result is written whole by whoever ran it, so a study may be killed at any moment and called again. Several
processes may work in one folder, also from several machines: each takes the next cell that nobody has. Where
rollouts are dear, a cell that was under way goes on from its journal, and cells of a game share one for what all of
them play: the expert and the yardsticks on the unseen episodes. Unless runtime is measured, cells of one seed also take
from one another what they have in common: cells that differ in their selection train the same trees.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import platform
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import Thread
from typing import Any

from hydraviper.data import InputError, JobError
from hydraviper.engines.local import LocalEngine
from hydraviper.engines.remembered import RememberedEngine
from hydraviper.experts import store
from hydraviper.experts.store import StoredExpert
from hydraviper.games import catalogue
from hydraviper.protocols import Game, offers
from hydraviper.records import to_json
from hydraviper.refine.records import RefineSettings
from hydraviper.refine.search import refine
from hydraviper.runs import distil as runs
from hydraviper.runs import evaluate as evaluation
from hydraviper.studies import experts, results
from hydraviper.studies.design import Arm, Cell, Study, cell_of
from hydraviper.studies.results import RUNNING, Result
from hydraviper.trees import file
from hydraviper.variants import VARIANTS

Progress = Callable[[int, int, float | None], None]  # cells done, of how many, seconds left if they can be told


@dataclass(frozen=True)
class Job:
    """A cell on its way, and what a worker needs to know beside it."""

    cell: Cell
    arm: str
    folder: Path
    given: Mapping[tuple[str, str], Path]  # expert files
    command: str
    alone: bool
    workers: int  # cores inside the cell
    shares: bool = False  # takes rollouts from finished cells of its seed


@dataclass(frozen=True)
class Wanted:
    """Which part of a study is wanted; None means all."""

    seeds: int = 10
    games: Sequence[str] | None = None
    algorithms: Sequence[str] | None = None
    budgets: Sequence[str] | None = None
    scale: float = 1.0
    experts: Sequence[str] | None = None


def plan(study: Study, wanted: Wanted, given: experts.Given) -> list[tuple[Cell, Arm]]:
    """The cells that are wanted, seed by seed, so that a study that is stopped early compares on common seeds."""
    arms, games = _chosen(study, wanted), _games(study, wanted)
    for (game, algorithm), path in given.items():
        if game not in games or algorithm not in games[game]:
            known = "; ".join(f"{name}: {', '.join(own)}" for name, own in games.items())
            raise InputError(f"{path} is an expert for {game} by {algorithm}, which is not asked for here ({known}).")
    made = [catalogue.make(name) for name in games]
    named: dict[str, list[tuple[str, str]]] = {
        game.name: [(name, store.digest(experts.find(game, name, given))) for name in games[game.name]] for game in made
    }
    return [
        (cell_of(arm, game, expert, seed, wanted.scale), arm)
        for seed in range(wanted.seeds)
        for game in made
        for expert in named[game.name]
        for arm in arms
    ]


def _games(study: Study, wanted: Wanted) -> dict[str, list[str]]:
    """The games that are wanted, each with its experts."""
    found: dict[str, list[str]] = {}
    for game in wanted.games or study.games:
        if game not in study.games:
            raise InputError(f"{study.name} has no game {game!r}: choose among {', '.join(study.games)}.")
        known = study.experts[game]
        own = [name for name in known if wanted.experts is None or name in wanted.experts]
        if own:
            found[game] = own
        elif wanted.games:
            names = f"{study.name} distils {game} from {' or '.join(known)}"
            raise InputError(f"{names}, not from {', '.join(wanted.experts or ())}: choose again, or leave {game} out.")
    return found


def _chosen(study: Study, wanted: Wanted) -> list[Arm]:
    known = dict.fromkeys(name for arm in study.arms for name in (arm.algorithm, arm.name))
    for name in wanted.algorithms or ():
        if name not in known:
            raise InputError(f"{study.name} has no algorithm {name!r}: choose among {', '.join(known)}.")
    names = wanted.algorithms or known
    arms = [arm for arm in study.arms if arm.algorithm in names or arm.name in names]
    levels = {_short(arm.level): arm.level for arm in arms}
    for name in wanted.budgets or ():
        if _short(name) not in levels:
            of = f" for {', '.join(wanted.algorithms)}" if wanted.algorithms else ""
            raise InputError(f"{study.name} has no budget {name!r}{of}: choose among {', '.join(levels)}.")
    budgets = [levels[_short(name)] for name in wanted.budgets or levels]
    return [arm for arm in arms if arm.level in budgets]


def _short(level: str) -> str:
    """`high` for `high/high`."""
    first, _, second = level.partition("/")
    return first if second in ("", first) else level


def run(jobs: Sequence[Job], at_once: int, progress: Progress, known: Sequence[Result] = ()) -> int:
    """Run cells, each with a result file of its own at the end; one that fails does not stop the others.

    Cells that another process has under way are left to it, unless it dies before this one is done. Returns how many
    cells were run here.
    """
    clock = Clock(jobs, at_once, known)
    failed: list[str] = []
    elsewhere: list[Job] = []
    ran = 0

    def finished(job: Job, seconds: float | None, problem: str | None) -> None:
        nonlocal ran
        if problem is not None:
            failed.append(f"{job.cell.name}: {problem}")
        if seconds is None:
            elsewhere.append(job)
        else:
            ran += 1
        clock.finished(job, seconds)
        progress(clock.done, len(jobs), clock.left())

    waiting = list(jobs)
    if waiting:
        progress(0, len(jobs), clock.left())
    while waiting:
        elsewhere.clear()
        if at_once == 1:
            for job in waiting:
                finished(job, *_attempt(job))
        else:
            _run_in_processes(waiting, at_once, finished)
        waiting = [job for job in elsewhere if _abandoned(job)]
        clock.again(waiting)
    if failed:
        raise JobError(f"{len(failed)} of {len(jobs)} cells failed (call again to repeat them); first {failed[0]}")
    return ran


@contextmanager
def measuring(folder: Path) -> Iterator[None]:
    """Hold this machine for a study that measures runtime; other machines may work in the same folder."""
    machine = hashlib.sha256(platform.node().encode()).hexdigest()[:12]
    with results.locked(folder / RUNNING / f"machine-{machine}.lock", wait=False) as free:
        if not free:
            raise InputError(
                f"another process of this machine works on {folder}, and runtime is measured: wait for it or pass "
                "another --out."
            )
        yield


class Clock:
    """Tells the time that is left, from cells of the same arm that are finished."""

    def __init__(self, jobs: Sequence[Job], at_once: int, known: Sequence[Result]) -> None:
        self.done, self._at_once = 0, at_once
        self._waiting = {id(job): job for job in jobs}
        self._seen: dict[tuple[str, str], list[float]] = {}
        for result in known:
            self._seen.setdefault((result.cell.game, result.arm), []).append(float(result.timing["wall"]))

    def finished(self, job: Job, seconds: float | None) -> None:
        """Take note of a cell; one without seconds is another process's."""
        self.done += 1
        self._waiting.pop(id(job))
        if seconds is not None:
            self._seen.setdefault((job.cell.game, job.arm), []).append(seconds)

    def again(self, jobs: Sequence[Job]) -> None:
        """These have to be run here after all."""
        self.done -= len(jobs)
        self._waiting |= {id(job): job for job in jobs}

    def left(self) -> float | None:
        """Seconds, or None while nothing like what waits has been seen."""
        if not self._seen:
            return None
        everything = [seconds for own in self._seen.values() for seconds in own]
        usual = sum(everything) / len(everything)

        def expected(job: Job) -> float:
            own = self._seen.get((job.cell.game, job.arm))
            return sum(own) / len(own) if own else usual

        return sum(map(expected, self._waiting.values())) / self._at_once


def execute(job: Job) -> Result:
    """Run one cell in this process and write its result."""
    start, load = time.perf_counter(), os.getloadavg()[0]
    cell = job.cell
    game = catalogue.make(cell.game, cell.parameters)
    expert = replace(experts.find(game, cell.expert, job.given), workers=job.workers)
    if store.digest(expert) != cell.expert_hash:
        raise InputError(f"the {cell.expert} expert for {cell.game} has changed since the study was planned.")
    summary = _KINDS[cell.to_json()["kind"]](job, game, expert)
    timing = {
        "alone": job.alone,
        "workers": job.workers,
        "load": round(load, 2),
        "wall": time.perf_counter() - start,
    }
    result = Result(cell, job.arm, summary, timing, results.commit(), results.machine(), job.command)
    results.write(job.folder, result)
    return result


def _distill(job: Job, game: Game, expert: StoredExpert) -> dict[str, Any]:
    """The object that `hydraviper distill --json` prints; the run's folder is not kept."""
    with _scratch(job) as place, LocalEngine(catalogue.maker(game), job.workers) as engine:
        return _run_into(place, job, game, expert, engine)


def _refine(job: Job, game: Game, expert: StoredExpert) -> dict[str, Any]:
    """As `_distill`, then the direct search over the trees: the score is theirs, and their seconds are counted."""
    with _scratch(job) as place, LocalEngine(catalogue.maker(game), job.workers) as engine:
        summary = _run_into(place, job, game, expert, engine)
        students = file.load(place).students(game)
        limits = RefineSettings(seconds=job.cell.refine, seed=job.cell.settings.seed)
        refined = refine(game, expert, students, engine, limits)
        scores = evaluation.evaluate_students(game, expert, refined.students, engine, job.cell.episodes)
    seconds = {**summary["seconds"], "refine": refined.seconds}
    seconds["total"] += refined.seconds
    notes = [*summary["notes"], refined.sentence()]
    return {**summary, **to_json(scores), "seconds": seconds, "notes": notes, "refined": refined.to_json()}


@contextmanager
def _scratch(job: Job) -> Iterator[Path]:
    """A run's folder that is thrown away when the cell is finished."""
    place = job.folder / RUNNING / job.cell.name
    place.mkdir(parents=True, exist_ok=True)
    yield place
    shutil.rmtree(place)


def _run_into(place: Path, job: Job, game: Game, expert: StoredExpert, engine: LocalEngine) -> dict[str, Any]:
    cell = job.cell
    plan = runs.Plan(game, expert, VARIANTS[cell.algorithm], cell.settings)
    known = None if offers(game).compiled else lambda: _references(job, game, expert, engine)
    seed = f"rollouts-{game.name}-{cell.expert_hash}-{cell.settings.seed}"
    shared = job.folder / RUNNING / seed if job.shares else None
    summary = runs.execute(
        plan, place, engine, episodes=cell.episodes, command=cell.command, references=known, shared=shared
    )
    return {**to_json(summary), "out": None}


def _references(job: Job, game: Game, expert: StoredExpert, engine: LocalEngine) -> evaluation.References:
    """The expert and the yardsticks on the unseen episodes, played by one of the cells for all."""
    path = job.folder / RUNNING / f"{game.name}-{job.cell.expert_hash}.journal"
    with results.locked(path.with_suffix(".lock")):  # the others wait rather than play the same
        remembered = RememberedEngine(engine, path, runs.subject(game), store.policy_digest)
        return evaluation.play_references(game, expert, remembered, job.cell.episodes)


_KINDS: dict[str, Callable[[Job, Game, StoredExpert], dict[str, Any]]] = {"distill": _distill, "refined": _refine}


def _attempt(job: Job) -> tuple[float | None, str | None]:
    """Run a cell; how long it took, None if it is another process's, and what went wrong."""
    start, problem = time.perf_counter(), None
    try:
        with results.locked(_lock(job), wait=False) as ours:
            if not ours or results.is_written(job.folder, job.cell):
                return None, None
            execute(job)
    except (InputError, JobError) as error:
        problem = str(error)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
    return time.perf_counter() - start, problem


def _abandoned(job: Job) -> bool:
    """Whether the process that had a cell under way is gone without a result."""
    with results.locked(_lock(job), wait=False) as ours:
        return ours and not results.is_written(job.folder, job.cell)


def _lock(job: Job) -> Path:
    return job.folder / RUNNING / f"{job.cell.name}.lock"


def clean(folder: Path) -> None:
    """Remove what was kept for cells that were under way."""
    shutil.rmtree(folder / RUNNING, ignore_errors=True)


# --------------------------------------------------------------------------- several at once


def _run_in_processes(
    jobs: Sequence[Job], count: int, finished: Callable[[Job, float | None, str | None], None]
) -> None:
    context = multiprocessing.get_context("spawn")
    waiting = list(reversed(jobs))
    busy: dict[Any, tuple[Any, Job]] = {}  # pipe -> process, its job

    def start() -> tuple[Any, Any]:
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        return ours, process

    def give(pipe: Any, process: Any) -> None:
        if waiting:
            job = waiting.pop()
            busy[pipe] = (process, job)
            pipe.send(job)
        else:
            pipe.close()  # the worker leaves

    try:
        for _ in range(min(count, len(jobs))):
            give(*start())
        while busy:
            for pipe in map(_pipe, wait(list(busy))):
                process, job = busy.pop(pipe)
                try:
                    seconds, problem = pipe.recv()
                except (EOFError, ConnectionError):
                    process.join()
                    finished(job, 0.0, f"its process died (exit code {process.exitcode})")
                    if waiting:
                        give(*start())
                    continue
                finished(job, seconds, problem)
                give(pipe, process)
    finally:
        for process, _ in busy.values():
            process.terminate()


def _pipe(ready: Any) -> Any:
    return ready  # only pipes wait, whatever the stubs think


def _work(pipe: Connection) -> None:
    """A worker's life: run cells until the pipe ends or the process that started it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_leave_with_parent, daemon=True).start()
    while True:
        try:
            job = pipe.recv()
            pipe.send(_attempt(job))
        except (EOFError, ConnectionError):
            return


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
