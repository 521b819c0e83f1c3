"""The nearest value of one feature that changes a tree's answer, all other features as they are.

Ranges of float32 values are judged as a whole: each operation of a derived feature is monotone, rounding included, so
the ends of a range bound its value for everything inside. A range in which the tree may answer both ways is halved,
the nearer half first, down to single values, where the bounds meet. So no value is missed. Only where a feature stays
at a threshold for millions of values does the search give up, and then it says how far it came.
"""

from dataclasses import dataclass
from math import ldexp

import numba as nb
import numpy as np

from hydraviper.data import HIGHEST
from hydraviper.trees.derived import (
    ABSOLUTE,
    DIFFERENCE,
    EXPRESSION,
    LENGTH,
    MAX,
    MIN,
    MINUS,
    NUMBER,
    OPEN,
    PLUS,
    SIZE,
    VALUE,
    combined,
    length,
    table,
)
from hydraviper.trees.tree import LEAF, Tree

_QUICK, _PATIENCE = 1_000, 60_000  # ranges to judge on each side: in a first search, and in a second if that failed
_SAMPLES = 1_000  # values to try on each side beforehand, evenly among the floats and evenly around the value
_LAST = 0x7F7FFFFF  # the number of the largest float32, counted from 0
_SAME, _OTHER, _BOTH = range(3)


@dataclass(frozen=True)
class Flip:
    """The nearest value that changes the answer."""

    to: float | None  # the nearest value with another answer that was found; None: there is none, or none was found
    searched: float  # no change smaller than this changes the answer
    settled: bool  # whether nothing nearer than `to` does it; without `to`, whether no value at all does


def nearest_flip(tree: Tree, row: np.ndarray, feature: int) -> Flip:
    """Search both directions from an observation [F] of float32."""
    flip = _search(tree, row, feature, None, _QUICK)
    return flip if flip.settled else _search(tree, row, feature, _sampled(tree, row, feature), _PATIENCE)


def _search(tree: Tree, row: np.ndarray, feature: int, to: float | None, patience: int) -> Flip:
    """Search both directions, up to `to`, a value that changes the answer, if there is one."""
    now, origin = float(row[feature]), int(ordinals(row[feature : feature + 1])[0])
    limit, searched = np.inf if to is None else abs(to - now), np.inf
    action = tree.action[tree.path(row)[-1]]
    columns = (tree.feature, tree.threshold, tree.left, tree.right, tree.action, *table(tree.derived))
    for way in (-1, 1):
        with np.errstate(over="ignore"):
            end = int(ordinals(np.array([now + way * limit], np.float32))[0])
        steps = max(0, min(abs(end - origin), _LAST - way * origin))
        found, clear = _first_flip(row, feature, origin, way, steps, action, *columns, patience)
        nearest = _value(origin + way * (found or min(clear + 1, steps)))  # or the first that is not known
        if found and abs(nearest - now) < limit:
            limit, to = abs(nearest - now), nearest
        elif not found and clear < steps:
            searched = min(searched, abs(nearest - now))
    return Flip(to, min(searched, limit), searched >= limit)


def _sampled(tree: Tree, row: np.ndarray, feature: int) -> float | None:
    """A value near by with another answer: the nearest of a sample, then halving."""
    reach = 4 * max(1.0, float(np.abs(row).max()))
    even = np.linspace(-_LAST, _LAST, 2 * _SAMPLES + 1).astype(np.int64)
    near = np.clip(row[feature] + np.linspace(-reach, reach, 2 * _SAMPLES + 1), -3e38, 3e38).astype(np.float32)
    values = np.concatenate([values_of(even), near])

    def flips(tried: np.ndarray) -> np.ndarray:
        rows = np.repeat(row[None], len(tried) + 1, axis=0)
        rows[1:, feature] = tried
        actions = tree.predict(rows)
        return actions[1:] != actions[0]

    other = values[flips(values)].astype(float)
    if not len(other):
        return None
    here = int(ordinals(row[feature : feature + 1])[0])
    there = int(ordinals(other[np.abs(other - float(row[feature])).argmin()].astype(np.float32)[None])[0])
    while abs(there - here) > 1:
        middle = (here + there) // 2
        here, there = (here, middle) if flips(values_of(np.array([middle])))[0] else (middle, there)
    return _value(there)


def ordinals(values: np.ndarray) -> np.ndarray:
    """Number the float32 values in their order, 0 being 0, so that halving a range halves how many values are in it."""
    bits = np.ascontiguousarray(values, np.float32).view(np.int32).astype(np.int64)
    return np.where(bits >= 0, bits, -(bits & 0x7FFFFFFF))


def values_of(numbers: np.ndarray) -> np.ndarray:
    """The float32 values of such numbers."""
    bits = np.where(numbers >= 0, numbers, -numbers | 0x80000000)
    return bits.astype(np.uint32).view(np.float32)


def _value(number: int) -> float:
    return float(values_of(np.array([number]))[0])


# --------------------------------------------------------------------------- kernels


