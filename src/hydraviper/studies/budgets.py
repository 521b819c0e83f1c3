"""The full table of budgets, and the figure of performance as the number of rollouts decreases."""

from hydraviper.studies.design import BETTER_EXPERTS, Study, arms_of

LEVELS = (("high", "high"), ("mid", "high"), ("low", "high"), ("high", "mid"), ("high", "low"), ("low", "low"))

STUDY = Study(
    name="budgets",
    title="Full table: training and validation budgets",
    about="Training / validation rollouts are reduced one at a time, then both. Imitation does not validate.",
    arms=tuple(
        arm
        for level in LEVELS
        for arm in arms_of(("imitation", "iviper", "maviper", "hydraviper"), *level)
        if arm.algorithm != "imitation" or arm.valid == "high"
    ),
    experts=BETTER_EXPERTS,
    questions=("rq2",),
)
