"""Expressions and their exact meaning: sums of features and absolute values, compared with 0.

A feature's value is a float32; derived features are computed as the trees compute them. All arithmetic on these values
is exact, in fractions: 0.1 means the real number 0.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from hydraviper.data import Derived

Feature = tuple[int, int | Derived]  # an agent, and the number of a plain feature or a derived one
Lookup = Callable[[Feature], Fraction]  # a feature's value at some observations
Tolerance = Callable[[Feature], Fraction]  # how much a feature's value may be off


@dataclass(frozen=True)
class Absolute:
    """The absolute value of a sum."""

    of: Sum

    def value(self, lookup: Lookup) -> Fraction:
        """The exact value."""
        return abs(self.of.value(lookup))


@dataclass(frozen=True)
class Sum:
    """A constant plus factors times features or absolute values; no term occurs twice."""

    terms: tuple[tuple[Feature | Absolute, Fraction], ...]
    constant: Fraction

    @staticmethod
    def of(terms: Iterable[tuple[Feature | Absolute, Fraction]], constant: Fraction = Fraction(0)) -> Sum:
        """Collect like terms and drop those that cancel out."""
        factors: dict[Feature | Absolute, Fraction] = {}
        for term, factor in terms:
            if isinstance(term, Absolute) and not term.of.terms:
                constant += factor * abs(term.of.constant)
            else:
                factors[term] = factors.get(term, Fraction(0)) + factor
        return Sum(tuple((term, factor) for term, factor in factors.items() if factor != 0), constant)

    def plus(self, other: Sum, factor: Fraction = Fraction(1)) -> Sum:
        """This sum plus a factor times another."""
        scaled = ((term, factor * before) for term, before in other.terms)
        return Sum.of((*self.terms, *scaled), self.constant + factor * other.constant)

    def times(self, factor: Fraction) -> Sum:
        """This sum times a factor."""
        return Sum.of(((term, factor * before) for term, before in self.terms), factor * self.constant)

    def value(self, lookup: Lookup) -> Fraction:
        """The exact value."""
        total = self.constant
        for term, factor in self.terms:
            total += factor * (term.value(lookup) if isinstance(term, Absolute) else lookup(term))
        return total

    def features(self) -> Iterator[tuple[Feature, Fraction]]:
        """Every feature, inside absolute values too, with the absolute value of its factor."""
        for term, factor in self.terms:
            if isinstance(term, Absolute):
                yield from ((feature, abs(factor) * inner) for feature, inner in term.of.features())
            else:
                yield term, abs(factor)


@dataclass(frozen=True)
class Comparison:
    """`sum <= 0`, `sum < 0` or `sum == 0`."""

    sum: Sum
    operator: str  # <=, < or ==

    @staticmethod
    def between(left: Sum, operator: str, right: Sum) -> Comparison:
        """`left operator right`; > and >= become < and <= by swapping the sides."""
        if operator in (">", ">="):
            left, operator, right = right, "<" + operator[1:], left
        return Comparison(left.plus(right, Fraction(-1)), operator)

    def holds(self, lookup: Lookup, tolerance: Tolerance | None = None) -> bool:
        """Whether it is true; with a tolerance, whether it is true for some values within the tolerance."""
        value = self.sum.value(lookup)
        room = Fraction(0)
        if tolerance is not None:
            room = sum((factor * tolerance(feature) for feature, factor in self.sum.features()), room)
        if self.operator == "==":
            return abs(value) <= room
        return value < room if self.operator == "<" else value <= room

    def features(self) -> Iterator[Feature]:
        """Every feature that it names."""
        yield from (feature for feature, _ in self.sum.features())


@dataclass(frozen=True)
class _Compound:
    """Several conditions as one."""

    parts: tuple[Condition, ...]

    def features(self) -> Iterator[Feature]:
        """Every feature that a part names."""
        for part in self.parts:
            yield from part.features()


@dataclass(frozen=True)
class All(_Compound):
    """True if every part is."""

    def holds(self, lookup: Lookup, tolerance: Tolerance | None = None) -> bool:
        """Whether every part is true."""
        return all(part.holds(lookup, tolerance) for part in self.parts)


@dataclass(frozen=True)
class Some(_Compound):
    """True if at least one part is."""

    def holds(self, lookup: Lookup, tolerance: Tolerance | None = None) -> bool:
        """Whether a part is true."""
        return any(part.holds(lookup, tolerance) for part in self.parts)


Condition = Comparison | All | Some
