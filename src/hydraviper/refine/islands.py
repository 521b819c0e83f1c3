"""Islands: simulated annealing of a team's trees, which are compared on common seeds in a compiled arena.

A change of the incumbent is drawn and compared with it episode by episode; the comparison stops as soon as the change
is clearly beaten. It is adopted if it is better, or hardly worse while the island is warm. Fresh seeds come every so
often. Only an incumbent that then beats the kept trees, on seeds that neither has seen, replaces them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from hydraviper.protocols import offers
from hydraviper.refine.budget import Leg
from hydraviper.refine.moves import Mover, Wishes
from hydraviper.refine.records import SEARCH, SearchState
from hydraviper.seeding import Purpose, generator
from hydraviper.trees.packed import Packed

GROWTH = 7.0  # how many times its first size an arena grows until the end
FRESH = 0.05  # share of the search after which fresh seeds come
VARYING_EPISODES = 40  # of an arena, that show which features vary
ASKED_EPISODES = 16  # of an arena, in which the expert is asked what it would do


class Island:
    """A start on its way: the incumbent in its arena, and the trees that are kept."""

    def __init__(self, state: SearchState, name: str, number: int, trees: Packed, episodes: int) -> None:
        self.state, self.name, self.number, self.kept, self.episodes = state, name, number, trees, episodes
        self.spent, self._arenas, self._since = 0, 0, 0.0
        self._draws = generator(state.settings.seed, Purpose.REFINE, number)
        agents = state.game.agents
        self._actions = [len(agents[i].actions) for i in state.team]
        self._refresh(trees, 0.0)
        sizes = state.vocabulary.sizes
        varying = [np.flatnonzero(self._varies(member, size)) for member, size in enumerate(sizes)]
        self._mover = Mover(state.vocabulary.tables(), varying, self._actions, state.limits, self._draws)
        self._show_observations()

    def restart(self, trees: Packed, done: float) -> None:
        """Keep other trees and go on from them, at a share of the search."""
        self.kept = trees
        self._refresh(trees, done)
        self._show_observations()

    def run(self, progress: Callable[[int], float], leg: Leg) -> None:
        """Anneal until `progress`, which maps episodes spent to a share of the whole search, is 1."""
        begun = self.spent
        while (done := progress(self.spent - begun)) < 1.0:
            within = (done - leg.first) / (leg.last - leg.first)
            if done >= self._since + FRESH:
                self._keep()
                self._refresh(self.arena.trees, done)
                self._show_observations()
            self._try(self._spread * leg.warm * (leg.cold / leg.warm) ** within)
        self._keep()

    def _try(self, temperature: float) -> None:
        """Draw a change of the incumbent, and adopt it if it is good enough."""
        a = int(self._draws.integers(len(self._actions)))
        trees = self._mover.change(self.arena.trees, a)
        limit = float(temperature * np.log(self._draws.random()))
        if trees is None:
            self.spent += 1  # so that a search in which nothing can change ends, too
            return
        which = np.arange(len(self._actions)) == a
        gains = self.arena.compare(trees, which, limit)
        self.spent += len(gains)
        if len(gains) == len(self.arena) and gains.mean() >= limit and self.state.allows(trees):
            self.arena.adopt(trees, which)

    def _keep(self) -> None:
        """Keep the incumbent if it beats the kept trees on seeds that neither has seen."""
        count = 2 * self.episodes
        arena = arena_of(self.state, self.kept, SEARCH, count, 500 + 1000 * self.number + self._arenas)
        gains = arena.compare(self.arena.trees, np.ones(len(self._actions), np.bool_), 0.0)
        self.spent += len(gains)
        if len(gains) == count and gains.mean() > 0:
            self.kept = self.arena.trees

    def _refresh(self, trees: Packed, done: float) -> None:
        """Move to a new arena with fresh seeds, the larger the later."""
        count = round(self.episodes * (1 + GROWTH * done))
        self.arena = arena_of(self.state, trees, SEARCH, count, 1000 * self.number + self._arenas)
        self._arenas, self._since = self._arenas + 1, done
        self._spread = float(self.arena.scores.std()) or 1.0
        self.spent += count

    def _varies(self, member: int, size: int) -> np.ndarray:
        """Which features may be worth asking for, bool [size]: derived ones, and plain ones that are not constant."""
        rows = _rows_per_tree(self.state, self.arena)
        shown = rows // len(self.arena) * VARYING_EPISODES
        views, plain = self.arena.views[member * rows :][:shown], self.state.vocabulary.plain[member]
        return np.array([f >= plain or bool(views[:, f].std() > 0) for f in range(size)])

    def _show_observations(self) -> None:
        rows = _rows_per_tree(self.state, self.arena)
        self._mover.meet(self.arena.views, rows, _wishes(self.state, self.arena, self._draws))


def _rows_per_tree(state: SearchState, arena: Any) -> int:
    """How many rows of the arena's views show one tree's observations."""
    return len(arena.views) // len(state.team)


def _wishes(state: SearchState, arena: Any, draws: np.random.Generator) -> list[Wishes]:
    """Per tree, observations where the expert acts differently, drawn by the value that the tree's action loses."""
    rows, team = _rows_per_tree(state, arena), state.team
    count = min(ASKED_EPISODES, len(arena)) * (rows // len(arena))
    seen = [np.zeros((count, len(agent.features)), np.float32) for agent in state.game.agents]
    for a, i in enumerate(team):
        seen[i] = np.ascontiguousarray(arena.views[a * rows : a * rows + count, : seen[i].shape[1]])
    wanted = state.expert.act(seen, team)
    everybody = len(team) == len(state.game.agents)  # else the others' observations, and so values, are unknown
    best = state.expert.q(seen, wanted)[:, team].mean(axis=1) if everybody else np.zeros(count)
    wishes = []
    for a, i in enumerate(team):
        actions = arena.played[a].reshape(-1)[:count]
        loss = (actions != wanted[:, i]).astype(float)
        if everybody:
            played = wanted.copy()
            played[:, i] = actions
            loss *= np.maximum(best - state.expert.q(seen, played)[:, team].mean(axis=1), 0)
        total = loss.sum()
        drawn = draws.choice(count, 4 * ASKED_EPISODES, p=loss / total) if total > 0 else np.empty(0, np.int64)
        wishes.append(Wishes(drawn + a * rows, wanted[drawn, i]))
    return wishes


def arena_of(state: SearchState, trees: Packed, use: int, episodes: int, number: int = 0) -> Any:
    """An arena of the game with these trees as the incumbent; None if the game has none for them."""
    arena = offers(state.game).search.arena
    if arena is None:
        return None
    weights = state.sign * np.array(state.game.score.weights)
    return arena(state.expert, state.vocabulary, trees, state.seeds(use, number, episodes), weights)
