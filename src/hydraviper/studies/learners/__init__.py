"""Ours: what the paper names beside its own choices, forests and mixtures of trees and two more rules of selection."""

from collections.abc import Iterator, Sequence

from hydraviper.studies.claims import Claim, Question, better, scope_of, title
from hydraviper.studies.design import HYDRAVIPERS, OURS, PAPERS, Arm
from hydraviper.studies.paper import DECEPTION, NAVIGATION
from hydraviper.studies.rows import Row, by_game
from hydraviper.studies.study import Study

WAYS = (
    (OURS, HYDRAVIPERS[OURS]),
    ("forests", {"learner": "forest"}),
    ("mixtures of trees", {"learner": "mixture"}),
    (PAPERS, HYDRAVIPERS[PAPERS]),
    ("UCB1-Normal", {"selection": "ucb1-normal"}),
    ("VR-UCB with c from the expert", {"selection": "ucb1-expert"}),
)
RIVALS = (  # who may gain over whom
    ("forests", OURS),
    ("mixtures of trees", OURS),
    ("UCB1-Normal", PAPERS),
    ("VR-UCB with c from the expert", PAPERS),
)


def rivals_gain(rows: Sequence[Row]) -> Iterator[Claim]:
    """Each rival is better than what it takes the place of."""
    for (game, expert), game_rows in by_game(rows).items():
        at = {row.arm.name: row for row in game_rows}
        for name, other in RIVALS:
            if name in at and other in at:
                yield better(scope_of(game, expert), f"{name}: better than {title(at[other])}", at[name], at[other])


STUDY = Study(
    name="learners",
    title="Forests, mixtures of trees, and other rules of selection",
    about="HYDRAVIPER at the low budget. Forests and mixtures of trees take the place of one tree per agent, selected "
    "by our race; UCB1-Normal and a c from the variance of the expert's returns take the place of VR-UCB's c.",
    arms=tuple(Arm("hydraviper", "low", "low", settings, label) for label, settings in WAYS),
    games=(NAVIGATION, DECEPTION),
    questions=(Question("Do forests, mixtures of trees or other bounds make it better?", rivals_gain),),
)
