"""Finished cells gathered into rows: an arm in a game, a value per seed, the published numbers beside."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from msgspec import Struct

from hydraviper.data import Estimate
from hydraviper.settings import Settings
from hydraviper.studies import paper, statistics
from hydraviper.studies.cells import GameName, Result
from hydraviper.studies.design import PAPER_EXPERTS, Arm
from hydraviper.studies.summaries import Summary

STEPS = {"collect": "training rollouts", "resample": "resampling", "train": "tree training", "select": "validation"}


@dataclass(frozen=True)
class Row:
    """An arm in a game with one expert: its finished cells."""

    game: str
    expert: str
    arm: Arm
    results: tuple[Result, ...]  # at least one
    measure: str = ""  # what is told in place of the score; less of it is better

    @property
    def scores(self) -> dict[int, float]:
        """The trees' mean score by seed, or what is told in its place."""
        if not self.measure:
            return {result.seed: result.score for result in self.results}
        found = {result.seed: result.summary.measured(self.measure, "trees") for result in self.results}
        return {seed: value.mean for seed, value in found.items() if value is not None}

    @property
    def expert_score(self) -> Estimate:
        """The expert's score, or what is told in its place, on the same episodes."""
        if self.measure:
            return self.first.measured(self.measure, "expert") or Estimate(math.nan, math.nan)
        return self.first.expert.estimate

    @property
    def as_published(self) -> Self | None:
        """The row in what the paper measures, if that is not the score and was measured as well."""
        other = replace(self, measure=paper.MEASURES.get(self.game, ""))
        return other if other.measure and other.scores and math.isfinite(other.expert_score.mean) else None

    @property
    def score(self) -> Estimate:
        """The mean score over seeds."""
        return Estimate.of(list(self.scores.values()))

    def step(self, name: str) -> dict[int, float]:
        """The seconds of one step of the algorithm by seed; `total` is the runtime without the final evaluation."""
        return {result.seed: getattr(result.summary.seconds, name) for result in self.results}

    def spent(self, step: str = "total") -> Estimate:
        """The mean seconds over seeds."""
        return Estimate.of(list(self.step(step).values()))

    @property
    def rollouts(self) -> float:
        """Episodes that a run played on average, warm-up and search included."""
        return float(np.mean([sum(result.summary.rollouts.values()) for result in self.results]))

    @property
    def quiet(self) -> bool:
        """Whether every cell ran without another one, on a machine that did nothing else."""
        return all(result.quiet for result in self.results)

    @property
    def first(self) -> Summary:
        """The summary of one of the cells, for what all have in common."""
        return self.results[0].summary

    @property
    def lower_is_better(self) -> bool:
        """Which way is better."""
        return bool(self.measure) or self.first.score.lower_is_better

    @property
    def score_name(self) -> str:
        """The score, or what is told in its place, and which way is better."""
        return f"{self.measure or self.first.score.name} ({'lower' if self.lower_is_better else 'higher'} is better)"

    @property
    def episodes(self) -> int:
        """Unseen episodes per seed."""
        return self.first.score.episodes

    @property
    def name(self) -> str:
        """The arm's name, behind its series if it has one."""
        return f"{self.arm.group} {self.arm.name}".strip()

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
    def published(self) -> Estimate | None:
        """What the paper has for it, if the row tells the same."""
        arm, told = self.arm, self.measure == paper.MEASURES.get(self.game, "")
        return paper.score(self.game, arm.algorithm, arm.train, arm.valid) if told and self._is_published else None

    @property
    def published_seconds(self) -> Estimate | None:
        """The paper's runtime for it."""
        arm = self.arm
        if self.of_the_paper and arm.published_seconds is not None:
            return arm.published_seconds
        return paper.seconds(self.game, arm.algorithm, arm.train, arm.valid) if self._is_published else None

    @property
    def of_the_paper(self) -> bool:
        """Whether it was distilled from the kind of expert that the paper has, at full scale."""
        kind = self.expert.split()[0].removesuffix("-joint")
        return kind in PAPER_EXPERTS.get(self.game, ()) and self.results[0].cell.scale == 1

    @property
    def _is_published(self) -> bool:
        """Whether it is an algorithm as the paper has it, with the paper's c, whichever the selection."""
        best, default, settings = paper.BEST_UCB_SCALE.get(self.game), Settings().to_json(), dict(self.arm.settings)
        searched = self.arm.refine or self.arm.refine_rollouts
        if settings.pop("ucb_scale", best) != best or searched or self.arm.per_agent:
            return False
        changed = {name for name, value in settings.items() if value != default[name]}
        return self.of_the_paper and changed <= {"selection"}


