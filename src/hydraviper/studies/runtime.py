"""Figures on runtime: where IVIPER, MAVIPER and HYDRAVIPER spend it at the high budget."""

from hydraviper.studies.baselines import PER_AGENT
from hydraviper.studies.design import Arm, Study, arms_of

STUDY = Study(
    name="runtime",
    title="Runtime by step",
    about="Training rollouts, resampling, tree training and validation rollouts at the high budget, one run at a time. "
    "IVIPER's agents share the budget, or each of them has the whole of it.",
    arms=(
        *arms_of(("iviper",)),
        Arm("iviper", label=PER_AGENT, per_agent=True),
        *arms_of(("maviper", "hydraviper")),
    ),
    figures=("steps", "tradeoff"),
    questions=("time",),
    timed=True,
)
