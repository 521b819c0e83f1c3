"""Runs finished cells again: scores must be the same, runtimes are told as ratios."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hydraviper.data import InputError
from hydraviper.studies import runner
from hydraviper.studies.results import Result
from hydraviper.studies.runner import Job

EXACT = ("score", "expert", "rollouts", "teams", "selection")  # fields that depend on seeds and settings alone


@dataclass(frozen=True)
class Checked:
    """A cell that was run again."""

    result: Result
    differs: tuple[str, ...]  # fields that are not as they were
    score: float
    seconds: float

    @property
    def ratio(self) -> float:
        """Seconds now, over seconds then."""
        return self.seconds / float(self.result.summary["seconds"]["total"])

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "cell": self.result.cell.name,
            "same": not self.differs,
            "differs": list(self.differs),
            "score": {"then": self.result.score, "now": self.score},
            "seconds_ratio": self.ratio,
        }


def sample(finished: Sequence[Result], count: int) -> list[Result]:
    """So many cells, spread evenly over arms, games and seeds."""
    if not finished:
        raise InputError("there are no finished cells to check: run the study first.")
    ordered = sorted(finished, key=lambda result: (result.cell.game, result.arm, result.seed))
    count = min(count, len(ordered))
    return [ordered[int((k + 0.5) * len(ordered) / count)] for k in range(count)]


def again(result: Result, given: runner.experts.Given, workers: int) -> Checked:
    """Run one cell again, in a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as place:
        job = Job(result.cell, result.arm, Path(place), given, "", True, workers)
        now = runner.execute(replace(job)).summary
    then = result.summary
    differs = tuple(name for name in EXACT if name in then and not same(then[name], now.get(name)))
    return Checked(result, differs, float(now["score"]["mean"]), float(now["seconds"]["total"]))


def same(then: Any, now: Any) -> bool:
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
