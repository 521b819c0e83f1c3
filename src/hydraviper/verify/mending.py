"""Mending: the smallest change that makes a tree keep to its bounds.

A change is smaller if it changes the action at fewer observations; among equal ones, if it leaves fewer nodes. A leaf
may get another action, or a few questions at the borders of boxes: the best such change within the limit of depth is
found for each leaf by itself. Where a tree is too large or asks for a banned feature, subtrees are cut, the cheapest
first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hydraviper.data import JobError
from hydraviper.trees.derived import extend
from hydraviper.trees.tree import LEAF, Tree, in_preorder
from hydraviper.verify.bounds import Bounds, Question, at_leaves

DEEPEST = 20
_TRIES = 2_000  # subtrees in place of one leaf that are tried


@dataclass(frozen=True)
class _Subtree:
    """A subtree in place of a leaf: a single action, or a question with two subtrees."""

    cost: float  # of the observations that reach it
    nodes: int
    action: int = LEAF
    question: Question | None = None
    sides: tuple[_Subtree, ...] = ()

    @property
    def price(self) -> tuple[float, int]:
        return self.cost, self.nodes


_NONE = _Subtree(math.inf, 0)


def mend(
    bounds: Bounds,
    tree: Tree,
    observations: np.ndarray,
    depth: int,
    active: int | None = None,
    costs: np.ndarray | None = None,
    deepest: int = DEEPEST,
) -> Tree:
    """Change a tree as little as possible to keep to its bounds, judged by observations [S, F] that it meets.

    With `active` (a bit mask), only leaves that break one of these boxes are changed. `costs` [S, A] is the cost of
    each action at each observation; by default, an action other than the tree's costs 1. The limit of depth is raised
    up to `deepest` where it leaves no solution.
    """
    tree = prune(bounds, tree, observations)
    depth = bounds.depth_limit(max(depth, tree.depth))
    active = bounds.all if active is None else active
    if costs is None:
        actions = tree.predict(np.asarray(observations, np.float32))
        costs = 1.0 - np.eye(bounds.actions)[actions]
    while True:
        search = _Search(bounds, tree, observations, active, costs)
        subtrees = {leaf: search.mend(leaf, depth) for leaf in search.broken()}
        if all(math.isfinite(subtree.cost) for subtree in subtrees.values()):
            return prune(bounds, _rebuilt(tree, subtrees, search), observations)
        if depth >= bounds.depth_limit(deepest):
            raise JobError(f"no tree of at most {depth} questions on a path keeps these properties: drop one of them.")
        depth += 1


class _Search:
    """The branch-and-bound search for the best subtree in place of each leaf."""

    def __init__(self, bounds: Bounds, tree: Tree, observations: np.ndarray, active: int, costs: np.ndarray) -> None:
        self.bounds, self.tree, self.active, self.costs = bounds, tree, active, costs
        self.features = extend(np.asarray(observations, np.float32), tree.derived)
        self.boxes = at_leaves(bounds, tree)
        self.rows, self.levels = _rows_at(tree, self.features), tree.levels
        self._known: dict[tuple[int, int], np.ndarray] = {}
        asked = [(q.feature, np.float32(q.threshold)) for q in bounds.questions]
        columns, thresholds = [f for f, _ in asked], np.array([t for _, t in asked], np.float32)
        self.goes = self.features[:, columns] <= thresholds  # [S, questions]
        self.least = self._least()

    def _least(self) -> np.ndarray:
        """The least cost of each observation [S], whatever the tree: that of the actions its boxes allow."""
        costs, bounds = self.costs.copy(), self.bounds
        for low, high, forbidden in zip(bounds.low, bounds.high, bounds.forbidden, strict=True):
            inside = ((self.features >= low) & (self.features <= high)).all(axis=1)
            costs[np.ix_(np.flatnonzero(inside), np.flatnonzero(forbidden))] = math.inf
        least = costs.min(axis=1)
        return np.where(np.isfinite(least), least, self.costs.min(axis=1))

    def broken(self) -> list[int]:
        """The leaves whose action is not allowed."""
        return [
            k for k, boxes in self.boxes.items() if not self.bounds.may(int(self.tree.action[k]), boxes & self.active)
        ]

    def mend(self, leaf: int, depth: int) -> _Subtree:
        """The best subtree in place of a leaf; shallow ones first, since they bound the deeper ones."""
        self.tries, self.current = 0, int(self.tree.action[leaf])
        # where no observation decides, the action with the most training data comes first
        self.order = [int(action) for action in np.argsort(-self.tree.counts[leaf], kind="stable")]
        best, rows = _NONE, self.rows[leaf]
        least = float(self.least[rows].sum()) + 1e-9
        for left in range(depth - int(self.levels[leaf]) + 1):
            best = min(best, self._best(rows, self.boxes[leaf], left, best.price), key=lambda one: one.price)
            if best.cost <= least or self.tries > _TRIES:
                break
        return best

    def _open_to(self, boxes: int) -> np.ndarray:
        """0 for the actions that may be taken where these boxes reach, else infinite [A]."""
        key = boxes, self.current
        if key not in self._known:
            fees = np.where([self.bounds.may(a, boxes) for a in range(self.bounds.actions)], 0.0, math.inf)
            if self.bounds.may(self.current, boxes & self.active):  # the leaf's action may stay unless it is at fault
                fees[self.current] = 0.0
            self._known[key] = fees
        return self._known[key]

    def _choose(self, sums: np.ndarray) -> int:
        """The cheapest action; of equal ones the leaf's present one, then the one with the most training data."""
        cheap = sums <= sums.min() + 1e-9
        return next(action for action in (self.current, *self.order) if cheap[action])

    def _best(self, rows: np.ndarray, boxes: int, left: int, bound: tuple[float, int]) -> _Subtree:
        """The best subtree of at most this depth; subtrees that do not beat the bound may be missed."""
        costs, fees = self.costs[rows], self._open_to(boxes)
        sums = costs.sum(axis=0)
        wanted, best = self._choose(sums), _NONE
        if (fees == 0).any():
            action = self._choose(sums + fees)
            best = _Subtree(float(sums[action]), 1, action)
        if fees[wanted] == 0 or left == 0 or best.cost <= self.least[rows].sum() + 1e-9:
            return best
        self.tries += 1
        if self.tries > _TRIES:
            return best
        blocking = boxes if best is _NONE else self._against(wanted, boxes)
        open_questions = [k for k, q in enumerate(self.bounds.questions) if blocking & ~(q.left & q.right)]
        if left == 1:
            return self._last(rows, boxes, open_questions, sums, best)
        for k in open_questions:
            question = self.bounds.questions[k]
            limit = min(best.price, bound)
            goes_left = self.goes[rows, k]
            after = float(self.least[rows[~goes_left]].sum())
            if float(self.least[rows[goes_left]].sum()) + after > limit[0]:
                continue
            first = self._best(rows[goes_left], boxes & question.left, left - 1, (limit[0] - after, limit[1] - 2))
            if (first.cost + after, first.nodes + 2) >= limit:
                continue
            rest = limit[0] - first.cost, limit[1] - first.nodes - 1
            second = self._best(rows[~goes_left], boxes & question.right, left - 1, rest)
            subtree = _Subtree(
                first.cost + second.cost, 1 + first.nodes + second.nodes, LEAF, question, (first, second)
            )
            best = min(best, subtree, key=lambda one: one.price)
        return best

    def _last(
        self, rows: np.ndarray, boxes: int, open_questions: list[int], sums: np.ndarray, best: _Subtree
    ) -> _Subtree:
        """The best subtree of a single question, all questions judged at once."""
        if not open_questions:
            return best
        questions = [self.bounds.questions[k] for k in open_questions]
        left = self.goes[rows][:, open_questions].T.astype(float) @ self.costs[rows]  # [questions, A]
        fees = [
            np.array([self._open_to(boxes & side) for side in reached])
            for reached in ([q.left for q in questions], [q.right for q in questions])
        ]
        with np.errstate(invalid="ignore"):
            total = (left + fees[0]).min(axis=1) + (sums - left + fees[1]).min(axis=1)
        k = int(total.argmin())
        if (float(total[k]), 3) >= best.price:
            return best
        actions = [self._choose(left[k] + fees[0][k]), self._choose(sums - left[k] + fees[1][k])]
        costs = float(left[k, actions[0]]), float((sums - left[k])[actions[1]])
        leaves = tuple(_Subtree(cost, 1, action) for cost, action in zip(costs, actions, strict=True))
        return _Subtree(sum(costs), 3, LEAF, questions[k], leaves)

    def _against(self, action: int, boxes: int) -> int:
        """The boxes that forbid an action."""
        bits = (1 << k for k in range(boxes.bit_length()) if boxes >> k & 1)
        return sum(bit for bit in bits if not self.bounds.may(action, bit))


