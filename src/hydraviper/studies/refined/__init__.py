"""Ours: what a direct search over the trees adds, and what it costs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hydraviper.studies.claims import Claim, Question, better, scope_of
from hydraviper.studies.design import BETTER_EXPERTS, Arm
from hydraviper.studies.figures import tradeoff
from hydraviper.studies.rows import Row, by_game, worsening
from hydraviper.studies.study import Study

SECONDS = (0, 10, 60)


def refining_gains(rows: Sequence[Row]) -> Iterator[Claim]:
    """Refined trees are better than the same trees before; by how much a second of the search."""
    for (game, expert), game_rows in by_game(rows).items():
        plain = next((row for row in game_rows if row.arm.name == "none"), None)
        for row in game_rows:
            if plain is not None and row is not plain:
                claim = better(scope_of(game, expert), f"refined for {row.arm.name} it is better", row, plain)
                seconds = row.spent("refine").mean
                gain = -100 * worsening(row, plain).mean / seconds
                yield replace(claim, numbers=f"{claim.numbers}; {gain:.3f} % a second, of {seconds:.1f} s")


STUDY = Study(
    name="refined",
    title="Refined trees: score per second spent",
    about="HYDRAVIPER at the low budget, then a search over thresholds, features and leaves for so many seconds. "
    "A search that is limited by seconds does not repeat exactly.",
    arms=tuple(
        Arm(
            "hydraviper", "low", "low", label=f"{seconds} s" if seconds else "none", group="refined for", refine=seconds
        )
        for seconds in SECONDS
    ),
    experts=BETTER_EXPERTS,
    figures=(tradeoff,),
    reference="none",
    questions=(Question("Does refining make the trees better?", refining_gains),),
    timed=True,
)
