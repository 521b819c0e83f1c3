"""One record of settings: the paper's symbols, their defaults and ranges, the meaning beside each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from numbers import Real
from typing import Any

from hydraviper.data import InputError, Plain, Recommended


@dataclass(frozen=True)
class Range:
    """The least and the most that a number may be, and why."""

    least: float
    most: float
    too_small: str = ""  # a reason, behind a colon
    too_large: str = ""

    def check(self, name: str, value: float | None) -> None:
        """Refuse a number outside the range, with the reason; None stands for a number that was not given."""
        if value is not None and not isinstance(value, Real):  # files may hold anything
            raise InputError(f"{name} must be a number, not {value!r}.")
        if value is None or self.least <= value <= self.most:
            return
        if not (value < self.least or value > self.most):  # not math.isnan, which whole numbers may be too large for
            raise InputError(f"{name} must be a number from {self.least:,} to {self.most:,}, not {value}.")
        too_large = value > self.most
        bound, why = (self.most, self.too_large) if too_large else (self.least, self.too_small)
        words = f"must be at {'most' if too_large else 'least'} {bound:,}"
        raise InputError(f"{name} {words}, not {value}{f': {why}' if why else ''}.")


_HOURS = "that would take weeks"
EPISODES = Range(2, 1_000_000, "one episode has no interval", "more fill the memory and narrow no interval")
TRAINING_EPISODES = Range(1, 100_000_000, "an expert learns from episodes", _HOURS)
ITERATIONS = Range(1, 10_000, "one student is needed to choose from", "every student is kept until one is chosen")
BUDGET = Range(1, 100_000_000, "students learn from rollouts", _HOURS)
VALIDATION = Range(1, 100_000_000, "students are chosen by rollouts", _HOURS)
DEPTH = Range(1, 20, "a tree asks at least one question", "nobody reads a larger tree")
LEAVES = Range(2, 2**20, "a tree of one leaf asks nothing", "a tree of depth 20 has no more")
HOPS = Range(0, 1000, "0 is the agent alone", "no graph here is so wide")
TEAMS = Range(1, 1000, "agents are split into teams", "no game here has so many agents")
JOINT_ACTIONS = Range(2, 1_000_000, "an agent has at least two actions", "their values would not fit into memory")
WORKERS = Range(1, 1024, "somebody has to play", "each is a process or a thread of its own")
SEEDS = Range(1, 10_000, "a seed is a run", _HOURS)
SECONDS = Range(0, 10_000_000, "time does not run backwards", "that is four months")
SOME_SECONDS = Range(0.001, 10_000_000, "nothing can be done in no time", "that is four months")
ROLLOUTS = Range(10, 1_000_000_000, "fewer tell no tree from another", _HOURS)
FACTS_EPISODES = Range(0, 100_000, "0 checks no fact", "what they see would not fit into memory")
PLACE = Range(0, 10_000_000, "the first one is 0", "nobody plays as many")
SAMPLE = Range(1, 100_000, "0 cells check nothing", "no study has so many cells")
PORT = Range(1, 65_535, "ports count from 1", "no port has a higher number")
STUDY_SCALE = Range(0.001, 1, "nothing of the study would be left", "a study is not enlarged")
CRITIC_ROLLOUTS = Range(10, 10_000_000, "fewer show nothing of what an action is worth", _HOURS)
UPDATES = Range(1, 100_000_000, "a critic learns by updates", _HOURS)
EXPERT_MINUTES = Range(0, 100_000, "0 trains nothing", "that is two months")
DEMAND = Range(0.01, 100, "somebody has to drive", "no road takes a hundred times its traffic")
SHARE = Range(0, 1, "it is a share", "it is a share")
SCALE = Range(0, 10**9, "it multiplies a confidence bound", "the bound would drown every score")

SELECTIONS = ("race", "ucb1", "ucb1-normal", "ucb1-expert", "uniform")
LEARNERS = ("tree", "forest", "mixture")
FEATURES = ("plain", "derived", "shipped", "found")
PARTITIONS = ("none", "graph-metis", "marginal-metis", "marginal-kmeans", "random", "contiguous")


@dataclass(frozen=True)
class Settings:
    """All settings of a run; together with game and expert they decide every bit of the result."""

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
    max_joint_actions: int = 20_000  # of a team, that an expert with joint critics values for each sample
    training_share: float = 0.8  # of their data that MAVIPER, and IVIPER as its authors wrote it, train on
    refine_seconds: float = 0.0  # how long to search for better trees in the end; what it finds depends on the machine
    learner: str = "tree"  # what a student is: tree, or a forest or a mixture of trees, which nobody reads as one
    # What trees may ask for: plain; or also derived, shipped or found (see `FEATURES`); or lines `name = formula`.
    features: str = "plain"

    def __post_init__(self) -> None:
        for name, range_ in _RANGES.items():
            range_.check(_option(name), getattr(self, name))
        check_seed(self.seed)
        if self.refine_seconds > 0 and self.learner != "tree":
            raise InputError(f"--refine changes single trees: choose --learner tree, not {self.learner}.")
        check_features(self.features)
        choices = {"selection": SELECTIONS, "partition": PARTITIONS, "learner": LEARNERS}
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise InputError(
                    f"{_option(name)} {getattr(self, name)!r} is unknown: choose one of {', '.join(allowed)}."
                )

    def to_json(self) -> dict[str, Plain]:
        """Plain values by name."""
        return asdict(self)

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Settings:
        """The settings that `to_json` wrote."""
        names = {field.name for field in fields(Settings)}
        if unknown := sorted(set(values) - names):
            raise InputError(f"unknown settings: {', '.join(unknown)}.")
        return Settings(**values)


def settings_for(suits: Recommended, *, train: str = "low", valid: str = "low", **changes: Any) -> Settings:
    """Settings that suit a game: its own budgets at a level (low, mid or high) each, and changes; None changes nothing.

    The middle level is half of the high one.
    """
    budgets = {"low": suits.low, "mid": (suits.high[0] // 2, suits.high[1] // 2), "high": suits.high}
    defaults = {
        "ucb_scale": suits.ucb_scale,
        "features": suits.features,
        "rollouts_per_iteration": suits.rollouts_per_iteration,
        "train_budget": budgets[train][0],
        "valid_budget": budgets[valid][1],
    }
    return Settings(**defaults | {name: value for name, value in changes.items() if value is not None})


_RANGES = {
    "iterations": ITERATIONS,
    "train_budget": BUDGET,
    "valid_budget": VALIDATION,
    "rollouts_per_iteration": BUDGET,
    "depth": DEPTH,
    "most_leaves": LEAVES,
    "teams": TEAMS,
    "max_joint_actions": JOINT_ACTIONS,
    "drop_quantile": SHARE,
    "training_share": SHARE,
    "refine_seconds": SECONDS,
    "ucb_scale": SCALE,
}


def are_lines(features: str) -> bool:
    """Whether features are given by lines `name = formula` instead of by a word."""
    return "=" in features


def check_features(features: str) -> None:
    """Refuse a word that says nothing of features; lines are read when the game is known."""
    if features not in FEATURES and not are_lines(features):
        words = ", ".join(FEATURES)
        raise InputError(f"--features {features!r} is unknown: choose one of {words}, or lines name = formula.")


def check_seed(seed: int) -> int:
    """Refuse a seed that random generators cannot take."""
    if not 0 <= seed < 2**63:
        raise InputError(f"--seed must be 0 or more and less than 2 to the 63rd, not {seed}.")
    return seed


_OPTIONS = {"most_leaves": "--leaves", "refine_seconds": "--refine"}


def _option(name: str) -> str:
    return _OPTIONS.get(name) or "--" + name.replace("_", "-")
