"""What several experts of one game tell together: an expert is one draw, its seeds are averaged first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hydraviper.studies import statistics
from hydraviper.studies.statistics import Interval
from hydraviper.studies.tables import Row, worsening


@dataclass(frozen=True)
class Pooled:
    """An arm in a game, with a row for each expert."""

    game: str
    rows: tuple[Row, ...]

    @property
    def name(self) -> str:
        """What the arm is called."""
        return self.rows[0].arm.name

    @property
    def lost(self) -> list[float]:
        """How much worse than its expert, for each expert, as a share of the expert's score."""
        return [_lost(row) for row in self.rows]

    @property
    def lost_to_experts(self) -> Interval:
        """The mean of it with a t-interval over experts."""
        return statistics.t_interval(self.lost)

    def worsening(self, other: Pooled) -> Interval:
        """How much worse than another arm, over the experts that both have: seeds are paired, then averaged."""
        theirs = {row.expert: row for row in other.rows}
        shared = [(row, theirs[row.expert]) for row in self.rows if row.expert in theirs]
        return statistics.t_interval([worsening(row, rival).mean for row, rival in shared])


def pool(rows: Iterable[Row]) -> list[Pooled]:
    """Rows of the same game and arm, whatever their expert."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.game, row.arm.key), []).append(row)
    return [Pooled(game, tuple(own)) for (game, _), own in groups.items()]


def of_game(pools: Sequence[Pooled]) -> dict[str, dict[str, Pooled]]:
    """By game and arm."""
    found: dict[str, dict[str, Pooled]] = {}
    for one in pools:
        found.setdefault(one.game, {})[one.name] = one
    return found


def _lost(row: Row) -> float:
    expert = float(row.first["expert"]["mean"])
    lost = float(np.mean(list(row.scores.values()))) - expert
    return (lost if row.lower_is_better else -lost) / abs(expert)
