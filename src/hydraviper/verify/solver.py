"""The cells that narrowing cannot settle, by z3: real arithmetic with room for what float32 rounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from hydraviper.data import InputError
from hydraviper.verify.cells import Cell, pick
from hydraviper.verify.clock import Clock, OutOfTime
from hydraviper.verify.frames import LINK_KINDS, STEP, TINY, Line

MOST_SECONDS = 10.0  # that one question to z3 may take, however much time is left
_MARGINS = (2.0**-7, 2.0**-12, 2.0**-18, 0.0)  # how far from every border a point is sought, widest first
_WIDTHS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6)  # how far from a model a point is sought
_SIDES = 16  # of the polygon that stands for a circle at first

Confirm = Callable[[list[float]], bool]  # whether the plain columns' values are what is looked for


def quick(cell: Cell, confirm: Confirm, clock: Clock) -> bool:
    """Tell whether a cell is empty for certain, if that does not take long; a point on the way goes to `confirm`."""
    if _try(cell, confirm, clock):
        return False
    if not cell.lines and not len(cell.frame.links):
        return False
    # with room for rounding and polygons for circles: what is empty then is empty for certain
    answer, model = _ask(cell, clock, rounded=True, sides=_SIDES)
    if answer == "unsat":
        return True
    if model is not None:
        _near(cell, model, confirm, clock)
    return False


def thorough(cell: Cell, confirm: Confirm, clock: Clock) -> bool:
    """The same for what `quick` left open: points away from all borders, and exact circles."""
    for margin in _MARGINS:
        _, model = _ask(cell, clock, margin=margin)
        if model is not None and _near(cell, model, confirm, clock):
            return False
    if (cell.frame.links[:, 0] != LINK_KINDS["size"]).any():
        return any(_ask(cell, clock, rounded=True, sides=sides)[0] == "unsat" for sides in (8 * _SIDES, 0))
    return False


def _try(cell: Cell, confirm: Confirm, clock: Clock, near: np.ndarray | None = None, width: float = 0.0) -> bool:
    values = pick(cell, clock, near, width)
    return values is not None and confirm(values)


def _near(cell: Cell, model: list[float], confirm: Confirm, clock: Clock) -> bool:
    """Look for a point at a model or close to it."""
    return confirm(model) or any(_try(cell, confirm, clock, np.array(model), width) for width in _WIDTHS)


def _ask(
    cell: Cell, clock: Clock, rounded: bool = False, sides: int = 0, margin: float = 0.0
) -> tuple[str, list[float] | None]:
    """Ask for a point of the cell; rounded: with room for rounding; sides: of polygons for circles, 0: exact ones."""
    seconds = min(clock.left, MOST_SECONDS)
    if seconds <= 0:
        raise OutOfTime
    z3, frame = _z3(), cell.frame
    solver = z3.Solver()
    solver.set("timeout", max(1, int(1000 * seconds)))
    lines = [frame.lines[number] for number in cell.lines]
    used = {column for line in lines for column in line.columns}
    used |= {int(column) for link in frame.links for column in link[1 : 1 + _inputs(link)]}
    names = {k: (z3.Int if frame.whole[k] else z3.Real)(f"x{k}") for k in sorted(used)}
    for k, name in names.items():
        away = 0.0 if frame.whole[k] or cell.high[k] - cell.low[k] <= 2 * margin else margin
        solver.add(name >= _number(z3, cell.low[k] + away), name <= _number(z3, cell.high[k] - away))
    for line in lines:
        solver.add(*_line(z3, cell, line, names, rounded, margin))
    for link in frame.links:
        solver.add(*_link(z3, cell, link, names, rounded, sides))
    answer = str(solver.check())
    if answer != "sat":
        return answer, None
    model = solver.model()
    values = [_value(z3, model, names[k]) if k in names else _middle(cell, k) for k in range(frame.plain)]
    return answer, values


def _inputs(link: np.ndarray) -> int:
    """How many columns a link ties together."""
    return {LINK_KINDS["size"]: 2, LINK_KINDS["distance"]: 3}.get(int(link[0]), 5)


def _middle(cell: Cell, column: int) -> float:
    low, high = float(cell.low[column]), float(cell.high[column])
    return min(max(0.0, low), high)


def _line(z3: Any, cell: Cell, line: Line, names: dict[int, Any], rounded: bool, margin: float) -> list[Any]:
    pairs = zip(line.columns, line.factors, strict=True)
    total = z3.Sum([_number(z3, factor) * names[column] for column, factor in pairs])
    if rounded and line.share:
        sizes = [max(abs(cell.low[c]), abs(cell.high[c])) for c in line.columns]
        room = line.share * sum(float(w) * size for w, size in zip(line.weights, sizes, strict=True))
        room += TINY * (1.0 + sum(abs(float(f)) for f in (*line.factors, *line.weights)))
        upper = [total <= _number(z3, line.bound + Fraction(room * (1 + 1e-9)))]
        lower = [total >= _number(z3, line.bound - Fraction(room * (1 + 1e-9)))] if line.operator == "==" else []
        return upper + lower
    if line.operator == "==":
        return [total == _number(z3, line.bound)]
    whole = all(cell.frame.whole[column] for column in line.columns)
    bound = _number(z3, line.bound if whole else line.bound - Fraction(margin))
    return [total < bound if line.operator == "<" else total <= bound]


def _link(z3: Any, cell: Cell, link: np.ndarray, names: dict[int, Any], rounded: bool, sides: int) -> list[Any]:
    kind, column, x, y, u, v = map(int, link)
    result = names[column]
    if kind == LINK_KINDS["size"]:
        return [result == z3.If(names[x] >= 0, names[x], -names[x])]
    across, up = names[x], names[y]
    if kind == LINK_KINDS["distance of difference"]:
        across, up = across - names[u], up - names[v]
    length = z3.Real(f"length{column}")
    room = _number(z3, 4 * STEP * float(cell.high[column]) + TINY) if rounded else _number(z3, 0)
    made = [length >= 0, result - length <= room, length - result <= room]
    if sides == 0:
        return [*made, length * length == across * across + up * up]
    turns = [2 * math.pi * k / sides for k in range(sides)]
    along = [_number(z3, math.cos(t)) * across + _number(z3, math.sin(t)) * up for t in turns]
    # the polygon is a little wider than the circle on both sides, so that nothing is lost
    outer = _number(z3, 1 / math.cos(math.pi / sides) + 1e-9)
    inner = _number(z3, 1 + 1e-9)
    return [*made, *(inner * length >= one for one in along), z3.Or(*(length <= outer * one for one in along))]


def _number(z3: Any, value: Fraction | float) -> Any:
    exact = value if isinstance(value, Fraction) else Fraction(float(value))
    return z3.Q(exact.numerator, exact.denominator)


def _value(z3: Any, model: Any, name: Any) -> float:
    value = model.eval(name, model_completion=True)
    if z3.is_algebraic_value(value):
        value = value.approx(20)
    return float(Fraction(value.as_fraction()) if z3.is_rational_value(value) else value.as_long())


def _z3() -> Any:
    try:
        import z3
    except ImportError:
        raise InputError(
            "a property that boxes cannot settle needs the package z3-solver: install hydraviper[verify]."
        ) from None
    return z3
