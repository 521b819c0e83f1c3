"""Our statistics against scipy's, scores against plain sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from hydraviper.data import Estimate, Score
from hydraviper.studies.statistics import differences, interquartile_mean, log_ratio


def samples():
    draws = np.random.default_rng(3)
    return [draws.normal(140, 3, size).tolist() for size in (2, 3, 5, 10, 17, 40)]


@pytest.mark.parametrize("values", samples())
def test_t_interval(values):
    ours = Estimate.of(values)
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    assert (ours.low, ours.high) == pytest.approx((low, high), rel=1e-12)
    assert ours.mean == pytest.approx(np.mean(values))


@pytest.mark.parametrize("comparisons", [1, 2, 9])
@pytest.mark.parametrize("values", samples())
def test_intervals_of_several_comparisons_at_once(values, comparisons):
    ours = Estimate.of(values).among(comparisons)
    theirs = stats.t.interval(1 - 0.05 / comparisons, len(values) - 1, np.mean(values), stats.sem(values))
    assert (ours.low, ours.high, ours.count) == pytest.approx((*theirs, len(values)), rel=1e-9)


@pytest.mark.parametrize("values", samples())
def test_interquartile_mean(values):
    assert interquartile_mean(values) == pytest.approx(stats.trim_mean(values, 0.25))


def test_paired_comparison_on_common_seeds():
    draws = np.random.default_rng(5)
    first = dict(enumerate(draws.normal(140, 3, 10)))
    second = {seed: value + draws.normal(1, 0.5) for seed, value in first.items()}
    paired = Estimate.of(differences({**first, 50: 1.0}, {**second, 60: 1.0}))
    values, others = list(first.values()), list(second.values())
    theirs = stats.ttest_rel(values, others).confidence_interval(0.95)
    assert (paired.low, paired.high) == pytest.approx((theirs.low, theirs.high))
    assert paired.count == 10
    assert paired.ci95 < Estimate.of(values).ci95  # pairing takes out what seeds have in common
    ratio = log_ratio(first, second)
    assert math.exp(ratio.mean) == pytest.approx(stats.gmean(np.array(values) / np.array(others)))
    assert ratio.low < ratio.mean < ratio.high < 0


def test_too_few_values_have_no_interval():
    for estimate in (Estimate.of([3.0]), Estimate.of(differences({1: 2.0}, {1: 1.0}))):
        assert estimate.count == 1
        assert math.isnan(estimate.low)
        assert math.isnan(estimate.among(9).low)
    assert differences({1: 2.0}, {2: 1.0}) == []
    assert math.isnan(interquartile_mean([]))


@pytest.mark.parametrize("agents", [1, 3, 7, 40])
def test_a_score_is_added_up_in_the_agents_order_whatever_the_batch(agents):
    """A matrix product would add in another order, which differs between processors and between batch sizes."""
    returns = np.random.default_rng(agents).normal(size=(501, agents)) * 100
    score = Score("sum", "", lower_is_better=True, weights=(-1 / 125,) * agents, offset=0.3)
    plain = []
    for row in returns.tolist():
        total = 0.0
        for value in row:
            total += -1 / 125 * value
        plain.append(total + 0.3)
    assert score.of(returns).tolist() == plain
    assert score.of(returns[7:8]).tolist() == plain[7:8]
