"""Refine where episodes are cheap: several starts are annealed side by side, raced, and checked on held-out seeds.

An island is a team's trees in an arena: changes are drawn, compared with the incumbent on common seeds (a race that
stops as soon as a change is beaten) and kept if they are better, or hardly worse while it is warm. Fresh seeds come
every so often; only what then beats the trees kept so far, on seeds that neither has seen, is kept for good.
Islands do not know of each other, so the number of workers changes nothing but the time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from hydraviper.data import InputError
from hydraviper.protocols import offers
from hydraviper.refine.moves import Mover, Wishes, graft, reached
from hydraviper.refine.records import HELD_OUT, SEARCH, Found, Search, Trees
from hydraviper.refine.starts import script_starts
from hydraviper.seeding import Purpose, generator
from hydraviper.trees.packed import FEATURE, LEFT, RIGHT, Packed, pack, unpack
from hydraviper.trees.tree import LEAF

LONG = 60.0, 20_000_000  # seconds, or rollouts, from which on a search is long
SEARCHED, LAST = 0.9, 0.95  # parts of the seconds after which the search and the tidying end
EPISODES, GROWTH = 500, 7.0  # of an arena at first, and by how much more of it grows until the end
JUDGED, MIXED, CHECKED = 2000, 4000, 8192  # episodes that decide between islands, mix them, check what is found
# Of a budget of rollouts: the least part for the islands, and the most that an arena, a decision, mixing into
# one island, the check and the tidying may be.
SEARCHING, OF_ARENA, OF_DECISION, OF_MIXING, OF_CHECK, OF_TIDYING = 0.5, 1 / 400, 1 / 200, 1 / 50, 1 / 20, 1 / 20
LEAST_BUDGET = 2000
FRESH = 0.05  # part of the search after which fresh seeds come
WARM, COLD = 0.004, 0.0003  # what a change may cost, in standard deviations of the score, first and last
ASKED_EPISODES = 16  # of an arena, on which the expert is asked


class Leg(NamedTuple):
    """A part of the search: how many islands run, from where to where, and how warm they are at both ends."""

    islands: int
    first: float
    last: float
    warm: float
    cold: float


_LUKEWARM = WARM * (COLD / WARM) ** 0.15
SHORT_LEGS = (Leg(4, 0.0, 0.15, WARM, _LUKEWARM), Leg(2, 0.15, 1.0, _LUKEWARM, COLD))
# a long search gains more by many islands that cool down and by warming the best again than by cooling slowly
LONG_LEGS = (Leg(16, 0.0, 0.6, WARM, COLD), Leg(4, 0.6, 0.8, WARM / 2, COLD), Leg(2, 0.8, 1.0, WARM / 2, COLD))


def legs(search: Search) -> tuple[Leg, ...]:
    """How the search is divided, by its length."""
    seconds, rollouts = search.settings.seconds, search.settings.rollouts
    long = (seconds is None or seconds >= LONG[0]) and (rollouts is None or rollouts >= LONG[1])
    return LONG_LEGS if long else SHORT_LEGS


def possible(search: Search) -> bool:
    """Tell whether the game plays these trees in an arena."""
    has_arena = offers(search.game).search.arena is not None
    return has_arena and _arena(search, _packed(search, search.given), 0, 2) is not None


def search(search: Search) -> Found:
    """Anneal and race islands; the best of them, and the given trees, on held-out seeds."""
    if search.settings.rollouts is not None and search.settings.rollouts < LEAST_BUDGET:
        raise InputError(f"--rollouts must be at least {LEAST_BUDGET} where episodes are as cheap as here.")
    starts, spent = _starts(search)
    episodes, judged = _affordable(search, EPISODES, OF_ARENA), _affordable(search, JUDGED, OF_DECISION)
    parts = legs(search)
    chosen = _best(search, list(starts.values()), parts[0].islands, 0)
    names = [list(starts)[chosen[k % len(chosen)]] for k in range(parts[0].islands)]
    islands = [Island(search, name, number, starts[name], episodes) for number, name in enumerate(names)]
    running = islands
    for number, leg in enumerate(parts):
        if number > 0:
            running, taken = _survivors(search, running, leg, number)
            spent += taken
        _run(search, running, leg)
    (winner,), taken = _survivors(search, running, Leg(1, 1.0, 1.0, COLD, COLD), len(parts))
    spent += taken
    best, tidying = _tidy(search, winner.kept)
    checked = _affordable(search, CHECKED, OF_CHECK)
    before, after = (
        search.sign * _arena(search, trees, HELD_OUT, checked).scores for trees in (_packed(search, search.given), best)
    )
    spent += sum(island.spent for island in islands) + tidying + 2 * checked + len(starts) * judged
    offset = search.game.score.offset
    return Found(
        _unpacked(search, best),
        before + offset,
        after + offset,
        spent,
        winner.name,
    )


class Island:
    """One start on its way: the incumbent in its arena, and the trees kept for good."""

    def __init__(self, search: Search, name: str, number: int, trees: Packed, episodes: int) -> None:
        self.search, self.name, self.number, self.kept, self.episodes = search, name, number, trees, episodes
        self.spent, self._fresh, self._since = 0, 0, 0.0
        self._draws = generator(search.settings.seed, Purpose.REFINE, number)
        agents = search.game.agents
        self._actions = [len(agents[i].actions) for i in search.team]
        tables = search.vocabulary.tables()
        features = [np.arange(size) for size in search.vocabulary.sizes]
        self._refresh(trees, 0.0)
        varying = [own[self._varies(a, own)] for a, own in enumerate(features)]
        self._mover = Mover(tables, varying, self._actions, search.limits, self._draws)
        self._meet()

    def restart(self, trees: Packed, done: float) -> None:
        """Go on from other trees, which are kept for good."""
        self.kept = trees
        self._refresh(trees, done)
        self._meet()

    def run(self, progress: Callable[[int], float], leg: Leg) -> None:
        """Search until the progress, a function of the episodes spent, is 1; it is the part of the whole search."""
        begun = self.spent
        while (done := progress(self.spent - begun)) < 1.0:
            within = (done - leg.first) / (leg.last - leg.first)
            if done >= self._since + FRESH:
                self._keep()
                self._refresh(self.arena.trees, done)
                self._meet()
            self._try(self._spread * leg.warm * (leg.cold / leg.warm) ** within)
        self._keep()

    def _try(self, warmth: float) -> None:
        """Draw a change of the incumbent, compare it with it, and take it if it is good enough."""
        a = int(self._draws.integers(len(self._actions)))
        trees = self._mover.change(self.arena.trees, a)
        limit = float(warmth * np.log(self._draws.random()))
        if trees is None:
            self.spent += 1  # so that a search with nothing to do ends, too
            return
        which = np.arange(len(self._actions)) == a
        gains = self.arena.compare(trees, which, limit)
        self.spent += len(gains)
        if len(gains) == len(self.arena) and gains.mean() >= limit and _is_allowed(self.search, trees):
            self.arena.adopt(trees, which)

    def _keep(self) -> None:
        """Keep the incumbent for good if it beats the kept trees on seeds that neither has seen."""
        count = 2 * self.episodes
        number = 500 + 1000 * self.number + self._fresh
        arena = _arena(self.search, self.kept, SEARCH, count, number)
        gains = arena.compare(self.arena.trees, np.ones(len(self._actions), np.bool_), 0.0)
        self.spent += len(gains)
        if len(gains) == count and gains.mean() > 0:
            self.kept = self.arena.trees

    def _refresh(self, trees: Packed, done: float) -> None:
        count = round(self.episodes * (1 + GROWTH * done))
        self.arena = _arena(self.search, trees, SEARCH, count, 1000 * self.number + self._fresh)
        self._fresh, self._since = self._fresh + 1, done
        self._spread = float(self.arena.scores.std()) or 1.0
        self.spent += count

    def _varies(self, a: int, features: np.ndarray) -> np.ndarray:
        """Which features are worth asking for: those that are not always the same."""
        rows = self.arena.views[a * len(self.arena) * self.search.game.horizon :][: 40 * self.search.game.horizon]
        plain = self.search.vocabulary.plain[a]
        return np.array([f >= plain or bool(rows[:, f].std() > 0) for f in features])

    def _meet(self) -> None:
        rows = len(self.arena) * self.search.game.horizon
        self._mover.meet(self.arena.views, rows, _wishes(self.search, self.arena, self._draws))


def _survivors(search: Search, islands: list[Island], leg: Leg, number: int) -> tuple[list[Island], int]:
    """The best islands, each with what others do better in it; also the episodes that it took.

    Once roles are settled, agents' trees hardly depend on each other: the best tree of each agent, wherever it grew,
    is worth more than the best island.
    """
    kept = [island.kept for island in islands]
    order = _best(search, kept, len(islands), number)
    spent = len(islands) * _affordable(search, JUDGED, OF_DECISION)
    for rank, k in enumerate(order[: leg.islands]):
        mixed, taken = _mixed(search, kept[k], [kept[other] for other in order if other != k], 10 * number + rank)
        spent += taken
        islands[k].restart(mixed, leg.first)
    return [islands[k] for k in order[: leg.islands]], spent


def _mixed(search: Search, trees: Packed, donors: list[Packed], number: int) -> tuple[Packed, int]:
    """Trees with those of the donors' that do better among them, agent by agent; also the episodes that it took.

    Where agents are alike, a tree of one, its features renamed, may also serve another.
    """
    arena = _arena(search, trees, SEARCH, _affordable(search, MIXED, OF_DECISION), 910_000 + number)
    spent, members = len(arena), np.arange(len(search.team))
    most = math.inf if search.settings.rollouts is None else OF_MIXING * search.settings.rollouts
    tried: set[bytes] = set()  # renaming what a tree does not ask for changes nothing
    for a, donor, b in product(members, [*donors, trees], members):
        for way in _readings(search, int(b), int(a)):
            changed = _transplanted(search, arena.trees, int(a), donor, int(b), way)
            name = b"" if changed is None else bytes([a]) + changed.nodes[a].tobytes() + changed.threshold[a].tobytes()
            if changed is None or name in tried or spent + len(arena) > most:
                continue
            tried.add(name)
            gains = arena.compare(changed, members == a, 0.0)
            spent += len(gains)
            if len(gains) == len(arena) and gains.mean() > 0 and _is_allowed(search, changed):
                arena.adopt(changed, members == a)
    return arena.trees, spent


def _readings(search: Search, b: int, a: int) -> list[np.ndarray]:
    """How member b's features can be read as member a's."""
    alike = offers(search.game).search.alike
    if alike is not None:
        return alike(search.team[b], search.team[a])
    return [np.arange(search.vocabulary.plain[a])] if a == b else []


def _transplanted(search: Search, trees: Packed, a: int, donor: Packed, b: int, way: np.ndarray) -> Packed | None:
    """The trees with the donor's tree b, its features renamed, as tree a; None if that changes or means nothing."""
    nodes, plain = donor.nodes[b].copy(), search.vocabulary.plain[b]
    asks = nodes[:, FEATURE] != LEAF
    if (nodes[asks, FEATURE] >= plain).any():
        if a != b or (way != np.arange(plain)).any():
            return None  # derived features have no names that could be exchanged
    else:
        nodes[asks, FEATURE] = way[nodes[asks, FEATURE]]
    if (nodes == trees.nodes[a]).all() and (donor.threshold[b] == trees.threshold[a]).all():
        return None
    changed = trees.copy()
    changed.nodes[a], changed.threshold[a] = nodes, donor.threshold[b]
    return changed


