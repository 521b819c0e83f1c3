"""Figures on runtime: where IVIPER, MAVIPER and HYDRAVIPER spend it at the high budget."""

from hydraviper.studies.design import Arm, Study

STUDY = Study(
    name="runtime",
    title="Runtime by step",
    about="Training rollouts, resampling, tree training and validation rollouts at the high budget, one run at a time.",
    arms=tuple(Arm(algorithm) for algorithm in ("iviper", "maviper", "hydraviper")),
    figures=("steps", "tradeoff"),
    questions=("time",),
    timed=True,
)
