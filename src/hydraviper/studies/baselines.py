"""Ours: the baselines as the paper words them and as their authors' code has them, difference by difference."""

from hydraviper.studies.design import Arm, Study, arms_of
from hydraviper.studies.published import DECEPTION, NAVIGATION

PER_AGENT = "iviper (budget per agent)"
WAYS = (
    ("iviper-joint", "iviper with joint training rollouts"),
    ("iviper-together", "iviper with joint rollouts"),
    ("iviper-max-min", "iviper with max-min weights"),
    ("iviper-split", "iviper on 80 % of the data"),
    ("iviper-authors", "iviper as its authors run it"),
    ("maviper-authors", "maviper as its authors wrote it"),
)

STUDY = Study(
    name="baselines",
    title="Baselines as their authors wrote them",
    about="IVIPER's students play each among experts, as the paper's numbers have it, or together, as the README of "
    "its authors has it; samples weigh by the best action minus the worst; trees are trained on 80 % of the data. "
    "Its agents share the budget, or each has the whole of it. MAVIPER's weights average the values over the "
    "opponents' actions first (without opponents it is the same).",
    arms=tuple(
        arm
        for level in ("high", "low")
        for arm in (
            *arms_of(("iviper", "maviper"), level, level),
            *(Arm(algorithm, level, level, label=label) for algorithm, label in WAYS),
            Arm("iviper", level, level, label=PER_AGENT, per_agent=True),
            *arms_of(("hydraviper",), level, level),
        )
    ),
    games=(NAVIGATION, DECEPTION),
    questions=("authors",),
)
