"""Figures on runtime: where IVIPER, MAVIPER and HYDRAVIPER spend it at the high budget."""

from collections.abc import Iterator, Sequence

from hydraviper.studies.baselines import PER_AGENT
from hydraviper.studies.claims import Claim, Question, quicker, scope_of
from hydraviper.studies.design import HYDRAVIPERS, Arm, arms_of
from hydraviper.studies.figures import step_seconds, tradeoff
from hydraviper.studies.rows import Row, by_game
from hydraviper.studies.study import Study
from hydraviper.studies.tables import steps


def hydraviper_is_quicker(rows: Sequence[Row]) -> Iterator[Claim]:
    """HYDRAVIPER takes less time than each baseline."""
    for (game, expert), game_rows in by_game(rows).items():
        for ours in (row for row in game_rows if row.arm.name in HYDRAVIPERS):
            for row in game_rows:
                if row.arm.name not in HYDRAVIPERS:
                    yield quicker(scope_of(game, expert, row.arm.level), ours, row)


STUDY = Study(
    name="runtime",
    title="Runtime by step",
    about="Training rollouts, resampling, tree training and validation rollouts at the high budget, one run at a time. "
    "IVIPER's agents share the budget, or each of them has the whole of it.",
    arms=(*arms_of(("iviper",)), Arm("iviper", label=PER_AGENT, per_agent=True), *arms_of(("maviper", "hydraviper"))),
    figures=(step_seconds, tradeoff),
    tables=(steps,),
    questions=(Question("Is HYDRAVIPER quicker than its baselines?", hydraviper_is_quicker),),
    timed=True,
)
