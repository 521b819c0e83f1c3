"""Refine where episodes are cheap: several starts are annealed side by side, raced, and checked on held-out seeds.

An island is a team's trees in an arena: changes are drawn, compared with the incumbent on common seeds (a race that
stops as soon as a change is beaten) and kept if they are better, or hardly worse while it is warm. Fresh seeds come
every so often; only what then beats the trees kept so far, on seeds that neither has seen, is kept for good.
Islands do not know of each other, so the number of workers changes nothing but the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from hydraviper.protocols import HasArena
from hydraviper.seeding import Purpose, generator
from hydraviper.steps.refine import HELD_OUT, SEARCH, Found, Search, Trees
from hydraviper.steps.starts import script_starts
from hydraviper.trees.moves import Mover, Wishes, graft, reached
from hydraviper.trees.packed import FEATURE, LEFT, RIGHT, Packed, pack, unpack
from hydraviper.trees.tree import LEAF

FIRST_LEG, ISLANDS, FINALISTS = 0.25, 4, 2  # so much of the budget for so many islands, the rest for the finalists
SEARCHED, LAST = 0.9, 0.95  # parts of the seconds after which the search and the tidying end
EPISODES, GROWTH = 1000, 3.0  # of an arena at first, and by how much more of it grows until the end
JUDGED, CHECKED = 2000, 8192  # episodes that decide between islands, and those of the held-out check
FRESH = 0.05  # part of the search after which fresh seeds come
WARM, COLD = 0.004, 0.0003  # what a change may cost, in standard deviations of the score, first and last
ASKED_EPISODES = 16  # of an arena, on which the expert is asked


def possible(search: Search) -> bool:
    """Tell whether the game plays these trees in an arena."""
    return isinstance(search.game, HasArena) and _arena(search, _packed(search, search.given), 0, 2) is not None


def search(search: Search) -> Found:
    """Anneal and race islands; the best of them, and the given trees, on held-out seeds."""
    starts = _starts(search)
    episodes = _affordable(search, EPISODES, 40)
    chosen = _best(search, list(starts.values()), min(ISLANDS, len(starts)), episodes, 0)
    names = [list(starts)[k] for k in chosen]
    spent = len(starts) * _affordable(search, JUDGED, 40)
    islands = [Island(search, number, starts[name], episodes) for number, name in enumerate(names)]
    _leg(search, islands, 0.0, FIRST_LEG)
    chosen = _best(search, [island.kept for island in islands], min(FINALISTS, len(islands)), episodes, 1)
    finalists = [islands[k] for k in chosen]
    _leg(search, finalists, FIRST_LEG, 1.0)
    final = _best(search, [island.kept for island in finalists], 1, episodes, 2)[0]
    best = _tidy(search, finalists[final].kept)
    checked = _affordable(search, CHECKED, 10)
    before, after = (
        search.sign * _arena(search, trees, HELD_OUT, checked).scores for trees in (_packed(search, search.given), best)
    )
    spent += sum(island.spent for island in islands) + (len(islands) + len(finalists)) * _affordable(search, JUDGED, 40)
    offset = search.game.score.offset
    return Found(
        _unpacked(search, best),
        before + offset,
        after + offset,
        spent + 2 * checked,
        names[islands.index(finalists[final])],
    )


class Island:
    """One start on its way: the incumbent in its arena, and the trees kept for good."""

    def __init__(self, search: Search, number: int, trees: Packed, episodes: int) -> None:
        self.search, self.number, self.kept, self.episodes = search, number, trees, episodes
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

    def run(self, progress: Callable[[int], float]) -> None:
        """Search until the progress, a function of the episodes spent, is 1; it is the part of the whole search."""
        begun = self.spent
        while (done := progress(self.spent - begun)) < 1.0:
            if done >= self._since + FRESH:
                self._keep()
                self._refresh(self.arena.trees, done)
                self._meet()
            self._try(self._spread * WARM * (COLD / WARM) ** done)
        self._keep()

    def _try(self, warmth: float) -> None:
        a = int(self._draws.integers(len(self._actions)))
        changed = self._mover.change(self.arena.trees, a)
        limit = float(warmth * np.log(self._draws.random()))
        if changed is None:
            self.spent += 1  # so that even a search that finds nothing to do comes to an end
            return
        which = np.arange(len(self._actions)) == a
        gains = self.arena.compare(changed, which, limit)
        self.spent += len(gains)
        if len(gains) == len(self.arena) and gains.mean() >= limit and self._is_allowed(changed):
            self.arena.adopt(changed, which)

    def _is_allowed(self, trees: Packed) -> bool:
        return self.search.allowed is None or self.search.allowed(_unpacked(self.search, trees))

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
        rows = self.arena.views[a * len(self.arena) * self.search.game.horizon :][: 25 * 40]
        plain = self.search.vocabulary.plain[a]
        return np.array([f >= plain or bool(rows[:, f].std() > 0) for f in features])

    def _meet(self) -> None:
        rows = len(self.arena) * self.search.game.horizon
        self._mover.meet(self.arena.views, rows, _wishes(self.search, self.arena, self._draws))


def _leg(search: Search, islands: list[Island], first: float, last: float) -> None:
    """Let islands run from one part of the search to another, in threads; each gets the same share of the budget."""
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
                parts.append(spent / max(1.0, 0.7 * budget * (last - first) / len(islands)))
            done = max(parts)
            if done >= 1.0:
                return 1.0
            search.progress("refining", round(100 * (first + done * (last - first))), 100)
            return first + done * (last - first)

        island.run(progress)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(run, islands))


def _starts(search: Search) -> dict[str, Packed]:
    """The given trees, other students of the run, and trees that imitate the game's scripts."""
    starts: dict[str, Trees] = {"given trees": search.given}
    starts |= {f"another student ({k})": own for k, own in enumerate(search.starts, start=2)}
    starts |= script_starts(search)
    allowed = search.allowed or (lambda trees: True)
    return {name: _packed(search, own) for name, own in starts.items() if own is search.given or allowed(own)}


