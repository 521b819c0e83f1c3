"""Ours: what trees gain when they may also ask for distances and differences that a game derives."""

from hydraviper.settings import FEATURES
from hydraviper.studies.design import Arm, Study
from hydraviper.studies.published import DECEPTION, NAVIGATION

STUDY = Study(
    name="features",
    title="Plain and derived features",
    about="Every algorithm at the high budget, trees of the same depth: with the game's features as the paper has "
    "them, and with distances and differences derived from them as well.",
    arms=tuple(
        Arm(algorithm, settings={"features": features}, group=f"{features} features")
        for features in FEATURES
        for algorithm in ("imitation", "iviper", "maviper", "hydraviper")
    ),
    games=(NAVIGATION, DECEPTION),
    questions=("features",),
)
