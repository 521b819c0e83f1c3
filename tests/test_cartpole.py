"""Where every step pays and episodes end early, the student that lasts longest is chosen."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import hydraviper
from hydraviper.data import Score
from hydraviper.profile import Profile
from hydraviper.settings import Settings
from hydraviper.steps import select
from tests.helpers.cartpole import Balance, CartPole

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("algorithm", ["hydraviper", "viper"])
def test_cartpole_is_solved(algorithm):
    game, expert = CartPole(), Balance()
    settings = Settings(iterations=30, train_budget=100, valid_budget=300, rollouts_per_iteration=10)
    result = hydraviper.distill(game, expert, settings, hydraviper.VARIANTS[algorithm])
    seeds = np.arange(1000, 1050, dtype=np.uint64)
    teacher, trees = (hydraviper.play(game, own, seeds).returns.mean() for own in (Profile(expert), result.profile))
    assert teacher == 500
    assert trees >= 490


def test_a_team_is_judged_by_its_part_of_the_score(deception):
    returns = np.array([[9.0, 1.0, 3.0], [0.0, 2.0, 4.0]])  # the adversary's first
    np.testing.assert_allclose(select.worth(deception, (1, 2), returns), np.array([2.0, 3.0]) / 25)
    np.testing.assert_allclose(select.worth(deception, (0,), returns), np.array([9.0, 0.0]) / 25)  # not in the score


@pytest.mark.parametrize(
    ("weights", "lower", "worth"),
    [
        ((1.0, 3.0), False, (1.0 / 3 * 6 + 10) / 2),  # some count more
        ((-2.0, -2.0), True, 8.0),  # a penalty
        ((1.0, 1.0), True, -8.0),  # rewards that are costs
        ((1.0, -1.0), False, (6.0 - 10.0) / 2),  # one's loss is the team's gain
    ],
)
def test_the_score_says_what_counts_and_which_way(weights, lower, worth):
    game = SimpleNamespace(score=Score("score", "", lower, weights), horizon=1)
    np.testing.assert_allclose(select.worth(game, (0, 1), np.array([[6.0, 10.0]])), [worth])


def test_a_team_that_the_score_counts_against_another_plays_for_itself():
    game = SimpleNamespace(score=Score("lead", "", False, (1.0, -1.0)), horizon=1)
    np.testing.assert_allclose(select.worth(game, (1,), np.array([[6.0, 10.0]])), [10.0])
