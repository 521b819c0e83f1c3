"""Table 1: score and runtime of expert, IVIPER, MAVIPER and HYDRAVIPER."""

from hydraviper.studies.design import BETTER_EXPERTS, Arm, Study

STUDY = Study(
    name="table1",
    title="Table 1: performance and runtime",
    about="Every algorithm at the high and at the low budget; the paper times its baselines at the high one only.",
    arms=tuple(
        Arm(algorithm, level, level) for level in ("high", "low") for algorithm in ("iviper", "maviper", "hydraviper")
    ),
    experts=BETTER_EXPERTS,
    figures=("bars", "tradeoff"),
    questions=("rq1", "rq2"),
    timed=True,
)
