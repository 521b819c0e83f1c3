"""What a search is given and what it ends with."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hydraviper.data import Estimate, InputError, Progress
from hydraviper.protocols import Engine, Expert, Game
from hydraviper.refine.moves import Limits
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.settings import DEPTH, FEATURES, LEAVES, ROLLOUTS, SOME_SECONDS, check_seed
from hydraviper.trees.packed import Vocabulary
from hydraviper.trees.tree import Tree

Trees = Mapping[int, Tree]  # by agent
Allowed = Callable[[Trees], bool]

SEARCH, HELD_OUT, COUNTING = 0, 1, 2  # first part of the name of a seed's use


@dataclass(frozen=True)
class RefineSettings:
    """How long to search, and for what. With rollouts and a seed the result repeats; with seconds it cannot."""

    seconds: float | None = None
    rollouts: int | None = None  # episodes played or compared, the held-out ones included
    features: str = "plain"  # derived: the game's derived features may come into the trees
    seed: int = 0
    depth: int | None = None  # None keeps that of the deepest tree
    leaves: int | None = None

    def __post_init__(self) -> None:
        SOME_SECONDS.check("--seconds", self.seconds)
        ROLLOUTS.check("--rollouts", self.rollouts)
        DEPTH.check("--depth", self.depth)
        LEAVES.check("--leaves", self.leaves)
        if self.features not in FEATURES:
            raise InputError(f"--features {self.features!r} is unknown: choose one of {', '.join(FEATURES)}.")
        check_seed(self.seed)


@dataclass(frozen=True)
class Search:
    """What a way of searching is given."""

    game: Game
    expert: Expert
    engine: Engine
    settings: RefineSettings
    given: Trees
    starts: Sequence[Trees]  # other trees to start from
    vocabulary: Vocabulary
    limits: Limits
    allowed: Allowed | None
    progress: Progress
    started: float = field(default_factory=time.perf_counter)

    @property
    def team(self) -> tuple[int, ...]:
        """The agents that have trees."""
        return tuple(sorted(self.given))

    @property
    def sign(self) -> float:
        """1 if a higher score is better, else -1."""
        return -1.0 if self.game.score.lower_is_better else 1.0

    def seeds(self, use: int, number: int, count: int) -> np.ndarray:
        """Seeds of their own for every use."""
        return rollout_seeds(self.settings.seed, Purpose.REFINE, 10_000_000 * use + number, count)

    def left(self) -> float:
        """Seconds that remain; infinite if rollouts are what counts."""
        seconds = self.settings.seconds
        return float("inf") if seconds is None else seconds - (time.perf_counter() - self.started)


@dataclass(frozen=True)
class Found:
    """What a search came up with, and how both scored where it has not looked."""

    trees: Trees
    before: np.ndarray  # [E] held-out scores of the given trees
    after: np.ndarray  # [E] of what was found, on the same seeds
    rollouts: int
    start: str  # which start won


@dataclass(frozen=True)
class Refined:
    """Trees that are at least as good as those given, on seeds that the search has not seen."""

    students: dict[int, Tree]
    given: dict[int, Tree]
    kept: bool  # False: nothing better was found and the given trees are returned
    before: Estimate
    after: Estimate
    gain: Estimate  # paired, positive is better
    rollouts: int
    seconds: float
    start: str
    settings: RefineSettings

    def to_json(self) -> dict[str, Any]:
        """What trees.json and the summary say about it."""
        settings = self.settings
        return {
            "seconds": settings.seconds,
            "rollouts": settings.rollouts,
            "features": settings.features,
            "seed": settings.seed,
            "spent": {"seconds": round(self.seconds, 2), "rollouts": self.rollouts},
            "start": self.start,
            "kept": self.kept,
            "held_out": {
                "episodes": self.before.count,
                "before": {"mean": self.before.mean, "ci95": self.before.ci95},
                "after": {"mean": self.after.mean, "ci95": self.after.ci95},
                "gain": {"mean": self.gain.mean, "ci95": self.gain.ci95},
            },
        }

    def sentence(self) -> str:
        """What a user should know."""
        if not self.kept:
            return "Refining found nothing better on held-out seeds: the trees are those that it was given."
        repeats = "" if self.settings.seconds is None else " (limited by seconds, so it will not repeat exactly)"
        return (
            f"Refined{repeats}: {self.before.mean:.2f} before, {self.after.mean:.2f} after, on {self.before.count:,} "
            "held-out episodes."
        )
