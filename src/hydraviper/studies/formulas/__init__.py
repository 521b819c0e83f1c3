"""Ours: what trees gain by the features that ship for a game, and by those that the search finds without help."""

from collections.abc import Iterator, Sequence

from hydraviper.studies.claims import Claim, Question, better, scope_of
from hydraviper.studies.design import Arm
from hydraviper.studies.paper import DECEPTION, NAVIGATION
from hydraviper.studies.rows import Row, by_game
from hydraviper.studies.study import Study

ARMS = {"shipped": (0, 10), "found": (0, 60)}  # features -> seconds of refining


def refining_gains(rows: Sequence[Row]) -> Iterator[Claim]:
    """Refined trees are better than those of the same features before."""
    for (game, expert), game_rows in by_game(rows).items():
        plain = {row.arm.group: row for row in game_rows if row.arm.name == "distilled"}
        for row in game_rows:
            if row.arm.name != "distilled" and row.arm.group in plain:
                claim = f"{row.arm.group}, {row.arm.name}, is better than distilled"
                yield better(scope_of(game, expert), claim, row, plain[row.arm.group])


STUDY = Study(
    name="formulas",
    title="Features in people's words, and found ones",
    about="HYDRAVIPER at the low budget, trees of depth 4 that may ask for the features that ship for the game, or for "
    "features that the search finds; distilled, and refined for so many seconds.",
    arms=tuple(
        Arm(
            "hydraviper",
            "low",
            "low",
            {"features": features},
            label=f"refined for {seconds} s" if seconds else "distilled",
            group=f"{features} features",
            refine=seconds,
        )
        for features, times in ARMS.items()
        for seconds in times
    ),
    games=(NAVIGATION, DECEPTION),
    reference="distilled",
    episodes=20_000,
    questions=(Question("Does refining make the trees better?", refining_gains),),
    timed=True,
)
