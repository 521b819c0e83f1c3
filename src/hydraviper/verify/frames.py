"""Frames: the numbers that a question is about, as columns, and what conditions say of them, as lines and links.

Columns are the agents' plain features, then every size, distance and derived feature that somebody asks for. A line is
a linear comparison of columns, a link ties a size or distance to its inputs. A frame is made from conditions and trees
alone, so nothing is read twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hydraviper.data import Derived
from hydraviper.expressions.expression import All, Comparison, Condition, Feature, Size, Some, Sum
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.verify.resolve import Space

STEP = 2.0**-23  # from one float32 to the next, as a share, at most
HALF_STEP = 2.0**-24  # what rounding to float32 can change
TINY = 2.0**-148  # and where numbers are so small that a share is nothing
LARGEST = Fraction(float(np.finfo(np.float32).max))
EXACT_WHOLE = 2**24  # float32 adds whole numbers up to this without rounding
LINK_KINDS = {"size": 0, "distance": 1, "distance of difference": 2}


@dataclass(frozen=True)
class Line:
    """A sum of factors times columns, compared with a number."""

    columns: tuple[int, ...]
    factors: tuple[Fraction, ...]
    operator: str  # <=, < or ==
    bound: Fraction
    share: float = 0.0  # times the weighed sizes of its columns: what rounding to float32 may break
    weights: tuple[Fraction, ...] = ()  # per column, for the share

    def limits(self, whole: np.ndarray, float32: np.ndarray) -> tuple[float, float] | None:
        """If it is about one column alone, exactly which values that may have; else None."""
        if len(self.columns) != 1 or self.share:
            return None
        column, factor = self.columns[0], self.factors[0]
        value, strict = self.bound / factor, self.operator == "<"
        low, high = -math.inf, math.inf
        grid = bool(whole[column]), bool(float32[column])
        if self.operator == "==" or factor > 0:
            high = last(value, False, strict, *grid)
        if self.operator == "==" or factor < 0:
            low = last(value, True, strict, *grid)
        return low, high


@dataclass(frozen=True)
class Needs:
    """Lines that must all be true, and choices of which one option each must be."""

    lines: tuple[int, ...] = ()
    choices: tuple[tuple[Needs, ...], ...] = ()

    @staticmethod
    def all(parts: Iterable[Needs]) -> Needs:
        """Everything that some needs."""
        parts = list(parts)
        lines = tuple(dict.fromkeys(line for part in parts for line in part.lines))
        return Needs(lines, tuple(choice for part in parts for choice in part.choices))


TRUE, NEVER = Needs(), Needs((), ((),))  # a choice without options cannot be met


@dataclass(frozen=True)
class Frame:
    """Columns, lines and links; a compiled copy of the lines serves the narrowing of boxes."""

    start: Mapping[int, int]  # agent -> its first column
    sizes: Mapping[int, int]  # agent -> how many plain features it has
    derived: Mapping[tuple[int, Derived], int]  # -> column
    plain: int  # how many columns are plain
    low: np.ndarray  # float64 [columns]
    high: np.ndarray
    whole: np.ndarray  # bool [columns]
    float32: np.ndarray  # bool [columns]: whether its values are float32
    lines: tuple[Line, ...]
    always: tuple[int, ...]  # the lines that define columns
    links: np.ndarray  # int64 [links, 6]: kind, column, four inputs
    limits: tuple[tuple[float, float] | None, ...]  # per line, see `Line.limits`
    begins: np.ndarray  # int64 [rows + 1]: where each row's entries begin
    columns: np.ndarray  # int64 [entries]
    factors: np.ndarray  # float64 [entries]
    weights: np.ndarray  # float64 [entries]: times a column's size, how much rounding may add
    bounds: np.ndarray  # float64 [rows]: sum <= bound
    rows: tuple[tuple[int, ...], ...]  # per line, its rows

    def columns_of(self, agent: int, tree: Tree) -> np.ndarray:
        """Where the features of an agent's tree stand, -1 for those that nobody asks for."""
        plain = [self.start[agent] + k for k in range(self.sizes[agent])]
        return np.array(plain + [self.derived.get((agent, feature), -1) for feature in tree.derived])

    def seen(self, values: Sequence[float]) -> dict[int, np.ndarray]:
        """Values of the plain columns as observations."""
        return {i: np.array(values[at : at + self.sizes[i]], np.float32) for i, at in self.start.items()}


