"""Features that the search finds: formulas of the names that an agent sees, chosen by what they bring on held-out data.

Nothing about the game is known but its features' names, which tell what is a point (see `names.points_of`). Deep trees
are grown on parts of the data that may ask for many candidates at once; what a candidate brings is by how much its
questions set the held-out rows in order, for the length of its formula. The best are combined and judged once more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from hydraviper.data import Agent, Derived
from hydraviper.expressions.names import Scope, points_of
from hydraviper.expressions.parser import parse_formula
from hydraviper.trees import cart
from hydraviper.trees.ahead import COARSE
from hydraviper.trees.bins import Bins, Columns
from hydraviper.trees.counts import recount
from hydraviper.trees.derived import extend

MOST = 12  # features that are chosen
LONGEST = 4  # features, points or distances in a formula
ROWS = 6_000  # on which candidates are tried and judged
CANDIDATES = 400  # of each kind, the first ones
COMBINED, SHORTLIST = 16, 60  # the best ones, that are combined; and that are judged again, with the combined ones
TREES, DEPTH = 12, 7  # of the trees that judge
OFFERED = 0.4  # share of the candidates that one of them may ask for
ALIKE = 0.95  # correlation from which on two features say the same
WORTH = 0.8  # what a formula brings counts so many times as much for each part more


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
    trial = _Trial(agent, observations[rows], actions[rows], draws)
    varying = {name for name, column in zip(agent.features, observations[rows].T, strict=True) if np.ptp(column) > 0}
    first = trial.unlike(trial.ranked(list(_simple(agent, varying))))
    second = trial.ranked([*first[:SHORTLIST], *_combinations(first[:COMBINED])])
    best = trial.unlike(trial.ranked(trial.unlike(second)[:SHORTLIST], DEPTH - 2))
    return tuple(trial.features[one] for one in best[:MOST])


def _simple(agent: Agent, varying: Collection[str]) -> Iterator[_Candidate]:
    """Distances, and sums and differences of two features that vary."""
    points = [name for name, at in points_of(agent).items() if any(agent.features[k] in varying for k in at)]
    kinds = [
        [_Candidate(f"distance([{point}])", 1) for point in points],
        [_Candidate(f"distance([{one}], [{other}])", 1) for one, other in combinations(points, 2)],
        [
            _Candidate(f"{left}{one}{right} {sign} {left}{other}{right}", 2)
            for left, right, sign in (("[", "]", "-"), ("[", "]", "+"), ("|[", "]|", "-"))
            for one, other in combinations([name for name in agent.features if name in varying], 2)
        ],
    ]
    for kind in kinds:
        yield from kind[:CANDIDATES]


def _combinations(best: Sequence[_Candidate]) -> Iterator[_Candidate]:
    """Differences, sums, least and largest of two candidates."""
    for one, other in combinations(best, 2):
        parts = one.parts + other.parts
        if parts <= LONGEST:
            less = f"({other.formula})" if other.parts > 1 else other.formula
            yield _Candidate(f"{one.formula} - {less}", parts)
            yield _Candidate(f"{one.formula} + {other.formula}", parts)
            yield _Candidate(f"min({one.formula}, {other.formula})", parts)
            yield _Candidate(f"max({one.formula}, {other.formula})", parts)


class _Trial:
    """Some observations, on parts of which trees are grown, while the rest judges them."""

    def __init__(self, agent: Agent, observations: np.ndarray, actions: np.ndarray, draws: np.random.Generator) -> None:
        self._observations, self._actions, self._draws = observations, np.ascontiguousarray(actions), draws
        self._scope, self._count = Scope((agent,), ((),), ()), len(agent.actions)
        self._plain = _binned(observations)
        self.features: dict[_Candidate, Derived] = {}
        self._columns: dict[_Candidate, Columns] = {}

    def ranked(self, candidates: Sequence[_Candidate], depth: int = DEPTH) -> list[_Candidate]:
        """The candidates that bring something, the best first."""
        candidates = [one for one in dict.fromkeys(candidates) if self._varies(one)]
        brought = np.zeros(len(candidates))
        for _ in range(TREES if candidates and len(self._actions) > 1 else 0):
            offered = np.flatnonzero(self._draws.random(len(candidates)) < OFFERED)
            brought[offered] += self._brought([candidates[k] for k in offered], depth)
        worth = brought * WORTH ** np.array([one.parts for one in candidates])
        return [candidates[k] for k in np.argsort(-worth, kind="stable") if worth[k] > 0]

    def unlike(self, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """The candidates without those that say nearly the same as one before them; of such, the shortest."""
        kept: list[_Candidate] = []
        columns: list[np.ndarray] = []
        for one in candidates:
            column = self._columns[one].features[:, 0].astype(np.float64)
            column = (column - column.mean()) / (column.std() or 1.0)
            alike = (k for k, other in enumerate(columns) if abs(float(column @ other)) >= ALIKE * len(column))
            place = next(alike, None)
            if place is None:
                kept.append(one)
                columns.append(column)
            elif one.parts < kept[place].parts:
                kept[place], columns[place] = one, column
        return kept

    def _brought(self, candidates: Sequence[_Candidate], depth: int) -> np.ndarray:
        """By how much each candidate's questions in one tree set held-out rows in order (Gini)."""
        parts = [self._plain, *(self._columns[one] for one in candidates)]
        binned, features = (np.column_stack([getattr(part, name) for part in parts]) for name in ("binned", "features"))
        grown = self._draws.random(len(self._actions)) < 0.5
        weights = np.ones(len(self._actions))
        tree = cart.grow(
            Columns(binned, features, COARSE), self._actions, weights, self._count, depth, rows=np.flatnonzero(grown)
        )
        counts = recount(tree, features[~grown], self._actions[~grown]).counts
        sizes = counts.sum(axis=1)
        order = (counts**2).sum(axis=1) / np.maximum(sizes, 1)  # the larger, the more of a node's rows are alike
        brought, plain = np.zeros(len(candidates)), self._observations.shape[1]
        for node in np.flatnonzero(tree.feature >= plain):
            gain = order[tree.left[node]] + order[tree.right[node]] - order[node]
            brought[tree.feature[node] - plain] += gain
        return brought

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
