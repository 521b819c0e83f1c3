"""Table 1: score and runtime of expert, IVIPER, MAVIPER and HYDRAVIPER with the paper's selection and with ours."""

from collections.abc import Iterator, Sequence

from hydraviper.studies.budgets import RQ2
from hydraviper.studies.claims import Claim, Question, against_baselines, quicker, scope_of
from hydraviper.studies.design import BASELINES, BETTER_EXPERTS, HYDRAVIPERS, PAPER_EXPERTS, arms_of
from hydraviper.studies.figures import tradeoff
from hydraviper.studies.rows import Row, by_game
from hydraviper.studies.study import Study
from hydraviper.studies.tables import yardsticks


def performant_and_efficient(rows: Sequence[Row]) -> Iterator[Claim]:
    """Comparable to each baseline, and quicker than each, also than one whose trees are far worse."""
    for (game, expert), game_rows in by_game(rows).items():
        for level in ("high/high", "low/low"):
            at = {row.arm.name: row for row in game_rows if row.arm.level == level}
            scope, due = scope_of(game, expert, level), expert in PAPER_EXPERTS.get(game, ())
            for ours in (at[name] for name in HYDRAVIPERS if name in at):
                yield from against_baselines(scope, ours, at, due)
                for rival in (at[name] for name in BASELINES if name in at):
                    yield quicker(scope, ours, rival)


RQ1 = Question("RQ1: is HYDRAVIPER both performant and efficient?", performant_and_efficient)

STUDY = Study(
    name="table1",
    title="Table 1: performance and runtime",
    about="Every algorithm at the high and at the low budget; the paper times its baselines at the high one only. "
    "HYDRAVIPER selects among its students by the paper's VR-UCB, with the paper's c, or by our race.",
    arms=tuple(arm for level in ("high", "low") for arm in arms_of(("iviper", "maviper", "hydraviper"), level, level)),
    experts=BETTER_EXPERTS,
    figures=(tradeoff,),
    tables=(yardsticks,),
    questions=(RQ1, RQ2),
    timed=True,
)
