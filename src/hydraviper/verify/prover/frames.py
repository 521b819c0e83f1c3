"""Frames: an obligation, facts and trees as constraints over columns of numbers.

The columns are the agents' plain features, followed by every absolute value, distance and derived feature that occurs.
A linear form compares a weighted sum of columns with a constant; a link ties an absolute value or a distance to the
columns it is computed from. Frames are made from parsed expressions and trees alone, so no text is read twice.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hydraviper.data import Derived
from hydraviper.expressions.expression import Absolute, All, Comparison, Condition, Feature, Some, Sum
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.verify.prover.forms import FALSE, TRUE, Formula, LinearForm, Rows, rows_of
from hydraviper.verify.world import Space

STEP = 2.0**-23  # the largest relative distance from one float32 to the next
HALF_STEP = 2.0**-24  # the largest relative error of rounding to float32
TINY = 2.0**-148  # bounds the absolute error where numbers are too small for a relative one
EXACT_WHOLE = 2**24  # float32 adds whole numbers up to this without rounding
LINK_KINDS = {"size": 0, "distance": 1, "distance of difference": 2}  # size: absolute value, as in `data.Term`


@dataclass(frozen=True)
class Frame:
    """Columns with their ranges, linear forms and links."""

    start: Mapping[int, int]  # agent -> its first column
    sizes: Mapping[int, int]  # agent -> how many plain features it has
    derived: Mapping[tuple[int, Derived], int]  # -> column
    plain: int  # how many columns are plain features
    low: np.ndarray  # float64 [columns]
    high: np.ndarray
    whole: np.ndarray  # bool [columns]: whether its values are whole numbers
    forms: tuple[LinearForm, ...]
    definitions: tuple[int, ...]  # the forms that define columns, by number
    links: np.ndarray  # int64 [links, 6]: kind, column, up to four inputs
    intervals: tuple[tuple[float, float] | None, ...]  # per form, see `LinearForm.interval`
    rows: Rows
    form_rows: tuple[tuple[int, ...], ...]  # per form, its rows: two for an equation, else one

    def columns_of(self, agent: int, tree: Tree) -> np.ndarray:
        """The columns of the features of an agent's tree; -1 for derived features that it does not ask for."""
        plain = [self.start[agent] + k for k in range(self.sizes[agent])]
        return np.array(plain + [self.derived.get((agent, feature), -1) for feature in tree.derived])

    def seen(self, values: Sequence[float]) -> dict[int, np.ndarray]:
        """Values of the plain columns as observations by agent."""
        return {i: np.array(values[at : at + self.sizes[i]], np.float32) for i, at in self.start.items()}