def _is_allowed(search: Search, trees: Packed) -> bool:
    return search.allowed is None or search.allowed(_unpacked(search, trees))


def _run(search: Search, islands: list[Island], leg: Leg) -> None:
    """Let islands run from one part of the search to another, in threads; each gets the same share of the budget."""
    first, last = leg.first, leg.last
    workers = min(len(islands), getattr(search.engine, "workers", 1))
    waves = -(-len(islands) // workers)
    budget = search.settings.rollouts
    share = 0.0
    if search.settings.seconds is not None:
        seconds = search.settings.seconds * SEARCHED * last - (time.perf_counter() - search.started)
        share = max(seconds, 0.0) / waves

    def run(island: Island) -> None:
        begun = time.perf_counter()

        def progress(spent: int) -> float:
            parts = []
            if search.settings.seconds is not None:
                parts.append((time.perf_counter() - begun) / share if share > 0 else 1.0)
            if budget is not None:
                parts.append(spent / (_for_islands(search, budget) * (last - first) / len(islands)))
            done = max(parts)
            if done >= 1.0:
                return 1.0
            search.progress("refining", round(100 * (first + done * (last - first))), 100)
            return first + done * (last - first)

        island.run(progress, leg)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(run, islands))


def _starts(search: Search) -> tuple[dict[str, Packed], int]:
    """The given trees, other students of the run, and trees that imitate the game's scripts; episodes it took."""
    starts: dict[str, Trees] = {"given trees": search.given}
    starts |= {f"another student ({k})": own for k, own in enumerate(search.starts, start=2)}
    scripts, spent = script_starts(search)
    starts |= scripts
    allowed = search.allowed or (lambda trees: True)
    fit = {name: own for name, own in starts.items() if own is search.given or allowed(own)}
    return {name: _packed(search, own) for name, own in fit.items()}, spent


