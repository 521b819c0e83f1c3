"""What a handful of seeds tells beside a mean: interquartile means, and comparisons on common seeds."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from hydraviper.data import Estimate


def interquartile_mean(values: Sequence[float]) -> float:
    """The mean of the middle half: a quarter of the values, rounded down, is left out at each end."""
    if not values:
        return math.nan
    cut = len(values) // 4
    return float(np.mean(sorted(values)[cut : len(values) - cut]))


def differences(first: Mapping[int, float], second: Mapping[int, float]) -> list[float]:
    """First minus second, each a value per seed, on the seeds that both have."""
    return [first[seed] - second[seed] for seed in sorted(first.keys() & second.keys())]


def log_ratio(first: Mapping[int, float], second: Mapping[int, float]) -> Estimate:
    """The logarithm of first over second on common seeds: its exponential is the geometric mean of the ratios."""
    return Estimate.of([math.log(first[seed] / second[seed]) for seed in sorted(first.keys() & second.keys())])


def percent(share: Estimate) -> Estimate:
    """A share in percent."""
    return Estimate(100 * share.mean, 100 * share.ci95, share.count)


def over_seeds(found: Iterable[Estimate | None]) -> Estimate:
    """The mean of what each seed measured on episodes that all seeds share: its interval is as wide as that of one."""
    known = [one for one in found if one is not None]
    if not known:
        return Estimate(math.nan, math.nan, 0)
    mean, ci95 = (float(np.mean(values)) for values in zip(*((one.mean, one.ci95) for one in known), strict=True))
    return Estimate(mean, ci95, len(known))
