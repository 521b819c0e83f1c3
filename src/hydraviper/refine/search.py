"""`refine`: the search for better trees, from its inputs to the comparison on held-out seeds.

Where the game has a compiled arena, trees are annealed (`annealing`); elsewhere a few candidates, proposed without
playing, are raced (`racing`). Either way the result is compared with the given trees on seeds that the search has not
seen, and the better trees are returned.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hydraviper.data import Derived, Estimate, InputError, Progress
from hydraviper.expressions.features import features_of
from hydraviper.profile import Profile
from hydraviper.protocols import Engine, Expert, Game, Student, offers
from hydraviper.refine import annealing, racing
from hydraviper.refine.moves import SizeLimits
from hydraviper.refine.records import COUNTING, Allowed, Refined, RefineSettings, SearchState, Trees
from hydraviper.seeding import Purpose, generator, practice, rollout_seeds
from hydraviper.steps.found import find
from hydraviper.trees.counts import recount
from hydraviper.trees.packed import Vocabulary
from hydraviper.trees.tree import Tree

DEFAULT_SECONDS, DEFAULT_ROLLOUTS = 30.0, 200
FOUND_BY = 9_000_000  # the number of the rollouts by which features are found
COUNTED_EPISODES = 200  # for the counts of the nodes, where episodes are cheap


def refine(
    game: Game,
    expert: Expert,
    students: Mapping[int, Student],
    engine: Engine,
    settings: RefineSettings | None = None,
    *,
    starts: Sequence[Mapping[int, Student]] = (),
    allowed: Allowed | None = None,
    progress: Progress = lambda step, done, of: None,
) -> Refined:
    """Search for trees with a better score; on held-out seeds they are never worse than the given ones.

    `starts` are other trees to start from. The result fulfils `allowed`, which the given trees must fulfil, too.
    """
    start = time.perf_counter()
    state = search_state(
        game, expert, students, engine, settings or RefineSettings(), starts=starts, allowed=allowed, progress=progress
    )
    if allowed is not None and not allowed(state.given):
        raise InputError("the given trees do not fulfil what refining must keep: repair them first.")
    way = annealing.search if annealing.possible(state) else racing.search  # `possible` may compile a kernel
    found = way(replace(state, started=time.perf_counter()))
    gain = Estimate.of(state.sign * (found.after - found.before))
    kept = gain.mean > 0 and (allowed is None or allowed(found.trees))
    trees, rollouts = dict(found.trees if kept else state.given), found.rollouts
    if kept:
        trees, counting = _with_counts(state, trees)
        rollouts += counting
    return Refined(
        students=trees,
        given=dict(state.given),
        kept=kept,
        before=Estimate.of(found.before),
        after=Estimate.of(found.after if kept else found.before),
        gain=gain,
        rollouts=rollouts,
        seconds=time.perf_counter() - start,
        start=found.start if kept else "given trees",
        settings=state.settings,
    )


def search_state(
    game: Game,
    expert: Expert,
    students: Mapping[int, Student],
    engine: Engine,
    settings: RefineSettings,
    *,
    starts: Sequence[Mapping[int, Student]] = (),
    allowed: Allowed | None = None,
    progress: Progress = lambda step, done, of: None,
) -> SearchState:
    """Check what a refinement is given, and put together what the ways of searching need."""
    given = _only_trees(game, students)
    if settings.seconds is None and settings.rollouts is None:
        cheap = offers(game).search.arena is not None
        settings = replace(settings, **({"seconds": DEFAULT_SECONDS} if cheap else {"rollouts": DEFAULT_ROLLOUTS}))
    if settings.seconds is not None:  # rollouts that are only read would promise that far more of them fit
        engine = getattr(engine, "direct", engine)
    limits = _size_limits(settings, given)
    others = [
        {i: tree for i, tree in start.items() if isinstance(tree, Tree)} for start in starts if set(start) == set(given)
    ]
    others = [trees for trees in others if len(trees) == len(given)]
    derived = _derived(game, settings.features, [given, *others])
    if settings.features == "found" and not any(derived):
        derived = _found(game, expert, given, engine, settings.seed)
    return SearchState(
        game=game,
        expert=expert,
        engine=engine,
        settings=settings,
        given=given,
        starts=[trees for trees in others if all(map(limits.fit, trees.values()))],
        vocabulary=Vocabulary(tuple(len(game.agents[i].features) for i in given), derived),
        limits=limits,
        allowed=allowed,
        progress=progress,
    )


def _only_trees(game: Game, students: Mapping[int, Student]) -> dict[int, Tree]:
    if not students:
        raise InputError("there are no trees to refine.")
    trees = {}
    for i, student in sorted(students.items()):
        if not isinstance(student, Tree):
            raise InputError(f"the student of {game.agents[i].name} is no tree and cannot be refined.")
        trees[i] = student
    return trees


def _size_limits(settings: RefineSettings, given: Trees) -> SizeLimits:
    depth = settings.depth or max(1, *(tree.depth for tree in given.values()))
    if settings.leaves is not None and settings.leaves < max(tree.leaves for tree in given.values()):
        raise InputError(f"--leaves {settings.leaves} is fewer than a given tree has: refining does not cut trees.")
    if depth < max(tree.depth for tree in given.values()):
        raise InputError(f"--depth {depth} is less than a given tree has: refining does not cut trees.")
    return SizeLimits(depth, settings.leaves)


def _derived(game: Game, features: str, teams: Sequence[Trees]) -> tuple[tuple[Derived, ...], ...]:
    """Per tree, the derived features that it may ask for: those of all trees at hand, and others that are wanted."""
    offered = features_of(game, features)
    return tuple(
        tuple(dict.fromkeys([feature for trees in teams for feature in trees[i].derived] + list(offered[i])))
        for i in teams[0]
    )


def _found(game: Game, expert: Expert, given: Trees, engine: Engine, seed: int) -> tuple[tuple[Derived, ...], ...]:
    """Per tree, features that the search finds in what the given trees meet, labelled by the expert."""
    seeds = practice(game, rollout_seeds(seed, Purpose.REFINE, FOUND_BY, COUNTED_EPISODES if game.width != 1 else 1))
    played = engine.play(Profile(expert, given), seeds, record=True)
    observations, draws = played.observations or (), generator(seed, Purpose.REFINE, FOUND_BY, 0)
    labels = expert.act(observations)
    rows = {i: played.moments(i) for i in given}
    return tuple(find(game.agents[i], observations[i][rows[i]], labels[rows[i], i], draws) for i in sorted(given))


def _with_counts(state: SearchState, trees: dict[int, Tree]) -> tuple[dict[int, Tree], int]:
    """The trees without questions that decide nothing, nodes recount on what they meet; the episodes it took."""
    trees = {i: tree.merged() for i, tree in trees.items()}
    budget = state.settings.rollouts
    share = max(2, (budget or DEFAULT_ROLLOUTS) // 50)
    episodes = COUNTED_EPISODES if state.game.width != 1 and budget is None else min(COUNTED_EPISODES, share)
    rollouts = state.engine.play(Profile(state.expert, trees), state.seeds(COUNTING, 0, episodes), record=True)
    observations = rollouts.observations or ()
    labels = state.expert.act(observations)
    rows = {i: rollouts.moments(i) for i in trees}
    counted = {i: recount(tree, observations[i][rows[i]], labels[rows[i], i]) for i, tree in trees.items()}
    return counted, episodes
