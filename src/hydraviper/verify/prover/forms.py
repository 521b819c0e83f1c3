"""Linear forms over columns of numbers, formulas that combine them, and rows for compiled code."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

LARGEST = Fraction(float(np.finfo(np.float32).max))


@dataclass(frozen=True)
class LinearForm:
    """A sum of factors times columns, compared with a constant."""

    columns: tuple[int, ...]
    factors: tuple[Fraction, ...]
    operator: str  # <=, < or ==
    constant: Fraction
    rounding: float = 0.0  # times the weighted absolute values of its columns: by how much rounding may break it
    weights: tuple[Fraction, ...] = ()  # per column, for the rounding

    def interval(self, whole: np.ndarray, float32: np.ndarray) -> tuple[float, float] | None:
        """The exact values that the only column may have; None if there are several columns or rounding."""
        if len(self.columns) != 1 or self.rounding:
            return None
        column, factor = self.columns[0], self.factors[0]
        value, strict = self.constant / factor, self.operator == "<"
        low, high = -math.inf, math.inf
        grid = bool(whole[column]), bool(float32[column])
        if self.operator == "==" or factor > 0:
            high = _nearest_value(value, False, strict, *grid)
        if self.operator == "==" or factor < 0:
            low = _nearest_value(value, True, strict, *grid)
        return low, high

    def tightened(self, whole: np.ndarray) -> Fraction:
        """The constant, lowered to the next whole number where the sum is always whole."""
        integral = all(whole[c] for c in self.columns) and all(f.denominator == 1 for f in self.factors)
        if not self.rounding and integral and self.operator != "==":
            return Fraction(math.ceil(self.constant) - 1 if self.operator == "<" else math.floor(self.constant))
        return self.constant


@dataclass(frozen=True)
class Formula:
    """Linear forms that must all hold, and choices, of each of which one option must hold."""

    forms: tuple[int, ...] = ()  # by number
    choices: tuple[tuple[Formula, ...], ...] = ()

    @staticmethod
    def all(parts: Iterable[Formula]) -> Formula:
        """The conjunction of some formulas."""
        parts = list(parts)
        forms = tuple(dict.fromkeys(form for part in parts for form in part.forms))
        return Formula(forms, tuple(choice for part in parts for choice in part.choices))


TRUE, FALSE = Formula(), Formula((), ((),))  # a choice without options cannot be met


class Rows(NamedTuple):
    """Linear forms as sparse rows `sum <= constant`, for compiled code."""

    begins: np.ndarray  # int64 [rows + 1]: where each row's entries begin
    columns: np.ndarray  # int64 [entries]
    factors: np.ndarray  # float64 [entries]
    weights: np.ndarray  # float64 [entries]: times the column's absolute value, what rounding may add
    constants: np.ndarray  # float64 [rows]


def rows_of(forms: Sequence[LinearForm], whole: np.ndarray) -> tuple[Rows, tuple[tuple[int, ...], ...]]:
    """Linear forms as rows, and the rows of each form."""
    entries: list[tuple[int, float, float]] = []
    begins, constants, form_rows = [0], [], []
    for form in forms:
        weights = [form.rounding * float(weight) for weight in form.weights or (0,) * len(form.columns)]
        signs = (1, -1) if form.operator == "==" else (1,)
        form_rows.append(tuple(range(len(constants), len(constants) + len(signs))))
        for sign in signs:
            entries += zip(form.columns, (sign * float(f) for f in form.factors), weights, strict=True)
            begins.append(len(entries))
            constants.append(sign * float(form.tightened(whole)))
    rows = Rows(
        np.array(begins, np.int64),
        np.array([column for column, _, _ in entries], np.int64),
        np.array([factor for _, factor, _ in entries], np.float64),
        np.array([weight for _, _, weight in entries], np.float64),
        np.array(constants, np.float64),
    )
    return rows, tuple(form_rows)


def _nearest_value(value: Fraction, up: bool, strict: bool, whole: bool, float32: bool) -> float:
    """The nearest value at or above (up), or at or below; strict excludes the value itself."""
    if whole:
        near = math.ceil(value) if up else math.floor(value)
        return float(near + (1 if up else -1) if strict and near == value else near)
    if not float32:  # any real number: rather include a little too much than too little
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
