"""Ours: what a direct search over the trees adds, and what it costs."""

from hydraviper.studies.design import BETTER_EXPERTS, Arm, Study

SECONDS = (0, 10, 60)

STUDY = Study(
    name="refined",
    title="Refined trees: score per second spent",
    about="HYDRAVIPER at the low budget, then a search over thresholds, features and leaves for so many seconds. "
    "A search that is limited by seconds does not repeat exactly.",
    arms=tuple(
        Arm(
            "hydraviper", "low", "low", label=f"{seconds} s" if seconds else "none", group="refined for", refine=seconds
        )
        for seconds in SECONDS
    ),
    experts=BETTER_EXPERTS,
    figures=("bars", "tradeoff"),
    reference="none",
    questions=("refined",),
    timed=True,
)
