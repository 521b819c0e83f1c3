"""Refine: a direct search over a team's trees for a better score, beyond what imitating the expert can give.

Where a game can be compiled with the trees inside, several starts are annealed and raced (`annealing`); where rollouts
are dear, a few candidates, proposed from the expert's values without playing, are raced (`racing`). Either way the
result is compared with the given trees on seeds that the search has not seen, and the better ones are returned.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hydraviper.data import Derived, Estimate, InputError, Progress
from hydraviper.profile import Profile
from hydraviper.protocols import Engine, Expert, Game, Student, offers
from hydraviper.refine import annealing, racing
from hydraviper.refine.moves import Limits
from hydraviper.refine.records import COUNTING, Allowed, Refined, RefineSettings, Search
from hydraviper.trees.counts import recount
from hydraviper.trees.packed import Vocabulary
from hydraviper.trees.tree import Tree

DEFAULT_SECONDS, DEFAULT_ROLLOUTS = 30.0, 200
COUNTED_EPISODES = 200  # for the counts of the nodes, where episodes are cheap


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
    start = time.perf_counter()
    given = _checked(game, students)
    search = _search(game, expert, engine, settings or RefineSettings(), given, starts, allowed, progress)
    if allowed is not None and not allowed(given):
        raise InputError("the given trees do not fulfil what refining must keep: repair them first.")
    way = annealing.search if annealing.possible(search) else racing.search  # the first may compile a kernel
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
        cheap = offers(game).search.arena is not None
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
    if not offers(game).search.derived:
        raise InputError(f"{game.name} names no derived features: use --features plain.")
    return offers(game).search.derived


def _with_counts(search: Search, trees: dict[int, Tree]) -> tuple[dict[int, Tree], int]:
    """The trees without questions that decide nothing, their nodes counted again on what they meet themselves."""
    trees = {i: tree.merged() for i, tree in trees.items()}
    budget = search.settings.rollouts
    share = max(2, (budget or DEFAULT_ROLLOUTS) // 50)
    episodes = COUNTED_EPISODES if search.game.width is None and budget is None else min(COUNTED_EPISODES, share)
    rollouts = search.engine.play(Profile(search.expert, trees), search.seeds(COUNTING, 0, episodes), record=True)
    observations = rollouts.observations or ()
    labels = search.expert.act(observations)
    return {i: recount(tree, observations[i], labels[:, i]) for i, tree in trees.items()}, episodes