@nb.njit(cache=True, nogil=True)
def _first_flip(row, feature, origin, way, steps, action, asked, threshold, left, right, actions, starts, terms, most):
    """The first of so many steps from the origin at which the answer is another (0: none), and how many are clear."""
    reached, low, high = np.zeros(len(asked), np.bool_), row.copy(), row.copy()
    first, last = np.empty(64, np.int64), np.empty(64, np.int64)  # ranges to judge, the nearest on top
    first[0], last[0], height, judged = 1, steps, 1 if steps > 0 else 0, 0
    while height:
        height -= 1
        a, b = first[height], last[height]
        judged += 1
        if judged > most:
            return 0, a - 1
        ends = _float(origin + way * a), _float(origin + way * b)
        low[feature], high[feature] = min(ends), max(ends)
        answers = _answers(low, high, action, asked, threshold, left, right, actions, starts, terms, reached)
        if answers == _OTHER:
            return a, a - 1
        if answers == _BOTH:
            middle = (a + b) // 2
            first[height], last[height] = middle + 1, b
            first[height + 1], last[height + 1] = a, middle
            height += 2
    return 0, steps


@nb.njit(cache=True, nogil=True)
def _float(number):
    """The float32 with this number, see `ordinals`."""
    size = abs(number)
    power, digits = size >> 23, size & 0x7FFFFF
    value = ldexp(float(digits), -149) if power == 0 else ldexp(float(digits + (1 << 23)), power - 150)
    return np.float32(value if number >= 0 else -value)


@nb.njit(cache=True, nogil=True)
def _answers(low, high, action, asked, threshold, left, right, actions, starts, terms, reached):
    """Whether the tree may answer with the action, with others or with both to observations from low [F] to high."""
    reached[:] = False
    reached[0] = True
    same = other = False
    for node in range(len(asked)):  # children stand behind their parent
        if not reached[node]:
            continue
        f = asked[node]
        if f == LEAF:
            same, other = same or actions[node] == action, other or actions[node] != action
            if same and other:
                return _BOTH
            continue
        if f < len(low):
            least, most = low[f], high[f]
        else:
            least, most = _bounds(low, high, starts[f - len(low)], starts[f - len(low) + 1], terms)
        reached[left[node]] = least <= threshold[node]
        reached[right[node]] = not most <= threshold[node]  # what is not a number goes right
    return _SAME if same else _OTHER


@nb.njit(cache=True, nogil=True)
def _bounds(low, high, start, end, terms):
    """The least and the largest value of a derived feature, as `derived.value_of` computes it."""
    least, most = np.zeros(HIGHEST, np.float32), np.zeros(HIGHEST, np.float32)  # of the pile, its top at k
    k, empty = 0, True
    for t in range(start, end):
        kind = terms[t, 0]
        if kind == OPEN:
            k, empty = k + 1, True
        elif kind == ABSOLUTE:
            least[k], most[k] = _size_bounds(least[k], most[k])
        elif kind > OPEN:
            k -= 1
            least[k], most[k] = _combined_bounds(kind, least[k], most[k], least[k + 1], most[k + 1])
        elif kind != EXPRESSION:
            small, large = _summand_bounds(low, high, terms[t])
            if terms[t, 1] < 0:
                small, large = -large, -small
            if not empty:
                small, large = _combined_bounds(PLUS, least[k], most[k], small, large)
            least[k], most[k], empty = small, large, False
    return least[0], most[0]


@nb.njit(cache=True, nogil=True)
def _combined_bounds(kind, least, most, small, large):
    """The least and the largest result of an operation on a number from least to most and one from small to large."""
    if kind == MINUS:
        small, large = large, small  # the least difference is that to the largest
    if kind == LENGTH:
        (least, most), (small, large) = _size_bounds(least, most), _size_bounds(small, large)
    first, last = combined(kind, least, small), combined(kind, most, large)
    if kind in (PLUS, MINUS, LENGTH):
        unknown = np.isnan(first) != np.isnan(last)  # infinity less infinity, for some of the values
    elif kind in (MIN, MAX):
        unknown = np.isnan(least + most + small + large) and not (_is_point(least, most) and _is_point(small, large))
    else:
        second, third = combined(kind, least, large), combined(kind, most, small)
        unknown = np.isnan(first + last + second + third) and not (_is_point(least, most) and _is_point(small, large))
        first, last = min(first, last, second, third), max(first, last, second, third)
    if unknown:
        return np.float32(-np.inf), np.float32(np.inf)
    return first, last


@nb.njit(cache=True, nogil=True)
def _is_point(least, most):
    return least == most or (np.isnan(least) and np.isnan(most))


@nb.njit(cache=True, nogil=True)
def _summand_bounds(low, high, term):
    """The least and the largest value of one summand without its sign."""
    kind = term[0]
    if kind == NUMBER:
        value = np.float32(ldexp(float(term[2]), term[3]))
        return value, value
    x = low[term[2]], high[term[2]]
    if kind == VALUE:
        return x
    if kind == SIZE:
        return _size_bounds(x[0], x[1])
    y = low[term[3]], high[term[3]]
    if kind == DIFFERENCE:
        x, y = _difference_bounds(low, high, term[2], term[4]), _difference_bounds(low, high, term[3], term[5])
    x, y = _size_bounds(x[0], x[1]), _size_bounds(y[0], y[1])
    return length(x[0], y[0]), length(x[1], y[1])


@nb.njit(cache=True, nogil=True)
def _difference_bounds(low, high, f, subtracted):
    """The least and the largest difference of two features."""
    if f == subtracted:
        return np.float32(0.0), np.float32(0.0)
    return np.float32(low[f] - high[subtracted]), np.float32(high[f] - low[subtracted])


@nb.njit(cache=True, nogil=True)
def _size_bounds(least, most):
    """The least and the largest absolute value of numbers from least to most."""
    if least >= 0:
        return least, most
    if most <= 0:
        return -most, -least
    return np.float32(0.0), max(-least, most)
