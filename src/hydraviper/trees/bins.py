"""Features in at most 256 bins each, so that a tree is grown from histograms instead of sorted values."""

from dataclasses import dataclass

import numba as nb
import numpy as np

from hydraviper.memory import GrowingArray, Room

MOST = 256
_SAMPLE = 20_000  # rows that decide where the bins lie


@dataclass(frozen=True)
class Columns:
    """Some features, binned."""

    binned: np.ndarray  # uint8 [S, F]
    features: np.ndarray  # float32 [S, F]
    most: int = MOST  # bins of a feature


class Bins:
    """One agent's observations, binned once and appended to.

    A feature of at most 256 distinct values has a bin for each, as in exact CART. Other features have quantile bins,
    which are chosen anew each time the rows have doubled.
    """

    most = MOST

    def __init__(self, features: int, raw: GrowingArray | None = None, room: Room | None = None) -> None:
        """With `raw`, float32 [S, F], rows are binned where they lie, by `catch_up`, and not kept a second time."""
        self._raw = GrowingArray((features,), np.float32, room) if raw is None else raw
        self._binned = GrowingArray((features,), np.uint8, room)
        self._edges = np.full((features, MOST - 1), np.inf, np.float32)  # bin k holds edge[k-1] < x <= edge[k]
        self._exact = np.ones(features, bool)
        self._laid_at = 0
        self._low = np.full((features, MOST), np.inf, np.float32)  # smallest value seen in each bin
        self._high = np.full((features, MOST), -np.inf, np.float32)  # largest

    def __len__(self) -> int:
        return len(self._binned.array)

    @property
    def binned(self) -> np.ndarray:
        """Bin numbers, uint8 [S, F]."""
        return self._binned.array

    @property
    def features(self) -> np.ndarray:
        """The values themselves, float32 [S, F]."""
        return self._raw.array[: len(self)]

    def columns(self, numbers: np.ndarray) -> Columns:
        """Some of the features, as a copy."""
        return Columns(np.ascontiguousarray(self.binned[:, numbers]), np.ascontiguousarray(self.features[:, numbers]))

    def sample(self, rows: np.ndarray, most: int) -> Columns:
        """Some of the rows in fewer and wider bins, at most `most` (a power of 2), as a copy."""
        return Columns(self.binned[rows] // np.uint8(MOST // most), self.features[rows], most)

    def highest(self, feature: int) -> np.ndarray:
        """The largest value seen in each of a feature's bins, -inf where there is none, float32 [bins]."""
        return self._high[feature]

    def append(self, rows: np.ndarray) -> None:
        """Add observations [new, F]."""
        if len(rows) == 0:
            return
        self._raw.append(np.ascontiguousarray(rows, np.float32))
        self.catch_up()

    def catch_up(self) -> None:
        """Bin the rows that were added to the values since the last time."""
        rows = self._raw.array[len(self) :]
        if len(rows) == 0:
            return
        new = np.empty(rows.shape, np.uint8)
        _bin_rows(rows, self._edges, new, self._low, self._high)
        self._binned.append(new)
        doubled = len(self) >= 2 * self._laid_at
        # a feature with a bin per value must notice a value that it has not seen yet
        spread = (self._low < self._high).any(axis=1)
        stale = np.flatnonzero((self._exact & spread) | (~self._exact & doubled))
        for feature in stale:
            self._lay(int(feature))
        if doubled:
            self._laid_at = len(self)

    def _lay(self, feature: int) -> None:
        """Choose the feature's bins from all rows and bin them again."""
        column = np.ascontiguousarray(self.features[:, feature])
        distinct = np.unique(column) if self._exact[feature] else None
        if distinct is not None and len(distinct) <= MOST:
            edges = distinct[:-1]
        else:
            self._exact[feature] = False
            sample = column
            if len(column) > _SAMPLE:  # random rows: evenly spaced ones could all be of the same step of their episodes
                sample = column[np.random.default_rng(len(column)).integers(0, len(column), _SAMPLE)]
            levels = np.linspace(0, 1, MOST + 1)[1:-1]
            edges = np.unique(np.sort(sample)[(levels * (len(sample) - 1)).astype(np.int64)])
        self._edges[feature] = np.inf
        self._edges[feature, : len(edges)] = edges
        self._low[feature], self._high[feature] = np.inf, -np.inf
        one = slice(feature, feature + 1)
        binned = np.empty((len(column), 1), np.uint8)
        _bin_rows(column[:, None], self._edges[one], binned, self._low[one], self._high[one])
        self._binned.array[:, feature] = binned[:, 0]


@nb.njit(cache=True, nogil=True)
def _bin_rows(rows, edges, out, low, high):
    for f in range(rows.shape[1]):
        edge, whole = edges[f], rows.shape[0] // 4 * 4
        for i in range(0, whole, 4):  # four searches at once, so that none waits for its memory alone
            first, second, third, fourth = rows[i, f], rows[i + 1, f], rows[i + 2, f], rows[i + 3, f]
            a, b, c, d, width = 0, 0, 0, 0, 128
            while width > 0:
                a += width * (edge[a + width - 1] < first)
                b += width * (edge[b + width - 1] < second)
                c += width * (edge[c + width - 1] < third)
                d += width * (edge[d + width - 1] < fourth)
                width //= 2
            out[i, f], out[i + 1, f], out[i + 2, f], out[i + 3, f] = a, b, c, d
        for i in range(whole, rows.shape[0]):
            start, width = 0, 128  # 255 edges: eight halvings find the first edge that is not below the value
            while width > 0:
                start += width * (edge[start + width - 1] < rows[i, f])
                width //= 2
            out[i, f] = start
        for i in range(rows.shape[0]):
            start = out[i, f]
            low[f, start] = min(low[f, start], rows[i, f])
            high[f, start] = max(high[f, start], rows[i, f])
