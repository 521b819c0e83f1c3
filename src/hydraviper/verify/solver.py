"""The cells that narrowing cannot settle, by z3: real arithmetic with room for what float32 rounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hydraviper.data import InputError
from hydraviper.verify.cells import ROUNDING, Cell, Line, pick, simplest, term_span

SECONDS = 10.0  # the most that one question to z3 may take
_MARGINS = (2.0**-7, 2.0**-12, 2.0**-18, 0.0)  # how far from every border a point is sought, widest first
_SIDES = 16  # of the polygon that stands for a circle at first

Confirm = Callable[[list[Fraction]], bool]  # whether the trees really answer so at plain values


@dataclass(frozen=True)
class Verdict:
    """What is known of a cell: empty, a confirmed point, or neither."""

    empty: bool
    point: list[Fraction] | None = None  # plain values


def quick(cell: Cell, confirm: Confirm, seconds: float = SECONDS) -> Verdict:
    """Find a confirmed point of a cell, or prove that it holds none, unless that takes long."""
    narrow = cell.narrowed()
    if narrow is None:
        return Verdict(True)
    point = _simple(narrow, confirm)
    if point is not None:
        return Verdict(False, point)
    if not narrow.frame.lines and not narrow.frame.links:
        return Verdict(False)
    # with room for rounding and polygons for circles: what is empty then is empty for certain
    z3 = _z3()
    answer, model = _ask(z3, narrow, True, False, 0.0, seconds)
    if answer == z3.unsat:
        return Verdict(True)
    return Verdict(False, None if model is None else _near(narrow, model, confirm))


def thorough(cell: Cell, confirm: Confirm, seconds: float = SECONDS) -> Verdict:
    """The same for what `quick` left open: points away from all borders, and exact circles."""
    z3 = _z3()
    curved = any(kind == "distance" for link in cell.frame.links for _, kind, _ in link.terms)
    for margin in _MARGINS:
        _, model = _ask(z3, cell, False, True, margin, seconds)
        if model is not None and (point := _near(cell, model, confirm)):
            return Verdict(False, point)
    if curved:
        for circles, sides in ((False, 8 * _SIDES), (True, 0)):
            if _ask(z3, cell, True, circles, 0.0, seconds, sides)[0] == z3.unsat:
                return Verdict(True)
    return Verdict(False)


def _simple(cell: Cell, confirm: Confirm, near: np.ndarray | None = None, width: float = 0.0) -> list[Fraction] | None:
    values = pick(cell, near, width)
    if values is None:
        return None
    point = [Fraction(float(value)) for value in values]
    return point if confirm(point) else None


def _near(cell: Cell, model: list[Fraction], confirm: Confirm) -> list[Fraction] | None:
    """A confirmed point at a model or close to it."""
    if confirm(model):
        return model
    near = np.array([float(value) for value in model])
    for width in (1e-1, 1e-2, 1e-3, 1e-4, 1e-6):
        if point := _simple(cell, confirm, near, width):
            return point
    return None


def _ask(
    z3: Any, cell: Cell, rounded: bool, circles: bool, margin: float, seconds: float, sides: int = _SIDES
) -> tuple[Any, list[Fraction] | None]:
    """Ask for a point of the cell; rounded: with room for rounding; circles: exact ones instead of polygons."""
    frame = cell.frame
    solver = z3.Solver()
    solver.set("timeout", int(1000 * seconds))
    used = {column for line in frame.lines for column, _ in line.columns}
    used |= {column for link in frame.links for _, _, columns in link.terms for column in columns}
    used |= {link.column for link in frame.links}
    names = {k: (z3.Int if frame.whole[k] else z3.Real)(f"x{k}") for k in sorted(used)}
    for k, name in names.items():
        away = 0.0 if frame.whole[k] or cell.high[k] - cell.low[k] <= 2 * margin else margin
        if math.isfinite(cell.low[k]):
            solver.add(name >= _number(z3, Fraction(float(cell.low[k])) + Fraction(away)))
        if math.isfinite(cell.high[k]):
            solver.add(name <= _number(z3, Fraction(float(cell.high[k])) - Fraction(away)))
    for line in frame.lines:
        solver.add(*_line(z3, cell, line, names, rounded, margin))
    for link in frame.links:
        total, size = z3.RealVal(0), 0.0
        for sign, kind, columns in link.terms:
            size += max(map(abs, term_span(kind, columns, cell.low, cell.high)))
            total = total + sign * _term(z3, solver, names, kind, columns, 0 if circles else sides)
        error = Fraction(ROUNDING * 2 * len(link.terms) * size) if rounded else Fraction(0)
        solver.add(names[link.column] - total <= _number(z3, error), total - names[link.column] <= _number(z3, error))
    answer = solver.check()
    if answer != z3.sat:
        return answer, None
    model = solver.model()
    fallback = _alone(cell)
    values = [fallback[k] if k not in names else _value(z3, model, names[k]) for k in range(frame.plain)]
    return answer, values


def _alone(cell: Cell) -> list[Fraction]:
    """A value within each column's interval, whatever the lines say."""
    plain = range(cell.frame.plain)
    values = [simplest(float(cell.low[k]), float(cell.high[k]), bool(cell.frame.whole[k])) for k in plain]
    return [Fraction(float(cell.low[k]) if value is None else value) for k, value in zip(plain, values, strict=True)]


