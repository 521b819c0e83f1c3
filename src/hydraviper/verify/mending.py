"""Mending: the smallest change that makes a tree keep to its limits.

A change is smaller if fewer of the observations get another action, and, of equal ones, if it leaves fewer nodes.
Leaves may get another action or a few questions at the borders of rules; among these changes, the best one within the
limit of depth is found leaf by leaf. Where a tree is too large or asks for what it must not, subtrees are cut, the
cheapest first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hydraviper.data import JobError
from hydraviper.trees.derived import extend
from hydraviper.trees.tree import LEAF, Tree, in_preorder
from hydraviper.verify.limits import Limits, Question, at_leaves

DEEPEST = 20
_TRIES = 2_000  # ways to mend one leaf that are looked at


@dataclass(frozen=True)
class Mended:
    """A tree after mending."""

    tree: Tree
    depth: int  # the limit of depth that it keeps


@dataclass(frozen=True)
class _Way:
    """One way to mend a leaf, as a subtree: what it costs, how many nodes it has."""

    cost: float
    nodes: int
    action: int = LEAF
    question: Question | None = None
    parts: tuple[_Way, ...] = ()

    @property
    def price(self) -> tuple[float, int]:
        return self.cost, self.nodes


_NONE = _Way(math.inf, 0)


def mend(
    limits: Limits,
    tree: Tree,
    observations: np.ndarray,
    depth: int,
    active: int | None = None,
    costs: np.ndarray | None = None,
    deepest: int = DEEPEST,
) -> Mended:
    """Change a tree as little as makes it keep the limits, judged by the observations [S, F] that it meets.

    With `active` (bits), only leaves that break one of these rules are changed. `costs` [S, A] says what each answer
    to an observation costs; without, another answer than the tree's costs 1. The limit of depth is raised where it
    leaves no way, up to `deepest`.
    """
    tree = prune(limits, tree, observations)
    depth = limits.depth_limit(max(depth, tree.depth))
    active = limits.all if active is None else active
    if costs is None:
        own = tree.predict(np.asarray(observations, np.float32))
        costs = 1.0 - np.eye(limits.actions)[own]
    while True:
        search = _Search(limits, tree, observations, active, costs)
        ways = {leaf: search.mend(leaf, depth) for leaf in search.broken()}
        if all(math.isfinite(way.cost) for way in ways.values()):
            mended = _rebuilt(tree, ways, search)
            return Mended(prune(limits, mended, observations), depth)
        if depth >= limits.depth_limit(deepest):
            raise JobError(f"no tree of at most {depth} questions on a path keeps these properties: drop one of them.")
        depth += 1


class _Search:
    """Looks for the best way to mend each leaf."""

    def __init__(self, limits: Limits, tree: Tree, observations: np.ndarray, active: int, costs: np.ndarray) -> None:
        self.limits, self.tree, self.active, self.costs = limits, tree, active, costs
        self.features = extend(np.asarray(observations, np.float32), tree.derived)
        self.rules = at_leaves(limits, tree)
        self.rows, self.levels = _rows_at(tree, self.features)
        self._known: dict[tuple[int, int], np.ndarray] = {}
        asked = [(q.feature, np.float32(q.threshold)) for q in limits.questions]
        columns, thresholds = [f for f, _ in asked], np.array([t for _, t in asked], np.float32)
        self.goes = self.features[:, columns] <= thresholds  # [S, questions]
        self.least = self._least()

    def _least(self) -> np.ndarray:
        """What each observation costs at least, by the rules that hold right there [S]."""
        costs, limits = self.costs.copy(), self.limits
        for low, high, forbidden in zip(limits.low, limits.high, limits.forbidden, strict=True):
            inside = ((self.features >= low) & (self.features <= high)).all(axis=1)
            costs[np.ix_(np.flatnonzero(inside), np.flatnonzero(forbidden))] = math.inf
        least = costs.min(axis=1)
        return np.where(np.isfinite(least), least, self.costs.min(axis=1))

    def broken(self) -> list[int]:
        """The leaves whose action is not allowed."""
        return [
            k for k, rules in self.rules.items() if not self.limits.may(int(self.tree.action[k]), rules & self.active)
        ]

    def mend(self, leaf: int, depth: int) -> _Way:
        """The best subtree in place of a leaf; short ones first, for they bound the longer ones."""
        self.tries, self.own = 0, int(self.tree.action[leaf])
        # where no observation decides, what the training data speaks for comes first
        self.order = [int(action) for action in np.argsort(-self.tree.counts[leaf], kind="stable")]
        best, rows = _NONE, self.rows[leaf]
        least = float(self.least[rows].sum()) + 1e-9
        for left in range(depth - int(self.levels[leaf]) + 1):
            best = min(best, self._best(rows, self.rules[leaf], left, best.price), key=lambda way: way.price)
            if best.cost <= least or self.tries > _TRIES:
                break
        return best

    def _open_to(self, rules: int) -> np.ndarray:
        """0 for the actions that may be answered where these rules reach, else infinite [A]."""
        key = rules, self.own
        if key not in self._known:
            fees = np.where([self.limits.may(a, rules) for a in range(self.limits.actions)], 0.0, math.inf)
            if self.limits.may(self.own, rules & self.active):  # the leaf's own action needs to please the active ones
                fees[self.own] = 0.0
            self._known[key] = fees
        return self._known[key]

    def _choose(self, sums: np.ndarray) -> int:
        """The cheapest action; of equal ones the leaf's own, then the one that the training data speaks for."""
        cheap = sums <= sums.min() + 1e-9
        return next(action for action in (self.own, *self.order) if cheap[action])

    def _best(self, rows: np.ndarray, rules: int, left: int, bound: tuple[float, int]) -> _Way:
        """The best way with at most so many questions; what does not beat the bound may be left out."""
        costs, fees = self.costs[rows], self._open_to(rules)
        sums = costs.sum(axis=0)
        wanted, best = self._choose(sums), _NONE
        if (fees == 0).any():
            action = self._choose(sums + fees)
            best = _Way(float(sums[action]), 1, action)
        if fees[wanted] == 0 or left == 0 or best.cost <= self.least[rows].sum() + 1e-9:
            return best
        self.tries += 1
        if self.tries > _TRIES:
            return best
        blocking = rules if best is _NONE else self._against(wanted, rules)
        open_questions = [k for k, q in enumerate(self.limits.questions) if blocking & ~(q.left & q.right)]
        if left == 1:
            return self._last(rows, rules, open_questions, sums, best)
        for k in open_questions:
            question = self.limits.questions[k]
            limit = min(best.price, bound)
            goes_left = self.goes[rows, k]
            after = float(self.least[rows[~goes_left]].sum())
            if float(self.least[rows[goes_left]].sum()) + after > limit[0]:
                continue
            first = self._best(rows[goes_left], rules & question.left, left - 1, (limit[0] - after, limit[1] - 2))
            if (first.cost + after, first.nodes + 2) >= limit:
                continue
            rest = limit[0] - first.cost, limit[1] - first.nodes - 1
            second = self._best(rows[~goes_left], rules & question.right, left - 1, rest)
            way = _Way(first.cost + second.cost, 1 + first.nodes + second.nodes, LEAF, question, (first, second))
            best = min(best, way, key=lambda one: one.price)
        return best

    def _last(self, rows: np.ndarray, rules: int, open_questions: list[int], sums: np.ndarray, best: _Way) -> _Way:
        """The best single question, all of them judged at once."""
        if not open_questions:
            return best
        questions = [self.limits.questions[k] for k in open_questions]
        left = self.goes[rows][:, open_questions].T.astype(float) @ self.costs[rows]  # [questions, A]
        fees = [
            np.array([self._open_to(rules & side) for side in sides])
            for sides in ([q.left for q in questions], [q.right for q in questions])
        ]
        with np.errstate(invalid="ignore"):
            total = (left + fees[0]).min(axis=1) + (sums - left + fees[1]).min(axis=1)
        k = int(total.argmin())
        if (float(total[k]), 3) >= best.price:
            return best
        parts = [self._choose(left[k] + fees[0][k]), self._choose(sums - left[k] + fees[1][k])]
        costs = float(left[k, parts[0]]), float((sums - left[k])[parts[1]])
        ways = tuple(_Way(cost, 1, action) for cost, action in zip(costs, parts, strict=True))
        return _Way(sum(costs), 3, LEAF, questions[k], ways)

    def _against(self, action: int, rules: int) -> int:
        """Those of the rules that forbid an action."""
        return sum(bit for bit in _each(rules) if not self.limits.may(action, bit))


