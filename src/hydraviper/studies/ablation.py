"""Figures on ablations: HYDRAVIPER without each of its parts, at both budgets."""

from hydraviper.studies.design import Arm, Study

PARTS = (
    ("hydraviper", {}, ""),
    ("hydraviper-without-cq", {}, "without C-Q"),
    ("hydraviper-without-tra", {}, "without TR-A"),
    ("hydraviper-without-ucb", {}, "without VR-UCB"),
    ("hydraviper", {"selection": "ucb1"}, "VR-UCB as in the paper"),
)

STUDY = Study(
    name="ablation",
    title="Ablation: without C-Q, TR-A, VR-UCB",
    about="C-Q is replaced by IVIPER's weights, TR-A by the same rollouts in every iteration, the selection by the "
    "same rollouts for every student. Our HYDRAVIPER selects by a race; the last arm has the paper's "
    "VR-UCB in its place.",
    arms=tuple(
        Arm(algorithm, level, level, settings, label)
        for level in ("high", "low")
        for algorithm, settings, label in PARTS
    ),
    questions=("parts",),
)