class Builder:
    """Makes a frame."""

    def __init__(self, spaces: Mapping[int, Space]) -> None:
        self.spaces = spaces
        self.start = dict(zip(spaces, np.cumsum([0, *(len(s.low) for s in spaces.values())]).tolist(), strict=False))
        self.low = [float(v) for space in spaces.values() for v in space.low]
        self.high = [float(v) for space in spaces.values() for v in space.high]
        self.whole = [bool(v) for space in spaces.values() for v in space.whole]
        self.plain = len(self.low)
        self.float32 = [True] * self.plain
        self.known: dict[object, int] = {}  # sizes, distances, derived features and sums -> column
        self.lines: dict[Line, int] = {}
        self.always: list[int] = []
        self.links: list[tuple[int, ...]] = []

    def needs(self, condition: Condition, fact: bool = False) -> Needs:
        """A condition as lines and choices; facts hold up to rounding."""
        if isinstance(condition, All):
            return Needs.all(self.needs(part, fact) for part in condition.parts)
        if isinstance(condition, Some):
            return Needs((), (tuple(self.needs(part, fact) for part in condition.parts),))
        sizes = [(term, factor) for term, factor in condition.sum.terms if isinstance(term, Size)]
        if fact:
            return self._fact(condition)
        return self._by_cases(condition, *sizes[0]) if len(sizes) == 1 else self._line(condition)

    def ask(self, agent: int, tree: Tree) -> None:
        """Make columns for the derived features that a tree asks for."""
        first = len(self.spaces[agent].low)
        for k in sorted({int(k) - first for k in tree.feature if k >= first}):
            self.derive(agent, tree.derived[k])

    def derive(self, agent: int, feature: Derived) -> int:
        """The column of a derived feature."""
        if (agent, feature) in self.known:
            return self.known[agent, feature]
        columns = [self._term(agent, term.kind, term.inputs) for term in feature.terms]
        factors, weights = dict.fromkeys(columns, Fraction(0)), dict.fromkeys(columns, Fraction(0))
        for column, term in zip(columns, feature.terms, strict=True):
            factors[column] -= term.sign
            weights[column] += 1
        largest = sum(max(abs(self.low[c]), abs(self.high[c])) for c in columns)
        whole = all(self.whole[c] for c in columns) and largest <= EXACT_WHOLE
        # every partial sum is rounded, also of terms that cancel out: a share of the sizes of all terms each time
        share = 0.0 if whole or len(columns) == 1 else HALF_STEP * len(columns)
        room = share * largest + TINY
        column = self._column((agent, feature), -largest - room, largest + room, whole, True)
        terms = {column: Fraction(1), **factors}
        line = Line(tuple(terms), tuple(terms.values()), "==", Fraction(0), share, (Fraction(0), *weights.values()))
        self.always.append(self._add(line))
        return column

    def built(self) -> Frame:
        """The frame."""
        whole, float32 = np.array(self.whole), np.array(self.float32)
        lines = tuple(self.lines)
        entries: list[tuple[int, float, float]] = []
        begins, bounds, rows = [0], [], []
        for line in lines:
            weights = [line.share * float(weight) for weight in line.weights or (0,) * len(line.columns)]
            signs = (1, -1) if line.operator == "==" else (1,)
            rows.append(tuple(range(len(bounds), len(bounds) + len(signs))))
            for sign in signs:
                entries += zip(line.columns, (sign * float(f) for f in line.factors), weights, strict=True)
                begins.append(len(entries))
                bounds.append(sign * float(_tight(line, whole)))
        return Frame(
            self.start,
            {i: len(space.low) for i, space in self.spaces.items()},
            {key: c for key, c in self.known.items() if isinstance(key, tuple) and isinstance(key[1], Derived)},
            self.plain,
            np.array(self.low),
            np.array(self.high),
            whole,
            float32,
            lines,
            tuple(self.always),
            np.array([(*link, *(0,) * (6 - len(link))) for link in self.links], np.int64).reshape(-1, 6),
            tuple(line.limits(whole, float32) for line in lines),
            np.array(begins, np.int64),
            np.array([column for column, _, _ in entries], np.int64),
            np.array([factor for _, factor, _ in entries], np.float64),
            np.array([weight for _, _, weight in entries], np.float64),
            np.array(bounds, np.float64),
            tuple(rows),
        )

    def _by_cases(self, one: Comparison, size: Size, factor: Fraction) -> Needs:
        """A comparison with one size, by the sign of what is inside."""
        rest = Sum.of((*one.sum.terms, (size, -factor)), one.sum.number)
        both = [Comparison(rest.plus(size.of, sign * factor), one.operator) for sign in (1, -1)]
        if one.operator == "==":
            signs = [Comparison(size.of.times(Fraction(sign)), "<=") for sign in (-1, 1)]
            pairs = zip(both, signs, strict=True)
            return Needs((), (tuple(Needs.all(map(self.needs, pair)) for pair in pairs),))
        cases = tuple(map(self.needs, both))
        return Needs.all(cases) if factor > 0 else Needs((), (cases,))

    def _line(self, one: Comparison) -> Needs:
        if not one.sum.terms:
            return TRUE if one.holds(lambda feature: Fraction(0)) else NEVER
        terms = [(self._variable(term), factor) for term, factor in one.sum.terms]
        line = Line(tuple(c for c, _ in terms), tuple(f for _, f in terms), one.operator, -one.sum.number)
        return Needs((self._add(line),))

    def _fact(self, one: Comparison) -> Needs:
        """A comparison that holds up to one step of each feature that is not whole."""
        exact = all(isinstance(which, int) and self.spaces[agent].whole[which] for agent, which in one.features())
        if exact or not one.sum.terms:
            return self._line(one)
        terms = [(self._variable(term), factor) for term, factor in one.sum.terms]
        weights = dict.fromkeys((column for column, _ in terms), Fraction(0))
        for feature, factor in one.sum.features():
            column = self._variable(feature)
            weights[column] = weights.get(column, Fraction(0)) + factor
        factors = {**dict.fromkeys(weights, Fraction(0)), **dict(terms)}
        operator = "<=" if one.operator == "<" else one.operator
        line = Line(
            tuple(weights), tuple(factors[c] for c in weights), operator, -one.sum.number, STEP, tuple(weights.values())
        )
        return Needs((self._add(line),))

    def _variable(self, term: Feature | Size) -> int:
        if not isinstance(term, Size):
            agent, which = term
            return self.start[agent] + which if isinstance(which, int) else self.derive(agent, which)
        if term in self.known:
            return self.known[term]
        inner = self._sum(term.of)
        largest = max(abs(self.low[inner]), abs(self.high[inner]))
        column = self._column(term, 0.0, largest, self.whole[inner], self.float32[inner])
        self.links.append((LINK_KINDS["size"], column, inner))
        return column

    def _sum(self, inner: Sum) -> int:
        """The column of a sum, exact."""
        if inner.number == 0 and len(inner.terms) == 1 and inner.terms[0][1] == 1:
            return self._variable(inner.terms[0][0])
        terms = [(self._variable(term), factor) for term, factor in inner.terms]
        largest = sum(abs(float(f)) * max(abs(self.low[c]), abs(self.high[c])) for c, f in terms)
        largest = (largest + abs(float(inner.number))) * (1 + 1e-9)
        whole = all(self.whole[c] and f.denominator == 1 for c, f in terms) and inner.number.denominator == 1
        column = self._column(inner, -largest, largest, whole, False)
        columns, factors = (column, *(c for c, _ in terms)), (Fraction(1), *(-f for _, f in terms))
        self.always.append(self._add(Line(columns, factors, "==", inner.number)))
        return column

    def _term(self, agent: int, kind: str, inputs: tuple[int, ...]) -> int:
        """The column of a term of a derived feature, without its sign."""
        columns = tuple(self.start[agent] + k for k in inputs)
        if kind == "value":
            return columns[0]
        key = kind, columns
        if key not in self.known:
            largest = [max(abs(self.low[c]), abs(self.high[c])) for c in columns]
            if kind == "size":
                column = self._column(key, 0.0, largest[0], self.whole[columns[0]], True)
            else:
                x, y = (largest[0] + largest[2], largest[1] + largest[3]) if len(inputs) == 4 else largest
                column = self._column(key, 0.0, math.hypot(x, y) * (1 + 4 * STEP) + TINY, False, True)
            name = kind if len(inputs) < 4 else "distance of difference"
            self.links.append((LINK_KINDS[name], column, *columns))
        return self.known[key]

    def _column(self, key: object, low: float, high: float, whole: bool, float32: bool) -> int:
        self.known[key] = len(self.low)
        self.low.append(low)
        self.high.append(high)
        self.whole.append(whole)
        self.float32.append(float32)
        return self.known[key]

    def _add(self, line: Line) -> int:
        return self.lines.setdefault(line, len(self.lines))


