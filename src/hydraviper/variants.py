"""HYDRAVIPER, its baselines and its ablations as values: five functions each, no branches anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hydraviper.data import InputError, Team
from hydraviper.dataset import Dataset
from hydraviper.profile import Profile
from hydraviper.steps import collect, partition, resample, select, train
from hydraviper.steps.task import Task


@dataclass(frozen=True)
class Variant:
    """How an algorithm does each of the five steps."""

    name: str
    partition: Callable[[Task], tuple[Team, ...]]
    collect: Callable[[Task, Sequence[Dataset], Profile, int, float], int]
    resample: Callable[[Task, Dataset, int], tuple[np.ndarray, float]]
    train: train.Train
    select: Callable[[Task, Team, Sequence[select.Students]], select.Choice]
    iterations: int | None = None  # where the algorithm itself fixes them
    meets: bool = False  # whether teams that a partition made meet in a last round of selection

    def with_classifier(self, classifier: object) -> Variant:
        """The same algorithm with any scikit-learn classifier in place of the built-in tree learner."""
        return replace(self, train=train.with_classifier(classifier))


_BY_TEAM = resample.Weighted(resample.team_weights)
_BY_MEMBER = resample.Weighted(resample.own_weights)
_BY_RANGE = resample.Weighted(resample.range_weights)

HYDRAVIPER = Variant(
    "hydraviper",
    partition=partition.by_settings,
    collect=collect.adaptive,
    resample=_BY_TEAM,
    train=train.independent,
    select=select.by_settings,
    meets=True,
)
MAVIPER = Variant(
    "maviper",
    partition=partition.natural,
    collect=collect.each_among_experts,
    resample=resample.Weighted(resample.joint_weights),
    train=train.together,
    select=select.uniform,
)
IVIPER = Variant(
    "iviper",
    partition=partition.alone,
    collect=collect.each_among_experts,
    resample=_BY_MEMBER,
    train=train.independent,
    select=select.uniform,
)
# students roll out together in training, but each is still validated and chosen among experts
IVIPER_JOINT = replace(IVIPER, name="iviper-joint", collect=collect.uniform)
# together in training and in validation: a team's iteration is chosen for all of its members
IVIPER_TOGETHER = replace(IVIPER_JOINT, name="iviper-together", partition=partition.natural)
IVIPER_RANGE = replace(IVIPER, name="iviper-max-min", resample=_BY_RANGE)
IVIPER_SPLIT = replace(IVIPER, name="iviper-split", train=train.on_a_share)
# as the command in its authors' README runs it
IVIPER_AUTHORS = replace(IVIPER_TOGETHER, name="iviper-authors", resample=_BY_RANGE, train=train.on_a_share)
MAVIPER_AUTHORS = replace(MAVIPER, name="maviper-authors", resample=resample.Weighted(resample.averaged_weights))
IMITATION = Variant(
    "imitation",
    partition=partition.natural,
    collect=collect.by_expert,
    resample=resample.take_all,
    train=train.independent,
    select=select.uniform,
    iterations=1,
)
WITHOUT_CQ = replace(HYDRAVIPER, name="hydraviper-without-cq", resample=_BY_MEMBER)
WITHOUT_TRA = replace(HYDRAVIPER, name="hydraviper-without-tra", collect=collect.uniform_after_warm_up)
WITHOUT_UCB = replace(HYDRAVIPER, name="hydraviper-without-ucb", select=select.uniform)
WITHOUT_TRA_UCB = replace(WITHOUT_TRA, name="hydraviper-without-tra-ucb", select=select.uniform)
# C-Q's weights still tell TR-A how many rollouts to play, so that only the draw differs
NO_WEIGHTS = replace(
    HYDRAVIPER, name="hydraviper-no-weights", resample=resample.Weighted(resample.team_weights, evenly=True)
)


def viper(task: Task) -> tuple[Team, ...]:
    """VIPER's one agent."""
    teams = partition.alone(task)
    if len(teams) != 1:
        raise InputError(
            f"viper is for one agent, but {task.game.name} distils {len(teams)}: choose iviper or hydraviper."
        )
    return teams


VIPER = replace(IVIPER, name="viper", partition=viper)

VARIANTS = {
    variant.name: variant
    for variant in (
        *(HYDRAVIPER, MAVIPER, IVIPER, VIPER, IMITATION),
        *(WITHOUT_CQ, WITHOUT_TRA, WITHOUT_UCB, WITHOUT_TRA_UCB, NO_WEIGHTS),
        *(IVIPER_JOINT, IVIPER_TOGETHER, IVIPER_RANGE, IVIPER_SPLIT, IVIPER_AUTHORS, MAVIPER_AUTHORS),
    )
}