def _each(bits: int) -> list[int]:
    return [1 << k for k in range(bits.bit_length()) if bits >> k & 1]


def prune(limits: Limits, tree: Tree, observations: np.ndarray) -> Tree:
    """Cut what asks for banned features or is beyond the limits of leaves and depth, the cheapest cut first."""
    while True:
        banned = [int(n) for n in np.flatnonzero(tree.feature != LEAF) if limits.banned[tree.feature[n]]]
        deep = limits.most_depth is not None and tree.depth > limits.most_depth
        large = limits.most_leaves is not None and tree.leaves > limits.most_leaves
        if not (banned or deep or large):
            return tree
        features = extend(np.asarray(observations, np.float32), tree.derived)
        rows, levels = _rows_at(tree, features)
        answers = tree.predict(np.asarray(observations, np.float32))
        nodes = banned or [int(n) for n in np.flatnonzero(tree.feature != LEAF)]
        if deep and not banned:  # only what lies on too long a path helps
            nodes = [n for n in nodes if levels[n] + _height(tree, n) > (limits.most_depth or 0)]
        cuts = [cut for node in nodes for cut in ((node, int(tree.left[node])), (node, int(tree.right[node])))]
        best = min(cuts, key=lambda cut: _cost(tree, features, answers, rows[cut[0]], cut))
        tree = _cut(tree, *best)


