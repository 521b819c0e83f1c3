"""Trees that keep to limits from the first question on: CART among the splits that leave a way to keep them all.

A split is taken only if both sides can still give every rule that reaches them an allowed action with the questions
and leaves that are left; where no split of the data does, a question at the border of a rule is asked. A leaf answers
with the heaviest action that is allowed there, and the last question of a path is chosen with that in mind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numba as nb
import numpy as np

from hydraviper.data import JobError
from hydraviper.trees.bins import MOST, Bins
from hydraviper.trees.cart import fill, sharpen
from hydraviper.trees.tree import LEAF, Tree, in_preorder
from hydraviper.verify.limits import Limits
from hydraviper.verify.mending import mend

_SPARE = 2  # questions that are left to mend a shorter tree with, at most
_TRIES = 64  # splits of the data that are looked at before a question is forced


@dataclass
class _Node:
    rows: np.ndarray
    rules: int  # those that reach it, as bits
    level: int
    counts: np.ndarray  # [A]
    likely: np.ndarray  # [A] what decides where no row comes by: the parent's counts
    feature: int = LEAF
    threshold: float = 0.0
    children: tuple[int, int] = (LEAF, LEAF)


@dataclass(frozen=True)
class _Split:
    gain: float
    feature: int
    threshold: float
    left: int  # rules
    right: int


def grow_within(
    limits: Limits,
    bins: Bins,
    actions: np.ndarray,
    weights: np.ndarray,
    depth: int,
    most_leaves: int | None = None,
) -> Tree:
    """A tree on the rows with weights [S] > 0 that keeps to the limits, which must be possible.

    Of a tree that is grown within the limits and of shorter ones that are mended with the questions that are left,
    the one that answers most of the data as the expert does.
    """
    made = [_grow(limits, bins, actions, weights, depth, most_leaves)]
    whole = limits.depth_limit(depth)
    if limits.good and limits.leaf_limit(most_leaves) is None:
        rows = np.flatnonzero(weights > 0)
        seen, labels = bins.features[rows], actions[rows]
        costs = (1.0 - np.eye(limits.actions)[labels]) * weights[rows, None]
        free = replace(limits, low=limits.low[:0], high=limits.high[:0], good=(), sources=(), most_depth=None)
        for spare in range(1, min(_SPARE, whole - 1) + 1):
            short = _grow(free, bins, actions, weights, whole - spare, None)
            try:
                mended = mend(limits, short, seen, whole, costs=costs, deepest=whole)
            except JobError:
                continue
            if mended.depth <= whole:
                made.append(_recounted(mended.tree, seen, labels, weights[rows]))
    return max(made, key=lambda tree: tree.fidelity)


def _recounted(tree: Tree, features: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Tree:
    """The same tree with the counts of the data."""
    counts = np.zeros_like(tree.counts)
    here = np.zeros(len(features), int)
    while True:
        np.add.at(counts, (here, labels), weights)
        inner = tree.feature[here] != LEAF
        if not inner.any():
            return replace(tree, counts=counts)
        features, labels, weights, here = features[inner], labels[inner], weights[inner], here[inner]
        goes_left = features[np.arange(len(here)), tree.feature[here]] <= tree.threshold[here]
        here = np.where(goes_left, tree.left[here], tree.right[here])


def _grow(
    limits: Limits,
    bins: Bins,
    actions: np.ndarray,
    weights: np.ndarray,
    depth: int,
    most_leaves: int | None,
) -> Tree:
    """CART within the limits."""
    depth, leaves = limits.depth_limit(depth), limits.leaf_limit(most_leaves) or 2**60
    rows = np.flatnonzero(weights > 0)
    counts = np.bincount(actions[rows], weights[rows], limits.actions)
    nodes = [_Node(rows, limits.all, 0, counts, counts)]
    reserved = limits.fewest(limits.all, depth)  # leaves that there will be at least
    grown = _Grower(limits, bins, np.ascontiguousarray(actions, np.int64), np.asarray(weights, float), depth)
    plans = {0: grown.plan(nodes[0], leaves)}
    while plans:
        at = max(plans, key=lambda node: (math.inf if plans[node] is None else plans[node].gain, -node))  # type: ignore[union-attr]
        node, split = nodes[at], plans.pop(at)
        if split is None:
            continue
        own = limits.fewest(node.rules, depth - node.level)
        cost = sum(limits.fewest(rules, depth - node.level - 1) for rules in (split.left, split.right))
        if reserved - own + cost > leaves:
            split = grown.plan(node, int(leaves - reserved + own))  # another one may fit what is left
            if split is None:
                continue
            cost = sum(limits.fewest(rules, depth - node.level - 1) for rules in (split.left, split.right))
        reserved += cost - own
        goes_left = bins.features[node.rows, split.feature] <= np.float32(split.threshold)
        node.feature, node.threshold, node.children = split.feature, split.threshold, (len(nodes), len(nodes) + 1)
        for part, rules in ((node.rows[goes_left], split.left), (node.rows[~goes_left], split.right)):
            counts = np.bincount(actions[part], weights[part], limits.actions)
            nodes.append(_Node(part, rules, node.level + 1, counts, node.counts if counts.sum() == 0 else counts))
            plans[len(nodes) - 1] = grown.plan(nodes[-1], leaves)
    return _finished(limits, nodes)


class _Grower:
    """Finds the splits of one tree's nodes."""

    def __init__(self, limits: Limits, bins: Bins, actions: np.ndarray, weights: np.ndarray, depth: int) -> None:
        self.limits, self.bins, self.actions, self.weights, self.depth = limits, bins, actions, weights, depth
        self.histogram = np.empty((bins.binned.shape[1], MOST, limits.actions))

    def plan(self, node: _Node, leaves: int) -> _Split | None:
        """The best split whose sides need at most so many leaves together; None if a leaf is right."""
        limits, left = self.limits, self.depth - node.level
        if left == 0 or leaves < 2:
            return None
        conflict = not limits.allowed(node.rules)
        if len(node.rows):
            fill(self.bins.binned, self.actions, self.weights, node.rows, self.histogram)
            gains, above = _gains(self.histogram, node.counts)
            gains[limits.banned] = -np.inf
            worth = self._worth(node, above) if left == 1 and node.rules else gains
            for place in np.lexsort((-gains.ravel(), -worth.ravel()))[:_TRIES]:
                feature, below = divmod(int(place), MOST)
                if gains[feature, below] == -np.inf:
                    break
                found = self._sharpened(node, feature, below, int(above[feature, below]))
                cost = limits.fewest(found.left, left - 1) + limits.fewest(found.right, left - 1)
                if cost <= leaves and math.isfinite(cost):
                    return found
        if not conflict:
            return None
        question = limits.forced(node.rules, left)
        if question is None:
            return None
        parts = node.rules & question.left, node.rules & question.right
        return _Split(math.inf, question.feature, float(np.float32(question.threshold)), *parts)

    def _sharpened(self, node: _Node, feature: int, below: int, above: int) -> _Split:
        split = (0.0, feature, below, above)
        gain, threshold = sharpen(
            self.bins.binned,
            self.bins.features,
            self.actions,
            self.weights,
            node.rows,
            self.histogram,
            node.counts,
            split,
        )
        left, right = self.limits.sides(feature, float(threshold))
        return _Split(gain, feature, float(threshold), node.rules & left, node.rules & right)

    def _worth(self, node: _Node, above: np.ndarray) -> np.ndarray:
        """The weight that two leaves would answer rightly with what is allowed to them, per feature and bin."""
        limits = self.limits
        here = np.array([node.rules >> r & 1 for r in range(len(limits.good))], bool)
        forbidden = limits.forbidden[here].astype(np.float64)
        sums = np.cumsum(self.histogram, axis=1)
        worth = np.full(above.shape, -np.inf)
        for f in np.flatnonzero((above >= 0).any(axis=1)):
            bins = np.flatnonzero(above[f] >= 0)
            edges = self.bins.highest(int(f))[bins]
            left = (limits.low[here, f][None] <= edges[:, None]) @ forbidden  # [bins, A]
            right = (limits.high[here, f][None] > edges[:, None]) @ forbidden
            first, second = sums[f, bins], node.counts - sums[f, bins]
            worth[f, bins] = np.where(left == 0, first, -1.0).max(axis=1) + np.where(right == 0, second, -1.0).max(
                axis=1
            )
        return worth


