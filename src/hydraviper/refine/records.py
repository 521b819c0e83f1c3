"""What a refinement is given, what the ways of searching share, and what comes out."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hydraviper.data import Estimate, Progress
from hydraviper.protocols import Engine, Expert, Game, Student, offers
from hydraviper.refine.moves import SizeLimits
from hydraviper.seeding import Purpose, practice, rollout_seeds
from hydraviper.settings import DEPTH, LEAVES, ROLLOUTS, SOME_SECONDS, check_features, check_seed
from hydraviper.trees.packed import Packed, Vocabulary, pack, unpack
from hydraviper.trees.tree import Tree

Trees = Mapping[int, Tree]  # agent -> its tree
Allowed = Callable[[Trees], bool]  # whether trees keep everything that must be kept, such as properties

SEARCH, HELD_OUT, COUNTING = 0, 1, 2  # what seeds are for; no seed is used for two of them


@dataclass(frozen=True, kw_only=True)
class RefineSettings:
    """How long to search, and for which trees. A search limited by rollouts repeats; one limited by seconds cannot."""

    seconds: float | None = None
    rollouts: int | None = None  # episodes played or compared, the held-out ones included
    features: str = "plain"  # what trees may ask for beside what they do, as in `Settings`
    seed: int = 0
    depth: int | None = None  # the most questions on a path; None: as many as the deepest given tree has
    leaves: int | None = None  # the most leaves of a tree; None: no limit

    def __post_init__(self) -> None:
        SOME_SECONDS.check("--seconds", self.seconds)
        ROLLOUTS.check("--rollouts", self.rollouts)
        DEPTH.check("--depth", self.depth)
        LEAVES.check("--leaves", self.leaves)
        check_features(self.features)
        check_seed(self.seed)


@dataclass(frozen=True, kw_only=True)
class SearchState:
    """What both ways of searching are given."""

    game: Game
    expert: Expert
    engine: Engine
    settings: RefineSettings
    given: Trees
    starts: Sequence[Trees]  # other trees to start from
    vocabulary: Vocabulary
    limits: SizeLimits
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

    @property
    def adversaries(self) -> tuple[Mapping[int, Student], ...]:
        """Scripts of the other side that trees are chosen against beside the expert, so as not to fit one adversary.

        None for plain and derived features: their published figures were found against the expert's adversary alone.
        """
        known = self.settings.features in ("plain", "derived")
        return () if known else tuple(offers(self.game).scoring.opponents.values())

    def seeds(self, use: int, number: int, count: int) -> np.ndarray:
        """Seeds for one use; every use and number has its own."""
        return practice(self.game, rollout_seeds(self.settings.seed, Purpose.REFINE, 10_000_000 * use + number, count))

    def pack(self, trees: Trees) -> Packed:
        """The team's trees as arrays with room to grow."""
        return pack([trees[i] for i in self.team], self.vocabulary, self.limits.nodes)

    def unpack(self, trees: Packed) -> Trees:
        """Arrays as trees by agent."""
        actions = [len(self.game.agents[i].actions) for i in self.team]
        return dict(zip(self.team, unpack(trees, self.vocabulary, actions), strict=True))

    def allows(self, trees: Packed) -> bool:
        """Whether packed trees keep what must be kept."""
        return self.allowed is None or self.allowed(self.unpack(trees))

    def left(self) -> float:
        """The seconds that are left; infinite if only rollouts are limited."""
        seconds = self.settings.seconds
        return float("inf") if seconds is None else seconds - (time.perf_counter() - self.started)


@dataclass(frozen=True, kw_only=True)
class Found:
    """The best trees of a search, with scores on held-out seeds."""

    trees: Trees
    before: np.ndarray  # [E] held-out scores of the given trees
    after: np.ndarray  # [E] those of the trees found, on the same seeds
    rollouts: int
    start: str  # the name of the start from which they come


@dataclass(frozen=True, kw_only=True)
class Refined:
    """Trees that score at least as well as the given ones on held-out seeds."""

    students: dict[int, Tree]
    given: dict[int, Tree]
    kept: bool  # whether better trees were found; if not, `students` are the given trees
    before: Estimate
    after: Estimate
    gain: Estimate  # paired by seed, positive is better
    rollouts: int
    seconds: float
    start: str  # the name of the start from which the trees come
    settings: RefineSettings

    def to_json(self) -> dict[str, object]:
        """What trees.json and the summary say about the refinement."""
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
        """The result in one sentence."""
        if not self.kept:
            return "Refining found nothing better on held-out seeds: the trees are those that it was given."
        repeats = "" if self.settings.seconds is None else " (limited by seconds, so it will not repeat exactly)"
        return (
            f"Refined{repeats}: {self.before.mean:.2f} before, {self.after.mean:.2f} after, on {self.before.count:,} "
            "held-out episodes."
        )
