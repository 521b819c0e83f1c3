"""Derived features (see data.Derived), computed in a fixed order, so that every caller gets the same bits."""

from collections.abc import Sequence
from functools import lru_cache

import numba as nb
import numpy as np

from hydraviper.data import Derived

_KINDS = {("value", 1): 0, ("size", 1): 1, ("distance", 2): 2, ("distance", 4): 3}


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


@lru_cache(maxsize=256)
def table(derived: tuple[Derived, ...]) -> tuple[np.ndarray, np.ndarray]:
    """For the kernel: where each feature's terms begin [D + 1], and the terms: kind, sign, four inputs [terms, 6]."""
    starts = np.cumsum([0, *(len(feature.terms) for feature in derived)])
    rows = [
        (_KINDS[term.kind, len(term.inputs)], term.sign, *term.inputs, *(0,) * (4 - len(term.inputs)))
        for feature in derived
        for term in feature.terms
    ]
    return starts.astype(np.int64), np.array(rows, np.int64).reshape(-1, 6)


@nb.njit(cache=True, nogil=True, inline="always")
def value_of(seen, r, first, last, a, terms):
    """A derived feature in row r of seen [B, F]: terms first to last of terms[a].

    Arrays are indexed, never sliced or put into tuples: either costs more than a node of a tree.
    """
    total = np.float32(0.0)
    for t in range(first, last):
        kind, x = terms[a, t, 0], seen[r, terms[a, t, 2]]
        if kind == 0:
            value = x
        elif kind == 1:
            value = np.float32(abs(x))
        else:
            y = seen[r, terms[a, t, 3]]
            if kind == 3:
                x, y = np.float32(x - seen[r, terms[a, t, 4]]), np.float32(y - seen[r, terms[a, t, 5]])
            wide_x, wide_y = np.float64(x), np.float64(y)
            value = np.float32(np.sqrt(wide_x * wide_x + wide_y * wide_y))
        if t == first:
            total = value if terms[a, t, 1] > 0 else -value
        elif terms[a, t, 1] > 0:
            total = np.float32(total + value)
        else:
            total = np.float32(total - value)
    return total


@nb.njit(cache=True, nogil=True)
def _extend_into(features, starts, terms, out):
    """Write features [B, F] and, behind them, the derived ones [B, D]; terms are [1, terms, 6]."""
    plain = features.shape[1]
    for b in range(features.shape[0]):
        for f in range(plain):
            out[b, f] = features[b, f]
        for d in range(starts.shape[0] - 1):
            out[b, plain + d] = value_of(features, b, starts[d], starts[d + 1], 0, terms)