def _best(search: Search, candidates: list[Packed], count: int, number: int) -> list[int]:
    """The best candidates by their mean score on the same seeds, in the order of their merit."""
    judged = _affordable(search, JUDGED, OF_DECISION)
    means = [_arena(search, trees, SEARCH, judged, 900_000 + number).scores.mean() for trees in candidates]
    return sorted(range(len(candidates)), key=lambda k: (-means[k], k))[:count]


def _tidy(search: Search, trees: Packed) -> tuple[Packed, int]:
    """Leave out questions without which the trees are as good, on fresh seeds; also the episodes it took."""
    arena = _arena(search, trees, SEARCH, _affordable(search, JUDGED, OF_DECISION), 900_003)
    spent = len(arena)
    for a in range(len(search.team)):
        which = np.arange(len(search.team)) == a
        for node in sorted(reached(trees.nodes[a]), reverse=True):
            for side in (LEFT, RIGHT):
                incumbent = arena.trees
                inner = node in reached(incumbent.nodes[a]) and incumbent.nodes[a, node, FEATURE] != LEAF
                if not inner or _no_more(search, spent):
                    continue
                shorter = graft(incumbent, incumbent.copy(), a, node, int(incumbent.nodes[a, node, side]))
                if shorter is None or not _is_allowed(search, shorter):
                    continue
                gains = arena.compare(shorter, which, 0.0)
                spent += len(gains)
                if len(gains) == len(arena) and gains.mean() >= 0:
                    arena.adopt(shorter, which)
    return arena.trees, spent


