"""The studies by name."""

import difflib

from hydraviper.data import InputError
from hydraviper.studies import (
    ablation,
    baselines,
    budgets,
    clustering,
    epsilon,
    experts,
    features,
    formulas,
    learners,
    refined,
    resco,
    runtime,
    sensitivity,
    signals,
    table1,
)
from hydraviper.studies.study import Study

STUDIES: dict[str, Study] = {
    module.STUDY.name: module.STUDY
    for module in (
        *(table1, budgets, clustering, sensitivity, ablation, runtime),
        *(baselines, experts, learners, epsilon, features, formulas, refined, resco, signals),
    )
}


def study_named(name: str) -> Study:
    """A study by its name."""
    if name not in STUDIES:
        close = difflib.get_close_matches(name, STUDIES, n=1)
        hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(STUDIES)}."
        raise InputError(f"there is no study {name!r}: {hint}")
    return STUDIES[name]
