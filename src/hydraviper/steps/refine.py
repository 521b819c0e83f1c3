"""Refine: a direct search over a team's trees for a better score, beyond what imitating the expert can give.

Where a game can be compiled with the trees inside, several starts are annealed and raced (`islands`); where rollouts
are dear, a few candidates, proposed from the expert's values without playing, are raced (`screening`). Either way the
result is compared with the given trees on seeds that the search has not seen, and the better ones are returned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hydraviper.data import Derived, Estimate, InputError
from hydraviper.profile import Profile
from hydraviper.protocols import Engine, Expert, Game, HasArena, HasDerived, Student
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.settings import DEPTH, FEATURES, LEAVES, ROLLOUTS, SECONDS, check_seed
from hydraviper.trees.counts import recounted
from hydraviper.trees.moves import Limits
from hydraviper.trees.packed import Vocabulary
from hydraviper.trees.tree import Tree

Trees = Mapping[int, Tree]  # by agent
Allowed = Callable[[Trees], bool]
Progress = Callable[[str, int, int], None]

SEARCH, HELD_OUT, COUNTING = 0, 1, 2  # first part of the name of a seed's use
DEFAULT_SECONDS, DEFAULT_ROLLOUTS = 30.0, 200
COUNTED_EPISODES = 200  # for the counts of the nodes, where episodes are cheap


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
        if self.seconds is not None and self.seconds <= 0:
            raise InputError(f"refining needs a number of seconds above 0, not {self.seconds}.")
        SECONDS.check("--seconds", self.seconds)
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


def refine(
    game: Game,
    expert: Expert,
    students: Mapping[int, Student],
    engine: Engine,
    settings: RefineSettings | None = None,
    starts: Sequence[Mapping[int, Student]] = (),
    allowed: Allowed | None = None,
    progress: Progress = lambda step, done, of: None,
) -> Refined:
    """Search for better trees; never worse on held-out seeds than the given ones. No change may break `allowed`."""
    from hydraviper.steps import islands, screening  # they know this module

    start = time.perf_counter()
    given = _checked(game, students)
    search = _search(game, expert, engine, settings or RefineSettings(), given, starts, allowed, progress)
    if allowed is not None and not allowed(given):
        raise InputError("the given trees do not fulfil what refining must keep: repair them first.")
    way = islands.search if islands.possible(search) else screening.search  # the first may compile a kernel
    found = way(replace(search, started=time.perf_counter()))
    sign = search.sign
    gain = Estimate.of(sign * (found.after - found.before))
    kept = gain.mean > 0 and (allowed is None or allowed(found.trees))
    chosen = dict(found.trees) if kept else given
    rollouts = found.rollouts
    if kept:
        chosen, more = _with_counts(search, chosen)
        rollouts += more
    return Refined(
        chosen,
        given,
        kept,
        Estimate.of(found.before),
        Estimate.of(found.after if kept else found.before),
        gain,
        rollouts,
        time.perf_counter() - start,
        found.start if kept else "given trees",
        search.settings,
    )


def _checked(game: Game, students: Mapping[int, Student]) -> dict[int, Tree]:
    if not students:
        raise InputError("there are no trees to refine.")
    trees = {}
    for i, student in sorted(students.items()):
        if not isinstance(student, Tree):
            raise InputError(f"the student of {game.agents[i].name} is no tree and cannot be refined.")
        trees[i] = student
    return trees


def _search(
    game: Game,
    expert: Expert,
    engine: Engine,
    settings: RefineSettings,
    given: dict[int, Tree],
    starts: Sequence[Mapping[int, Student]],
    allowed: Allowed | None,
    progress: Progress,
) -> Search:
    if settings.seconds is None and settings.rollouts is None:
        cheap = isinstance(game, HasArena)
        settings = RefineSettings(
            **{**vars(settings), **({"seconds": DEFAULT_SECONDS} if cheap else {"rollouts": DEFAULT_ROLLOUTS})}
        )
    others = [
        {i: tree for i, tree in own.items() if isinstance(tree, Tree)} for own in starts if set(own) == set(given)
    ]
    others = [own for own in others if len(own) == len(given)]
    offered = _offered(game, settings.features)
    derived = [
        tuple(dict.fromkeys([feature for own in (given, *others) for feature in own[i].derived] + list(offered[i])))
        for i in given
    ]
    vocabulary = Vocabulary(tuple(len(game.agents[i].features) for i in given), tuple(derived))
    depth = settings.depth or max(1, *(tree.depth for tree in given.values()))
    if settings.leaves is not None and settings.leaves < max(tree.leaves for tree in given.values()):
        raise InputError(f"--leaves {settings.leaves} is fewer than a given tree has: refining does not cut trees.")
    if depth < max(tree.depth for tree in given.values()):
        raise InputError(f"--depth {depth} is less than a given tree has: refining does not cut trees.")
    limits = Limits(depth, settings.leaves)
    others = [own for own in others if all(_fits(tree, limits) for tree in own.values())]
    return Search(game, expert, engine, settings, given, others, vocabulary, limits, allowed, progress)


def _fits(tree: Tree, limits: Limits) -> bool:
    return tree.depth <= limits.depth and (limits.leaves is None or tree.leaves <= limits.leaves)


def _offered(game: Game, features: str) -> Sequence[tuple[Derived, ...]]:
    if features == "plain":
        return [()] * len(game.agents)
    if not isinstance(game, HasDerived):
        raise InputError(f"{game.name} names no derived features: use --features plain.")
    return game.derived


def _with_counts(search: Search, trees: dict[int, Tree]) -> tuple[dict[int, Tree], int]:
    """The trees without questions that decide nothing, their nodes counted again on what they meet themselves."""
    trees = {i: tree.merged() for i, tree in trees.items()}
    budget = search.settings.rollouts
    share = max(2, (budget or DEFAULT_ROLLOUTS) // 50)
    episodes = COUNTED_EPISODES if search.game.width is None and budget is None else min(COUNTED_EPISODES, share)
    rollouts = search.engine.play(Profile(search.expert, trees), search.seeds(COUNTING, 0, episodes), record=True)
    observations = rollouts.observations or ()
    labels = search.expert.act(observations)
    return {i: recounted(tree, observations[i], labels[:, i]) for i, tree in trees.items()}, episodes