class FrameBuilder:
    """Collects columns, linear forms and links for a frame."""

    def __init__(self, spaces: Mapping[int, Space]) -> None:
        self.spaces = spaces
        self.start = dict(zip(spaces, np.cumsum([0, *(len(s.low) for s in spaces.values())]).tolist(), strict=False))
        self.low = [float(v) for space in spaces.values() for v in space.low]
        self.high = [float(v) for space in spaces.values() for v in space.high]
        self.whole = [bool(v) for space in spaces.values() for v in space.whole]
        self.plain = len(self.low)
        self.float32 = [True] * self.plain
        self.columns: dict[object, int] = {}  # absolute values, distances, derived features and sums -> column
        self.forms: dict[LinearForm, int] = {}
        self.definitions: list[int] = []
        self.links: list[tuple[int, ...]] = []

    def formula(self, condition: Condition, fact: bool = False) -> Formula:
        """A condition as a formula; that of a fact leaves room for rounding."""
        if isinstance(condition, All):
            return Formula.all(self.formula(part, fact) for part in condition.parts)
        if isinstance(condition, Some):
            return Formula((), (tuple(self.formula(part, fact) for part in condition.parts),))
        if fact:
            return self._rounded(condition)
        absolutes = [(term, factor) for term, factor in condition.sum.terms if isinstance(term, Absolute)]
        return self._by_cases(condition, *absolutes[0]) if len(absolutes) == 1 else self._exact(condition)

    def add_tree(self, agent: int, tree: Tree) -> None:
        """Add columns for the derived features that a tree asks for."""
        first = len(self.spaces[agent].low)
        for k in sorted({int(k) - first for k in tree.feature if k >= first}):
            self.derived_column(agent, tree.derived[k])

    def derived_column(self, agent: int, feature: Derived) -> int:
        """The column of a derived feature."""
        if (agent, feature) in self.columns:
            return self.columns[agent, feature]
        columns = [self._term(agent, term.kind, term.inputs) for term in feature.terms]
        factors, weights = dict.fromkeys(columns, Fraction(0)), dict.fromkeys(columns, Fraction(0))
        for column, term in zip(columns, feature.terms, strict=True):
            factors[column] -= term.sign
            weights[column] += 1
        largest = sum(map(self._largest, columns))
        whole = all(self.whole[c] for c in columns) and largest <= EXACT_WHOLE
        # each partial sum is rounded, even of terms that cancel out: every time an error relative to all terms
        rounding = 0.0 if whole or len(columns) == 1 else HALF_STEP * len(columns)
        room = rounding * largest + TINY
        column = self._add_column((agent, feature), -largest - room, largest + room, whole, True)
        terms = {column: Fraction(1), **factors}
        self._define(LinearForm(*_split(terms), "==", Fraction(0), rounding, (Fraction(0), *weights.values())))
        return column

    def frame(self) -> Frame:
        """The frame of everything that was added."""
        whole, float32 = np.array(self.whole), np.array(self.float32)
        forms = tuple(self.forms)
        rows, form_rows = rows_of(forms, whole)
        return Frame(
            start=self.start,
            sizes={i: len(space.low) for i, space in self.spaces.items()},
            derived={
                key: c for key, c in self.columns.items() if isinstance(key, tuple) and isinstance(key[1], Derived)
            },
            plain=self.plain,
            low=np.array(self.low),
            high=np.array(self.high),
            whole=whole,
            forms=forms,
            definitions=tuple(self.definitions),
            links=np.array([(*link, *(0,) * (6 - len(link))) for link in self.links], np.int64).reshape(-1, 6),
            intervals=tuple(form.interval(whole, float32) for form in forms),
            rows=rows,
            form_rows=form_rows,
        )

    def _by_cases(self, one: Comparison, absolute: Absolute, factor: Fraction) -> Formula:
        """A comparison with one absolute value, by the sign of what is inside."""
        rest = Sum.of((*one.sum.terms, (absolute, -factor)), one.sum.constant)
        both = [Comparison(rest.plus(absolute.of, sign * factor), one.operator) for sign in (1, -1)]
        if one.operator == "==":
            signs = [Comparison(absolute.of.times(Fraction(sign)), "<=") for sign in (-1, 1)]
            pairs = zip(both, signs, strict=True)
            return Formula((), (tuple(Formula.all(map(self.formula, pair)) for pair in pairs),))
        cases = tuple(map(self.formula, both))
        return Formula.all(cases) if factor > 0 else Formula((), (cases,))

    def _exact(self, one: Comparison) -> Formula:
        if not one.sum.terms:
            return TRUE if one.holds(lambda feature: Fraction(0)) else FALSE
        columns = tuple(self._column(term) for term, _ in one.sum.terms)
        factors = tuple(factor for _, factor in one.sum.terms)
        return Formula((self._add(LinearForm(columns, factors, one.operator, -one.sum.constant)),))

    def _rounded(self, one: Comparison) -> Formula:
        """A comparison that may be off by one float32 step of each feature that is not whole."""
        whole = all(isinstance(which, int) and self.spaces[agent].whole[which] for agent, which in one.features())
        if whole or not one.sum.terms:
            return self._exact(one)
        terms = [(self._column(term), factor) for term, factor in one.sum.terms]
        weights = dict.fromkeys((column for column, _ in terms), Fraction(0))
        for feature, factor in one.sum.features():
            column = self._column(feature)
            weights[column] = weights.get(column, Fraction(0)) + factor
        factors = {**dict.fromkeys(weights, Fraction(0)), **dict(terms)}
        operator = "<=" if one.operator == "<" else one.operator
        form = LinearForm(*_split(factors), operator, -one.sum.constant, STEP, tuple(weights.values()))
        return Formula((self._add(form),))

    def _column(self, term: Feature | Absolute) -> int:
        """The column of a feature or absolute value of an expression."""
        if not isinstance(term, Absolute):
            agent, which = term
            return self.start[agent] + which if isinstance(which, int) else self.derived_column(agent, which)
        if term in self.columns:
            return self.columns[term]
        inner = self._sum(term.of)
        column = self._add_column(term, 0.0, self._largest(inner), self.whole[inner], self.float32[inner])
        self.links.append((LINK_KINDS["size"], column, inner))
        return column

    def _sum(self, inner: Sum) -> int:
        """The column of a sum, computed exactly."""
        if inner.constant == 0 and len(inner.terms) == 1 and inner.terms[0][1] == 1:
            return self._column(inner.terms[0][0])
        terms = [(self._column(term), factor) for term, factor in inner.terms]
        largest = sum(abs(float(f)) * self._largest(c) for c, f in terms)
        largest = (largest + abs(float(inner.constant))) * (1 + 1e-9)
        whole = all(self.whole[c] and f.denominator == 1 for c, f in terms) and inner.constant.denominator == 1
        column = self._add_column(inner, -largest, largest, whole, False)
        columns, factors = (column, *(c for c, _ in terms)), (Fraction(1), *(-f for _, f in terms))
        self._define(LinearForm(columns, factors, "==", inner.constant))
        return column

    def _term(self, agent: int, kind: str, inputs: tuple[int, ...]) -> int:
        """The column of a derived feature's term, without its sign."""
        columns = tuple(self.start[agent] + k for k in inputs)
        if kind == "value":
            return columns[0]
        key = kind, columns
        if key not in self.columns:
            largest = list(map(self._largest, columns))
            if kind == "size":
                column = self._add_column(key, 0.0, largest[0], self.whole[columns[0]], True)
            else:
                x, y = (largest[0] + largest[2], largest[1] + largest[3]) if len(inputs) == 4 else largest
                column = self._add_column(key, 0.0, math.hypot(x, y) * (1 + 4 * STEP) + TINY, False, True)
            name = kind if len(inputs) < 4 else "distance of difference"
            self.links.append((LINK_KINDS[name], column, *columns))
        return self.columns[key]

    def _largest(self, column: int) -> float:
        """The largest absolute value in a column."""
        return max(abs(self.low[column]), abs(self.high[column]))

    def _add_column(self, key: object, low: float, high: float, whole: bool, float32: bool) -> int:
        self.columns[key] = len(self.low)
        self.low.append(low)
        self.high.append(high)
        self.whole.append(whole)
        self.float32.append(float32)
        return self.columns[key]

    def _add(self, form: LinearForm) -> int:
        return self.forms.setdefault(form, len(self.forms))

    def _define(self, form: LinearForm) -> None:
        self.definitions.append(self._add(form))


def _split(factors: Mapping[int, Fraction]) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
    return tuple(factors), tuple(factors.values())


def leaf_boxes(tree: Tree, features: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The leaves [L], and the closed box of float32 values that reaches each: least and largest, [L, features]."""
    low, high = np.full((len(tree), features), -np.inf), np.full((len(tree), features), np.inf)
    above = np.nextafter(tree.threshold, np.float32(np.inf)).astype(np.float64)
    for node in range(len(tree)):  # parents come before their children
        k = tree.feature[node]
        if k == LEAF:
            continue
        left, right = tree.left[node], tree.right[node]
        low[left], high[left], low[right], high[right] = low[node], high[node], low[node], high[node]
        high[left, k] = min(high[left, k], float(tree.threshold[node]))
        low[right, k] = max(low[right, k], above[node])
    leaves = np.flatnonzero(tree.feature == LEAF)
    return leaves, low[leaves], high[leaves]
