"""Ours: what the paper names beside its own choices, forests and mixtures of trees and two more rules of selection."""

from hydraviper.studies.design import HYDRAVIPERS, OURS, PAPERS, Arm, Study
from hydraviper.studies.published import DECEPTION, NAVIGATION

WAYS = (
    (OURS, HYDRAVIPERS[OURS]),
    ("forests", {"learner": "forest"}),
    ("mixtures of trees", {"learner": "mixture"}),
    (PAPERS, HYDRAVIPERS[PAPERS]),
    ("UCB1-Normal", {"selection": "ucb1-normal"}),
    ("VR-UCB with c from the expert", {"selection": "ucb1-expert"}),
)

STUDY = Study(
    name="learners",
    title="Forests, mixtures of trees, and other rules of selection",
    about="HYDRAVIPER at the low budget. Forests and mixtures of trees take the place of one tree per agent, selected "
    "by our race; UCB1-Normal and a c from the variance of the expert's returns take the place of VR-UCB's c.",
    arms=tuple(Arm("hydraviper", "low", "low", settings, label) for label, settings in WAYS),
    games=(NAVIGATION, DECEPTION),
    questions=("learners",),
)
