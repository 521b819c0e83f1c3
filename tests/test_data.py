"""The records that travel between the rooms keep their promises."""

import math

import numpy as np
import pytest
from scipy import stats

from hydraviper.data import Domain, Each, Estimate, InputError, Rollouts


def test_an_estimate_is_students_interval() -> None:
    values = [3.0, 1.0, 4.0, 1.0, 5.0]
    estimate = Estimate.of(values)
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    assert (estimate.low, estimate.high) == pytest.approx((low, high))
    assert (estimate.mean, estimate.count) == (pytest.approx(2.8), 5)


def test_fewer_than_two_values_have_no_interval() -> None:
    assert math.isnan(Estimate.of([2.0]).ci95)
    assert math.isnan(Estimate.of([]).mean)
    assert f"{Estimate.of([2.0]):.1f}" == "2.0"


@pytest.mark.parametrize(
    ("estimate", "spec", "words"),
    [
        (Estimate(145.21, 0.58), ".1f", "145.2 ± 0.6"),
        (Estimate(145.21, 0.58), "", "145.21 ± 0.58"),
        (Estimate(-12345.6, 3.21), ",.1f", "-12,345.6 ± 3.2"),
        (Estimate(0.5, 0.25), "+.2f", "+0.50 ± 0.25"),
        (Estimate(-0.001, 0.25), ".2f", "0.00 ± 0.25"),
        (Estimate(1.0, math.nan), ".2f", "1.00"),
    ],
)
def test_estimates_are_written_in_one_way(estimate: Estimate, spec: str, words: str) -> None:
    assert format(estimate, spec) == words


@pytest.mark.parametrize(
    "wrong",
    [
        {"returns": np.zeros((3, 1))},
        {"trace": np.zeros((1, 4))},
        {"rewards": np.zeros((4, 1))},
        {"observations": (np.zeros((5, 2)), np.zeros((4, 2)))},
        {"measures": {"collisions": np.zeros(3)}},
    ],
)
def test_rollouts_check_their_shapes(wrong) -> None:
    right = {"returns": np.zeros((2, 1)), "lengths": np.array([2, 3])}
    assert Rollouts(**right).episodes == 2
    with pytest.raises(ValueError, match="2 episodes of 5 steps do not fit"):
        Rollouts(**{**right, **wrong})


def test_knowledge_is_checked() -> None:
    with pytest.raises(InputError, match="choose real, whole"):
        Domain(("x",), "complex")
    with pytest.raises(InputError, match="choose feature, agent"):
        Each("colour", ("red",))
