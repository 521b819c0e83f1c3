"""A policy profile: students for some agents, the expert for everybody else."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from hydraviper.data import Observations
from hydraviper.protocols import Expert, SeededPolicy, Student


@dataclass(frozen=True)
class Profile:
    """A policy in which some agents play their student and the others the expert."""

    expert: Expert
    students: Mapping[int, Student] = field(default_factory=dict)  # agent -> student

    def begin(self, seeds: np.ndarray) -> "Profile":
        """The profile for the episodes of these seeds (uint64 [B]): an expert may depend on them."""
        expert = self.expert
        return replace(self, expert=expert.begin(seeds)) if isinstance(expert, SeededPolicy) else self

    def act(self, observations: Observations) -> np.ndarray:
        """One action per episode and agent, [B, N]."""
        others = tuple(i for i in range(len(observations)) if i not in self.students)
        if others:
            actions = self.expert.act(observations, others)
        else:
            actions = np.empty((len(observations), len(observations[0])), np.int64).T
        for i, student in self.students.items():
            actions[:, i] = student.predict(observations[i])
        return actions
