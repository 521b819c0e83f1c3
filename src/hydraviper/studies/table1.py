"""Table 1: score and runtime of expert, IVIPER, MAVIPER and HYDRAVIPER with the paper's selection and with ours."""

from hydraviper.studies.design import BETTER_EXPERTS, Study, arms_of

STUDY = Study(
    name="table1",
    title="Table 1: performance and runtime",
    about="Every algorithm at the high and at the low budget; the paper times its baselines at the high one only. "
    "HYDRAVIPER selects among its students by the paper's VR-UCB, with the paper's c, or by our race.",
    arms=tuple(arm for level in ("high", "low") for arm in arms_of(("iviper", "maviper", "hydraviper"), level, level)),
    experts=BETTER_EXPERTS,
    figures=("bars", "tradeoff"),
    questions=("rq1", "rq2"),
    timed=True,
)
