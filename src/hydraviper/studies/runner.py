"""Runs the cells of a study: finished ones never again, several at once unless runtime is measured.

A cell's result is written whole by the process that ran it, so a study may be killed at any moment and called again.
Several processes may work in one folder, also from several machines: each takes the next cell that no other has. Where
rollouts are dear, a cell that was under way goes on from its journal, and cells of a game share one for what all of
them play: the expert and the yardsticks on the unseen episodes. Unless runtime is measured, cells of one seed also take
from one another what they have in common: cells that differ in their selection train the same trees.
"""

import hashlib
import os
import platform
import shutil
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from hydraviper.data import InputError, JobError
from hydraviper.engines.pieces import PieceEngine
from hydraviper.engines.pool import Pool
from hydraviper.engines.remembered import RememberedEngine
from hydraviper.experts import store
from hydraviper.experts.worth import AnyExpert
from hydraviper.games import catalogue
from hydraviper.profile import Profile
from hydraviper.protocols import Game, offers
from hydraviper.records import to_json
from hydraviper.refine.records import RefineSettings
from hydraviper.refine.search import refine
from hydraviper.runs import distil as runs
from hydraviper.runs import evaluate as evaluation
from hydraviper.runs.opening import engine_for
from hydraviper.runs.run import expert_hash
from hydraviper.studies import expert_files, provenance, results
from hydraviper.studies.cells import Cell, Result, Timing
from hydraviper.studies.expert_files import ExpertFiles
from hydraviper.studies.results import RUNNING
from hydraviper.studies.summaries import BEFORE
from hydraviper.trees import file
from hydraviper.variants import VARIANTS

SEARCHED = "search.journal"  # rollouts of a search under way
CellProgress = Callable[[int, int, float | None], None]  # cells done, of how many, seconds left if they can be told
Attempt = tuple[float | None, str | None]  # seconds, None if another process has the cell; what went wrong


@dataclass(frozen=True)
class Job:
    """A cell to run, and what a worker needs to know beside it."""

    cell: Cell
    arm: str
    folder: Path
    files: ExpertFiles
    command: str
    alone: bool
    workers: int  # cores inside the cell
    shares: bool = False  # takes rollouts from finished cells of its seed


def run(jobs: Sequence[Job], at_once: int, progress: CellProgress, earlier: Sequence[Result] = ()) -> int:
    """Run cells, each with a result file of its own at the end; one that fails does not stop the others.

    Cells that another process has under way are left to it, unless it dies before this one is done. `earlier` results
    tell how long cells take. Returns how many cells were run here.
    """
    clock = Clock(jobs, at_once, earlier)
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


def _run_in_processes(
    jobs: Sequence[Job], count: int, finished: Callable[[Job, float | None, str | None], None]
) -> None:
    def done(number: int, attempt: Attempt) -> None:
        finished(jobs[number], *attempt)

    def lost(number: int, what: str, advice: str) -> bool:
        finished(jobs[number], 0.0, f"its process {what}")
        return False

    with Pool(_attempts, count) as pool:
        pool.run(jobs, done, lost)


def _attempts(steps: object) -> Callable[[Job], Attempt]:
    """What a process of the pool does with jobs; nobody watches its steps."""
    return _attempt


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
    """Estimates the time that is left, from finished cells of the same arm, or else of the same game by rollouts."""

    def __init__(self, jobs: Sequence[Job], at_once: int, earlier: Sequence[Result]) -> None:
        self.done, self._at_once = 0, at_once
        self._waiting = {id(job): job for job in jobs}
        self._seen: dict[tuple[str, str], list[float]] = {}  # (game, arm) -> seconds of its cells
        self._by_game: dict[str, tuple[float, int]] = {}  # seconds and rollouts of all its cells
        for result in earlier:
            self._note(result.cell, result.arm, result.timing.wall)

    def finished(self, job: Job, seconds: float | None) -> None:
        """Take note of a cell; one without seconds is another process's."""
        self.done += 1
        self._waiting.pop(id(job))
        if seconds is not None:
            self._note(job.cell, job.arm, seconds)

    def _note(self, cell: Cell, arm: str, seconds: float) -> None:
        game = cell.game.title
        self._seen.setdefault((game, arm), []).append(seconds)
        all_seconds, rollouts = self._by_game.get(game, (0.0, 0))
        self._by_game[game] = all_seconds + seconds, rollouts + _rollouts(cell)

    def again(self, jobs: Sequence[Job]) -> None:
        """These have to be run here after all."""
        self.done -= len(jobs)
        self._waiting |= {id(job): job for job in jobs}

    def left(self) -> float | None:
        """Seconds, or None while a game of which cells are waiting has none that is finished."""
        total = 0.0
        for job in self._waiting.values():
            game = job.cell.game.title
            if seconds := self._seen.get((game, job.arm)):
                total += sum(seconds) / len(seconds)
            elif game in self._by_game:
                all_seconds, rollouts = self._by_game[game]
                total += all_seconds / rollouts * _rollouts(job.cell)
            else:
                return None  # cells of other games may take a hundredth of the time
        return total / self._at_once


