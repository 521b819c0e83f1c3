"""What a condition is once it is read, and what it means: exact sums of features, compared with 0.

A feature's value is a float32; a derived one's is computed as the trees compute it. What a condition does with these
values (factors, sums, sizes, comparisons) is exact: 0.1 is the real number 0.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from hydraviper.data import Derived

Feature = tuple[int, int | Derived]  # an agent, and its plain feature by number or a derived one
Lookup = Callable[[Feature], Fraction]  # a feature's value at the observations in question


@dataclass(frozen=True)
class Size:
    """The absolute value of a sum."""

    of: Sum

    def value(self, lookup: Lookup) -> Fraction:
        """Its value, exactly."""
        return abs(self.of.value(lookup))


@dataclass(frozen=True)
class Sum:
    """A number plus factors times features or sizes, each of which stands in it once."""

    terms: tuple[tuple[Feature | Size, Fraction], ...]
    number: Fraction

    @staticmethod
    def of(terms: Iterable[tuple[Feature | Size, Fraction]], number: Fraction = Fraction(0)) -> Sum:
        """Add up repeated terms and drop those that cancel out."""
        factors: dict[Feature | Size, Fraction] = {}
        for term, factor in terms:
            if isinstance(term, Size) and not term.of.terms:
                number += factor * abs(term.of.number)
            else:
                factors[term] = factors.get(term, Fraction(0)) + factor
        return Sum(tuple((term, factor) for term, factor in factors.items() if factor != 0), number)

    def plus(self, other: Sum, factor: Fraction = Fraction(1)) -> Sum:
        """This sum plus so many times another."""
        scaled = ((term, factor * own) for term, own in other.terms)
        return Sum.of((*self.terms, *scaled), self.number + factor * other.number)

    def times(self, factor: Fraction) -> Sum:
        """So many times this sum."""
        return Sum.of(((term, factor * own) for term, own in self.terms), factor * self.number)

    def value(self, lookup: Lookup) -> Fraction:
        """Its value, exactly."""
        total = self.number
        for term, factor in self.terms:
            total += factor * (term.value(lookup) if isinstance(term, Size) else lookup(term))
        return total

    def features(self) -> Iterator[tuple[Feature, Fraction]]:
        """Every feature in it, those inside sizes too, with the size of its factor."""
        for term, factor in self.terms:
            if isinstance(term, Size):
                yield from ((feature, abs(factor) * inner) for feature, inner in term.of.features())
            else:
                yield term, abs(factor)


@dataclass(frozen=True)
class Comparison:
    """A sum that must be at most 0, less than 0 or equal to 0."""

    sum: Sum
    operator: str  # <=, < or ==

    @staticmethod
    def between(left: Sum, operator: str, right: Sum) -> Comparison:
        """`left operator right`, with > and >= turned around."""
        if operator in (">", ">="):
            left, operator, right = right, "<" + operator[1:], left
        return Comparison(left.plus(right, Fraction(-1)), operator)

    def holds(self, lookup: Lookup, tolerance: Callable[[Feature], Fraction] | None = None) -> bool:
        """Whether it is true; with a tolerance per feature, whether it may be true once that is allowed for."""
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
class All:
    """True if every part is."""

    parts: tuple[Condition, ...]

    def holds(self, lookup: Lookup, tolerance: Callable[[Feature], Fraction] | None = None) -> bool:
        """Whether it is true."""
        return all(part.holds(lookup, tolerance) for part in self.parts)

    def features(self) -> Iterator[Feature]:
        """Every feature that it names."""
        for part in self.parts:
            yield from part.features()


@dataclass(frozen=True)
class Some:
    """True if at least one part is."""

    parts: tuple[Condition, ...]

    def holds(self, lookup: Lookup, tolerance: Callable[[Feature], Fraction] | None = None) -> bool:
        """Whether it is true."""
        return any(part.holds(lookup, tolerance) for part in self.parts)

    def features(self) -> Iterator[Feature]:
        """Every feature that it names."""
        for part in self.parts:
            yield from part.features()


Condition = Comparison | All | Some
