"""Regions: boxes in a frame together with linear forms; narrowed, divided, and searched for a point.

Narrowing never loses a float32 observation, so a region that narrows to nothing is proved to be empty.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numba as nb
import numpy as np

from hydraviper.verify.prover.deadline import Deadline
from hydraviper.verify.prover.forms import Formula
from hydraviper.verify.prover.frames import STEP, TINY, Frame

_ROUNDS = 25
_SAFE = 1e-12  # relative to the largest sum: far more than the rounding of double precision
Box = tuple[np.ndarray, np.ndarray, np.ndarray]  # columns [F], -1 for none; least and largest values [F]


@dataclass(frozen=True)
class Region:
    """A box of a frame, and the linear forms that must hold in it."""

    frame: Frame
    low: np.ndarray  # float64 [columns], closed
    high: np.ndarray
    forms: tuple[int, ...]  # by number; those about a single column are part of the box instead

    @staticmethod
    def everything(frame: Frame) -> Region:
        """The whole frame."""
        return Region(frame, frame.low, frame.high, ()).requiring(frame.definitions)

    def requiring(self, forms: Sequence[int]) -> Region:
        """The part where further linear forms hold."""
        low, high, others = self.low.copy(), self.high.copy(), []
        for number in forms:
            interval = self.frame.intervals[number]
            if interval is None:
                others.append(number)
            else:
                column = self.frame.forms[number].columns[0]
                low[column], high[column] = max(low[column], interval[0]), min(high[column], interval[1])
        return Region(self.frame, low, high, (*self.forms, *others))

    def within(self, box: Box) -> Region:
        """The part in a box of some columns."""
        columns, least, most = box
        asked = columns >= 0
        low, high = self.low.copy(), self.high.copy()
        low[columns[asked]] = np.maximum(low[columns[asked]], least[asked])
        high[columns[asked]] = np.minimum(high[columns[asked]], most[asked])
        return Region(self.frame, low, high, self.forms)

    def fixed(self, column: int, value: float) -> Region:
        """The part where a column has a value."""
        low, high = self.low.copy(), self.high.copy()
        low[column] = high[column] = value
        return Region(self.frame, low, high, self.forms)

    def narrowed(self) -> Region | None:
        """The same points in a smaller box; None if there are none."""
        frame, low, high = self.frame, self.low.copy(), self.high.copy()
        rows = np.array([row for form in self.forms for row in frame.form_rows[form]], np.int64)
        if not _narrow(low, high, rows, *frame.rows, frame.links, frame.whole):
            return None
        return Region(frame, low, high, self.forms)


def divide(region: Region, formula: Formula, boxes: Sequence[Sequence[Box]], deadline: Deadline) -> Iterator[Region]:
    """The parts of a region where the formula holds, within one box of each list; empty parts are left out."""
    first = region.requiring(formula.forms).narrowed()
    stack = [] if first is None else [(first, 0, formula.choices)]
    while stack:
        deadline.check()
        here, level, choices = stack.pop()
        parts: list[tuple[Region, int, tuple[tuple[Formula, ...], ...]]] = []
        if level < len(boxes):
            parts = [(here.within(box), level + 1, choices) for box in boxes[level]]
        elif choices:
            parts = [(here.requiring(one.forms), level, (*choices[1:], *one.choices)) for one in choices[0]]
        else:
            yield here
        for part, next_level, open_choices in reversed(parts):
            narrowed = part.narrowed()
            if narrowed is not None:
                stack.append((narrowed, next_level, open_choices))


def pick(region: Region, deadline: Deadline, near: np.ndarray | None = None, width: float = 0.0) -> list[float] | None:
    """Simple values for the plain columns, chosen one after the other; None if a column is left without a value.

    With `near`, values within `width` of it. The point may still violate a linear form: the caller must check.
    """
    frame, here = region.frame, region
    tied = np.zeros(len(frame.low), bool)  # columns whose values restrict other columns
    for form in region.forms:
        tied[list(frame.forms[form].columns)] = True
    tied[frame.links[:, 2:].ravel()] = True
    for column in range(frame.plain):
        low, high = float(here.low[column]), float(here.high[column])
        if near is not None:
            low, high = max(low, float(near[column]) - width), min(high, float(near[column]) + width)
        value = _simplest(low, high, bool(frame.whole[column])) if low <= high else None
        if value is None:
            return None
        fixed = here.fixed(column, value)
        deadline.check()
        after = fixed.narrowed() if tied[column] and low < high else fixed
        if after is None:
            return None
        here = after
    return here.low[: frame.plain].tolist()


def _simplest(low: float, high: float, whole: bool) -> float | None:
    """The number between two with the shortest binary fraction; of several, the one nearest to 0."""
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
def _narrow(low, high, rows, begins, columns, factors, weights, constants, links, whole):
    """Narrow a box in place by rows (sum <= constant) and links until nothing moves; False if it is empty."""
    for k in range(low.shape[0]):
        if whole[k]:
            low[k], high[k] = np.ceil(low[k]), np.floor(high[k])
        if low[k] > high[k]:
            return False
    for _ in range(_ROUNDS):
        moved = False
        for row in rows:
            first, last = begins[row], begins[row + 1]
            least, room = 0.0, constants[row] + _SAFE * abs(constants[row])
            for e in range(first, last):
                c, f = columns[e], factors[e]
                size = max(abs(low[c]), abs(high[c]))
                least += f * low[c] if f > 0 else f * high[c]
                # where numbers are tiny, a step is not relative to them: then each weight counts by itself
                room += _SAFE * abs(f) * size + weights[e] * size + TINY * (abs(f) + 1.0 + weights[e] / STEP)
            if least > room:
                return False
            for e in range(first, last):
                moved = _narrow_column(low, high, columns[e], factors[e], room - least, whole) or moved
        for k in range(links.shape[0]):
            moved = _narrow_link(links[k], low, high) or moved
        for k in range(low.shape[0]):
            if low[k] > high[k]:
                return False
        if not moved:
            break
    return True


@nb.njit(cache=True, nogil=True)
def _narrow_column(low, high, c, f, slack, whole):
    """Narrow a column by a row: its factor times its value may exceed its least by the slack; whether it moved."""
    if f > 0:
        limit = (slack + f * low[c]) / f
        limit = np.floor(limit + 1e-6) if whole[c] else limit
        if limit < high[c]:
            moved = limit < high[c] - 1e-9 * abs(high[c])
            high[c] = limit
            return moved
    elif f < 0:
        limit = (slack + f * high[c]) / f
        limit = np.ceil(limit - 1e-6) if whole[c] else limit
        if limit > low[c]:
            moved = limit > low[c] + 1e-9 * abs(low[c])
            low[c] = limit
            return moved
    return False


@nb.njit(cache=True, nogil=True)
def _span(low, high):
    """The least and the largest absolute value between two numbers."""
    largest = max(abs(low), abs(high))
    return (0.0, largest) if low <= 0.0 <= high else (min(abs(low), abs(high)), largest)


@nb.njit(cache=True, nogil=True)
def _narrow_link(link, low, high):
    """Narrow the result of an operation by its inputs, and the inputs by it; whether anything moved."""
    c = link[1]
    if link[0] == 0:
        moved = _narrow_absolute(low, high, c, link[2])
    elif link[0] <= 2:
        moved = _narrow_distance(low, high, link)
    elif link[0] == 5:
        moved = _narrow_product(low, high, c, link[2], link[3])
    else:
        moved = _narrow_extreme(low, high, c, link[2], link[3], link[0] == 3)
    return moved > 1e-9 * (abs(high[c]) + 1e-30)


@nb.njit(cache=True, nogil=True)
def _narrow_absolute(low, high, c, x):
    """Narrow column c, the absolute value of column x, and column x; by how much both moved."""
    before = high[c] - low[c]
    near, far = _span(low[x], high[x])
    low[c], high[c] = max(low[c], near), min(high[c], far)
    moved = before - (high[c] - low[c])
    if high[x] > high[c]:
        moved += high[x] - high[c]
        high[x] = high[c]
    if low[x] < -high[c]:
        moved += -high[c] - low[x]
        low[x] = -high[c]
    # where the sign of x is known, x is at least as far from 0 as its absolute value
    if low[x] > -low[c] and low[x] < low[c]:
        moved += low[c] - low[x]
        low[x] = low[c]
    if high[x] < low[c] and high[x] > -low[c]:
        moved += high[x] + low[c]
        high[x] = -low[c]
    return moved


@nb.njit(cache=True, nogil=True)
def _narrow_distance(low, high, link):
    """Narrow column c, the length of (x, y) or of (x - u, y - v), and these; by how much all moved."""
    kind, c, x, y, u, v = link
    before = high[c] - low[c]
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
    reach = high[c] * far_share + TINY  # neither leg of a right triangle is longer than its hypotenuse
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
    return moved


@nb.njit(cache=True, nogil=True)
def _narrow_product(low, high, c, x, y):
    """Narrow column c, the product of columns x and y, rounded; by how much it moved."""
    before = high[c] - low[c]
    ends = low[x] * low[y], low[x] * high[y], high[x] * low[y], high[x] * high[y]
    least, most = min(ends), max(ends)
    room = STEP * max(abs(least), abs(most)) + TINY
    low[c], high[c] = max(low[c], least - room), min(high[c], most + room)
    return before - (high[c] - low[c])


@nb.njit(cache=True, nogil=True)
def _narrow_extreme(low, high, c, x, y, least):
    """Narrow column c, the least or the largest of columns x and y, and these; by how much all moved."""
    before = high[c] - low[c] + high[x] - low[x] + high[y] - low[y]
    if least:
        low[c], high[c] = max(low[c], min(low[x], low[y])), min(high[c], high[x], high[y])
        low[x], low[y] = max(low[x], low[c]), max(low[y], low[c])
        if low[x] > high[c]:  # then it is the other one
            high[y] = min(high[y], high[c])
        if low[y] > high[c]:
            high[x] = min(high[x], high[c])
    else:
        low[c], high[c] = max(low[c], low[x], low[y]), min(high[c], max(high[x], high[y]))
        high[x], high[y] = min(high[x], high[c]), min(high[y], high[c])
        if high[x] < low[c]:
            low[y] = max(low[y], low[c])
        if high[y] < low[c]:
            low[x] = max(low[x], low[c])
    return before - (high[c] - low[c] + high[x] - low[x] + high[y] - low[y])
