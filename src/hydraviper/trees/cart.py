"""CART by histograms: Gini, sample weights, a limit of depth or leaves, any number of actions.

A split is found between bins and then sharpened between the values of the two bins that it parts, so that little
is lost against exact CART, and nothing where every value has a bin of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from hydraviper.trees.bins import Bins, Columns
from hydraviper.trees.tree import LEAF, Tree, in_preorder


class _Data(NamedTuple):
    binned: np.ndarray  # [S, F]
    features: np.ndarray  # [S, F]
    actions: np.ndarray  # [S]
    weights: np.ndarray  # [S]
    rows: np.ndarray  # those that the tree is grown on; every node's rows stand side by side


class _Nodes(NamedTuple):
    begin: np.ndarray  # where its rows begin among all
    end: np.ndarray
    level: np.ndarray
    feature: np.ndarray  # what it asks for, or would ask for if it were split
    threshold: np.ndarray
    gain: np.ndarray  # of that question
    left: np.ndarray  # LEAF until it is split
    right: np.ndarray
    counts: np.ndarray  # [nodes, actions]
    slot: np.ndarray  # which histogram it holds, while it may be split

    @staticmethod
    def empty(room: int, action_count: int) -> _Nodes:
        begin, end, level = (np.zeros(room, np.int64) for _ in range(3))
        feature, left, right, slot = (np.full(room, LEAF, np.int64) for _ in range(4))
        gain, counts = np.full(room, -np.inf), np.zeros((room, action_count))
        return _Nodes(begin, end, level, feature, np.zeros(room, np.float32), gain, left, right, counts, slot)


def grow(
    bins: Bins | Columns,
    actions: np.ndarray,
    weights: np.ndarray,
    action_count: int,
    depth: int,
    most_leaves: int | None = None,
    rows: np.ndarray | None = None,
) -> Tree:
    """Grow a tree on the rows (default: all) with weights [S] > 0, best split first.

    With a limit of leaves the splits that gain most come first; with a limit of depth alone the order is of no
    consequence. Splits whose leaves agree are kept: see `Tree.merged`.
    """
    chosen = np.flatnonzero(weights > 0) if rows is None else rows[weights[rows] > 0]
    room = int(min(2 ** (depth + 1) - 1, 2 * max(len(chosen), 1) - 1, 2 * (most_leaves or 2**60) - 1))
    data = _Data(
        bins.binned,
        bins.features,
        np.ascontiguousarray(actions, np.int64),
        np.ascontiguousarray(weights, np.float64),
        chosen.astype(np.int64),
    )
    nodes = _Nodes.empty(room, action_count)
    # a node that may be split holds a histogram: depth first, at most one per level waits; best first, one per leaf
    slots = min(depth + 1, room) if most_leaves is None else (room + 1) // 2 + 1
    histograms = np.empty((slots, bins.binned.shape[1], bins.most, action_count))
    size = _grow(data, nodes, histograms, depth if room > 2 else 0, most_leaves is not None)
    left, right, counts = nodes.left[:size], nodes.right[:size], nodes.counts[:size]
    feature = np.where(left == LEAF, LEAF, nodes.feature[:size])
    return in_preorder(feature, nodes.threshold[:size], left, right, counts.argmax(axis=1), counts)


@nb.njit(cache=True, nogil=True)
def fill(binned, actions, weights, rows, histogram):
    """Sum the rows' weights per feature, bin and action."""
    # loops instead of whole-array expressions, which take long to compile
    for f in range(histogram.shape[0]):
        for b in range(histogram.shape[1]):
            for k in range(histogram.shape[2]):
                histogram[f, b, k] = 0.0
    for p in range(rows.shape[0]):
        i = rows[p]
        action, weight = actions[i], weights[i]
        for f in range(binned.shape[1]):
            histogram[f, binned[i, f], action] += weight


@nb.njit(cache=True, nogil=True)
def _subtract(histogram, part):
    for f in range(histogram.shape[0]):
        for b in range(histogram.shape[1]):
            for k in range(histogram.shape[2]):
                histogram[f, b, k] -= part[f, b, k]


@nb.njit(cache=True, nogil=True)
def split_gains(histogram, counts, gains, above):
    """How much a split behind each bin lowers the weighted Gini impurity, and the next bin that is not empty.

    Writes gains [F, bins], -inf where there is no split, and above [F, bins], -1 there.
    """
    features, bins, classes = histogram.shape
    whole, squares = 0.0, 0.0
    for k in range(classes):
        whole += counts[k]
        squares += counts[k] * counts[k]
    pure = squares >= whole * whole * (1.0 - 1e-12)
    left = np.empty(classes)
    for f in range(features):
        left[:] = 0.0
        weight, gain, last = 0.0, -np.inf, -1
        for b in range(bins):
            gains[f, b], above[f, b] = -np.inf, -1
        for b in range(0 if pure else bins):
            here = 0.0
            for k in range(classes):
                here += histogram[f, b, k]
            if here <= whole * 1e-12:  # empty, but for what subtracting histograms leaves behind
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


