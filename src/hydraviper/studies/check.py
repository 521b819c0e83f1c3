"""Runs finished cells again and compares: the same to the last digit, on whatever machine."""

import math
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from hydraviper.data import InputError
from hydraviper.studies import results, runner
from hydraviper.studies.cells import Result
from hydraviper.studies.expert_files import ExpertFiles
from hydraviper.studies.runner import CellProgress, Job

EXACT = ("score", "expert", "rollouts", "teams", "selection")  # fields that depend on seeds and settings alone


class Score(Struct, frozen=True):
    """A score then and now."""

    then: float
    now: float


class Checked(Struct, frozen=True):
    """A cell that was run again."""

    cell: str
    same: bool
    differs: tuple[str, ...]  # fields that are not as they were
    score: Score
    seconds_ratio: float  # seconds now, over seconds then


def recheck(
    folder: Path,
    asked: Iterable[tuple[str, str, str]],
    count: int,
    files: ExpertFiles,
    workers: int,
    progress: CellProgress,
) -> list[Checked]:
    """Run a sample of a folder's cells again: those of the games, experts and arms that are asked for.

    A search that the clock ends does not repeat, so cells with one are left out.
    """
    wanted = set(asked)
    texts = {
        result.cell.key: (result, text)
        for result, text in results.documents(folder)
        if (result.cell.game.key, result.cell.expert.name, result.arm) in wanted
    }
    steady = [result for result, _ in texts.values() if not result.cell.refine]
    if texts and not steady:
        raise InputError("all of these cells were searched for some seconds, and such a search does not repeat.")
    chosen = sample(steady, count)
    checked = []
    for done, result in enumerate(chosen):
        progress(done, len(chosen), None)
        checked.append(again(result, texts[result.cell.key][1], files, workers))
    return checked


def sample(finished: Sequence[Result], count: int) -> list[Result]:
    """So many cells, spread evenly over arms, games and seeds."""
    if not finished:
        raise InputError("there are no finished cells to check: run the study first.")
    ordered = sorted(finished, key=lambda result: (result.cell.game.title, result.arm, result.seed))
    count = min(count, len(ordered))
    return [ordered[int((k + 0.5) * len(ordered) / count)] for k in range(count)]


def again(result: Result, text: bytes, files: ExpertFiles, workers: int) -> Checked:
    """Run one cell again, in a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        now = runner.execute(Job(result.cell, result.arm, folder, files, "", alone=True, workers=workers))
        ((_, text_now),) = results.documents(folder)
    then_values, now_values = (msgspec.json.decode(one)["summary"] for one in (text, text_now))
    differs = tuple(
        field for field in EXACT if field in then_values and not same(then_values[field], now_values.get(field))
    )
    ratio = now.summary.seconds.total / result.summary.seconds.total
    return Checked(result.cell.name, not differs, differs, Score(result.score, now.score), ratio)


def same(then: object, now: object) -> bool:
    """Whether two fields agree: counts, names and choices exactly, other numbers to twelve digits.

    Older results added the agents' returns in whatever order a library took, which may show in the last digit, and
    had normal intervals, which are a little narrower than Student's; those are not compared.
    """
    if isinstance(then, dict):
        names = then.keys() - {"ci95"}
        return isinstance(now, dict) and then.keys() == now.keys() and all(same(then[key], now[key]) for key in names)
    if isinstance(then, list):
        return isinstance(now, list) and len(then) == len(now) and all(map(same, then, now))
    if isinstance(then, float) and isinstance(now, float):
        return math.isclose(then, now, rel_tol=1e-12, abs_tol=1e-12)
    return then == now