def _no_more(search: Search, spent: int) -> bool:
    """Whether tidying has taken its share."""
    seconds, rollouts = search.settings.seconds, search.settings.rollouts
    late = seconds is not None and search.left() < (1 - LAST) * seconds
    return late or (rollouts is not None and spent >= OF_TIDYING * rollouts)


def _wishes(search: Search, arena: Any, draws: np.random.Generator) -> list[Wishes]:
    """Where the expert would act otherwise, drawn by what it loses by the trees' actions."""
    horizon, team = search.game.horizon, search.team
    count = min(ASKED_EPISODES, len(arena)) * horizon
    step = len(arena) * horizon
    seen = [np.zeros((count, len(agent.features)), np.float32) for agent in search.game.agents]
    for a, i in enumerate(team):
        seen[i] = np.ascontiguousarray(arena.views[a * step : a * step + count, : seen[i].shape[1]])
    wanted = search.expert.act(seen, team)
    everybody = len(team) == len(search.game.agents)
    best = search.expert.q(seen, wanted)[:, team].mean(axis=1) if everybody else np.zeros(count)
    wishes = []
    for a, i in enumerate(team):
        own = arena.played[a].reshape(-1)[:count]
        loss = (own != wanted[:, i]).astype(float)
        if everybody:
            played = wanted.copy()
            played[:, i] = own
            loss *= np.maximum(best - search.expert.q(seen, played)[:, team].mean(axis=1), 0)
        total = loss.sum()
        rows = draws.choice(count, 4 * ASKED_EPISODES, p=loss / total) if total > 0 else np.empty(0, np.int64)
        wishes.append(Wishes(rows + a * step, wanted[rows, i]))
    return wishes


def _for_islands(search: Search, budget: int) -> float:
    """What a budget of rollouts leaves for the islands: an island may overrun a leg by an arena, a race and a check."""
    sizes = [leg.islands for leg in legs(search)] + [1]
    overrun = 20 * sum(sizes) * _affordable(search, EPISODES, OF_ARENA)
    decisions = 20 * _affordable(search, JUDGED, OF_DECISION) + 2 * _affordable(search, CHECKED, OF_CHECK)
    mixing = sum(sizes[1:]) * OF_MIXING * budget
    return max(SEARCHING * budget, budget * (1 - 2 * OF_TIDYING) - overrun - decisions - mixing)


def _affordable(search: Search, episodes: int, part: float) -> int:
    """So many episodes, or fewer where they would be more than a part of a budget of rollouts."""
    budget = search.settings.rollouts
    return episodes if budget is None else max(2, min(episodes, int(budget * part)))


def _arena(search: Search, trees: Packed, use: int, episodes: int, number: int = 0) -> Any:
    weights = search.sign * np.array(search.game.score.weights)
    arena = offers(search.game).search.arena
    if arena is None:
        return None
    return arena(search.expert, search.vocabulary, trees, search.seeds(use, number, episodes), weights)


def _packed(search: Search, trees: Trees) -> Packed:
    return pack([trees[i] for i in search.team], search.vocabulary, search.limits.nodes)


def _unpacked(search: Search, trees: Packed) -> Trees:
    agents = search.game.agents
    counts = [len(agents[i].actions) for i in search.team]
    return dict(zip(search.team, unpack(trees, search.vocabulary, counts), strict=True))
