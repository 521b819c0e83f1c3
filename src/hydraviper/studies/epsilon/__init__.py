"""Ours: the threshold epsilon, as a quantile of the first weights, which the paper never states."""

from hydraviper.studies.claims import Question, best_of_series
from hydraviper.studies.design import Arm
from hydraviper.studies.study import Study

SERIES = "drop quantile"
QUANTILES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)

STUDY = Study(
    name="epsilon",
    title="The drop quantile epsilon",
    about="HYDRAVIPER at the low budget. A sample is dropped, and replaced by a new rollout, when its weight is at "
    "most epsilon; the paper does not say what epsilon is. Here it is a quantile of the first iteration's weights.",
    arms=tuple(
        Arm("hydraviper", "low", "low", {"drop_quantile": quantile}, f"{quantile:g}", SERIES) for quantile in QUANTILES
    ),
    reference="0.3",
    questions=(
        Question("Is the default drop quantile 0.3 as good as any other?", best_of_series(SERIES, lambda game: "0.3")),
    ),
)
