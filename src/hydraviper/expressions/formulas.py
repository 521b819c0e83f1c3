"""Formulas: what people write about an agent's features, as the steps that compute it (see `data.Term`).

The syntax is that of conditions. Here every step is rounded to single precision, as the trees round it: a formula is a
feature like any other. Sums are computed from left to right, their numbers last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from hydraviper.data import OPERATIONS, Derived, InputError, Term
from hydraviper.expressions.names import Scope

Bound = Mapping[str, tuple[int, str]]  # pattern -> the agent and the name that it stands for in one case


@dataclass(frozen=True)
class Value:
    """The steps that compute a number; or the number itself, exactly."""

    terms: tuple[Term, ...] = ()
    constant: Fraction | None = None

    @property
    def is_sum(self) -> bool:
        """Whether it is made of summands alone."""
        return all(term.kind not in OPERATIONS for term in self.terms)


class FormulaParser:
    """Turns parts of a text's syntax tree into steps; all features must be one agent's."""

    def __init__(
        self,
        scope: Scope,
        whose: Callable[[str], tuple[int, str]],
        number: Callable[[str], Fraction],
        unreadable: Callable[[str], InputError],
    ) -> None:
        self.scope, self.whose, self.number, self.unreadable = scope, whose, number, unreadable
        self.agent: int | None = None  # whose features they are

    def derived(self, node: object, name: str, formula: str = "", bound: Bound | None = None) -> Derived:
        """A feature of this name that is what a node of the syntax tree stands for."""
        value = self.parse(node, bound or {})
        if not any(term.inputs for term in value.terms):
            raise self.unreadable("it names no feature")
        return Derived(name, value.terms, formula)

    def parse(self, node: Any, bound: Bound) -> Value:
        """The number that a node of the syntax tree stands for."""
        if not hasattr(node, "data"):
            return self._token(node, bound)
        if node.data == "times":
            return self._product(node.children, bound)
        if node.data == "absolute":
            return _absolute(self.parse(node.children[0], bound))
        if node.data == "total":
            return self._sum([(1, value) for value in self._each(node.children[0], bound, "sum")])
        if node.data == "call":
            return self._call(str(node.children[0]), node.children[1:], bound)
        signed, sign = [], 1
        for child in node.children:
            if child is None or getattr(child, "type", "") == "SIGN":
                sign = -1 if child == "-" else 1
            else:
                signed.append((sign, self.parse(child, bound)))
        return self._sum(signed)

    def _call(self, function: str, arguments: Sequence[Any], bound: Bound) -> Value:
        if function == "distance":
            return self._distance([self._point(argument, bound) for argument in arguments])
        if any(argument.data == "point" for argument in arguments):
            raise self.unreadable(f"{function} is of numbers, and only distance is of points")
        if function == "abs":
            if len(arguments) != 1:
                raise self.unreadable("abs is of one number")
            return _absolute(self.parse(arguments[0], bound))
        if len(arguments) > 1:
            values = [self.parse(argument, bound) for argument in arguments]
        else:
            values = self._each(arguments[0], bound, function)
        return reduce(lambda first, second: self._both(first, second, function), values)

    def _each(self, inner: object, bound: Bound, what: str) -> list[Value]:
        """A value for each feature or point that fits the pattern inside."""
        patterns = dict.fromkeys(name for name in names_in(inner) if "*" in name and name not in bound)
        if len(patterns) != 1:
            raise self.unreadable(
                "sum needs one name with *" if what == "sum" else f"{what} needs several numbers, or one name with *"
            )
        (pattern,) = patterns
        agent, name = self.whose(pattern)
        of_points = pattern not in set(names_in(inner, points=False))
        fitting = self.scope.fitting(agent, name, of_points)
        return [self.parse(inner, {**bound, pattern: (agent, one)}) for one in fitting]

    def _point(self, node: Any, bound: Bound) -> tuple[Value, Value]:
        """The coordinates of a point: ([x], [y]), or a name with which two features begin, such as its dx and dy."""
        if node.data == "point":
            x, y = (self.parse(child, bound) for child in node.children)
            return x, y
        token = _only_name(node)
        if token is None:
            raise self.unreadable("distance is of points: write a name such as [landmark 0], or ([x], [y])")
        agent, name = self._named(token, bound)
        x, y = self.scope.point(agent, name)
        return Value((Term("value", (x,)),)), Value((Term("value", (y,)),))

    def _distance(self, points: Sequence[tuple[Value, Value]]) -> Value:
        if len(points) > 2:
            raise self.unreadable("distance is of one point, seen from the agent, or of two")
        axes = list(zip(*points, strict=True))
        inputs = tuple(term for point in points for value in point for term in value.terms)
        if len(inputs) == 2 * len(points) and all(term.kind == "value" and term.sign > 0 for term in inputs):
            return Value((Term("distance", tuple(term.inputs[0] for term in inputs)),))
        x, y = (self._sum([(1 - 2 * k, value) for k, value in enumerate(axis)]) for axis in axes)
        return self._both(x, y, "length")

    def _product(self, factors: Sequence[Any], bound: Bound) -> Value:
        result = Value(constant=Fraction(1))
        for factor in factors:
            divides = getattr(factor, "data", "") == "divisor"
            value = self.parse(factor.children[0] if divides else factor, bound)
            if divides:
                value = Value(constant=1 / self.divisor(value.constant))
            if result.constant is not None and value.constant is not None:
                result = Value(constant=result.constant * value.constant)
            elif 1 in (result.constant, value.constant):
                result = value if result.constant == 1 else result
            elif value.constant is None and result.constant is not None:  # the number last: it needs less room
                result = self._both(value, result, "times")
            else:
                result = self._both(result, value, "times")
        return result

    def divisor(self, constant: Fraction | None) -> Fraction:
        """A number that may stand behind /."""
        if constant is None:
            raise self.unreadable("it divides by a feature, which may be 0: only a number may stand behind /")
        if constant == 0:
            raise self.unreadable("it divides by 0: write another number behind /")
        return constant

    def _sum(self, signed: Sequence[tuple[int, Value]]) -> Value:
        numbers = [sign * value.constant for sign, value in signed if value.constant is not None]
        total, parts = sum(numbers, Fraction(0)), [part for part in signed if part[1].constant is None]
        if not parts:
            return Value(constant=total)
        terms: tuple[Term, ...] = ()
        for sign, value in parts:
            if value.is_sum:
                terms += tuple(replace(term, sign=sign * term.sign) for term in value.terms)
            elif not terms:
                terms = value.terms if sign > 0 else self._both(value, Value(constant=Fraction(-1)), "times").terms
            else:
                terms += (Term("open"), *value.terms, Term("plus" if sign > 0 else "minus"))
        return Value(terms + self._steps(Value(constant=total)) if total else terms)

    def _both(self, first: Value, second: Value, operation: str) -> Value:
        """The result of an operation on two numbers."""
        return Value((*self._steps(first), Term("open"), *self._steps(second), Term(operation)))

    def _steps(self, value: Value) -> tuple[Term, ...]:
        """The steps that compute a number, also if it is constant."""
        if value.constant is None:
            return value.terms
        with np.errstate(over="ignore"):
            number = np.float32(float(abs(value.constant)) if abs(value.constant) < 10**300 else np.inf)
        if not np.isfinite(number) or (number == 0) != (value.constant == 0):
            raise self.unreadable("one of its numbers is too large or too small for single precision")
        return (Term("number", (), -1 if value.constant < 0 else 1, float(number)),)

    def _token(self, token: Any, bound: Bound) -> Value:
        if token.type == "NUMBER":
            return Value(constant=self.number(str(token)))
        agent, name = self._named(token, bound)
        ((_, which),) = self.scope.features(agent, name)
        return Value((Term("value", (which,)),) if isinstance(which, int) else which.terms)

    def _named(self, token: object, bound: Bound) -> tuple[int, str]:
        """The agent and the feature or point that a name means; refuses a second agent."""
        name = without_brackets(token)
        agent, feature = bound[name] if name in bound else self.whose(name)
        if "*" in feature and name not in bound and feature not in self.scope.agents[agent].features:
            raise self.unreadable(f"{name!r} stands for several: write sum, min or max before it")
        if self.agent not in (None, agent):
            raise self.unreadable("it mixes what two agents see, which neither of them can compute")
        self.agent = agent
        return agent, feature


def _absolute(value: Value) -> Value:
    if value.constant is not None:
        return Value(constant=abs(value.constant))
    if len(value.terms) == 1:
        kind = "size" if value.terms[0].kind == "value" else value.terms[0].kind
        return Value((replace(value.terms[0], kind=kind, sign=1),))
    return Value((*value.terms, Term("absolute")))


def names_in(node: Any, points: bool = True) -> Iterator[str]:
    """The names in a node of the syntax tree, except those that a `sum`, `min` or `max` over a group stands for.

    Without `points`, names of features alone.
    """
    if hasattr(node, "data"):
        of_points = node.data == "call" and node.children[0] == "distance" and not points
        for child in node.children:
            if not is_group(child) and not (of_points and _only_name(child) is not None):
                yield from names_in(child, points)
    elif node is not None and node.type in ("NAME", "BARE_NAME"):
        yield without_brackets(node)


def _only_name(node: Any) -> Any | None:
    """The name that a node of the syntax tree is, if it is nothing else."""
    while hasattr(node, "data"):
        parts = [child for child in node.children if child is not None]
        if len(parts) != 1 or node.data not in ("sum", "times"):
            return None
        (node,) = parts
    return node if node.type == "NAME" else None


def is_group(node: Any) -> bool:
    """Whether a node of the syntax tree is a sum, the least or the largest of all that fit a pattern."""
    kind = getattr(node, "data", "")
    return kind == "total" or (kind == "call" and len(node.children) == 2 and node.children[0] in ("min", "max"))


def without_brackets(token: object) -> str:
    """A name without the brackets that it stands in."""
    return str(token).strip().removeprefix("[").removesuffix("]").strip()
