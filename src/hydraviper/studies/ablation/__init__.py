"""Figures on ablations: HYDRAVIPER without each of its parts, at both budgets, and what IVIPER lacks step by step."""

from collections.abc import Iterator, Sequence

from hydraviper.studies.claims import FAILS, FEW, HOLDS, MARGIN, Claim, Question, enough, percent, scope_of
from hydraviper.studies.design import HYDRAVIPERS, OURS, PAPERS, Arm
from hydraviper.studies.rows import Row, by_game, worsening
from hydraviper.studies.study import Study

ALGORITHMS = (
    ("hydraviper", OURS),
    ("hydraviper", PAPERS),
    ("hydraviper-without-cq", "without C-Q"),
    ("hydraviper-no-weights", "no weights"),
    ("hydraviper-without-tra", "without TR-A"),
    ("hydraviper-without-ucb", "without VR-UCB"),
    ("hydraviper-without-tra-ucb", "without TR-A and VR-UCB"),
    ("iviper-together", "joint rollouts alone"),
    ("iviper-joint", "joint training rollouts alone"),
    ("iviper", ""),
)
PARTS = (  # the part, an arm that has it, an arm that has not
    ("playing together, in IVIPER", "joint rollouts alone", "iviper"),
    ("playing together in training, in IVIPER", "joint training rollouts alone", "iviper"),
    ("all else that HYDRAVIPER does", OURS, "joint rollouts alone"),
    ("C-Q in place of own weights", OURS, "without C-Q"),
    ("C-Q in place of no weights", OURS, "no weights"),
    ("TR-A", OURS, "without TR-A"),
    ("our race among the students", OURS, "without VR-UCB"),
    ("the paper's VR-UCB", PAPERS, "without VR-UCB"),
    ("TR-A with our race", OURS, "without TR-A and VR-UCB"),
)


def parts_help(rows: Sequence[Row]) -> Iterator[Claim]:
    """A part helps if trees without it are worse; it does not if that is unclear and certainly less than MARGIN.

    Several parts are asked for at once, so one may look certain by luck: intervals are widened until all comparisons
    of a game at a budget are right together with 95 % confidence.
    """
    for (game, expert), game_rows in by_game(rows).items():
        at = {(row.arm.name, row.arm.level): row for row in game_rows}
        for level in dict.fromkeys(row.arm.level for row in game_rows):
            losses = {
                part: worsening(at[without, level], at[name, level])
                for part, name, without in PARTS
                if (name, level) in at and (without, level) in at
            }
            for part, alone in losses.items():
                loss = alone.among(len(losses))
                verdict = HOLDS if loss.low > 0 else FAILS if loss.high < MARGIN else FEW
                numbers = f"without it {percent(loss)}"
                yield Claim(scope_of(game, expert, level), f"{part} helps", enough(loss, verdict), numbers)


STUDY = Study(
    name="ablation",
    title="Ablation: what each part of HYDRAVIPER is worth",
    about="C-Q is replaced by IVIPER's weights (without C-Q) or every sample counts the same (no weights), TR-A by the "
    "same rollouts in every iteration after the same warm-up, the selection by the same rollouts for every student. "
    "Joint rollouts alone is IVIPER with its own weights and as many rollouts for every student, but its students play "
    "together, in training and validation; or in training alone, while each is validated among experts. Whether a part "
    "helps is judged with 95 % confidence for all comparisons of a game and budget together, so these intervals are "
    "wider than those of the differences.",
    arms=tuple(
        Arm(algorithm, level, level, HYDRAVIPERS.get(label, {}), label)
        for level in ("high", "low")
        for algorithm, label in ALGORITHMS
    ),
    questions=(Question("Does each part of HYDRAVIPER help?", parts_help),),
)
