"""Growing trees that look ahead: questions that say nothing about the next step, but tell what to ask for then.

Whose landmark it is says nothing by itself about the way to go, so CART, which is greedy, never asks for it first; once
it is asked, the rest of the tree needs to consider one landmark only. So derived features are tried as questions before
the trees that CART grows behind them, and kept where those are more faithful.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hydraviper.trees import cart
from hydraviper.trees.bins import Bins, Columns
from hydraviper.trees.tree import LEAF, Tree

SAMPLE, COARSE = 1_500, 32  # rows that questions are tried on, and their bins per feature
SHARES = (0.25, 0.5, 0.75)  # of the rows below a threshold that is tried; and 0, where a feature has both signs
GROWN = 1.5  # questions are looked for again when there are so many times the rows
LEAST = 40  # rows below which CART is left alone


@dataclass(frozen=True)
class Ahead:
    """A question that is asked before CART's, and those behind it; None leaves everything to CART."""

    feature: int
    threshold: np.float32
    yes: Ahead | None
    no: Ahead | None


@dataclass(frozen=True)
class _Rows:
    """What questions are tried on."""

    columns: Columns
    actions: np.ndarray
    weights: np.ndarray
    count: int  # actions there are
    plain: int  # derived features are numbered from here
    shares: tuple[float, ...]  # see SHARES

    def grown(self, rows: np.ndarray, depth: int) -> float:
        """The weight of the rows to which CART's tree answers as it should."""
        tree = cart.grow(self.columns, self.actions, self.weights, self.count, depth, rows=rows)
        return float(tree.fidelity * tree.counts[0].sum()) if len(rows) else 0.0

    def questions(self, rows: np.ndarray) -> Iterator[tuple[int, np.float32, np.ndarray]]:
        """Every question that is worth a try, and which rows answer yes."""
        for feature in range(self.plain, self.columns.features.shape[1]):
            column = self.columns.features[rows, feature]
            thresholds = set(np.quantile(column, self.shares).astype(np.float32).tolist())
            for threshold in sorted(thresholds | ({0.0} if column.min() <= 0 < column.max() else set())):
                below = column <= np.float32(threshold)
                if LEAST <= below.sum() <= len(rows) - LEAST:
                    yield feature, np.float32(threshold), below


@dataclass
class Memory:
    """What is kept between the trees of one agent: the questions, and how many rows they were found on."""

    rows: int = 0
    ahead: Ahead | None = None


def grow_ahead(
    memory: Memory,
    bins: Bins,
    plain: int,
    actions: np.ndarray,
    weights: np.ndarray,
    count: int,
    depth: int,
    draws: np.random.Generator,
) -> Tree:
    """A tree on the rows with weights [S] > 0; the features from number `plain` on are worth looking ahead.

    The `memory` of one agent, at first empty, keeps the questions until there are many more rows.
    """
    if len(bins) >= GROWN * memory.rows:
        memory.rows, memory.ahead = len(bins), look(bins, plain, actions, weights, count, depth, draws)
    tree = cart.grow(bins, actions, weights, count, depth)
    ahead = grow_behind(memory.ahead, bins, actions, weights, count, depth)
    return ahead if ahead.fidelity > tree.fidelity else tree


def look(
    bins: Bins,
    plain: int,
    actions: np.ndarray,
    weights: np.ndarray,
    count: int,
    depth: int,
    draws: np.random.Generator,
    shares: tuple[float, ...] = SHARES,
) -> Ahead | None:
    """The questions to ask before CART's, found on a sample of the rows."""
    rows = np.flatnonzero(weights > 0)
    if len(rows) > SAMPLE:
        rows = np.sort(draws.choice(rows, SAMPLE, replace=False))
    weights = np.asarray(weights, np.float64)
    sample = _Rows(bins.sample(rows, COARSE), actions[rows], weights[rows], count, plain, shares)
    return _look(sample, np.arange(len(rows)), depth)


def _look(sample: _Rows, rows: np.ndarray, depth: int) -> Ahead | None:
    if depth < 2 or len(rows) < 2 * LEAST:
        return None
    most, best = sample.grown(rows, depth), None
    for feature, threshold, below in sample.questions(rows):
        right = sample.grown(rows[below], depth - 1) + sample.grown(rows[~below], depth - 1)
        if right > most:
            most, best = right, (feature, threshold, below)
    if best is None:
        return None
    feature, threshold, below = best
    yes, no = (_look(sample, rows[side], depth - 1) for side in (below, ~below))
    return Ahead(feature, threshold, yes, no)


def grow_behind(
    ahead: Ahead | None, bins: Bins, actions: np.ndarray, weights: np.ndarray, count: int, depth: int
) -> Tree:
    """A tree that begins with these questions and is CART's behind them."""
    return _grown(ahead, bins, actions, weights, count, depth, np.flatnonzero(weights > 0))


def _grown(
    ahead: Ahead | None, bins: Bins, actions: np.ndarray, weights: np.ndarray, count: int, depth: int, rows: np.ndarray
) -> Tree:
    if ahead is None or len(rows) == 0:
        return cart.grow(bins, actions, weights, count, depth, rows=rows)
    below = bins.features[rows, ahead.feature] <= ahead.threshold
    sides = (
        _grown(one, bins, actions, weights, count, depth - 1, rows[side])
        for one, side in ((ahead.yes, below), (ahead.no, ~below))
    )
    return joined(ahead.feature, ahead.threshold, *sides)


def joined(feature: int, threshold: np.float32, yes: Tree, no: Tree) -> Tree:
    """A tree that asks whether a feature is at most a threshold, and continues with one of two trees."""
    second = 1 + len(yes)
    counts = yes.counts[0] + no.counts[0]

    def children(name: str, root: int) -> np.ndarray:
        parts = [(getattr(yes, name), 1), (getattr(no, name), second)]
        return np.concatenate([[root], *(np.where(part == LEAF, LEAF, part + start) for part, start in parts)])

    return Tree(
        np.concatenate([[feature], yes.feature, no.feature]),
        np.concatenate([[threshold], yes.threshold, no.threshold]).astype(np.float32),
        children("left", 1),
        children("right", second),
        np.concatenate([[counts.argmax()], yes.action, no.action]),
        np.concatenate([counts[None], yes.counts, no.counts]),
    )
