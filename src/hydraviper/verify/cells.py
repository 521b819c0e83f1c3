"""Cells: where a rule's conditions, the facts and a path through each tree meet; narrowed, and searched for a point.

A cell is a box of closed intervals over all features that matter, plain and derived, with linear lines across them.
Narrowing never loses a float32 observation, so a cell that narrows to nothing is empty for certain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from hydraviper.data import Derived
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.verify.linear import Linear, Variable
from hydraviper.verify.resolve import Rule, Rules

ROUNDING = 2.0**-23  # twice what rounding to float32 can change, as a share
_ROUNDS = 25


@dataclass(frozen=True)
class Line:
    """A linear comparison across columns."""

    columns: tuple[tuple[int, Fraction], ...]
    operator: str  # <=, < or ==
    bound: Fraction
    slack: float = 0.0  # times the largest sum: what rounding to float32 may break

    def holds(self, values: Sequence[Fraction]) -> bool:
        """Whether it is true of the columns' values, without any slack."""
        total = sum((factor * values[column] for column, factor in self.columns), Fraction(0))
        return Linear((), self.operator, self.bound).holds(total)


@dataclass(frozen=True)
class Link:
    """A derived column that is no linear function of others: signs, kinds and columns of its terms."""

    column: int
    terms: tuple[tuple[int, str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Frame:
    """The columns of one rule: its agents' plain features, then the derived ones that somebody asks for."""

    agents: tuple[int, ...]
    start: Mapping[int, int]  # agent -> its first column
    sizes: Mapping[int, int]  # agent -> how many plain features it has
    derived: Mapping[tuple[int, Derived], int]  # -> column
    plain: int  # how many columns are plain
    whole: np.ndarray  # bool [columns]
    low: np.ndarray  # float64 [columns]
    high: np.ndarray
    lines: tuple[Line, ...]
    links: tuple[Link, ...]
    matrix: np.ndarray  # float64 [rows, columns]: matrix @ x <= bounds, up to slack
    bounds: np.ndarray  # float64 [rows]
    slack: np.ndarray  # float64 [rows]

    def column(self, variable: Variable) -> int:
        """Where a variable stands."""
        agent, feature = variable
        return self.derived[agent, feature] if isinstance(feature, Derived) else self.start[agent] + feature


def frame(rules: Rules, rule: Rule, students: Mapping[int, Tree]) -> Frame:
    """The frame of a rule, with the columns that the students' trees ask for."""
    sizes = {i: len(rules.scene.agents[i].features) for i in rule.agents}
    start = dict(zip(rule.agents, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
    plain = sum(sizes.values())
    asked: dict[tuple[int, Derived], int] = {}
    for line in (*rule.when, *rule.facts):
        for (agent, feature), _ in line.terms:
            if isinstance(feature, Derived):
                asked.setdefault((agent, feature), plain + len(asked))
    for agent in rule.agents:
        tree = students.get(agent)
        for node in [] if tree is None else np.flatnonzero(tree.feature >= sizes[agent]):
            assert tree is not None
            asked.setdefault((agent, tree.derived[tree.feature[node] - sizes[agent]]), plain + len(asked))
    spaces = [rules.spaces[i] for i in rule.agents]
    whole = np.concatenate([space.whole for space in spaces] + [np.zeros(len(asked), bool)])
    low = np.concatenate([space.low for space in spaces] + [np.full(len(asked), -np.inf)])
    high = np.concatenate([space.high for space in spaces] + [np.full(len(asked), np.inf)])
    empty = np.zeros((0, len(low))), np.zeros(0), np.zeros(0)
    made = Frame(rule.agents, start, sizes, asked, plain, whole, low, high, (), (), *empty)
    lines, links = [], []
    for (agent, feature), column in asked.items():
        columns = [tuple(start[agent] + k for k in term.inputs) for term in feature.terms]
        used = [k for own in columns for k in own]
        whole[column] = whole[used].all() and all(term.kind != "distance" for term in feature.terms)
        low[column], high[column] = reach(feature, columns, low, high, bool(whole[column]))
        if all(term.kind == "value" for term in feature.terms):
            factors = {k: Fraction(-term.sign) for term, (k,) in zip(feature.terms, columns, strict=True)}
            slack = 0.0 if whole[column] else ROUNDING * len(feature.terms)
            lines.append(Line(((column, Fraction(1)), *factors.items()), "==", Fraction(0), slack))
        else:
            kinds = zip(feature.terms, columns, strict=True)
            links.append(Link(column, tuple((term.sign, term.kind, own) for term, own in kinds)))
    for line, fact in [(line, False) for line in rule.when] + [(line, True) for line in rule.facts]:
        columns = tuple((made.column(variable), factor) for variable, factor in line.terms)
        tied = fact and not whole[[column for column, _ in columns]].all()
        one = Line(columns, line.operator, line.bound, ROUNDING if tied else 0.0)
        if len(columns) == 1:
            _bound(low, high, whole, one)
        else:
            lines.append(one)
    return replace(made, lines=tuple(lines), links=tuple(links), **_rows(lines, whole))


def reach(
    feature: Derived, columns: Sequence[tuple[int, ...]], low: np.ndarray, high: np.ndarray, whole: bool
) -> tuple[float, float]:
    """The least and the largest value of a derived feature over a box; columns [terms] are those of its terms."""
    spans = [term_span(term.kind, own, low, high) for term, own in zip(feature.terms, columns, strict=True)]
    return _total([(term.sign, *span) for term, span in zip(feature.terms, spans, strict=True)], whole)


def _total(spans: Sequence[tuple[int, float, float]], whole: bool) -> tuple[float, float]:
    """The least and the largest sum of signed terms, rounding included."""
    least = sum(a if sign > 0 else -b for sign, a, b in spans)
    most = sum(b if sign > 0 else -a for sign, a, b in spans)
    error = 0.0 if whole else ROUNDING * 2 * len(spans) * sum(max(abs(a), abs(b)) for _, a, b in spans)
    return least - error, most + error


def term_span(kind: str, columns: tuple[int, ...], low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """The least and the largest value of a term of a derived feature."""
    if kind == "value":
        return float(low[columns[0]]), float(high[columns[0]])
    if kind == "size":
        return _size(float(low[columns[0]]), float(high[columns[0]]))
    x, y = (float(low[columns[0]]), float(high[columns[0]])), (float(low[columns[1]]), float(high[columns[1]]))
    if len(columns) == 4:
        x = x[0] - float(high[columns[2]]), x[1] - float(low[columns[2]])
        y = y[0] - float(high[columns[3]]), y[1] - float(low[columns[3]])
    (near_x, far_x), (near_y, far_y) = _size(*x), _size(*y)
    return math.hypot(near_x, near_y), math.hypot(far_x, far_y)


def _size(least: float, most: float) -> tuple[float, float]:
    largest = max(abs(least), abs(most))
    return (0.0 if least <= 0 <= most else min(abs(least), abs(most))), largest


def _rows(lines: Sequence[Line], whole: np.ndarray) -> dict[str, np.ndarray]:
    """The lines as inequalities in floating point; rounding is covered by the slack that narrowing adds."""
    matrix, bounds, slack = [], [], []
    for line in lines:
        row = np.zeros(len(whole))
        for column, factor in line.columns:
            row[column] += float(factor)
        bound = line.bound
        columns = [column for column, _ in line.columns]
        if whole[columns].all() and all(factor.denominator == 1 for _, factor in line.columns):
            if line.operator == "<":
                bound = Fraction(math.ceil(bound) - 1)
            elif line.operator == "<=":
                bound = Fraction(math.floor(bound))
        for sign in (1, -1) if line.operator == "==" else (1,):
            matrix.append(sign * row)
            bounds.append(sign * float(bound))
            slack.append(line.slack)
    rows = np.array(matrix).reshape(-1, len(whole))
    return {"matrix": rows, "bounds": np.array(bounds), "slack": np.array(slack) + 1e-12}


def _bound(low: np.ndarray, high: np.ndarray, whole: np.ndarray, line: Line) -> None:
    """Narrow one column by a line that is about it alone, exactly."""
    ((column, factor),) = line.columns
    value = line.bound / factor
    if line.operator == "==":
        low[column] = max(low[column], grid(value, bool(whole[column]), up=True, strict=False))
        high[column] = min(high[column], grid(value, bool(whole[column]), up=False, strict=False))
    elif factor > 0:
        high[column] = min(high[column], grid(value, bool(whole[column]), up=False, strict=line.operator == "<"))
    else:
        low[column] = max(low[column], grid(value, bool(whole[column]), up=True, strict=line.operator == "<"))


def grid(value: Fraction, whole: bool, up: bool, strict: bool) -> float:
    """The nearest possible value above or below, itself included unless strict: a whole number or a float32."""
    if whole:
        near = math.ceil(value) if up else math.floor(value)
        return float(near + (1 if up else -1) if strict and near == value else near)
    side = np.float32(np.inf if up else -np.inf)
    near = np.float32(float(value))
    if Fraction(float(near)) < value if up else Fraction(float(near)) > value:
        near = np.nextafter(near, side)
    if strict and Fraction(float(near)) == value:
        near = np.nextafter(near, side)
    return float(near)


@dataclass(frozen=True)
class Cell:
    """A box within a frame."""

    frame: Frame
    low: np.ndarray  # float64 [columns], closed
    high: np.ndarray

    def within(self, columns: np.ndarray, low: np.ndarray, high: np.ndarray) -> Cell:
        """The part between limits [F] of some columns [F]; columns of -1 stand nowhere in the frame."""
        known = columns >= 0
        narrow_low, narrow_high = self.low.copy(), self.high.copy()
        narrow_low[columns[known]] = np.maximum(narrow_low[columns[known]], low[known])
        narrow_high[columns[known]] = np.minimum(narrow_high[columns[known]], high[known])
        whole = self.frame.whole
        narrow_low[whole], narrow_high[whole] = np.ceil(narrow_low[whole]), np.floor(narrow_high[whole])
        return Cell(self.frame, narrow_low, narrow_high)

    def narrowed(self) -> Cell | None:
        """The same points in a smaller box, or None if there are none."""
        frame, low, high = self.frame, self.low.copy(), self.high.copy()
        rows, whole = frame.matrix, frame.whole
        for _ in range(_ROUNDS):
            if (low > high).any():
                return None
            before = low.copy(), high.copy()
            if len(rows) and not _narrow_rows(frame, low, high):
                return None
            for link in frame.links:
                _narrow_link(link, low, high)
            low[whole], high[whole] = np.ceil(low[whole] - 1e-6), np.floor(high[whole] + 1e-6)
            if np.allclose(before, (low, high), rtol=1e-9, atol=1e-12):
                break
        return None if (low > high).any() else Cell(frame, low, high)


def _narrow_rows(frame: Frame, low: np.ndarray, high: np.ndarray) -> bool:
    rows, bounds = frame.matrix, frame.bounds
    least = np.where(rows > 0, rows * low, rows * high)
    least[rows == 0] = 0.0
    size = np.abs(rows) @ np.maximum(np.abs(low), np.abs(high))
    room = bounds + frame.slack * (size + 1.0) - least.sum(axis=1)
    if (room < 0).any():
        return False
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = (room[:, None] + least) / rows
    high[:] = np.minimum(high, np.where(rows > 0, limit, np.inf).min(axis=0))
    low[:] = np.maximum(low, np.where(rows < 0, limit, -np.inf).max(axis=0))
    return True


def _narrow_link(link: Link, low: np.ndarray, high: np.ndarray) -> None:
    spans = [(sign, *term_span(kind, columns, low, high)) for sign, kind, columns in link.terms]
    least, most = _total(spans, whole=False)
    low[link.column], high[link.column] = max(low[link.column], least), min(high[link.column], most)
    if len(spans) == 1 and spans[0][0] > 0:  # no input of a single size or distance is larger than it
        _, kind, columns = link.terms[0]
        if kind == "size" or len(columns) == 2:
            largest = high[link.column] * (1 + 4 * ROUNDING) + 1e-30
            for column in columns:
                low[column], high[column] = max(low[column], -largest), min(high[column], largest)


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


def columns_of(frame: Frame, agent: int, tree: Tree) -> np.ndarray:
    """Where the features of an agent's tree stand in a frame, -1 for those that nobody asks for."""
    plain = [frame.start[agent] + k for k in range(frame.sizes[agent])]
    return np.array(plain + [frame.derived.get((agent, feature), -1) for feature in tree.derived])


def pick(cell: Cell, near: np.ndarray | None = None, width: float = 0.0) -> np.ndarray | None:
    """Plain values [columns] within the cell, simple ones, one column after the other; None if that leads nowhere.

    With `near`, values within `width` of it. The point may still break a line: whoever uses it must look.
    """
    here: Cell | None = cell
    for column in range(cell.frame.plain):
        assert here is not None
        low, high = float(here.low[column]), float(here.high[column])
        if near is not None:
            low, high = max(low, float(near[column]) - width), min(high, float(near[column]) + width)
        if low > high:
            return None
        value = simplest(low, high, bool(cell.frame.whole[column]))
        if value is None:
            return None
        narrow_low, narrow_high = here.low.copy(), here.high.copy()
        narrow_low[column] = narrow_high[column] = value
        here = Cell(cell.frame, narrow_low, narrow_high)
        # a column that no line or link touches says nothing about the others
        if cell.frame.matrix[:, column].any() or cell.frame.links:
            here = here.narrowed()
        if here is None:
            return None
    assert here is not None
    return here.low[: cell.frame.plain]


def simplest(low: float, high: float, whole: bool) -> float | None:
    """The number between two that has the shortest binary fraction, the one next to 0 if there are several."""
    if low <= 0 <= high:
        return 0.0
    for power in range(1 if whole else 41):
        step = 2.0**-power
        value = math.ceil(low / step) * step if low > 0 else math.floor(high / step) * step
        if low <= value <= high:
            return value
    return None if whole or np.float32(low) != low else low
