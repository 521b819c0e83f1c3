"""Linear comparisons of features in exact numbers, and what one observation makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hydraviper.data import Derived
from hydraviper.trees.derived import extend

Variable = tuple[int, int | Derived]  # an agent, and its plain feature by number or a derived one


@dataclass(frozen=True)
class Linear:
    """A sum of factors times variables, compared with a number: <=, < or ==."""

    terms: tuple[tuple[Variable, Fraction], ...]
    operator: str
    bound: Fraction

    @staticmethod
    def of(terms: Mapping[Variable, Fraction], operator: str, bound: Fraction) -> Linear:
        """In normal form: > and >= turned around, no variable with a factor of 0."""
        if operator in (">", ">="):
            terms, operator, bound = {key: -value for key, value in terms.items()}, "<" + operator[1:], -bound
        kept = {key: value for key, value in terms.items() if value != 0}
        return Linear(tuple(kept.items()), operator, bound)

    def holds(self, value: Fraction) -> bool:
        """Whether the sum, once known, satisfies the comparison."""
        if self.operator == "==":
            return value == self.bound
        return value < self.bound if self.operator == "<" else value <= self.bound

    def sum_over(self, observations: Mapping[int, np.ndarray]) -> Fraction:
        """The sum for float32 observations [F_i] by agent, without any rounding but that of derived features."""
        total = Fraction(0)
        for (agent, feature), factor in self.terms:
            total += factor * Fraction(value_of(observations[agent], feature))
        return total


def value_of(observation: np.ndarray, feature: int | Derived) -> float:
    """A plain or derived feature of one float32 observation [F], as the trees compute it."""
    if isinstance(feature, Derived):
        return float(extend(np.asarray(observation, np.float32)[None], (feature,))[0, -1])
    return float(observation[feature])
