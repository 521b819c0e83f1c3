"""z3 for regions that narrowing cannot settle: real arithmetic, with room for the rounding of float32."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from hydraviper.data import InputError
from hydraviper.verify.prover.deadline import Deadline, OutOfTime
from hydraviper.verify.prover.forms import LinearForm
from hydraviper.verify.prover.frames import LINK_KINDS, STEP, TINY
from hydraviper.verify.prover.regions import Region, pick

MOST_SECONDS = 10.0  # for one question to z3, however much time is left
_MARGINS = (2.0**-7, 2.0**-12, 2.0**-18, 0.0)  # distances from every border at which points are sought
_WIDTHS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6)  # how far from a model of z3 a float32 point is sought
_SIDES = 16  # of the polygon that first stands for a circle

Confirm = Callable[[list[float]], bool]  # whether values of the plain columns are what is searched for


def quick(region: Region, confirm: Confirm, deadline: Deadline) -> bool:
    """Whether a region is proved to be empty, by a short attempt; points found on the way go to `confirm`."""
    if _try(region, confirm, deadline):
        return False
    if not region.forms and not len(region.frame.links):
        return False
    # with room for rounding, and polygons around circles: if this is empty, so is the region
    answer, model = _ask(region, deadline, rounded=True, sides=_SIDES)
    if answer == "unsat":
        return True
    if model is not None:
        _near(region, model, confirm, deadline)
    return False


def thorough(region: Region, confirm: Confirm, deadline: Deadline) -> bool:
    """The same for what `quick` left open: with points away from all borders, finer polygons and exact circles."""
    for margin in _MARGINS:
        _, model = _ask(region, deadline, margin=margin)
        if model is not None and _near(region, model, confirm, deadline):
            return False
    if (region.frame.links[:, 0] != LINK_KINDS["size"]).any():
        return any(_ask(region, deadline, rounded=True, sides=sides)[0] == "unsat" for sides in (8 * _SIDES, 0))
    return False


def _try(
    region: Region, confirm: Confirm, deadline: Deadline, near: np.ndarray | None = None, width: float = 0.0
) -> bool:
    values = pick(region, deadline, near, width)
    return values is not None and confirm(values)


def _near(region: Region, model: list[float], confirm: Confirm, deadline: Deadline) -> bool:
    """Whether a model of z3, or a float32 point near it, is confirmed."""
    return confirm(model) or any(_try(region, confirm, deadline, np.array(model), width) for width in _WIDTHS)


def _ask(
    region: Region, deadline: Deadline, rounded: bool = False, sides: int = 0, margin: float = 0.0
) -> tuple[str, list[float] | None]:
    """Ask z3 for a point: `rounded` leaves room for rounding; `sides` of polygons for circles, 0 for exact circles."""
    seconds = min(deadline.left, MOST_SECONDS)
    if seconds <= 0:
        raise OutOfTime
    z3, frame = z3_package(), region.frame
    solver = z3.Solver()
    solver.set("timeout", max(1, int(1000 * seconds)))
    forms = [frame.forms[number] for number in region.forms]
    used = {column for form in forms for column in form.columns}
    used |= {int(column) for link in frame.links for column in link[1 : 1 + _inputs(link)]}
    names = {k: (z3.Int if frame.whole[k] else z3.Real)(f"x{k}") for k in sorted(used)}
    for k, name in names.items():
        away = 0.0 if frame.whole[k] or region.high[k] - region.low[k] <= 2 * margin else margin
        solver.add(name >= _number(z3, region.low[k] + away), name <= _number(z3, region.high[k] - away))
    for form in forms:
        solver.add(*_form(z3, region, form, names, rounded, margin))
    for link in frame.links:
        solver.add(*_link(z3, region, link, names, rounded, sides))
    answer = str(solver.check())
    if answer != "sat":
        return answer, None
    model = solver.model()
    values = [_value(z3, model, names[k]) if k in names else _nearest_to_zero(region, k) for k in range(frame.plain)]
    return answer, values


def _inputs(link: np.ndarray) -> int:
    """How many columns a link ties together."""
    return {LINK_KINDS["size"]: 2, LINK_KINDS["distance of difference"]: 5}.get(int(link[0]), 3)


def _nearest_to_zero(region: Region, column: int) -> float:
    low, high = float(region.low[column]), float(region.high[column])
    return min(max(0.0, low), high)


def _form(z3: Any, region: Region, form: LinearForm, names: dict[int, Any], rounded: bool, margin: float) -> list[Any]:
    pairs = zip(form.columns, form.factors, strict=True)
    total = z3.Sum([_number(z3, factor) * names[column] for column, factor in pairs])
    if rounded and form.rounding:
        sizes = [max(abs(region.low[c]), abs(region.high[c])) for c in form.columns]
        room = form.rounding * sum(float(w) * size for w, size in zip(form.weights, sizes, strict=True))
        room += TINY * (1.0 + sum(abs(float(f)) for f in (*form.factors, *form.weights)))
        upper = [total <= _number(z3, form.constant + Fraction(room * (1 + 1e-9)))]
        lower = [total >= _number(z3, form.constant - Fraction(room * (1 + 1e-9)))] if form.operator == "==" else []
        return upper + lower
    if form.operator == "==":
        return [total == _number(z3, form.constant)]
    whole = all(region.frame.whole[column] for column in form.columns)
    bound = _number(z3, form.constant if whole else form.constant - Fraction(margin))
    return [total < bound if form.operator == "<" else total <= bound]


def _link(z3: Any, region: Region, link: np.ndarray, names: dict[int, Any], rounded: bool, sides: int) -> list[Any]:
    kind, column, x, y, u, v = map(int, link)
    result = names[column]
    if kind == LINK_KINDS["size"]:
        return [result == z3.If(names[x] >= 0, names[x], -names[x])]
    across, up = names[x], names[y]
    if kind in (LINK_KINDS["min"], LINK_KINDS["max"]):
        return [result == z3.If(across <= up if kind == LINK_KINDS["min"] else across >= up, across, up)]
    if kind == LINK_KINDS["times"]:
        largest = max(abs(region.low[column]), abs(region.high[column]))
        room = _number(z3, STEP * float(largest) + TINY) if rounded else _number(z3, 0)
        return [result - across * up <= room, across * up - result <= room]
    if kind == LINK_KINDS["distance of difference"]:
        across, up = across - names[u], up - names[v]
    length = z3.Real(f"length{column}")
    room = _number(z3, 4 * STEP * float(region.high[column]) + TINY) if rounded else _number(z3, 0)
    lengths = [length >= 0, result - length <= room, length - result <= room]
    if sides == 0:
        return [*lengths, length * length == across * across + up * up]
    turns = [2 * math.pi * k / sides for k in range(sides)]
    along = [_number(z3, math.cos(t)) * across + _number(z3, math.sin(t)) * up for t in turns]
    # the polygon is a little wider than the circle on both sides, so that no point is lost
    outer = _number(z3, 1 / math.cos(math.pi / sides) + 1e-9)
    inner = _number(z3, 1 + 1e-9)
    return [*lengths, *(inner * length >= one for one in along), z3.Or(*(length <= outer * one for one in along))]


def _number(z3: Any, value: Fraction | float) -> Any:
    exact = value if isinstance(value, Fraction) else Fraction(float(value))
    return z3.Q(exact.numerator, exact.denominator)


def _value(z3: Any, model: Any, name: Any) -> float:
    value = model.eval(name, model_completion=True)
    if z3.is_algebraic_value(value):
        value = value.approx(20)
    return float(Fraction(value.as_fraction()) if z3.is_rational_value(value) else value.as_long())


def z3_package() -> Any:
    """The package z3, or a sentence that says how to get it."""
    try:
        import z3
    except ImportError:
        raise InputError(
            "this property can only be decided with the package z3-solver: install hydraviper[verify]."
        ) from None
    return z3
