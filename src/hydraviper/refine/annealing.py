"""The search where episodes are cheap: islands are annealed side by side, and the best of them survive each leg.

Islands do not know of each other while they run, so the number of workers changes nothing but the time.
"""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from hydraviper.data import InputError
from hydraviper.profile import Profile
from hydraviper.protocols import offers
from hydraviper.refine import budget
from hydraviper.refine.budget import Leg, affordable
from hydraviper.refine.crossover import mixed
from hydraviper.refine.islands import Island, arena_of
from hydraviper.refine.moves import graft, reached
from hydraviper.refine.records import HELD_OUT, SEARCH, Found, SearchState, Trees
from hydraviper.refine.starts import script_starts
from hydraviper.trees.packed import FEATURE, LEFT, RIGHT, Packed
from hydraviper.trees.tree import LEAF


def possible(state: SearchState) -> bool:
    """Whether the game plays these trees in a compiled arena."""
    has_arena = offers(state.game).search.arena is not None
    return has_arena and arena_of(state, state.pack(state.given), 0, 2) is not None


def search(state: SearchState) -> Found:
    """Anneal islands leg by leg, tidy the winner's trees, and score them and the given ones on held-out seeds."""
    if state.settings.rollouts is not None and state.settings.rollouts < budget.LEAST_ROLLOUTS:
        raise InputError(f"--rollouts must be at least {budget.LEAST_ROLLOUTS} where episodes are as cheap as here.")
    starts, spent = _starts(state)
    episodes = affordable(state, budget.EPISODES, budget.OF_ARENA)
    judged = affordable(state, budget.JUDGED, budget.OF_DECISION)
    parts = budget.legs(state)
    chosen = _best(state, list(starts.values()), parts[0].islands, 0)
    names = [list(starts)[chosen[k % len(chosen)]] for k in range(parts[0].islands)]
    islands = [Island(state, name, number, starts[name], episodes) for number, name in enumerate(names)]
    running = islands
    for number, leg in enumerate(parts):
        if number > 0:
            running, taken = _survivors(state, running, leg, number)
            spent += taken
        _run(state, running, leg)
    (winner,), taken = _survivors(state, running, Leg(1, 1.0, 1.0, budget.COLD, budget.COLD), len(parts))
    spent += taken
    best, tidying = _tidy(state, winner.kept)
    if state.adversaries and _best(state, [state.pack(state.given), best], 1, len(parts) + 1) == [0]:
        best = state.pack(state.given)
    checked = affordable(state, budget.CHECKED, budget.OF_CHECK)
    before, after = (
        state.sign * arena_of(state, trees, HELD_OUT, checked).scores for trees in (state.pack(state.given), best)
    )
    spent += sum(island.spent for island in islands) + tidying + 2 * checked + len(starts) * judged
    offset = state.game.score.offset
    return Found(
        trees=state.unpack(best), before=before + offset, after=after + offset, rollouts=spent, start=winner.name
    )


def _starts(state: SearchState) -> tuple[dict[str, Packed], int]:
    """The given trees, other students of the run, and trees that imitate the game's scripts; the episodes it took."""
    starts: dict[str, Trees] = {"given trees": state.given}
    starts |= {f"another student ({k})": trees for k, trees in enumerate(state.starts, start=2)}
    scripts, spent = script_starts(state)
    starts |= scripts
    allowed = state.allowed or (lambda trees: True)
    fit = {name: trees for name, trees in starts.items() if trees is state.given or allowed(trees)}
    return {name: state.pack(trees) for name, trees in fit.items()}, spent


def _best(state: SearchState, candidates: list[Packed], count: int, number: int) -> list[int]:
    """The positions of the best candidates by their mean score on the same seeds, best first."""
    judged = affordable(state, budget.JUDGED, budget.OF_DECISION)
    means = [arena_of(state, trees, SEARCH, judged, 900_000 + number).scores.mean() for trees in candidates]
    if state.adversaries:
        seeds = state.seeds(SEARCH, 950_000 + number, max(2, judged // len(state.adversaries) // 4))
        means = [_against_all(state, trees, mean, seeds) for trees, mean in zip(candidates, means, strict=True)]
    return sorted(range(len(candidates)), key=lambda k: (-means[k], k))[:count]


def _against_all(state: SearchState, trees: Packed, mean: float, seeds: np.ndarray) -> float:
    """The mean score against several adversaries, one of which is the expert's own: so far, `mean`."""
    own = state.unpack(trees)
    played = [state.engine.play(Profile(state.expert, {**own, **script}), seeds) for script in state.adversaries]
    others = [state.sign * (state.game.score.of(one.returns).mean() - state.game.score.offset) for one in played]
    return float(np.mean([mean, *others]))


def _run(state: SearchState, islands: list[Island], leg: Leg) -> None:
    """Run islands through a leg, in threads; each gets the same share of the budget."""
    first, last = leg.first, leg.last
    workers = min(len(islands), getattr(state.engine, "workers", 1))
    waves = -(-len(islands) // workers)
    rollouts = state.settings.rollouts
    share = 0.0
    if state.settings.seconds is not None:
        seconds = state.settings.seconds * budget.SEARCHED * last - (time.perf_counter() - state.started)
        share = max(seconds, 0.0) / waves

    def run(island: Island) -> None:
        begun = time.perf_counter()

        def progress(spent: int) -> float:
            parts = []
            if state.settings.seconds is not None:
                parts.append((time.perf_counter() - begun) / share if share > 0 else 1.0)
            if rollouts is not None:
                parts.append(spent / (budget.for_islands(state, rollouts) * (last - first) / len(islands)))
            done = max(parts)
            if done >= 1.0:
                return 1.0
            state.progress("refining", round(100 * (first + done * (last - first))), 100)
            return first + done * (last - first)

        island.run(progress, leg)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(run, islands))


def _survivors(state: SearchState, islands: list[Island], leg: Leg, number: int) -> tuple[list[Island], int]:
    """The best islands, each with the trees of others that do better in it; also the episodes it took."""
    kept = [island.kept for island in islands]
    order = _best(state, kept, len(islands), number)
    spent = len(islands) * affordable(state, budget.JUDGED, budget.OF_DECISION)
    for rank, k in enumerate(order[: leg.islands]):
        donors = [kept[other] for other in order if other != k]
        trees, taken = mixed(state, kept[k], donors, 10 * number + rank)
        spent += taken
        islands[k].restart(trees, leg.first)
    return [islands[k] for k in order[: leg.islands]], spent


def _tidy(state: SearchState, trees: Packed) -> tuple[Packed, int]:
    """Drop questions without which the trees score as well on fresh seeds; also the episodes it took."""
    arena = arena_of(state, trees, SEARCH, affordable(state, budget.JUDGED, budget.OF_DECISION), 900_003)
    spent = len(arena)
    for a in range(len(state.team)):
        which = np.arange(len(state.team)) == a
        for node in sorted(reached(trees.nodes[a]), reverse=True):
            for side in (LEFT, RIGHT):
                incumbent = arena.trees
                inner = node in reached(incumbent.nodes[a]) and incumbent.nodes[a, node, FEATURE] != LEAF
                if not inner or budget.tidying_ends(state, spent):
                    continue
                shorter = graft(incumbent, incumbent.copy(), a, node, int(incumbent.nodes[a, node, side]))
                if shorter is None or not state.allows(shorter):
                    continue
                gains = arena.compare(shorter, which, 0.0)
                spent += len(gains)
                if len(gains) == len(arena) and gains.mean() >= 0:
                    arena.adopt(shorter, which)
    return arena.trees, spent
