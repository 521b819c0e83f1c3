"""The full table of budgets, and the figure of performance as the number of rollouts decreases."""

from hydraviper.studies.design import BETTER_EXPERTS, Arm, Study

LEVELS = (("high", "high"), ("mid", "high"), ("low", "high"), ("high", "mid"), ("high", "low"), ("low", "low"))

STUDY = Study(
    name="budgets",
    title="Full table: training and validation budgets",
    about="Training / validation rollouts are reduced one at a time, then both. Imitation does not validate.",
    arms=tuple(
        Arm(algorithm, *level)
        for level in LEVELS
        for algorithm in ("imitation", "iviper", "maviper", "hydraviper")
        if algorithm != "imitation" or level[1] == "high"
    ),
    experts=BETTER_EXPERTS,
    questions=("rq2",),
)
