"""Cells: boxes within a frame, with lines across them; narrowed, divided along choices, and searched for a point.

Narrowing never loses a float32 observation, so a cell that narrows to nothing is empty for certain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numba as nb
import numpy as np

from hydraviper.verify.clock import Clock
from hydraviper.verify.frames import STEP, TINY, Frame, Needs

_ROUNDS = 25
_SAFE = 1e-12  # of the largest sum: far more than double precision rounds
Box = tuple[np.ndarray, np.ndarray, np.ndarray]  # columns [F], -1 for none; least and largest values [F]


@dataclass(frozen=True)
class Cell:
    """A box within a frame, and the lines that hold in it."""

    frame: Frame
    low: np.ndarray  # float64 [columns], closed
    high: np.ndarray
    lines: tuple[int, ...]  # by number, those that are not boxes themselves

    @staticmethod
    def whole(frame: Frame) -> Cell:
        """Everything."""
        return Cell(frame, frame.low, frame.high, ()).needing(frame.always)

    def needing(self, lines: Sequence[int]) -> Cell:
        """The part where more lines hold."""
        low, high, more = self.low.copy(), self.high.copy(), []
        for number in lines:
            limits = self.frame.limits[number]
            if limits is None:
                more.append(number)
            else:
                column = self.frame.lines[number].columns[0]
                low[column], high[column] = max(low[column], limits[0]), min(high[column], limits[1])
        return Cell(self.frame, low, high, (*self.lines, *more))

    def within(self, box: Box) -> Cell:
        """The part within limits of some columns."""
        columns, least, most = box
        known = columns >= 0
        low, high = self.low.copy(), self.high.copy()
        low[columns[known]] = np.maximum(low[columns[known]], least[known])
        high[columns[known]] = np.minimum(high[columns[known]], most[known])
        return Cell(self.frame, low, high, self.lines)

    def fixed(self, column: int, value: float) -> Cell:
        """The part where a column has a value."""
        low, high = self.low.copy(), self.high.copy()
        low[column] = high[column] = value
        return Cell(self.frame, low, high, self.lines)

    def narrowed(self) -> Cell | None:
        """The same points in a smaller box, or None if there are none."""
        frame, low, high = self.frame, self.low.copy(), self.high.copy()
        rows = np.array([row for line in self.lines for row in frame.rows[line]], np.int64)
        lines = frame.begins, frame.columns, frame.factors, frame.weights, frame.bounds
        if not narrow(low, high, rows, *lines, frame.links, frame.whole):
            return None
        return Cell(frame, low, high, self.lines)


def divide(cell: Cell, needs: Needs, boxes: Sequence[Sequence[Box]], clock: Clock) -> Iterator[Cell]:
    """The parts of a cell where the needs are met and one box of each list applies; what is empty is left out."""
    first = cell.needing(needs.lines).narrowed()
    stack = [] if first is None else [(first, 0, needs.choices)]
    while stack:
        clock.check()
        here, level, choices = stack.pop()
        parts: list[tuple[Cell, int, tuple[tuple[Needs, ...], ...]]] = []
        if level < len(boxes):
            parts = [(here.within(box), level + 1, choices) for box in boxes[level]]
        elif choices:
            parts = [(here.needing(one.lines), level, (*choices[1:], *one.choices)) for one in choices[0]]
        else:
            yield here
        for part, after, left in reversed(parts):
            narrow_part = part.narrowed()
            if narrow_part is not None:
                stack.append((narrow_part, after, left))


def pick(cell: Cell, clock: Clock, near: np.ndarray | None = None, width: float = 0.0) -> list[float] | None:
    """Values of the plain columns within the cell, simple ones, one after the other; None if that leads nowhere.

    With `near`, values within `width` of it. The point may still break a line: whoever uses it must look.
    """
    frame, here = cell.frame, cell
    tied = np.zeros(len(frame.low), bool)  # columns that say something about others
    for line in cell.lines:
        tied[list(frame.lines[line].columns)] = True
    tied[frame.links[:, 2:].ravel()] = True
    for column in range(frame.plain):
        low, high = float(here.low[column]), float(here.high[column])
        if near is not None:
            low, high = max(low, float(near[column]) - width), min(high, float(near[column]) + width)
        value = simplest(low, high, bool(frame.whole[column])) if low <= high else None
        if value is None:
            return None
        fixed = here.fixed(column, value)
        clock.check()
        after = fixed.narrowed() if tied[column] and low < high else fixed
        if after is None:
            return None
        here = after
    return here.low[: frame.plain].tolist()


def simplest(low: float, high: float, whole: bool) -> float | None:
    """The number between two that has the shortest binary fraction, the one next to 0 if there are several."""
    if low <= 0 <= high:
        return 0.0
    near, far = (low, high) if low > 0 else (-high, -low)
    sign = 1.0 if low > 0 else -1.0
    top = math.frexp(far)[1]
    top = min(top, 0) if near < 2**24 else top  # whole numbers first, as long as they are float32
    for power in [0] if whole and top <= 0 else range(top, max(top - 40, -1075), -1):
        step = math.ldexp(1.0, power)
        value = math.ceil(near / step) * step
        if near <= value <= far:
            return sign * value
    if whole:
        return None
    return sign * near if np.float32(near) == near else None


@nb.njit(cache=True, nogil=True)
def narrow(low, high, rows, begins, columns, factors, weights, bounds, links, whole):
    """Narrow a box in place along rows (sum of factors <= bound) and links; False if nothing is left."""
    for k in range(low.shape[0]):
        if whole[k]:
            low[k], high[k] = np.ceil(low[k]), np.floor(high[k])
        if low[k] > high[k]:
            return False
    for _ in range(_ROUNDS):
        moved = False
        for row in rows:
            least, room = 0.0, bounds[row] + _SAFE * abs(bounds[row])
            for e in range(begins[row], begins[row + 1]):
                c, f = columns[e], factors[e]
                size = max(abs(low[c]), abs(high[c]))
                least += f * low[c] if f > 0 else f * high[c]
                # where numbers are tiny a step is no share of them: then each weight counts by itself
                room += _SAFE * abs(f) * size + weights[e] * size + TINY * (abs(f) + 1.0 + weights[e] / STEP)
            if least > room:
                return False
            for e in range(begins[row], begins[row + 1]):
                c, f = columns[e], factors[e]
                if f > 0:
                    limit = (room - least + f * low[c]) / f
                    limit = np.floor(limit + 1e-6) if whole[c] else limit
                    if limit < high[c]:
                        moved = moved or limit < high[c] - 1e-9 * abs(high[c])
                        high[c] = limit
                elif f < 0:
                    limit = (room - least + f * high[c]) / f
                    limit = np.ceil(limit - 1e-6) if whole[c] else limit
                    if limit > low[c]:
                        moved = moved or limit > low[c] + 1e-9 * abs(low[c])
                        low[c] = limit
        for k in range(links.shape[0]):
            moved = _narrow_link(links[k], low, high) or moved
        for k in range(low.shape[0]):
            if low[k] > high[k]:
                return False
        if not moved:
            break
    return True


@nb.njit(cache=True, nogil=True)
def _span(low, high):
    """The least and the largest size of a number between two."""
    largest = max(abs(low), abs(high))
    return (0.0, largest) if low <= 0.0 <= high else (min(abs(low), abs(high)), largest)


@nb.njit(cache=True, nogil=True)
def _narrow_link(link, low, high):
    """Narrow a size or distance by its inputs, and these by it; whether anything moved."""
    kind, c, x, y, u, v = link
    before = high[c] - low[c]
    if kind == 0:
        near, far = _span(low[x], high[x])
        low[c], high[c] = max(low[c], near), min(high[c], far)
        inputs = before - (high[c] - low[c])
        if high[x] > high[c]:
            inputs += high[x] - high[c]
            high[x] = high[c]
        if low[x] < -high[c]:
            inputs += -high[c] - low[x]
            low[x] = -high[c]
        # where its sign is known, it is at least as far from 0 as its size
        if low[x] > -low[c] and low[x] < low[c]:
            inputs += low[c] - low[x]
            low[x] = low[c]
        if high[x] < low[c] and high[x] > -low[c]:
            inputs += high[x] + low[c]
            high[x] = -low[c]
        return inputs > 1e-9 * (abs(high[c]) + 1e-30)
    far_share = 1.0 + 4.0 * STEP
    if kind == 1:
        near_x, far_x = _span(low[x], high[x])
        near_y, far_y = _span(low[y], high[y])
    else:
        near_x, far_x = _span(low[x] - high[u], high[x] - low[u])
        near_y, far_y = _span(low[y] - high[v], high[y] - low[v])
    near = math.sqrt(near_x * near_x + near_y * near_y) * (1.0 - 4.0 * STEP) - TINY
    far = math.sqrt(far_x * far_x + far_y * far_y) * far_share + TINY
    low[c], high[c] = max(low[c], near), min(high[c], far)
    reach = high[c] * far_share + TINY  # no side of a triangle is longer than its longest
    moved = before - (high[c] - low[c])
    for first, second in ((x, u), (y, v)):
        least, most = -reach, reach
        if kind == 2:
            least, most = low[second] - reach, high[second] + reach
            if low[first] - reach > low[second]:
                moved += low[first] - reach - low[second]
                low[second] = low[first] - reach
            if high[first] + reach < high[second]:
                moved += high[second] - high[first] - reach
                high[second] = high[first] + reach
        if least > low[first]:
            moved += least - low[first]
            low[first] = least
        if most < high[first]:
            moved += high[first] - most
            high[first] = most
    return moved > 1e-9 * (abs(high[c]) + 1e-30)
