"""What a handful of seeds tells: t- and bootstrap intervals, interquartile means, comparisons on common seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hydraviper.data import Estimate

RESAMPLES = 10_000
_SEED = 20_250  # of the bootstrap: the same numbers give the same interval


@dataclass(frozen=True)
class Interval:
    """A number with its 95 % interval; the ends are not numbers where there are too few values."""

    mean: float
    low: float
    high: float
    count: int

    @property
    def half(self) -> float:
        """Half the width."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Paired:
    """First minus second on the seeds that both have."""

    difference: Interval  # with a t-interval
    bootstrap: Interval
    smaller: int  # seeds on which the first is the smaller
    larger: int


def t_interval(values: Sequence[float]) -> Interval:
    """The mean with Student's t-interval; one value has no interval."""
    count = len(values)
    mean = float(np.mean(values)) if count else math.nan
    if count < 2:
        return Interval(mean, math.nan, math.nan, count)
    half = Estimate.of(values).ci95
    return Interval(mean, mean - half, mean + half, count)


def bootstrap_interval(values: Sequence[float], resamples: int = RESAMPLES) -> Interval:
    """The mean with the percentile interval of means of values drawn again with replacement."""
    count = len(values)
    mean = float(np.mean(values)) if count else math.nan
    if count < 2:
        return Interval(mean, math.nan, math.nan, count)
    draws = np.random.default_rng(_SEED).integers(0, count, (resamples, count))
    low, high = np.percentile(np.asarray(values, float)[draws].mean(axis=1), (2.5, 97.5))
    return Interval(mean, float(low), float(high), count)


def interquartile_mean(values: Sequence[float]) -> float:
    """The mean of the middle half: a quarter of the values, rounded down, is left out at each end."""
    if not values:
        return math.nan
    cut = len(values) // 4
    return float(np.mean(sorted(values)[cut : len(values) - cut]))


def paired(first: Mapping[int, float], second: Mapping[int, float]) -> Paired:
    """Compare two algorithms, each with a value per seed, on the seeds that both have."""
    common = sorted(first.keys() & second.keys())
    differences = [first[seed] - second[seed] for seed in common]
    smaller, larger = sum(value < 0 for value in differences), sum(value > 0 for value in differences)
    return Paired(t_interval(differences), bootstrap_interval(differences), smaller, larger)


def ratio(first: Mapping[int, float], second: Mapping[int, float]) -> Interval:
    """First over second on common seeds: the geometric mean, with the t-interval of the logarithms."""
    common = sorted(first.keys() & second.keys())
    logs = t_interval([math.log(first[seed] / second[seed]) for seed in common])
    return Interval(math.exp(logs.mean), math.exp(logs.low), math.exp(logs.high), logs.count)
