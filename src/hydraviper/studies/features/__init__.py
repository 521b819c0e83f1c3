"""Ours: what trees gain when they may also ask for distances and differences that a game derives."""

from collections.abc import Iterator, Sequence

from hydraviper.studies.claims import Claim, Question, better, scope_of, title
from hydraviper.studies.design import arms_of
from hydraviper.studies.paper import DECEPTION, NAVIGATION
from hydraviper.studies.rows import Row, by_game
from hydraviper.studies.study import Study


def derived_features_gain(rows: Sequence[Row]) -> Iterator[Claim]:
    """Each algorithm is better with derived features than with plain ones."""
    for (game, expert), game_rows in by_game(rows).items():
        plain = {row.arm.name: row for row in game_rows if row.arm.group == "plain features"}
        for row in game_rows:
            if row.arm.group == "derived features" and row.arm.name in plain:
                yield better(scope_of(game, expert), f"{title(row)} gains", row, plain[row.arm.name])


STUDY = Study(
    name="features",
    title="Plain and derived features",
    about="Every algorithm at the high budget, trees of the same depth: with the game's features as the paper has "
    "them, and with distances and differences derived from them as well.",
    arms=tuple(
        arm
        for features in ("plain", "derived")
        for arm in arms_of(
            ("imitation", "iviper", "maviper", "hydraviper"),
            settings={"features": features},
            group=f"{features} features",
        )
    ),
    games=(NAVIGATION, DECEPTION),
    questions=(Question("Do derived features make the trees better?", derived_features_gain),),
)