def _cost(
    tree: Tree, features: np.ndarray, answers: np.ndarray, rows: np.ndarray, cut: tuple[int, int]
) -> tuple[int, int]:
    """How many observations get another action when a node gives way to one of its children; then, nodes left."""
    after = np.array([_walk(tree, features[row], cut[1]) for row in rows], int)
    return int((after != answers[rows]).sum()), -_nodes(tree, cut[0]) + _nodes(tree, cut[1])


def _walk(tree: Tree, row: np.ndarray, node: int) -> int:
    while tree.feature[node] != LEAF:
        node = int(tree.left[node] if row[tree.feature[node]] <= tree.threshold[node] else tree.right[node])
    return int(tree.action[node])


def _nodes(tree: Tree, node: int) -> int:
    if tree.feature[node] == LEAF:
        return 1
    return 1 + _nodes(tree, int(tree.left[node])) + _nodes(tree, int(tree.right[node]))


def _height(tree: Tree, node: int) -> int:
    if tree.feature[node] == LEAF:
        return 0
    return 1 + max(_height(tree, int(tree.left[node])), _height(tree, int(tree.right[node])))


def _cut(tree: Tree, node: int, child: int) -> Tree:
    """The tree with a node replaced by one of its children; the counts of the node stay."""
    feature, threshold, action = tree.feature.copy(), tree.threshold.copy(), tree.action.copy()
    left, right = tree.left.copy(), tree.right.copy()
    for column in (feature, threshold, action, left, right):
        column[node] = column[child]
    return in_preorder(feature, threshold, left, right, action, tree.counts, tree.derived).merged()


def _rows_at(tree: Tree, features: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """The rows that reach each node, and how many questions lie before it."""
    rows = [np.arange(len(features))] + [np.empty(0, int)] * (len(tree) - 1)
    levels = np.zeros(len(tree), int)
    for node in np.flatnonzero(tree.feature != LEAF):
        goes_left = features[rows[node], tree.feature[node]] <= tree.threshold[node]
        rows[tree.left[node]], rows[tree.right[node]] = rows[node][goes_left], rows[node][~goes_left]
        levels[tree.left[node]] = levels[tree.right[node]] = levels[node] + 1
    return rows, levels


def _rebuilt(tree: Tree, ways: dict[int, _Way], search: _Search) -> Tree:
    """The tree with subtrees in place of leaves; their counts are the leaf's, divided as the observations are."""
    columns: list[list] = [tree.feature.tolist(), tree.threshold.tolist(), tree.left.tolist(), tree.right.tolist()]
    feature, threshold, left, right = columns
    action, counts = tree.action.tolist(), list(tree.counts)

    def place(way: _Way, node: int, rows: np.ndarray) -> None:
        if way.question is None:
            action[node] = way.action
            return
        goes_left = search.features[rows, way.question.feature] <= np.float32(way.question.threshold)
        share = goes_left.mean() if len(rows) else 0.5
        feature[node], threshold[node] = way.question.feature, way.question.threshold
        for part, own, weight, child in zip(
            way.parts, (rows[goes_left], rows[~goes_left]), (share, 1 - share), (left, right), strict=True
        ):
            child[node] = len(feature)
            for column, value in ((feature, LEAF), (threshold, 0.0), (left, LEAF), (right, LEAF), (action, 0)):
                column.append(value)
            counts.append(counts[node] * weight)
            place(part, child[node], own)

    for leaf, way in ways.items():
        place(way, leaf, search.rows[leaf])
    arrays = np.array(feature), np.array(threshold, np.float32), np.array(left), np.array(right)
    return in_preorder(*arrays, np.array(action), np.array(counts), tree.derived).merged()
