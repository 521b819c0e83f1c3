"""Figures on ablations: HYDRAVIPER without each of its parts, at both budgets, and what IVIPER lacks step by step."""

from hydraviper.studies.design import HYDRAVIPERS, OURS, PAPERS, Arm, Study

PARTS = (
    ("hydraviper", OURS),
    ("hydraviper", PAPERS),
    ("hydraviper-without-cq", "without C-Q"),
    ("hydraviper-no-weights", "no weights"),
    ("hydraviper-without-tra", "without TR-A"),
    ("hydraviper-without-ucb", "without VR-UCB"),
    ("hydraviper-without-tra-ucb", "without TR-A and VR-UCB"),
    ("iviper-together", "joint rollouts alone"),
    ("iviper-joint", "joint training rollouts alone"),
    ("iviper", ""),
)

STUDY = Study(
    name="ablation",
    title="Ablation: what each part of HYDRAVIPER is worth",
    about="C-Q is replaced by IVIPER's weights (without C-Q) or every sample counts the same (no weights), TR-A by the "
    "same rollouts in every iteration after the same warm-up, the selection by the same rollouts for every student. "
    "Joint rollouts alone is IVIPER with its own weights and as many rollouts for every student, but its students play "
    "together, in training and validation; or in training alone, while each is validated among experts.",
    arms=tuple(
        Arm(algorithm, level, level, HYDRAVIPERS.get(label, {}), label)
        for level in ("high", "low")
        for algorithm, label in PARTS
    ),
    questions=("parts",),
)
