"""Ours: what trees gain when they may also ask for distances and differences that a game derives."""

from hydraviper.settings import FEATURES
from hydraviper.studies.design import Study, arms_of
from hydraviper.studies.published import DECEPTION, NAVIGATION

STUDY = Study(
    name="features",
    title="Plain and derived features",
    about="Every algorithm at the high budget, trees of the same depth: with the game's features as the paper has "
    "them, and with distances and differences derived from them as well.",
    arms=tuple(
        arm
        for features in FEATURES
        for arm in arms_of(
            ("imitation", "iviper", "maviper", "hydraviper"),
            settings={"features": features},
            group=f"{features} features",
        )
    ),
    games=(NAVIGATION, DECEPTION),
    questions=("features",),
)