def _rollouts(cell: Cell) -> int:
    """How many rollouts a cell may play, which decides its time where they are dear."""
    return cell.settings.train_budget + cell.settings.valid_budget + cell.refine_rollouts


def execute(job: Job) -> Result:
    """Run one cell in this process and write its result."""
    start, load = time.perf_counter(), os.getloadavg()[0]
    cell = job.cell
    game = catalogue.make(cell.game.name, cell.game.parameters)
    expert = replace(expert_files.find(game, cell.expert.name, job.files), workers=job.workers)
    if expert_hash(expert) != cell.expert.hash:
        raise InputError(f"the {cell.expert.name} expert for {game.name} has changed since the study was planned.")
    with _scratch(job) as folder, engine_for(game, job.workers) as engine:
        summary = _distill(folder, job, game, expert, engine)
        if cell.refine or cell.refine_rollouts:
            summary = _refine(folder, job, game, expert, engine, summary)
    timing = Timing(job.alone, job.workers, round(load, 2), time.perf_counter() - start)
    document = {
        "cell": cell.to_json(),
        "arm": job.arm,
        "summary": summary,
        "timing": msgspec.to_builtins(timing),
        "commit": provenance.commit(),
        "machine": msgspec.to_builtins(provenance.machine()),
        "command": job.command,
    }
    if "fit" in expert.about:
        document["critics"] = expert.about["fit"]
    return results.write(job.folder, cell, document)


@contextmanager
def _scratch(job: Job) -> Iterator[Path]:
    """A run's folder that is thrown away when the cell is finished."""
    folder = job.folder / RUNNING / job.cell.name
    folder.mkdir(parents=True, exist_ok=True)
    yield folder
    shutil.rmtree(folder)


def _distill(folder: Path, job: Job, game: Game, expert: AnyExpert, engine: PieceEngine) -> dict[str, object]:
    """Distil into a run's folder; returns what `hydraviper distill --json` prints."""
    cell = job.cell
    plan = runs.Plan(game, expert, VARIANTS[cell.algorithm], cell.settings)
    references = None if offers(game).compiled else lambda: _references(job, game, expert, engine)
    shared = job.folder / RUNNING / f"rollouts-{_digest(cell.game.key, cell.expert.hash, cell.seed)}"
    summary = runs.execute(
        plan,
        folder,
        engine,
        episodes=cell.episodes,
        command=cell.command(expert_files.passed(game, cell.expert.name, job.files)),
        references=references,
        shared=shared if job.shares else None,
        pictures=False,
    )
    return {**to_json(summary), "out": None}


def _refine(
    folder: Path, job: Job, game: Game, expert: AnyExpert, engine: PieceEngine, summary: Mapping[str, Any]
) -> dict[str, object]:
    """Search for better trees; the score is theirs, and the search's seconds are counted."""
    cell, dear = job.cell, not offers(game).compiled
    students = file.load(folder).students(game)
    limits = RefineSettings(
        seconds=cell.refine or None,
        rollouts=cell.refine_rollouts or None,
        # the trees know their plain and derived features; others come with a look ahead
        features="plain" if cell.settings.features in ("plain", "derived") else cell.settings.features,
        seed=cell.seed,
    )
    before: list[float] = []  # seconds of rollouts that were played before the cell was interrupted
    # a search that is limited by seconds does not repeat, so nothing could be remembered
    remembers = dear and limits.seconds is None
    searching = _remembered(folder / SEARCHED, game, engine, before.append) if remembers else engine
    refined = refine(game, expert, students, searching, limits)
    scores = evaluation.evaluate_profile(
        game,
        Profile(expert, refined.students),
        engine,
        cell.episodes,
        references=_references(job, game, expert, engine) if dear else None,
        earlier={BEFORE: Profile(expert, students)},
        watch=False,
    )
    seconds = {**summary["seconds"], "refine": refined.seconds + sum(before)}
    seconds["total"] += seconds["refine"]
    told = {"notes": [*summary["notes"], refined.sentence()], "refined": refined.to_json()}
    rollouts = {**summary["rollouts"], "refine": refined.rollouts}
    return {**summary, **to_json(scores), "seconds": seconds, "rollouts": rollouts, **told}


def _references(job: Job, game: Game, expert: AnyExpert, engine: PieceEngine) -> evaluation.References:
    """The expert and the yardsticks on the unseen episodes, played by one of the game's cells for all."""
    path = job.folder / RUNNING / f"references-{_digest(job.cell.game.key)}.journal"
    with results.locked(path.with_suffix(".lock")):  # the others wait rather than play the same
        return evaluation.play_references(game, expert, _remembered(path, game, engine), job.cell.episodes)


def _remembered(
    path: Path, game: Game, engine: PieceEngine, charge: Callable[[float], None] = lambda seconds: None
) -> RememberedEngine:
    return RememberedEngine(engine, path, runs.subject(game), store.policy_digest, charge)


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _attempt(job: Job) -> Attempt:
    """Run a cell, unless another process has it or has written it."""
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
