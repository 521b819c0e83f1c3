"""Ours: the same algorithms from three trainings of a game's expert, so that intervals hold the expert's chance."""

from hydraviper.studies.design import Study, arms_of
from hydraviper.studies.published import DECEPTION, NAVIGATION

TRAININGS = ("maddpg", "maddpg-seed-1", "maddpg-60000-episodes")  # names of experts that ship

STUDY = Study(
    name="experts",
    title="Three trainings of each expert",
    about="Every algorithm at the low budget from three experts of each game: the one that all other studies use, one "
    "trained in the same way with another seed (cooperative navigation: for 120,000 episodes instead of 320,000), "
    "and one trained with the paper's 60,000 episodes, without a price on "
    "secrets. Intervals over experts come from one mean over seeds for each of the three.",
    arms=arms_of(("imitation", "iviper", "maviper", "hydraviper"), "low", "low"),
    games=(NAVIGATION, DECEPTION),
    experts={NAVIGATION: TRAININGS, DECEPTION: TRAININGS},
    questions=("experts",),
    pooled=True,
)