def _line(z3: Any, cell: Cell, line: Line, names: dict[int, Any], rounded: bool, margin: float) -> list[Any]:
    total = z3.Sum([_number(z3, factor) * names[column] for column, factor in line.columns])
    bound = line.bound
    if rounded and line.slack:
        size = sum(
            abs(float(factor)) * max(abs(cell.low[column]), abs(cell.high[column])) for column, factor in line.columns
        )
        room = Fraction(line.slack * size + 1e-40)
        made = [total <= _number(z3, bound + room)]
        return [*made, total >= _number(z3, bound - room)] if line.operator == "==" else made
    if line.operator == "==":
        return [total == _number(z3, bound)]
    whole = all(cell.frame.whole[column] for column, _ in line.columns)
    bound = bound if whole else bound - Fraction(margin)
    return [total < _number(z3, bound) if line.operator == "<" else total <= _number(z3, bound)]


def _term(z3: Any, solver: Any, names: dict[int, Any], kind: str, columns: tuple[int, ...], sides: int) -> Any:
    if kind == "value":
        return names[columns[0]]
    if kind == "size":
        return z3.If(names[columns[0]] >= 0, names[columns[0]], -names[columns[0]])
    x, y = names[columns[0]], names[columns[1]]
    if len(columns) == 4:
        x, y = x - names[columns[2]], y - names[columns[3]]
    length = z3.Real("length" + "_".join(map(str, columns)))
    solver.add(length >= 0)
    if sides == 0:
        solver.add(length * length == x * x + y * y)
        return length
    turns = [2 * math.pi * k / sides for k in range(sides)]
    along = [_number(z3, Fraction(math.cos(t))) * x + _number(z3, Fraction(math.sin(t))) * y for t in turns]
    # the polygon is a little wider than the circle on both sides, so that nothing is lost
    outer = _number(z3, Fraction(1 / math.cos(math.pi / sides) + 1e-9))
    inner = _number(z3, Fraction(1 + 1e-9))
    solver.add(*(inner * length >= one for one in along), z3.Or(*(length <= outer * one for one in along)))
    return length


def _number(z3: Any, value: Fraction) -> Any:
    return z3.Q(value.numerator, value.denominator)


def _value(z3: Any, model: Any, name: Any) -> Fraction:
    value = model.eval(name, model_completion=True)
    if z3.is_algebraic_value(value):
        value = value.approx(20)
    return Fraction(value.as_fraction()) if z3.is_rational_value(value) else Fraction(value.as_long())


def _z3() -> Any:
    try:
        import z3
    except ImportError:
        raise InputError(
            "a property that boxes cannot settle needs the package z3-solver: install hydraviper[verify]."
        ) from None
    return z3