def prune(bounds: Bounds, tree: Tree, observations: np.ndarray) -> Tree:
    """Cut questions about banned features and whatever exceeds the limits of size, the cheapest cut first."""
    while True:
        banned = [int(n) for n in np.flatnonzero(tree.feature != LEAF) if bounds.banned[tree.feature[n]]]
        deep = bounds.most_depth is not None and tree.depth > bounds.most_depth
        large = bounds.most_leaves is not None and tree.leaves > bounds.most_leaves
        if not (banned or deep or large):
            return tree
        observations = np.asarray(observations, np.float32)
        rows, levels = _rows_at(tree, extend(observations, tree.derived)), tree.levels
        nodes = banned or [int(n) for n in np.flatnonzero(tree.feature != LEAF)]
        if deep and not banned:  # only cuts on paths that are too long help
            nodes = [n for n in nodes if levels[n] + _height(tree, n) > (bounds.most_depth or 0)]
        actions = tree.predict(observations)
        cuts: list[tuple[tuple[int, int], Tree]] = []  # observations whose action changes and nodes left; the tree
        for node in nodes:
            for child in (int(tree.left[node]), int(tree.right[node])):
                shorter = _cut(tree, node, child)
                changed = int((shorter.predict(observations[rows[node]]) != actions[rows[node]]).sum())
                cuts.append(((changed, len(shorter)), shorter))
        tree = min(cuts, key=lambda cut: cut[0])[1].merged()


