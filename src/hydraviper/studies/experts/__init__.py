"""Ours: the same algorithms from three trainings of a game's expert, so that intervals hold the expert's chance.

An expert is one draw: its seeds are averaged first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hydraviper.data import Estimate
from hydraviper.studies import statistics
from hydraviper.studies.claims import Claim, Question, comparable, percent, title
from hydraviper.studies.design import BASELINES, HYDRAVIPERS, OURS, arms_of
from hydraviper.studies.paper import DECEPTION, NAVIGATION
from hydraviper.studies.rows import Row, worsening
from hydraviper.studies.study import Study
from hydraviper.studies.tables import Table

TRAININGS = ("maddpg", "maddpg-seed-1", "maddpg-60000-episodes")  # names of experts that ship


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


def whichever_expert(rows: Sequence[Row]) -> Iterator[Claim]:
    """Comparable to each baseline, with an interval over experts instead of seeds."""
    for game, at in pool(rows).items():
        for ours in (at[name] for name in HYDRAVIPERS if name in at):
            for rival in (at[name] for name in ("imitation", *BASELINES) if name in at):
                loss = ours.worsening(rival)
                what = f"{title(ours.rows[0])} is better than or comparable to {title(rival.rows[0])}"
                yield Claim(f"{game}, over {loss.count} experts", what, comparable(loss), percent(loss))


def over_experts(rows: Sequence[Row]) -> list[Table]:
    """What each arm loses to its expert, and to the reference, with intervals over experts."""
    tables = []
    heads = ("", "worse than each expert, %", "mean over experts, %", f"worse than {OURS}, %")
    for game, at in pool(rows).items():
        lines, reference = [], at.get(OURS)
        for name, arm in at.items():
            each = ", ".join(
                f"{100 * loss:z.1f} ({row.expert})" for loss, row in zip(arm.losses, arm.rows, strict=True)
            )
            against = "" if reference in (None, arm) else f"{statistics.percent(arm.worsening(reference)):.1f}"
            lines.append((name, each, f"{statistics.percent(arm.loss):.1f}", against))
        tables.append(Table(f"{game}: over experts", heads, tuple(lines)))
    return tables


STUDY = Study(
    name="experts",
    title="Three trainings of each expert",
    about="Every algorithm at the low budget from three experts of each game: the one that all other studies use, one "
    "trained in the same way with another seed (cooperative navigation: for 120,000 episodes instead of 320,000), "
    "and one trained with the paper's 60,000 episodes, without a price on "
    "secrets. Intervals over experts come from one mean over seeds for each of the three.",
    arms=arms_of(("imitation", "iviper", "maviper", "hydraviper"), "low", "low"),
    games=(NAVIGATION, DECEPTION),
    experts={NAVIGATION: TRAININGS, DECEPTION: TRAININGS},
    questions=(Question("Is HYDRAVIPER as good as its baselines whichever expert was trained?", whichever_expert),),
    tables=(over_experts,),
)