def _tight(line: Line, whole: np.ndarray) -> Fraction:
    """The bound, moved to the next whole number where the sum can only be one."""
    if not line.share and all(whole[c] for c in line.columns) and all(f.denominator == 1 for f in line.factors):
        if line.operator == "<":
            return Fraction(math.ceil(line.bound) - 1)
        if line.operator == "<=":
            return Fraction(math.floor(line.bound))
    return line.bound


def last(value: Fraction, up: bool, strict: bool, whole: bool, float32: bool) -> float:
    """The nearest possible value above or below, itself included unless strict: whole, a float32 or any number."""
    if whole:
        near = math.ceil(value) if up else math.floor(value)
        return float(near + (1 if up else -1) if strict and near == value else near)
    if not float32:  # any number: a little too far rather than too near
        return math.nextafter(float(value), -math.inf if up else math.inf)
    if abs(value) > LARGEST:
        return float(LARGEST if value > 0 else -LARGEST) if up == (value < 0) else math.copysign(math.inf, value)
    side = np.float32(np.inf if up else -np.inf)
    near = np.float32(float(value))
    if Fraction(float(near)) < value if up else Fraction(float(near)) > value:
        near = np.nextafter(near, side)
    if strict and Fraction(float(near)) == value:
        near = np.nextafter(near, side)
    return float(near)


def leaf_boxes(tree: Tree, features: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The leaves [L], and the closed box of float32 values that gets to each: least and largest, [L, features]."""
    low, high = np.full((len(tree), features), -np.inf), np.full((len(tree), features), np.inf)
    above = np.nextafter(tree.threshold, np.float32(np.inf)).astype(np.float64)
    for node in range(len(tree)):  # parents stand before their children
        k = tree.feature[node]
        if k == LEAF:
            continue
        left, right = tree.left[node], tree.right[node]
        low[left], high[left], low[right], high[right] = low[node], high[node], low[node], high[node]
        high[left, k] = min(high[left, k], float(tree.threshold[node]))
        low[right, k] = max(low[right, k], above[node])
    leaves = np.flatnonzero(tree.feature == LEAF)
    return leaves, low[leaves], high[leaves]