@nb.njit(cache=True, nogil=True)
def sharpen(binned, features, actions, weights, rows, histogram, counts, split):
    """The best threshold between the values of two bins of a feature, as (feature, below, above): gain, threshold."""
    feature, below, above = split
    classes = len(counts)
    size = 0
    for p in range(len(rows)):
        size += below <= binned[rows[p], feature] <= above
    near, values = np.empty(size, np.int64), np.empty(size, np.float32)
    size = 0
    for p in range(len(rows)):
        if below <= binned[rows[p], feature] <= above:
            near[size], values[size] = rows[p], features[rows[p], feature]
            size += 1
    left = np.zeros(classes)
    whole, squares, weight = 0.0, 0.0, 0.0
    for k in range(classes):
        for b in range(below):
            left[k] += histogram[feature, b, k]
        whole += counts[k]
        squares += counts[k] * counts[k]
        weight += left[k]
    order = np.argsort(values)
    best_gain, best_threshold = -np.inf, np.float32(0.0)
    for n in range(size - 1):
        i = near[order[n]]
        left[actions[i]] += weights[i]
        weight += weights[i]
        low, high = values[order[n]], values[order[n + 1]]
        if low == high:
            continue
        inside, outside = 0.0, 0.0
        for k in range(classes):
            inside += left[k] * left[k]
            outside += (counts[k] - left[k]) * (counts[k] - left[k])
        gain = inside / weight + outside / (whole - weight) - squares / whole
        if gain > best_gain + 1e-9:
            middle = np.float32((np.float64(low) + np.float64(high)) / 2.0)
            # rounding must not move a value to the other side
            best_gain, best_threshold = gain, middle if middle < high else low
    return best_gain, best_threshold


@nb.njit(cache=True, nogil=True)
def _grow(data, nodes, histograms, depth, best_first):
    """Split nodes while there is a gain and room for two more; how many nodes there are then."""
    shape = histograms.shape[1:3]
    scratch = np.empty(shape), np.empty(shape, np.int64), np.empty(len(data.rows), np.int64)
    free, unused = np.arange(len(histograms)), len(histograms) - 1  # a stack of histograms that nobody holds
    waiting, waits, size = np.zeros(len(nodes.begin), np.int64), 0, 1
    nodes.end[0], nodes.slot[0] = len(data.rows), free[unused]
    _count(data, nodes, 0)
    if depth > 0:
        fill(data.binned, data.actions, data.weights, data.rows, histograms[nodes.slot[0]])
        waits += _plan(data, nodes, 0, histograms, scratch)
    while waits > 0 and size + 2 <= len(nodes.begin):
        chosen = waits - 1
        if best_first:
            for n in range(waits):
                if nodes.gain[waiting[n]] > nodes.gain[waiting[chosen]]:
                    chosen = n
        node = waiting[chosen]
        waits -= 1
        waiting[chosen] = waiting[waits]
        small, large = _split(data, nodes, node, size, scratch)
        size += 2
        if nodes.level[small] == depth:
            free[unused] = nodes.slot[node]
            unused += 1
            continue
        unused -= 1
        nodes.slot[small], nodes.slot[large] = free[unused], nodes.slot[node]
        rows = data.rows[nodes.begin[small] : nodes.end[small]]
        fill(data.binned, data.actions, data.weights, rows, histograms[nodes.slot[small]])
        _subtract(histograms[nodes.slot[large]], histograms[nodes.slot[small]])
        for child in (small, large):
            if _plan(data, nodes, child, histograms, scratch):
                waiting[waits] = child
                waits += 1
            else:
                free[unused] = nodes.slot[child]
                unused += 1
    return size


@nb.njit(cache=True, nogil=True)
def _count(data, nodes, node):
    for p in range(nodes.begin[node], nodes.end[node]):
        nodes.counts[node, data.actions[data.rows[p]]] += data.weights[data.rows[p]]


@nb.njit(cache=True, nogil=True)
def _plan(data, nodes, node, histograms, scratch):
    """Find the question that a node would ask; whether there is one."""
    histogram, counts, gains, above = histograms[nodes.slot[node]], nodes.counts[node], scratch[0], scratch[1]
    split_gains(histogram, counts, gains, above)
    best, split = -np.inf, (LEAF, 0, 0)
    for f in range(gains.shape[0]):
        for b in range(gains.shape[1]):
            if gains[f, b] > best + 1e-9:
                best, split = gains[f, b], (f, b, above[f, b])
    if split[0] == LEAF:
        return False
    rows = data.rows[nodes.begin[node] : nodes.end[node]]
    nodes.feature[node] = split[0]
    nodes.gain[node], nodes.threshold[node] = sharpen(
        data.binned, data.features, data.actions, data.weights, rows, histogram, counts, split
    )
    return True


@nb.njit(cache=True, nogil=True)
def _split(data, nodes, node, size, scratch):
    """Make nodes `size` and `size + 1` from a node's rows, in order; return the one with fewer rows first."""
    rows, spare, middle, others = data.rows, scratch[2], nodes.begin[node], 0
    feature, threshold = nodes.feature[node], nodes.threshold[node]
    for p in range(nodes.begin[node], nodes.end[node]):  # without a branch: nobody could predict it
        row = rows[p]
        goes_left = data.features[row, feature] <= threshold
        rows[middle], spare[others] = row, row
        middle += goes_left
        others += not goes_left
    for n in range(others):
        rows[middle + n] = spare[n]
    left, right = size, size + 1
    nodes.left[node], nodes.right[node] = left, right
    nodes.begin[left], nodes.end[left] = nodes.begin[node], middle
    nodes.begin[right], nodes.end[right] = middle, nodes.end[node]
    nodes.level[left] = nodes.level[right] = nodes.level[node] + 1
    small, large = (left, right) if 2 * middle <= nodes.begin[node] + nodes.end[node] else (right, left)
    _count(data, nodes, small)
    for k in range(nodes.counts.shape[1]):
        nodes.counts[large, k] = nodes.counts[node, k] - nodes.counts[small, k]
    return small, large
