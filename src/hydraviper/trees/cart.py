"""CART by histograms: Gini, sample weights, a limit of depth or leaves, any number of actions.

A split is found between bins and then sharpened between the values of the two bins that it parts, so that little
is lost against exact CART, and nothing where every value has a bin of its own.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from hydraviper.trees.bins import MOST, Bins, Columns
from hydraviper.trees.tree import LEAF, Tree, in_preorder


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
    feature, threshold, left, right, counts = _grow(
        bins.binned,
        bins.features,
        np.ascontiguousarray(actions, np.int64),
        np.ascontiguousarray(weights, np.float64),
        chosen.astype(np.int64),
        action_count,
        depth,
        room,
        most_leaves is not None,
    )
    return in_preorder(feature, threshold, left, right, counts.argmax(axis=1), counts)


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
def sharpen(binned, features, actions, weights, rows, histogram, counts, split):
    """The best cut between the values of the two bins that a split parts: gain and threshold."""
    _, feature, below, above = split
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
def _grow(binned, features, actions, weights, rows, classes, depth, room, best_first):
    begin, end, level = np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64)
    feature, left, right = np.full(room, LEAF), np.full(room, LEAF), np.full(room, LEAF)
    threshold = np.zeros(room, np.float32)
    counts = np.zeros((room, classes))
    gains, planned = np.full(room, -np.inf), np.full(room, LEAF)
    # A node that may be split holds a histogram. Depth first, at most one per level waits; best first, one per leaf.
    places = min(depth + 1, room) if not best_first else (room + 1) // 2 + 1
    histograms = np.empty((places, binned.shape[1], MOST, classes))
    free, slot = np.arange(places), np.full(room, -1)
    left_free = places
    waiting, waits = np.empty(room, np.int64), 0
    spare = np.empty(len(rows), np.int64)
    end[0], nodes = len(rows), 1
    for p in range(len(rows)):
        counts[0, actions[rows[p]]] += weights[rows[p]]
    if depth > 0 and room > 2:
        left_free -= 1
        slot[0] = free[left_free]
        fill(binned, actions, weights, rows, histograms[slot[0]])
        split = _best_split(histograms[slot[0]], counts[0])
        if split[1] != LEAF:
            planned[0] = split[1]
            gains[0], threshold[0] = sharpen(
                binned, features, actions, weights, rows, histograms[slot[0]], counts[0], split
            )
            waiting[0], waits = 0, 1
    while nodes + 2 <= room and waits > 0:
        chosen = waits - 1
        if best_first:
            for n in range(waits):
                if gains[waiting[n]] > gains[waiting[chosen]]:
                    chosen = n
        node = waiting[chosen]
        waits -= 1
        waiting[chosen] = waiting[waits]
        feature[node] = planned[node]
        middle, others = begin[node], 0
        for p in range(begin[node], end[node]):
            if features[rows[p], feature[node]] <= threshold[node]:
                rows[middle] = rows[p]
                middle += 1
            else:
                spare[others] = rows[p]
                others += 1
        for n in range(others):
            rows[middle + n] = spare[n]
        small, large = nodes, nodes + 1  # left and right, whichever has fewer rows is counted
        left[node], right[node] = nodes, nodes + 1
        begin[small], end[small], begin[large], end[large] = begin[node], middle, middle, end[node]
        if end[small] - begin[small] > end[large] - begin[large]:
            small, large = large, small
        for p in range(begin[small], end[small]):
            counts[small, actions[rows[p]]] += weights[rows[p]]
        for k in range(classes):
            counts[large, k] = counts[node, k] - counts[small, k]
        level[small] = level[large] = level[node] + 1
        nodes += 2
        slot[large] = slot[node]
        if level[small] == depth:
            free[left_free] = slot[node]
            left_free += 1
            continue
        left_free -= 1
        slot[small] = free[left_free]
        fill(binned, actions, weights, rows[begin[small] : end[small]], histograms[slot[small]])
        _subtract(histograms[slot[large]], histograms[slot[small]])
        for child in (small, large):
            split = _best_split(histograms[slot[child]], counts[child])
            if split[1] == LEAF:
                free[left_free] = slot[child]
                left_free += 1
                continue
            planned[child] = split[1]
            own = rows[begin[child] : end[child]]
            gains[child], threshold[child] = sharpen(
                binned, features, actions, weights, own, histograms[slot[child]], counts[child], split
            )
            waiting[waits] = child
            waits += 1
    return feature[:nodes], threshold[:nodes], left[:nodes], right[:nodes], counts[:nodes]
