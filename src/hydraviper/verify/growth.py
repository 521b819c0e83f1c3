"""Constrained growth: CART that keeps to bounds, by taking only splits after which a tree can still keep to them.

Both sides of a split must be able to satisfy every box that reaches them with the questions and leaves that remain.
Where no split of the data allows that, the tree asks a question at the border of a box. A leaf gets the heaviest action
that is allowed there, and the last split of a path maximises the weight that its two leaves then get right.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from hydraviper.data import JobError
from hydraviper.trees.bins import MOST, Bins
from hydraviper.trees.cart import fill, sharpen, split_gains
from hydraviper.trees.counts import recount
from hydraviper.trees.tree import LEAF, Tree, in_preorder
from hydraviper.verify.bounds import Bounds
from hydraviper.verify.mending import mend

_SPARE = 2  # the most questions of a path that are kept free to mend a shorter tree with
_TRIES = 64  # splits of the data that are tried before a question at a border is asked


@dataclass
class _Node:
    rows: np.ndarray
    boxes: int  # those that reach it, a bit mask
    level: int
    counts: np.ndarray  # [A]
    likely: np.ndarray  # [A] counts that decide the action: its own, or the parent's if no row reaches it
    feature: int = LEAF
    threshold: float = 0.0
    children: tuple[int, int] = (LEAF, LEAF)


@dataclass(frozen=True)
class _Split:
    gain: float
    feature: int
    threshold: float
    left: int  # boxes that reach each side, bit masks
    right: int


def grow_within(
    bounds: Bounds, bins: Bins, actions: np.ndarray, weights: np.ndarray, depth: int, most_leaves: int | None = None
) -> Tree:
    """Grow a tree on the rows with weights [S] > 0 that keeps to bounds, for which `check_possible` must pass.

    The candidates are a tree grown within the bounds, and shorter trees grown freely and then mended with the
    remaining questions; the one that agrees most with the expert's actions wins.
    """
    candidates = [_grow(bounds, bins, actions, weights, depth, most_leaves)]
    whole = bounds.depth_limit(depth)
    if bounds.good and bounds.leaf_limit(most_leaves) is None:
        rows = np.flatnonzero(weights > 0)
        seen, labels = bins.features[rows], actions[rows]
        costs = (1.0 - np.eye(bounds.actions)[labels]) * weights[rows, None]
        free = replace(bounds, low=bounds.low[:0], high=bounds.high[:0], good=(), sources=(), most_depth=None)
        for spare in range(1, min(_SPARE, whole - 1) + 1):
            short = _grow(free, bins, actions, weights, whole - spare, None)
            try:
                mended = mend(bounds, short, seen, whole, costs=costs, deepest=whole)
            except JobError:
                continue
            counted = recount(mended, seen, labels, weights[rows])
            candidates.append(replace(counted, action=mended.action))
    return max(candidates, key=lambda tree: tree.fidelity)


def _grow(
    bounds: Bounds, bins: Bins, actions: np.ndarray, weights: np.ndarray, depth: int, most_leaves: int | None
) -> Tree:
    """CART within the bounds, the split with the highest gain first."""
    depth, leaves = bounds.depth_limit(depth), bounds.leaf_limit(most_leaves) or 2**60
    rows = np.flatnonzero(weights > 0)
    counts = np.bincount(actions[rows], weights[rows], bounds.actions)
    nodes = [_Node(rows, bounds.all, 0, counts, counts)]
    reserved = bounds.fewest(bounds.all, depth)  # the fewest leaves that the finished tree can have
    finder = _SplitFinder(bounds, bins, np.ascontiguousarray(actions, np.int64), np.asarray(weights, float), depth)
    plans = {0: finder.plan(nodes[0], leaves)}
    while plans:
        at = max(plans, key=lambda node: (math.inf if plans[node] is None else plans[node].gain, -node))  # type: ignore[union-attr]
        node, split = nodes[at], plans.pop(at)
        if split is None:
            continue
        needed = bounds.fewest(node.boxes, depth - node.level)
        cost = sum(bounds.fewest(boxes, depth - node.level - 1) for boxes in (split.left, split.right))
        if reserved - needed + cost > leaves:
            split = finder.plan(node, int(leaves - reserved + needed))  # another split may need fewer leaves
            if split is None:
                continue
            cost = sum(bounds.fewest(boxes, depth - node.level - 1) for boxes in (split.left, split.right))
        reserved += cost - needed
        goes_left = bins.features[node.rows, split.feature] <= np.float32(split.threshold)
        node.feature, node.threshold, node.children = split.feature, split.threshold, (len(nodes), len(nodes) + 1)
        for part, boxes in ((node.rows[goes_left], split.left), (node.rows[~goes_left], split.right)):
            counts = np.bincount(actions[part], weights[part], bounds.actions)
            nodes.append(_Node(part, boxes, node.level + 1, counts, node.counts if counts.sum() == 0 else counts))
            plans[len(nodes) - 1] = finder.plan(nodes[-1], leaves)
    return _finished(bounds, nodes)


class _SplitFinder:
    """Finds splits for the nodes of one tree."""

    def __init__(self, bounds: Bounds, bins: Bins, actions: np.ndarray, weights: np.ndarray, depth: int) -> None:
        self.bounds, self.bins, self.depth = bounds, bins, depth
        self.samples = bins.binned, bins.features, actions, weights
        shape = bins.binned.shape[1], MOST
        self.histogram = np.empty((*shape, bounds.actions))
        self.gains, self.above = np.empty(shape), np.empty(shape, np.int64)

    def plan(self, node: _Node, leaves: int) -> _Split | None:
        """The best split whose sides need at most this many leaves together; None to make the node a leaf."""
        bounds, left = self.bounds, self.depth - node.level
        if left == 0 or leaves < 2:
            return None
        conflict = not bounds.allowed(node.boxes)
        if len(node.rows):
            binned, _, actions, weights = self.samples
            fill(binned, actions, weights, node.rows, self.histogram)
            gains, above = self.gains, self.above
            split_gains(self.histogram, node.counts, gains, above)
            gains[bounds.banned] = -np.inf
            worth = self._worth(node, above) if left == 1 and node.boxes else gains
            for at in np.lexsort((-gains.ravel(), -worth.ravel()))[:_TRIES]:
                feature, below = divmod(int(at), MOST)
                if gains[feature, below] == -np.inf:
                    break
                found = self._sharpened(node, feature, below, int(above[feature, below]))
                cost = bounds.fewest(found.left, left - 1) + bounds.fewest(found.right, left - 1)
                if cost <= leaves and math.isfinite(cost):
                    return found
        if not conflict:
            return None
        question = bounds.forced(node.boxes, left)
        if question is None:
            return None
        parts = node.boxes & question.left, node.boxes & question.right
        return _Split(math.inf, question.feature, float(np.float32(question.threshold)), *parts)

    def _sharpened(self, node: _Node, feature: int, below: int, above: int) -> _Split:
        split = feature, below, above
        gain, threshold = sharpen(*self.samples, node.rows, self.histogram, node.counts, split)
        left, right = self.bounds.sides(feature, float(threshold))
        return _Split(gain, feature, float(threshold), node.boxes & left, node.boxes & right)

    def _worth(self, node: _Node, above: np.ndarray) -> np.ndarray:
        """The weight that two leaves get right with their allowed actions, for a split behind each feature's bins."""
        bounds = self.bounds
        here = np.array([node.boxes >> r & 1 for r in range(len(bounds.good))], bool)
        forbidden = bounds.forbidden[here].astype(np.float64)
        sums = np.cumsum(self.histogram, axis=1)
        worth = np.full(above.shape, -np.inf)
        for f in np.flatnonzero((above >= 0).any(axis=1)):
            bins = np.flatnonzero(above[f] >= 0)
            edges = self.bins.highest(int(f))[bins]
            left = (bounds.low[here, f][None] <= edges[:, None]) @ forbidden  # [bins, A]
            right = (bounds.high[here, f][None] > edges[:, None]) @ forbidden
            first, second = sums[f, bins], node.counts - sums[f, bins]
            worth[f, bins] = np.where(left == 0, first, -1.0).max(axis=1) + np.where(right == 0, second, -1.0).max(
                axis=1
            )
        return worth


def _finished(bounds: Bounds, nodes: list[_Node]) -> Tree:
    feature = np.array([node.feature for node in nodes])
    action = np.zeros(len(nodes), int)
    for k, node in enumerate(nodes):
        may = np.array([bounds.may(a, node.boxes) for a in range(bounds.actions)])
        open_to = may if may.any() else np.ones(bounds.actions, bool)  # boxes at an inner node may leave no action
        action[k] = int(np.argmax(np.where(open_to, node.likely, -1.0)))
    children = np.array([node.children for node in nodes])
    threshold = np.array([node.threshold for node in nodes], np.float32)
    counts = np.array([node.counts for node in nodes])
    return in_preorder(feature, threshold, children[:, 0], children[:, 1], action, counts)