def _best(search: Search, candidates: list[Packed], count: int, episodes: int, number: int) -> list[int]:
    """The best candidates by their mean score on the same seeds, in the order of their merit."""
    del episodes
    judged = _affordable(search, JUDGED, 40)
    means = [_arena(search, trees, SEARCH, judged, 900_000 + number).scores.mean() for trees in candidates]
    return sorted(range(len(candidates)), key=lambda k: (-means[k], k))[:count]


def _tidy(search: Search, trees: Packed) -> Packed:
    """Leave out questions without which the trees are as good, on fresh seeds."""
    arena = _arena(search, trees, SEARCH, _affordable(search, JUDGED, 40), 900_003)
    for a in range(len(search.team)):
        for node in sorted(reached(trees.nodes[a]), reverse=True):
            if search.settings.seconds is not None and search.left() < (1 - LAST) * search.settings.seconds:
                return arena.trees
            trees = arena.trees
            if node not in reached(trees.nodes[a]) or trees.nodes[a, node, FEATURE] == LEAF:
                continue
            for side in (LEFT, RIGHT):
                shorter = graft(trees, trees.copy(), a, node, int(trees.nodes[a, node, side]))
                which = np.arange(len(search.team)) == a
                if shorter is None:
                    continue
                gains = arena.compare(shorter, which, 0.0)
                fits = search.allowed is None or search.allowed(_unpacked(search, shorter))
                if len(gains) == len(arena) and gains.mean() >= 0 and fits:
                    arena.adopt(shorter, which)
                    break
    return arena.trees


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


def _affordable(search: Search, episodes: int, part: int) -> int:
    """So many episodes, or fewer where a budget of rollouts is smaller than `part` times that."""
    budget = search.settings.rollouts
    return episodes if budget is None else max(2, min(episodes, budget // part))


def _arena(search: Search, trees: Packed, use: int, episodes: int, number: int = 0) -> Any:
    weights = search.sign * np.array(search.game.score.weights)
    game: Any = search.game
    return game.arena(search.expert, search.vocabulary, trees, search.seeds(use, number, episodes), weights)


def _packed(search: Search, trees: Trees) -> Packed:
    return pack([trees[i] for i in search.team], search.vocabulary, search.limits.nodes)


def _unpacked(search: Search, trees: Packed) -> Trees:
    agents = search.game.agents
    counts = [len(agents[i].actions) for i in search.team]
    return dict(zip(search.team, unpack(trees, search.vocabulary, counts), strict=True))
