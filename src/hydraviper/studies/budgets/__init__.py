"""The full table of budgets, and the figure of performance as the number of rollouts decreases."""

from collections.abc import Iterator, Sequence

from hydraviper.studies.claims import Claim, Question, against_baselines, not_worse, scope_of
from hydraviper.studies.design import BETTER_EXPERTS, HYDRAVIPERS, PAPER_EXPERTS, arms_of
from hydraviper.studies.rows import Row, by_game
from hydraviper.studies.study import Study

LEVELS = (("high", "high"), ("mid", "high"), ("low", "high"), ("high", "mid"), ("high", "low"), ("low", "low"))


def stays_as_good(rows: Sequence[Row]) -> Iterator[Claim]:
    """At every budget comparable to each baseline at that budget, and to itself at the high one."""
    for (game, expert), game_rows in by_game(rows).items():
        ours = {(row.arm.name, row.arm.level): row for row in game_rows if row.arm.name in HYDRAVIPERS}
        for (name, level), row in ours.items():
            scope = scope_of(game, expert, level)
            at = {other.arm.name: other for other in game_rows if other.arm.level == level}
            yield from against_baselines(scope, row, at, due=expert in PAPER_EXPERTS.get(game, ()))
            if level != "high/high" and (name, "high/high") in ours:
                yield not_worse(scope, row, ours[name, "high/high"], "itself at the high budget")


RQ2 = Question("RQ2: does HYDRAVIPER stay as good when the budget of rollouts decreases?", stays_as_good)

STUDY = Study(
    name="budgets",
    title="Full table: training and validation budgets",
    about="Training / validation rollouts are reduced one at a time, then both. Imitation does not validate.",
    arms=tuple(
        arm
        for level in LEVELS
        for arm in arms_of(("imitation", "iviper", "maviper", "hydraviper"), *level)
        if arm.algorithm != "imitation" or arm.valid == "high"
    ),
    experts=BETTER_EXPERTS,
    questions=(RQ2,),
)
