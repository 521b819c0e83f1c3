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

from hydraviper.data import Derived, Term
from hydraviper.expressions.expression import Absolute, All, Comparison, Condition, Feature, Some, Sum
from hydraviper.trees.derived import carry_out
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.verify.prover.forms import FALSE, TRUE, Formula, LinearForm, Rows, rows_of
from hydraviper.verify.world import Space

STEP = 2.0**-23  # the largest relative distance from one float32 to the next
HALF_STEP = 2.0**-24  # the largest relative error of rounding to float32
TINY = 2.0**-148  # bounds the absolute error where numbers are too small for a relative one
EXACT_WHOLE = 2**24  # float32 adds whole numbers up to this without rounding
MOST_EXACT = 1e38  # below the largest float32
# size: the absolute value, as in `data.Term`; distance: the length of two columns; min, max, times: of two columns
LINK_KINDS = {"size": 0, "distance": 1, "distance of difference": 2, "min": 3, "max": 4, "times": 5}
BEYOND = 1e39  # stands for all that a float32 cannot hold; what is not a number answers every question as it does
_Summands = tuple[tuple[int, int], ...]  # columns and signs: a sum that has no column of its own yet


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

        def summand(term: Term) -> _Summands:
            if term.kind == "number":
                return ((self._number(term.number), 1),)
            return ((self._term(agent, term.kind, term.inputs), 1),)

        summands = carry_out(feature, summand, self._operate)
        self.columns[agent, feature] = self._summed(summands, own=True)
        return self.columns[agent, feature]

    def _operate(self, kind: str, *numbers: _Summands) -> _Summands:
        """The result of a step of a derived feature; sums get a column only where something else is done with them."""
        if kind == "negative" or kind == "minus":
            numbers = (*numbers[:-1], tuple((column, -sign) for column, sign in numbers[-1]))
        if kind in ("negative", "plus", "minus"):
            return tuple(summand for number in numbers for summand in number)
        return ((self._linked(kind, *map(self._summed, numbers)), 1),)

    def _summed(self, summands: _Summands, own: bool = False) -> int:
        """The column of a sum of float32 columns, each partial sum of which is rounded."""
        if len(summands) == 1 and summands[0][1] > 0 and not own:
            return summands[0][0]
        key = "sum", summands
        if key in self.columns and not own:
            return self.columns[key]
        columns = [column for column, _ in summands]
        factors, weights = dict.fromkeys(columns, Fraction(0)), dict.fromkeys(columns, Fraction(0))
        for column, sign in summands:
            factors[column] -= sign
            weights[column] += 1
        largest = sum(map(self._largest, columns))
        if largest >= MOST_EXACT:
            return self._free(key)
        whole = all(self.whole[c] for c in columns) and largest <= EXACT_WHOLE
        # each partial sum is rounded, even of terms that cancel out: every time an error relative to all terms
        rounding = 0.0 if whole or len(columns) == 1 else HALF_STEP * len(columns)
        room = rounding * largest + TINY
        column = self._add_column(key, -largest - room, largest + room, whole, True)
        terms = {column: Fraction(1), **factors}
        self._define(LinearForm(*_split(terms), "==", Fraction(0), rounding, (Fraction(0), *weights.values())))
        return column

    def _linked(self, kind: str, *columns: int) -> int:
        """The column of an operation other than a sum."""
        kind = {"absolute": "size", "length": "distance"}.get(kind, kind)
        key = kind, columns
        if key in self.columns:
            return self.columns[key]
        largest, whole = list(map(self._largest, columns)), all(self.whole[c] for c in columns)
        if max(largest) >= MOST_EXACT or (kind == "times" and math.prod(largest) >= MOST_EXACT):
            return self._free(key)
        constant = next((c for c in columns if kind == "times" and self.low[c] == self.high[c]), None)
        if constant is not None:
            other = columns[1] if columns[0] == constant else columns[0]
            return self._scaled(key, other, Fraction(self.low[constant]))
        if kind == "size":
            column = self._add_column(key, 0.0, largest[0], whole, True)
        elif kind == "distance":
            column = self._add_column(key, 0.0, math.hypot(*largest) * (1 + 4 * STEP) + TINY, False, True)
        elif kind == "times":
            most = math.prod(largest)
            column = self._add_column(key, -most * (1 + STEP) - TINY, most * (1 + STEP) + TINY, False, True)
            self.whole[column] = whole and most <= EXACT_WHOLE
        else:
            column = self._add_column(key, -max(largest), max(largest), whole, True)
        self.links.append((LINK_KINDS[kind], column, *columns))
        return column

    def _scaled(self, key: object, column: int, factor: Fraction) -> int:
        """The column of a number times a column, rounded."""
        largest = abs(float(factor)) * self._largest(column)
        whole = self.whole[column] and factor.denominator == 1 and largest <= EXACT_WHOLE
        rounding = 0.0 if whole else STEP
        room = rounding * largest + TINY
        result = self._add_column(key, -largest - room, largest + room, whole, True)
        weights = (Fraction(0), abs(factor))
        self._define(LinearForm((result, column), (Fraction(1), -factor), "==", Fraction(0), rounding, weights))
        return result

    def _free(self, key: object) -> int:
        """A column about which nothing is known, because single precision may not hold its values."""
        return self._add_column(key, -BEYOND, BEYOND, False, False)

    def _number(self, value: float) -> int:
        """The column of a constant."""
        key = "number", value
        return self.columns[key] if key in self.columns else self._add_column(key, value, value, value % 1 == 0, True)

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
        if len(columns) < 4:
            return self._linked(kind, *columns)
        key = kind, columns
        if key not in self.columns:
            largest = list(map(self._largest, columns))
            if max(largest) >= MOST_EXACT / 2:
                return self._free(key)
            x, y = largest[0] + largest[2], largest[1] + largest[3]
            column = self._add_column(key, 0.0, math.hypot(x, y) * (1 + 4 * STEP) + TINY, False, True)
            self.links.append((LINK_KINDS["distance of difference"], column, *columns))
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
