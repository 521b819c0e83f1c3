"""Finished cells gathered into rows: an arm in a game, a value per seed, the published numbers beside."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hydraviper.settings import Settings
from hydraviper.studies import published, statistics
from hydraviper.studies.design import PAPER_EXPERTS, Arm, Study
from hydraviper.studies.published import Published
from hydraviper.studies.results import Result

STEPS = {"collect": "training rollouts", "resample": "resampling", "train": "tree training", "select": "validation"}


@dataclass(frozen=True)
class Row:
    """An arm in a game with one expert: its finished cells."""

    game: str
    expert: str
    arm: Arm
    results: tuple[Result, ...]  # at least one

    @property
    def scores(self) -> dict[int, float]:
        """The trees' mean score by seed."""
        return {result.seed: result.score for result in self.results}

    @property
    def seconds(self) -> dict[int, float]:
        """The runtime by seed, without the final evaluation."""
        return {result.seed: float(result.summary["seconds"]["total"]) for result in self.results}

    def step(self, name: str) -> dict[int, float]:
        """The seconds of one step of the algorithm by seed."""
        return {result.seed: float(result.summary["seconds"][name]) for result in self.results}

    @property
    def rollouts(self) -> float:
        """Episodes that a run played on average, warm-up included."""
        return float(np.mean([sum(result.summary["rollouts"].values()) for result in self.results]))

    @property
    def quiet(self) -> bool:
        """Whether every cell ran without another one, on a machine that did nothing else."""
        return all(result.quiet for result in self.results)

    @property
    def first(self) -> Mapping[str, Any]:
        """The summary of one of the cells, for what all have in common."""
        return self.results[0].summary

    @property
    def lower_is_better(self) -> bool:
        """Which way is better."""
        return bool(self.first["score"]["lower_is_better"])

    @property
    def episodes(self) -> int:
        """Unseen episodes per seed."""
        return int(self.first["score"]["episodes"])

    @property
    def budget(self) -> str:
        """Training / validation rollouts."""
        settings = self.results[0].cell.settings
        return f"{settings.train_budget:,} / {settings.valid_budget:,}"

    @property
    def group(self) -> str:
        """Which rows belong side by side."""
        return self.arm.group or self.budget

    @property
    def published(self) -> Published | None:
        """The paper's score for it."""
        arm = self.arm
        if not self.of_the_paper or self._changed - {"ucb_scale", "selection"} or arm.refine or arm.per_agent:
            return None
        if arm.settings.get("ucb_scale", published.BEST_UCB_SCALE[self.game]) != published.BEST_UCB_SCALE[self.game]:
            return None
        return published.score(self.game, arm.algorithm, arm.train, arm.valid)

    @property
    def published_seconds(self) -> Published | None:
        """The paper's runtime for it."""
        arm = self.arm
        if not self.of_the_paper or self._changed - {"partition", "selection"} or arm.refine or arm.per_agent:
            return None
        return published.seconds(self.game, arm.algorithm, arm.train, arm.valid, arm.settings.get("partition", "none"))

    @property
    def of_the_paper(self) -> bool:
        """Whether it was distilled from the kind of expert that the paper has, at full scale."""
        kind = self.expert.split()[0].removesuffix("-joint")
        return kind in PAPER_EXPERTS.get(self.game, ()) and self.results[0].cell.scale == 1

    @property
    def _changed(self) -> set[str]:
        default = Settings().to_json()
        return {name for name, value in self.arm.settings.items() if value != default[name]}


def rows_of(study: Study, results: Iterable[Result], scale: float) -> list[Row]:
    """Rows in the order of the study's games, experts and arms; results of another scale or arm are left out."""
    groups: dict[tuple[str, str, str, str], list[Result]] = {}
    for result in results:
        if result.cell.scale == scale:
            cell = result.cell
            groups.setdefault((cell.game, cell.expert, cell.expert_hash, result.arm), []).append(result)
    hashes: dict[tuple[str, str], set[str]] = {}
    for game, expert, digest, _ in groups:
        hashes.setdefault((game, expert), set()).add(digest)
    rows = []
    for game in study.games:
        for expert in study.experts[game]:
            known = sorted(hashes.get((game, expert), ()))
            for digest in known:
                name = expert if len(known) == 1 else f"{expert} {digest[:6]}"  # an expert that was trained anew
                for arm in study.arms:
                    if own := groups.get((game, expert, digest, arm.key)):
                        rows.append(Row(game, name, arm, tuple(sorted(own, key=lambda result: result.seed))))
    return rows


def by_game(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Rows that may be compared with each other: of the same game and expert."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.game, row.expert), []).append(row)
    return groups


def reference_of(study: Study, row: Row, rows: Iterable[Row]) -> Row | None:
    """The row that this one is compared with, if it is not that row itself."""
    same = (row.game, row.expert, row.arm.group, row.arm.level)
    for other in rows:
        if other.arm.name == study.reference and same == (other.game, other.expert, other.arm.group, other.arm.level):
            return None if other is row else other
    return None


def worsening(row: Row, other: Row) -> statistics.Interval:
    """How much worse a row is than another on common seeds, as a share of the other's mean; negative is better."""
    difference = statistics.paired(row.scores, other.scores).difference
    common = row.scores.keys() & other.scores.keys()
    size = abs(float(np.mean([other.scores[seed] for seed in common]))) if common else 0.0
    if size == 0:
        return statistics.Interval(math.nan, math.nan, math.nan, 0)  # nothing is a share of nothing
    mean, low, high = difference.mean / size, difference.low / size, difference.high / size
    if not row.lower_is_better:
        mean, low, high = -mean, -high, -low
    return statistics.Interval(mean, low, high, difference.count)


def to_json(study: Study, row: Row, rows: Iterable[Row]) -> dict[str, Any]:
    """A row as plain values: what CSV and `--json` hold."""
    values, times = list(row.scores.values()), list(row.seconds.values())
    score, boot, seconds = (
        statistics.t_interval(values),
        statistics.bootstrap_interval(values),
        statistics.t_interval(times),
    )
    other = reference_of(study, row, rows)
    against = worsening(row, other) if other else None
    theirs, their_seconds = row.published, row.published_seconds
    return {
        "game": row.game,
        "expert": row.expert,
        "group": row.group,
        "arm": row.arm.name,
        "algorithm": row.arm.algorithm,
        "budget": row.budget,
        "mean": score.mean,
        "low": _known(score.low),
        "high": _known(score.high),
        "bootstrap_low": _known(boot.low),
        "bootstrap_high": _known(boot.high),
        "interquartile_mean": statistics.interquartile_mean(values),
        "seeds": score.count,
        "episodes": row.episodes,
        "lower_is_better": row.lower_is_better,
        "expert_mean": row.first["expert"]["mean"],
        "seconds": seconds.mean,
        "seconds_ci95": _known(seconds.half),
        "rollouts": row.rollouts,
        "published": theirs.mean if theirs else None,
        "published_ci95": theirs.ci95 if theirs else None,
        "published_seconds": their_seconds.mean if their_seconds else None,
        "compared_with": other.arm.name if other else None,
        "worse_by": _known(against.mean) if against else None,
        "worse_by_low": _known(against.low) if against else None,
        "worse_by_high": _known(against.high) if against else None,
    }


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None
