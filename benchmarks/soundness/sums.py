"""Sums and conditions as they are drawn: each knows its text and its obvious value, neither made from the other.

A value is a numerator (an array of whole numbers, or a z3 term) over a whole denominator, so everything is exact.
Nothing of hydraviper is used here.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}
Value = tuple[Any, int]  # numerator, denominator > 0
Where = tuple[int, int]  # agent, feature: plain ones first, then the derived


def fill(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def fits(pattern: str, name: str) -> str | None:
    """What the (first) * of a pattern stands for, None if the name does not fit."""
    found = re.fullmatch(re.escape(pattern).replace(r"\*", "(.+)"), name)
    return None if found is None else (found.group(1) if "*" in pattern else "")


class Arrays:
    """Arithmetic on arrays of whole numbers."""

    def times(self, number: Any, factor: int) -> Any:
        if number.dtype != object and (
            abs(factor) >= 2**40 or int(np.abs(number).max(initial=0)) * abs(factor) >= 2**60
        ):
            number = number.astype(object)
        return number * factor

    def plus(self, left: Any, right: Any) -> Any:
        return left + right

    def size(self, number: Any) -> Any:
        return np.abs(number)

    def number(self, value: int) -> Any:
        return np.array([value], dtype=np.int64 if abs(value) < 2**40 else object)

    def every(self, parts: list[Any]) -> Any:
        total = np.array([True])
        for part in parts:
            total = total & part.astype(bool)
        return total

    def some(self, parts: list[Any]) -> Any:
        total = np.array([False])
        for part in parts:
            total = total | part.astype(bool)
        return total


@dataclass(frozen=True)
class Place:
    """Where a text is looked at: whose it is, what its variables stand for, and the values of all columns."""

    names: Any  # of the features: [agent][k]
    agents: list[str]
    members: Any  # (agent, pattern) -> the features that fit
    column: Any  # (agent, k) -> Value
    step: Any  # (agent, k) -> Value, one float32 step, or 0 for what is whole
    arithmetic: Any
    owner: int | None = None
    values: dict[str, str] = field(default_factory=dict)
    bound: dict[str, Where] = field(default_factory=dict)


def add(at: Place, left: Value, right: Value) -> Value:
    whole = math.lcm(left[1], right[1])
    own = at.arithmetic
    return own.plus(own.times(left[0], whole // left[1]), own.times(right[0], whole // right[1])), whole


def scale(at: Place, value: Value, factor: Fraction) -> Value:
    return at.arithmetic.times(value[0], factor.numerator), value[1] * factor.denominator


@dataclass(frozen=True)
class Number:
    text: str
    exact: Fraction

    def value(self, at: Place) -> Value:
        return at.arithmetic.number(self.exact.numerator), self.exact.denominator

    def room(self, at: Place) -> Value:
        return at.arithmetic.number(0), 1

    def names(self) -> Iterator[Name]:
        return iter(())


@dataclass(frozen=True)
class Name:
    """A feature; agent and feature may hold {variables}, the feature a *."""

    agent: str | None
    feature: str

    @property
    def text(self) -> str:
        return self.feature if self.agent is None else f"{self.agent}: {self.feature}"

    def whose(self, at: Place) -> int:
        if self.agent is None:
            assert at.owner is not None
            return at.owner
        return at.agents.index(fill(self.agent, at.values))

    def where(self, at: Place) -> Where:
        if "*" in self.feature:
            return at.bound[fill(self.text, at.values)]
        agent = self.whose(at)
        return agent, at.names[agent].index(fill(self.feature, at.values))

    def all(self, at: Place) -> list[Where]:
        agent = self.whose(at)
        return [(agent, k) for k in at.members(agent, fill(self.feature, at.values))]

    def value(self, at: Place) -> Value:
        return at.column(*self.where(at))

    def room(self, at: Place) -> Value:
        return at.step(*self.where(at))

    def names(self) -> Iterator[Name]:
        yield self


@dataclass(frozen=True)
class Scaled:
    factor: Number
    of: Any
    style: str  # before, star before, star behind

    def value(self, at: Place) -> Value:
        return scale(at, self.of.value(at), self.factor.exact)

    def room(self, at: Place) -> Value:
        return scale(at, self.of.room(at), abs(self.factor.exact))

    def names(self) -> Iterator[Name]:
        return self.of.names()


@dataclass(frozen=True)
class Plus:
    parts: tuple[tuple[int, Any], ...]  # signs and what stands behind them

    def value(self, at: Place) -> Value:
        total: Value = at.arithmetic.number(0), 1
        for sign, part in self.parts:
            total = add(at, total, scale(at, part.value(at), Fraction(sign)))
        return total

    def room(self, at: Place) -> Value:
        total: Value = at.arithmetic.number(0), 1
        for _, part in self.parts:
            total = add(at, total, part.room(at))
        return total

    def names(self) -> Iterator[Name]:
        for _, part in self.parts:
            yield from part.names()


@dataclass(frozen=True)
class Size:
    of: Any

    def value(self, at: Place) -> Value:
        inner = self.of.value(at)
        return at.arithmetic.size(inner[0]), inner[1]

    def room(self, at: Place) -> Value:
        return self.of.room(at)

    def names(self) -> Iterator[Name]:
        return self.of.names()


@dataclass(frozen=True)
class Total:
    """The sum of something over all features that a pattern fits."""

    over: Name
    of: Any

    def value(self, at: Place) -> Value:
        return self._each(at, "value")

    def room(self, at: Place) -> Value:
        return self._each(at, "room")

    def _each(self, at: Place, what: str) -> Value:
        total: Value = at.arithmetic.number(0), 1
        for where in self.over.all(at):
            here = replace(at, bound={**at.bound, fill(self.over.text, at.values): where})
            total = add(at, total, getattr(self.of, what)(here))
        return total

    def names(self) -> Iterator[Name]:
        return self.of.names()


def written(node: Any, bars: bool = False) -> str:
    """A sum as text; `bars`: directly within bars, where a number must not stand before a bar."""
    if not isinstance(node, Plus):
        return _product(node, bars)
    text = ""
    for k, (sign, part) in enumerate(node.parts):
        mark = ("-" if sign < 0 else "") if k == 0 else (" - " if sign < 0 else " + ")
        text += mark + _product(part, bars)
    return text


def _product(node: Any, bars: bool) -> str:
    if not isinstance(node, Scaled):
        return _factor(node)
    inner, number = _factor(node.of), node.factor.text
    if isinstance(node.of, Number | Scaled):
        inner = f"({written(node.of)})"
    if node.style == "star behind":
        return f"{inner} * {number}"
    if node.style == "star before" or (bars and isinstance(node.of, Size)):
        return f"{number} * {inner}"
    return f"{number} {inner}"


def _factor(node: Any) -> str:
    if isinstance(node, Number):
        return node.text
    if isinstance(node, Name):
        return f"[{node.text}]"
    if isinstance(node, Size):
        return f"|{written(node.of, True)}|"
    if isinstance(node, Total):
        return f"sum {_factor(node.of)}" if isinstance(node.of, Name | Size) else f"sum ({written(node.of)})"
    return f"({written(node)})"


@dataclass(frozen=True)
class Condition:
    """Sides and operators in turn, with or without a quantifier over what a pattern fits."""

    sides: tuple[Any, ...]
    operators: tuple[str, ...]
    quantifier: str = ""
    over: Name | None = None
    bare: bool = False

    @property
    def text(self) -> str:
        sides = [side.text if self.bare else written(side) for side in self.sides]
        text = sides[0]
        for one, side in zip(self.operators, sides[1:], strict=True):
            text += f" {one} {side}"
        return f"{self.quantifier} {text}".strip()

    def holds(self, at: Place, others: list[Condition], room: str = "") -> Any:
        """Where it is true; with room "loose" or "strict", as a fact."""
        if self.over is None:
            return self._compared(at, room)
        found = self.over.all(at)
        if self.quantifier == "every other":
            named = {name.where(at) for one in others if not one.quantifier for name in one.singles()}
            found = [where for where in found if where not in named]
        key = fill(self.over.text, at.values)
        cases = [self._compared(replace(at, bound={key: where}), room) for where in found]
        return at.arithmetic.some(cases) if self.quantifier == "some" else at.arithmetic.every(cases)

    def singles(self) -> Iterator[Name]:
        for side in self.sides:
            yield from (name for name in side.names() if "*" not in name.feature)

    def _compared(self, at: Place, room: str) -> Any:
        parts = []
        for left, sign, right in zip(self.sides, self.operators, self.sides[1:], strict=False):
            value = add(at, left.value(at), scale(at, right.value(at), Fraction(-1)))
            sign = "==" if sign == "=" else sign
            space: Value = at.arithmetic.number(0), 1
            if room:
                names = [name.where(at) for side in (left, right) for name in side.names() if "*" not in name.feature]
                stars = [name for side in (left, right) for name in side.names() if "*" in name.feature]
                if room == "loose" or (len(set(names)) == len(names) and not stars):
                    space = add(at, left.room(at), right.room(at))
            parts.append(_true(at, value, sign, space))
        return at.arithmetic.every(parts)


def _true(at: Place, value: Value, sign: str, room: Value) -> Any:
    """Whether value compared with 0 is true if that much room is given."""
    own = at.arithmetic
    number, space = own.times(value[0], room[1]), own.times(room[0], value[1])
    if sign in (">", ">="):
        number, sign = own.times(number, -1), "<" + sign[1:]
    return own.size(number) <= space if sign == "==" else OPERATORS[sign](number, space)