def rows_of(
    arms: Sequence[Arm],
    games: Mapping[str, GameName],
    experts: Mapping[str, Sequence[str]],
    results: Iterable[Result],
    scale: float,
) -> list[Row]:
    """Rows in the order of games, their experts and arms; results of another scale, game or arm are left out."""
    groups: dict[tuple[str, str, str, str], list[Result]] = {}
    for result in results:
        if result.cell.scale == scale:
            cell = result.cell
            groups.setdefault((cell.game.key, cell.expert.name, cell.expert.hash, result.arm), []).append(result)
    hashes: dict[tuple[str, str], set[str]] = {}
    for game, expert, digest, _ in groups:
        hashes.setdefault((game, expert), set()).add(digest)
    rows = []
    for game, key in ((name, identity.key) for name, identity in games.items()):
        found = sorted(expert for one, expert in hashes if one == key)
        for expert in experts.get(game) or found:
            digests = sorted(hashes.get((key, expert), ()))
            for digest in digests:
                name = expert if len(digests) == 1 else f"{expert} {digest[:6]}"  # an expert that was trained anew
                for arm in arms:
                    if arm_results := groups.get((key, expert, digest, arm.key)):
                        by_seed = sorted(arm_results, key=lambda result: result.seed)
                        rows.append(Row(game, name, arm, tuple(by_seed)))
    return rows


def by_game(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Rows that may be compared with each other: of the same game and expert."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.game, row.expert), []).append(row)
    return groups


def reference_of(name: str, row: Row, rows: Iterable[Row]) -> Row | None:
    """The row of the reference arm that this one is compared with, if it is not that row itself."""
    same = (row.game, row.expert, row.arm.group, row.arm.level)
    for other in rows:
        if other.arm.name == name and same == (other.game, other.expert, other.arm.group, other.arm.level):
            return None if other is row else other
    return None


def worsening(row: Row, other: Row) -> Estimate:
    """How much worse a row is than another on common seeds, as a share of the other's mean; negative is better."""
    common = row.scores.keys() & other.scores.keys()
    size = abs(float(np.mean([other.scores[seed] for seed in common]))) if common else 0.0
    if size == 0:
        return Estimate(math.nan, math.nan, 0)  # nothing is a share of nothing
    difference = Estimate.of(statistics.differences(row.scores, other.scores))
    sign = 1 if row.lower_is_better else -1
    return Estimate(sign * difference.mean / size, difference.ci95 / size, difference.count)


class RowRecord(Struct, frozen=True):
    """A row as CSV and `--json` have it; what is not known is None."""

    game: str
    expert: str
    group: str
    arm: str
    algorithm: str
    budget: str
    mean: float
    low: float | None
    high: float | None
    interquartile_mean: float
    seeds: int
    episodes: int
    lower_is_better: bool
    expert_mean: float
    seconds: float
    seconds_ci95: float | None
    rollouts: float
    published: float | None
    published_ci95: float | None
    published_seconds: float | None
    compared_with: str | None
    worse_by: float | None
    worse_by_low: float | None
    worse_by_high: float | None
    measure: str | None  # what `published` tells, where it is not the score; the next four are ours of it
    measure_mean: float | None
    measure_low: float | None
    measure_high: float | None
    measure_expert_mean: float | None


def record(reference: str, row: Row, rows: Iterable[Row]) -> RowRecord:
    """A row as plain values, compared with the reference arm."""
    score, seconds, other = row.score, row.spent(), reference_of(reference, row, rows)
    loss = worsening(row, other) if other else Estimate(math.nan, math.nan, 0)
    beside, published_seconds = row.as_published, row.published_seconds
    published, measured = (beside or row).published, beside.score if beside else None
    return RowRecord(
        game=row.game,
        expert=row.expert,
        group=row.group,
        arm=row.arm.name,
        algorithm=row.arm.algorithm,
        budget=row.budget,
        mean=score.mean,
        low=_finite(score.low),
        high=_finite(score.high),
        interquartile_mean=statistics.interquartile_mean(list(row.scores.values())),
        seeds=score.count,
        episodes=row.episodes,
        lower_is_better=row.lower_is_better,
        expert_mean=row.expert_score.mean,
        seconds=seconds.mean,
        seconds_ci95=_finite(seconds.ci95),
        rollouts=row.rollouts,
        published=published.mean if published else None,
        published_ci95=published.ci95 if published else None,
        published_seconds=published_seconds.mean if published_seconds else None,
        compared_with=other.arm.name if other else None,
        worse_by=_finite(loss.mean),
        worse_by_low=_finite(loss.low),
        worse_by_high=_finite(loss.high),
        measure=beside.measure if beside else None,
        measure_mean=measured.mean if measured else None,
        measure_low=_finite(measured.low) if measured else None,
        measure_high=_finite(measured.high) if measured else None,
        measure_expert_mean=_finite(beside.expert_score.mean) if beside else None,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
