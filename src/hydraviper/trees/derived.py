"""Derived features (see data.Derived), computed in a fixed order, so that every caller gets the same bits."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import frexp, ldexp
from typing import TypeVar

import numba as nb
import numpy as np

from hydraviper.data import OPERATIONS, Derived, Term

Number = TypeVar("Number")

# Rows of a table. A feature that is no mere sum begins with a row EXPRESSION.
VALUE, SIZE, DISTANCE, DIFFERENCE, NUMBER, EXPRESSION = range(6)
OPEN, ABSOLUTE, PLUS, MINUS, TIMES, MIN, MAX, LENGTH = range(6, 14)
_KINDS = {("value", 1): VALUE, ("size", 1): SIZE, ("distance", 2): DISTANCE, ("distance", 4): DIFFERENCE}
_KINDS |= {("number", 0): NUMBER} | {(kind, 0): OPEN + k for k, kind in enumerate(OPERATIONS)}
_DIGITS = 24  # of a float32


def extend(features: np.ndarray, derived: Sequence[Derived]) -> np.ndarray:
    """The observations [B, F] in single precision, with the derived features behind them, [B, F + D]."""
    features = single(features)
    if not derived:
        return features
    out = np.empty((len(features), features.shape[1] + len(derived)), np.float32)
    starts, terms = table(tuple(derived))
    _extend_into(features, starts, terms[None], out)
    return out


def single(observations: np.ndarray) -> np.ndarray:
    """Observations as every tree sees them, here and in every export: rounded to float32."""
    if isinstance(observations, np.ndarray) and observations.dtype == np.float32:
        return observations
    with np.errstate(over="ignore"):  # what is too large becomes infinite, as in C
        return np.asarray(observations, np.float32)


def carry_out(feature: Derived, summand: Callable[[Term], Number], operate: Callable[..., Number]) -> Number:
    """The result of a derived feature's steps on numbers of any kind: bounds, names of variables, columns.

    `operate` is given plus, minus, negative or the name of an operation, and the numbers it is done with.
    """
    pile: list[Number | None] = [None]
    for term in feature.terms:
        if term.kind == "open":
            pile.append(None)
        elif (needed := OPERATIONS.get(term.kind)) is not None:
            numbers = [pile.pop() for _ in range(needed)][::-1]
            pile.append(operate(term.kind, *numbers))
        elif (top := pile.pop()) is None:
            pile.append(summand(term) if term.sign > 0 else operate("negative", summand(term)))
        else:
            pile.append(operate("plus" if term.sign > 0 else "minus", top, summand(term)))
    (result,) = pile
    assert result is not None  # `Derived` has checked it
    return result


@lru_cache(maxsize=256)
def table(derived: tuple[Derived, ...]) -> tuple[np.ndarray, np.ndarray]:
    """For the kernel: where each feature's rows begin [D + 1], and the rows: kind, sign, four inputs [rows, 6]."""
    programs: list[list[tuple[int, ...]]] = [
        [] if feature.is_sum else [(EXPRESSION, 0, 0, 0, 0, 0)] for feature in derived
    ]
    for program, feature in zip(programs, derived, strict=True):
        program += map(_row, feature.terms)
    starts = np.cumsum([0, *map(len, programs)])
    rows = [row for program in programs for row in program]
    return starts.astype(np.int64), np.array(rows, np.int64).reshape(-1, 6)


def _row(term: Term) -> tuple[int, ...]:
    """A step as numbers; a number x as (digits, power), which are x = digits * 2 ** power."""
    share, power = frexp(term.number)
    inputs = (int(ldexp(share, _DIGITS)), power - _DIGITS) if term.kind == "number" else term.inputs
    return _KINDS[term.kind, len(term.inputs)], term.sign, *inputs, *(0,) * (4 - len(inputs))


@nb.njit(cache=True, nogil=True, inline="always")
def value_of(seen, r, first, last, a, terms):
    """A derived feature in row r of seen [B, F]: rows first to last of terms[a].

    Arrays are indexed, never sliced or put into tuples: either costs more than a node of a tree.
    """
    if terms[a, first, 0] == EXPRESSION:
        total = _expression(seen, r, first + 1, last, a, terms)
    else:
        total = np.float32(0.0)
        for t in range(first, last):
            value = _summand(seen, r, t, a, terms)
            if t == first:
                total = value if terms[a, t, 1] > 0 else -value
            elif terms[a, t, 1] > 0:
                total = np.float32(total + value)
            else:
                total = np.float32(total - value)
    return total


@nb.njit(cache=True, nogil=True, inline="always")
def _summand(seen, r, t, a, terms):
    """The summand of row t without its sign."""
    kind, x = terms[a, t, 0], seen[r, terms[a, t, 2]]
    if kind == VALUE:
        value = x
    elif kind == SIZE:
        value = np.float32(abs(x))
    else:
        y = seen[r, terms[a, t, 3]]
        if kind == DIFFERENCE:
            x, y = np.float32(x - seen[r, terms[a, t, 4]]), np.float32(y - seen[r, terms[a, t, 5]])
        value = length(x, y)
    return value


@nb.njit(cache=True, nogil=True, inline="always")
def length(x, y):
    """The length of (x, y): double precision inside, single precision as a result."""
    wide_x, wide_y = np.float64(x), np.float64(y)
    return np.float32(np.sqrt(wide_x * wide_x + wide_y * wide_y))


@nb.njit(cache=True, nogil=True)
def _expression(seen, r, first, last, a, terms):
    """The result of rows first to last, operations among them.

    The pile is the numbers top, p, q, ... themselves: an array would have to be allocated for every value.
    """
    top = p = q = s = u = v = w = x = np.float32(0.0)
    empty = True
    for t in range(first, last):
        kind = terms[a, t, 0]
        if kind < OPEN:
            if kind == NUMBER:
                value = np.float32(ldexp(float(terms[a, t, 2]), terms[a, t, 3]))
            else:
                value = _summand(seen, r, t, a, terms)
            if empty:
                top, empty = (value if terms[a, t, 1] > 0 else -value), False
            else:
                top = np.float32(top + value) if terms[a, t, 1] > 0 else np.float32(top - value)
        elif kind == OPEN:
            x, w, v, u, s, q, p, empty = w, v, u, s, q, p, top, True
        elif kind == ABSOLUTE:
            top = np.float32(abs(top))
        else:
            top = combined(kind, p, top)
            p, q, s, u, v, w = q, s, u, v, w, x
    return top


@nb.njit(cache=True, nogil=True, inline="always")
def combined(kind, lower, upper):
    """The result of an operation on two numbers."""
    if kind == PLUS:
        result = np.float32(lower + upper)
    elif kind == MINUS:
        result = np.float32(lower - upper)
    elif kind == TIMES:
        result = np.float32(lower * upper)
    elif kind == MIN:
        result = upper if upper < lower else lower
    elif kind == MAX:
        result = upper if upper > lower else lower
    else:
        result = length(lower, upper)
    return result


@nb.njit(cache=True, nogil=True)
def _extend_into(features, starts, terms, out):
    """Write features [B, F] and, behind them, the derived ones [B, D]; terms are [1, terms, 6]."""
    plain = features.shape[1]
    for b in range(features.shape[0]):
        for f in range(plain):
            out[b, f] = features[b, f]
        for d in range(starts.shape[0] - 1):
            out[b, plain + d] = value_of(features, b, starts[d], starts[d + 1], 0, terms)