def _finished(limits: Limits, nodes: list[_Node]) -> Tree:
    feature = np.array([node.feature for node in nodes])
    action = np.zeros(len(nodes), int)
    for k, node in enumerate(nodes):
        may = np.array([limits.may(a, node.rules) for a in range(limits.actions)])
        open_to = may if may.any() else np.ones(limits.actions, bool)  # inner nodes may be torn
        action[k] = int(np.argmax(np.where(open_to, node.likely, -1.0)))
    children = np.array([node.children for node in nodes])
    threshold = np.array([node.threshold for node in nodes], np.float32)
    counts = np.array([node.counts for node in nodes])
    return in_preorder(feature, threshold, children[:, 0], children[:, 1], action, counts)


@nb.njit(cache=True, nogil=True)
def _gains(histogram, counts):
    """The gain of a split behind each bin, -inf where there is none, and the next bin that is not empty, or -1."""
    features, bins, classes = histogram.shape
    gains, above = np.full((features, bins), -np.inf), np.full((features, bins), -1)
    whole, squares = 0.0, 0.0
    for k in range(classes):
        whole += counts[k]
        squares += counts[k] * counts[k]
    if squares >= whole * whole * (1.0 - 1e-12):  # pure
        return gains, above
    left = np.empty(classes)
    for f in range(features):
        left[:] = 0.0
        weight, gain, last = 0.0, -np.inf, -1
        for b in range(bins):
            here = 0.0
            for k in range(classes):
                here += histogram[f, b, k]
            if here <= whole * 1e-12:
                continue
            if last >= 0:
                gains[f, last], above[f, last] = gain, b
            weight += here
            rest = whole - weight
            if rest <= whole * 1e-12:
                break
            inside, outside = 0.0, 0.0
            for k in range(classes):
                left[k] += histogram[f, b, k]
                other = counts[k] - left[k]
                inside += left[k] * left[k]
                outside += other * other
            gain = inside / weight + outside / rest - squares / whole
            last = b
    return gains, above
