"""What reports read of a run's summary, checked when a result is read."""

import math
from typing import Annotated

from msgspec import Meta, Struct

from hydraviper.data import Estimate

Number = Annotated[float, Meta(ge=-1e15, le=1e15)]
Amount = Annotated[float, Meta(ge=0, le=1e15)]
Positive = Annotated[float, Meta(gt=0, le=1e15)]
Count = Annotated[int, Meta(ge=1, le=10**6)]
Episodes = Annotated[int, Meta(ge=1, le=10**15)]
Rollouts = Annotated[int, Meta(ge=0, le=10**9)]


class ExpertSummary(Struct, frozen=True):
    """The score of the expert, or of one of the game's own rules, on the unseen episodes."""

    mean: Number
    ci95: Amount | None = None  # over episodes
    median: Number | None = None  # this and the next two where a game can jam
    worst: Number | None = None
    jammed: Amount | None = None

    def __post_init__(self) -> None:
        if self.jammed is not None and (self.median is None or self.worst is None):
            raise ValueError("jammed episodes need a median and a worst one beside them")

    @property
    def estimate(self) -> Estimate:
        """The mean, with its interval over episodes if that is known."""
        return Estimate(self.mean, math.nan if self.ci95 is None else self.ci95)


class ScoreSummary(ExpertSummary, frozen=True, kw_only=True):
    """The trees' score on the same episodes."""

    name: str
    episodes: Episodes
    lower_is_better: bool


BEFORE = "before the search"  # trees that a search began with


class Measured(Struct, frozen=True):
    """The mean of a number beside the score; None if it is not known."""

    mean: Number | None
    ci95: Amount | None = None

    @property
    def estimate(self) -> Estimate | None:
        """The mean with its interval, if they are known."""
        return None if self.mean is None else Estimate(self.mean, math.nan if self.ci95 is None else self.ci95)


class Seconds(Struct, frozen=True):
    """Where a run's time went."""

    total: Positive  # without the final evaluation
    collect: Amount
    resample: Amount
    train: Amount
    select: Amount
    refine: Amount = 0.0


class Summary(Struct, frozen=True):
    """What reports read of a run's summary (`distill --json`); result files hold all of it."""

    score: ScoreSummary
    expert: ExpertSummary
    rollouts: dict[str, Amount]
    seconds: Seconds
    teams: tuple[tuple[str, ...], ...]
    yardsticks: dict[str, ExpertSummary] = {}
    measures: dict[str, dict[str, Measured]] = {}  # what else was measured -> whose: trees, expert, yardsticks
    difference: Measured | None = None  # trees minus expert, episode by episode
    differences: dict[str, Measured] = {}  # trees minus each yardstick, and minus the trees BEFORE a search

    def measured(self, measure: str, who: str) -> Estimate | None:
        """A number beside the score, if it was measured."""
        found = self.measures.get(measure, {}).get(who)
        return None if found is None else found.estimate

    @property
    def against_expert(self) -> Estimate | None:
        """The trees' score minus the expert's on common episodes, if that was measured."""
        return None if self.difference is None else self.difference.estimate

    def against(self, yardstick: str) -> Estimate | None:
        """The trees' score minus a yardstick's: on common episodes if that was measured, else of the two means."""
        found, rule = self.differences.get(yardstick), self.yardsticks.get(yardstick)
        if found is not None:
            return found.estimate
        if rule is None:
            return None
        ours, theirs = self.score.estimate, rule.estimate
        return Estimate(ours.mean - theirs.mean, math.hypot(ours.ci95, theirs.ci95))


class CriticFit(Struct, frozen=True):
    """How well an expert's fitted critics predict, by agent."""

    rollouts: Rollouts
    correlation_with_returns: tuple[Number | None, ...]
    held_out_explained: tuple[Number | None, ...] = ()
