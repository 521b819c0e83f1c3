"""Features that the search finds: formulas of the names that an agent sees, chosen by what they bring on held-out data.

Nothing about the game is known but its features' names, which tell what is a point (see `names.points_of`). A candidate
is tried as the first question of a tree whose rest CART grows, on one half of the data; the other half judges. The best
candidates are combined, and of all the best are chosen one by one, until none brings enough for its length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from hydraviper.data import Agent, Derived
from hydraviper.expressions.names import Scope, points_of
from hydraviper.expressions.parser import parse_formula
from hydraviper.trees import cart
from hydraviper.trees.ahead import COARSE
from hydraviper.trees.bins import Bins, Columns
from hydraviper.trees.derived import extend

MOST = 8  # features that are chosen
LONGEST = 4  # features, points or distances in a formula
ROWS = 4_000  # on which candidates are tried and judged
CANDIDATES = 400  # of each kind, the first ones
COMBINED, SHORTLIST = 10, 24  # the best ones, that are combined; and that are chosen from
DEPTH = 3  # of the trees that judge, their first question included
GAIN = 0.001  # of the held-out rows that a feature must set right for each part of its formula
BLOCK = 50  # rows that stay together in one half: neighbours are alike


@dataclass(frozen=True)
class _Candidate:
    """A formula and how many parts it has."""

    formula: str
    parts: int


def find(
    agent: Agent, observations: np.ndarray, actions: np.ndarray, draws: np.random.Generator
) -> tuple[Derived, ...]:
    """The features worth asking for beside the plain ones, each named by its formula; the best ones first."""
    rows = np.arange(len(observations))
    if len(rows) > ROWS:
        rows = np.sort(draws.choice(rows, ROWS, replace=False))
    trial = _Trial(agent, observations[rows], actions[rows])
    first = trial.ranked(_simple(agent))
    second = trial.ranked(_combinations(first[:COMBINED]))
    shortlist = sorted([*first, *second], key=lambda pair: -pair[1])[:SHORTLIST]
    chosen: list[_Candidate] = []
    right = trial.right((), None)
    while shortlist and len(chosen) < MOST:
        shares = [trial.right(chosen, one) for one, _ in shortlist]
        best = int(np.argmax([share - GAIN * one.parts for share, (one, _) in zip(shares, shortlist, strict=True)]))
        one, _ = shortlist.pop(best)
        if shares[best] < right + GAIN * one.parts:
            break
        chosen.append(one)
        right = shares[best]
    return tuple(trial.features[one] for one in chosen)


def _simple(agent: Agent) -> Iterator[_Candidate]:
    """Distances, and sums and differences of two features."""
    points = list(points_of(agent))
    kinds = [
        [_Candidate(f"distance([{point}])", 1) for point in points],
        [_Candidate(f"distance([{one}], [{other}])", 1) for one, other in combinations(points, 2)],
        [
            _Candidate(f"{left}{one}{right} {sign} {left}{other}{right}", 2)
            for left, right, sign in (("[", "]", "-"), ("[", "]", "+"), ("|[", "]|", "-"))
            for one, other in combinations(agent.features, 2)
        ],
    ]
    for kind in kinds:
        yield from kind[:CANDIDATES]


def _combinations(best: Sequence[tuple[_Candidate, float]]) -> Iterator[_Candidate]:
    """Differences, sums, least and largest of two candidates."""
    for (one, _), (other, _) in combinations(best, 2):
        parts = one.parts + other.parts
        if parts <= LONGEST:
            less = f"({other.formula})" if other.parts > 1 else other.formula
            yield _Candidate(f"{one.formula} - {less}", parts)
            yield _Candidate(f"{one.formula} + {other.formula}", parts)
            yield _Candidate(f"min({one.formula}, {other.formula})", parts)
            yield _Candidate(f"max({one.formula}, {other.formula})", parts)


class _Trial:
    """One half of some observations to grow trees on, and the other to judge them."""

    def __init__(self, agent: Agent, observations: np.ndarray, actions: np.ndarray) -> None:
        self._observations, self._actions = observations, np.ascontiguousarray(actions)
        self._scope, self._count = Scope((agent,), ((),), ()), len(agent.actions)
        held_out = (np.arange(len(actions)) // BLOCK) % 2 == 1
        self._grow, self._judge = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        self._plain = _binned(observations)
        self.features: dict[_Candidate, Derived] = {}
        self._columns: dict[_Candidate, Columns] = {}

    def ranked(self, candidates: Iterable[_Candidate]) -> list[tuple[_Candidate, float]]:
        """The candidates that vary, with the share of held-out rows that trees behind them set right; best first."""
        judged = [(one, self.right((), one)) for one in candidates if self._varies(one)]
        return sorted(judged, key=lambda pair: -pair[1])

    def right(self, chosen: Sequence[_Candidate], first: _Candidate | None) -> float:
        """The share of held-out rows that a tree answers as it should; it asks for `first` at the top, if there is one.

        It may also ask for the chosen features.
        """
        if len(self._grow) == 0 or len(self._judge) == 0:
            return 0.0
        parts = [self._plain, *(self._columns[one] for one in (*chosen, *(() if first is None else (first,))))]
        binned, features = (np.column_stack([getattr(part, name) for part in parts]) for name in ("binned", "features"))
        columns = Columns(binned, features, COARSE)
        if first is None:
            return self._share(columns, [np.ones(len(features), bool)], DEPTH)
        column = features[:, -1]
        below = column <= (np.float32(0) if column.min() <= 0 < column.max() else np.median(column))
        return self._share(columns, [below, ~below], DEPTH - 1)

    def _share(self, columns: Columns, sides: Sequence[np.ndarray], depth: int) -> float:
        """The share of held-out rows that are right if each side of the rows has a tree of its own."""
        right, weights = 0, np.ones(len(self._actions))
        for side in sides:
            tree = cart.grow(columns, self._actions, weights, self._count, depth, rows=self._grow[side[self._grow]])
            judged = self._judge[side[self._judge]]
            right += int((tree.predict(columns.features[judged]) == self._actions[judged]).sum())
        return right / len(self._judge)

    def _varies(self, one: _Candidate) -> bool:
        if one not in self._columns:
            self.features[one] = parse_formula(one.formula, one.formula, self._scope, 0)
            self._columns[one] = _binned(extend(self._observations, (self.features[one],))[:, -1:])
        column = self._columns[one].features
        return bool(column.min() < column.max())


def _binned(rows: np.ndarray) -> Columns:
    """Features [S, F] in coarse bins."""
    bins = Bins(rows.shape[1])
    bins.append(rows)
    return bins.sample(np.arange(len(rows)), COARSE)
