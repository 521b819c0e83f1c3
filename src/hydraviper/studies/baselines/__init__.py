"""Ours: the baselines as the paper words them and as their authors' code has them, difference by difference."""

from collections.abc import Iterator, Sequence

from hydraviper.studies.claims import Claim, Question, not_worse, scope_of
from hydraviper.studies.design import HYDRAVIPERS, Arm, arms_of
from hydraviper.studies.paper import DECEPTION, NAVIGATION
from hydraviper.studies.rows import Row, by_game
from hydraviper.studies.study import Study

PER_AGENT = "iviper (budget per agent)"
WAYS = (
    ("iviper-joint", "iviper with joint training rollouts"),
    ("iviper-together", "iviper with joint rollouts"),
    ("iviper-max-min", "iviper with max-min weights"),
    ("iviper-split", "iviper on 80 % of the data"),
    ("iviper-authors", "iviper as its authors run it"),
    ("maviper-authors", "maviper as its authors wrote it"),
)


def as_good(rows: Sequence[Row]) -> Iterator[Claim]:
    """HYDRAVIPER is comparable to every way to run a baseline, at the same budget."""
    for (game, expert), game_rows in by_game(rows).items():
        for ours in (row for row in game_rows if row.arm.name in HYDRAVIPERS):
            for row in game_rows:
                if row.arm.name not in HYDRAVIPERS and row.arm.level == ours.arm.level:
                    yield not_worse(scope_of(game, expert, row.arm.level), ours, row)


STUDY = Study(
    name="baselines",
    title="Baselines as their authors wrote them",
    about="IVIPER's students play each among experts, as the paper's numbers have it, or together, as the README of "
    "its authors has it; samples weigh by the best action minus the worst; trees are trained on 80 % of the data. "
    "Its agents share the budget, or each has the whole of it. MAVIPER's weights average the values over the "
    "opponents' actions first (without opponents it is the same).",
    arms=tuple(
        arm
        for level in ("high", "low")
        for arm in (
            *arms_of(("iviper", "maviper"), level, level),
            *(Arm(algorithm, level, level, label=label) for algorithm, label in WAYS),
            Arm("iviper", level, level, label=PER_AGENT, per_agent=True),
            *arms_of(("hydraviper",), level, level),
        )
    ),
    games=(NAVIGATION, DECEPTION),
    questions=(Question("Is HYDRAVIPER as good as its baselines, also as their authors wrote them?", as_good),),
)
