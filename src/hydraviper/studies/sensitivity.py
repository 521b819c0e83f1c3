"""Figures on hyperparameters: the depth of the trees and the constant c of UCB, at the low budget."""

from hydraviper.studies.design import Arm, Study

DEPTHS, SCALES = (2, 3, 4, 5), (1.0, 2.0, 4.0, 8.0, 16.0)

STUDY = Study(
    name="sensitivity",
    title="Hyperparameters: depth and the UCB constant c",
    about="HYDRAVIPER at the low budget. c matters to UCB only, so those runs select by VR-UCB as the paper does; "
    "the others by the default race.",
    arms=(
        *(Arm("hydraviper", "low", "low", {"depth": depth}, f"{depth}", "depth of the trees") for depth in DEPTHS),
        *(
            Arm("hydraviper", "low", "low", {"selection": "ucb1", "ucb_scale": c}, f"{c:g}", "UCB constant c")
            for c in SCALES
        ),
    ),
    reference="4",
    questions=("depth", "ucb"),
)
