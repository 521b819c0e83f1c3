"""CART by histograms: Gini, sample weights, a limit of depth or leaves, any number of actions."""

from __future__ import annotations

import numba as nb
import numpy as np

from hydraviper.trees.bins import MOST, Bins
from hydraviper.trees.tree import LEAF, Tree, in_preorder


def grow(
    bins: Bins,
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
    feature, below, above, left, right, counts = _grow(
        bins.binned,
        np.asarray(actions, np.int64),
        np.asarray(weights, np.float64),
        chosen.astype(np.int64),
        action_count,
        depth,
        room,
    )
    threshold = np.zeros(len(feature), np.float32)
    for node in np.flatnonzero(feature != LEAF):
        threshold[node] = bins.threshold(feature[node], below[node], above[node])
    return in_preorder(feature, threshold, left, right, counts.argmax(axis=1), counts)


@nb.njit(cache=True, nogil=True)
def _fill(binned, actions, weights, rows, histogram):
    for p in range(rows.shape[0]):
        i = rows[p]
        action, weight = actions[i], weights[i]
        for f in range(binned.shape[1]):
            histogram[f, binned[i, f], action] += weight


@nb.njit(cache=True, nogil=True)
def _best_split(histogram, counts):
    """The split with the least weighted Gini impurity: gain, feature, last bin to the left, first to the right."""
    features, bins, classes = histogram.shape
    whole, squares = 0.0, 0.0
    for k in range(classes):
        whole += counts[k]
        squares += counts[k] * counts[k]
    best_gain, best_feature, best_below, best_above = -np.inf, LEAF, 0, 0
    if squares >= whole * whole * (1.0 - 1e-12):  # pure
        return best_gain, best_feature, best_below, best_above
    left = np.empty(classes)
    for f in range(features):
        left[:] = 0.0
        weight, gain, last = 0.0, -np.inf, -1
        for b in range(bins):
            here = 0.0
            for k in range(classes):
                here += histogram[f, b, k]
            if here <= whole * 1e-12:  # empty, but for what subtracting histograms leaves behind
                continue
            if last >= 0 and gain > best_gain + 1e-9:
                best_gain, best_feature, best_below, best_above = gain, f, last, b
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
    return best_gain, best_feature, best_below, best_above


@nb.njit(cache=True, nogil=True)
def _grow(binned, actions, weights, rows, classes, depth, room):
    features = binned.shape[1]
    begin, end, level = np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64)
    feature, left, right = np.full(room, LEAF), np.full(room, LEAF), np.full(room, LEAF)
    below, above = np.zeros(room, np.int64), np.zeros(room, np.int64)
    counts = np.zeros((room, classes))
    gains, planned = np.full(room, -np.inf), np.full(room, LEAF)
    # only nodes that may still be split need a histogram: there are at most as many as splits
    histograms = np.zeros(((room + 1) // 2 + 1, features, MOST, classes))
    slot = np.full(room, -1)
    used = 1
    spare = np.empty(len(rows), np.int64)
    end[0] = len(rows)
    for p in range(len(rows)):
        counts[0, actions[rows[p]]] += weights[rows[p]]
    if depth > 0 and room > 2:
        slot[0] = 0
        _fill(binned, actions, weights, rows, histograms[0])
        gains[0], planned[0], below[0], above[0] = _best_split(histograms[0], counts[0])
    nodes = 1
    while nodes + 2 <= room:
        node = np.argmax(gains[:nodes])
        if planned[node] == LEAF or gains[node] == -np.inf:
            break
        feature[node], gains[node] = planned[node], -np.inf
        middle, others = begin[node], 0
        for p in range(begin[node], end[node]):
            if binned[rows[p], feature[node]] <= below[node]:
                rows[middle] = rows[p]
                middle += 1
            else:
                spare[others] = rows[p]
                others += 1
        rows[middle : end[node]] = spare[:others]
        small, large = nodes, nodes + 1  # left and right, whichever has fewer rows is counted
        left[node], right[node] = nodes, nodes + 1
        begin[small], end[small], begin[large], end[large] = begin[node], middle, middle, end[node]
        if end[small] - begin[small] > end[large] - begin[large]:
            small, large = large, small
        for p in range(begin[small], end[small]):
            counts[small, actions[rows[p]]] += weights[rows[p]]
        counts[large] = counts[node] - counts[small]
        level[small] = level[large] = level[node] + 1
        nodes += 2
        if level[small] < depth:
            fresh, parent = used, slot[node]
            used += 1
            _fill(binned, actions, weights, rows[begin[small] : end[small]], histograms[fresh])
            histograms[parent] -= histograms[fresh]
            for child, place in ((small, fresh), (large, parent)):
                slot[child] = place
                gains[child], planned[child], below[child], above[child] = _best_split(
                    histograms[place], counts[child]
                )
    return feature[:nodes], below[:nodes], above[:nodes], left[:nodes], right[:nodes], counts[:nodes]
