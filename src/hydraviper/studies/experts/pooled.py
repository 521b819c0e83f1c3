"""What several experts of one game tell together: an expert is one draw, its seeds are averaged first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hydraviper.data import Estimate
from hydraviper.studies.rows import Row, worsening


@dataclass(frozen=True)
class Pooled:
    """An arm in a game, with a row for each expert."""

    rows: tuple[Row, ...]

    @property
    def losses(self) -> list[float]:
        """How much worse than its expert, for each expert, as a share of the expert's score."""
        return [_loss(row) for row in self.rows]

    @property
    def loss(self) -> Estimate:
        """The mean loss, with an interval over experts."""
        return Estimate.of(self.losses)

    def worsening(self, other: Pooled) -> Estimate:
        """How much worse than another arm, over the experts that both have: seeds are paired, then averaged."""
        theirs = {row.expert: row for row in other.rows}
        shared = [(row, theirs[row.expert]) for row in self.rows if row.expert in theirs]
        return Estimate.of([worsening(row, rival).mean for row, rival in shared])


def pool(rows: Iterable[Row]) -> dict[str, dict[str, Pooled]]:
    """By game and arm, whatever the expert."""
    groups: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        groups.setdefault(row.game, {}).setdefault(row.arm.name, []).append(row)
    return {game: {name: Pooled(tuple(members)) for name, members in arms.items()} for game, arms in groups.items()}


def _loss(row: Row) -> float:
    expert = row.first.expert.mean
    loss = float(np.mean(list(row.scores.values()))) - expert
    return (loss if row.lower_is_better else -loss) / abs(expert)