def _height(tree: Tree, node: int) -> int:
    if tree.feature[node] == LEAF:
        return 0
    return 1 + max(_height(tree, int(tree.left[node])), _height(tree, int(tree.right[node])))


def _cut(tree: Tree, node: int, child: int) -> Tree:
    """The tree with a node replaced by one of its children; the node keeps its counts."""
    feature, threshold, action = tree.feature.copy(), tree.threshold.copy(), tree.action.copy()
    left, right = tree.left.copy(), tree.right.copy()
    for column in (feature, threshold, action, left, right):
        column[node] = column[child]
    return in_preorder(feature, threshold, left, right, action, tree.counts, tree.derived)


def _rows_at(tree: Tree, features: np.ndarray) -> list[np.ndarray]:
    """The rows that reach each node."""
    rows = [np.arange(len(features))] + [np.empty(0, int)] * (len(tree) - 1)
    for node in np.flatnonzero(tree.feature != LEAF):
        goes_left = features[rows[node], tree.feature[node]] <= tree.threshold[node]
        rows[tree.left[node]], rows[tree.right[node]] = rows[node][goes_left], rows[node][~goes_left]
    return rows


def _rebuilt(tree: Tree, subtrees: dict[int, _Subtree], search: _Search) -> Tree:
    """The tree with subtrees in place of leaves; a leaf's counts are divided as its observations are."""
    columns: list[list] = [tree.feature.tolist(), tree.threshold.tolist(), tree.left.tolist(), tree.right.tolist()]
    feature, threshold, left, right = columns
    action, counts = tree.action.tolist(), list(tree.counts)

    def place(subtree: _Subtree, node: int, rows: np.ndarray) -> None:
        if subtree.question is None:
            action[node] = subtree.action
            return
        goes_left = search.features[rows, subtree.question.feature] <= np.float32(subtree.question.threshold)
        share = goes_left.mean() if len(rows) else 0.5
        feature[node], threshold[node] = subtree.question.feature, subtree.question.threshold
        for side, reaching, weight, child in zip(
            subtree.sides, (rows[goes_left], rows[~goes_left]), (share, 1 - share), (left, right), strict=True
        ):
            child[node] = len(feature)
            for column, value in ((feature, LEAF), (threshold, 0.0), (left, LEAF), (right, LEAF), (action, 0)):
                column.append(value)
            counts.append(counts[node] * weight)
            place(side, child[node], reaching)

    for leaf, subtree in subtrees.items():
        place(subtree, leaf, search.rows[leaf])
    arrays = np.array(feature), np.array(threshold, np.float32), np.array(left), np.array(right)
    return in_preorder(*arrays, np.array(action), np.array(counts), tree.derived).merged()
