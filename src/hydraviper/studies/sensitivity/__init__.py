"""Figures on hyperparameters: the depth of the trees and the constant c of UCB, at the low budget."""

from hydraviper.studies.claims import Question, best_of_series
from hydraviper.studies.design import Arm
from hydraviper.studies.paper import BEST_UCB_SCALE
from hydraviper.studies.study import Study

DEPTH, UCB = "depth of the trees", "UCB constant c"
DEPTHS, SCALES = (2, 3, 4, 5), (1.0, 2.0, 4.0, 8.0, 16.0)
BEST_DEPTH = 4  # the paper's, in every game

STUDY = Study(
    name="sensitivity",
    title="Hyperparameters: depth and the UCB constant c",
    about="HYDRAVIPER at the low budget. c matters to UCB only, so those runs select by VR-UCB as the paper does; "
    "the others by the default race.",
    arms=(
        *(Arm("hydraviper", "low", "low", {"depth": depth}, f"{depth}", DEPTH) for depth in DEPTHS),
        *(Arm("hydraviper", "low", "low", {"selection": "ucb1", "ucb_scale": c}, f"{c:g}", UCB) for c in SCALES),
    ),
    reference="4",
    questions=(
        Question("Is depth 4 as good as any other?", best_of_series(DEPTH, lambda game: f"{BEST_DEPTH}")),
        Question(
            "Is the paper's UCB constant c as good as any other?",
            best_of_series(UCB, lambda game: f"{BEST_UCB_SCALE[game]:g}"),
        ),
    ),
)
