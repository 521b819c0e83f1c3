"""One record of settings: the paper's symbols, their defaults and ranges, the meaning beside each."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from hydraviper.data import InputError

SELECTIONS = ("race", "ucb1", "ucb1-normal", "ucb1-expert", "uniform")
LEARNERS = ("tree", "forest", "mixture")
FEATURES = ("plain", "derived")
PARTITIONS = ("none", "graph-metis", "marginal-metis", "marginal-kmeans", "random", "contiguous")


@dataclass(frozen=True)
class Settings:
    """What a run is made with; together with game and expert it decides every bit of the result."""

    seed: int = 0  # names every random choice of the run
    iterations: int = 100  # M, students per agent
    train_budget: int = 500  # B_train, students' training rollouts
    valid_budget: int = 1500  # B_valid, validation rollouts
    rollouts_per_iteration: int = 50  # K_train: the expert's warm-up, and the most an iteration may collect
    depth: int = 4  # the most questions a tree may ask
    most_leaves: int | None = None  # limit of leaves beside the depth
    drop_quantile: float = 0.3  # epsilon as a quantile of the first iteration's weights
    drop_threshold: float | None = None  # epsilon as a number; overrides the quantile
    selection: str = "race"  # how validation rollouts are spent: one of SELECTIONS; ucb1 is the paper's
    ucb_scale: float = 4.0  # c, times the confidence bound on the mean reward per step
    partition: str = "none"  # none keeps the game's own teams
    teams: int = 2  # L, how many teams a partition makes of each of the game's own
    training_share: float = 0.8  # of their data that MAVIPER, and IVIPER as its authors wrote it, train on
    refine_seconds: float = 0.0  # how long to search for better trees in the end; what it finds depends on the machine
    learner: str = "tree"  # what a student is: tree, or a forest or a mixture of trees, which nobody reads as one
    features: str = "plain"  # what trees may ask for: plain, or also what the game derives from the plain ones

    def __post_init__(self) -> None:
        least = {"iterations": 1, "train_budget": 1, "valid_budget": 1, "rollouts_per_iteration": 1, "depth": 1}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise InputError(f"{_option(name)} must be at least {value}, not {getattr(self, name)}.")
        check_seed(self.seed)
        if self.depth > 20:
            raise InputError(f"--depth must be at most 20, not {self.depth}: nobody reads a larger tree.")
        if self.most_leaves is not None and self.most_leaves < 2:
            raise InputError(f"--leaves must be at least 2, not {self.most_leaves}.")
        if self.teams < 1:
            raise InputError(f"--teams must be at least 1, not {self.teams}.")
        for name in ("drop_quantile", "training_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{_option(name)} must lie between 0 and 1, not {getattr(self, name)}.")
        if not 0 <= self.refine_seconds < math.inf:
            raise InputError(f"--refine must be a number of seconds of 0 or more, not {self.refine_seconds}.")
        if self.refine_seconds > 0 and self.learner != "tree":
            raise InputError(f"--refine changes single trees: choose --learner tree, not {self.learner}.")
        if not 0 <= self.ucb_scale < math.inf:
            raise InputError(f"--ucb-scale must be a number of 0 or more, not {self.ucb_scale}.")
        choices = {"selection": SELECTIONS, "partition": PARTITIONS, "features": FEATURES, "learner": LEARNERS}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise InputError(
                    f"{_option(name)} {getattr(self, name)!r} is unknown: choose one of {', '.join(known)}."
                )

    def to_json(self) -> dict[str, Any]:
        """Plain values by name."""
        return asdict(self)

    @staticmethod
    def from_json(values: dict[str, Any]) -> Settings:
        """The settings that `to_json` wrote."""
        known = {field.name for field in fields(Settings)}
        if unknown := sorted(set(values) - known):
            raise InputError(f"unknown settings: {', '.join(unknown)}.")
        return Settings(**values)


def check_seed(seed: int) -> None:
    """Refuse a seed that random generators cannot take."""
    if not 0 <= seed < 2**63:
        raise InputError(f"--seed must be 0 or more and less than 2 to the 63rd, not {seed}.")


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
