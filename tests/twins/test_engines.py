"""Serial against parallel, and twice the same: the same trees, bit for bit."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import hydraviper
from hydraviper.data import Recommended
from hydraviper.games import catalogue
from tests.helpers.slow_world import make_slow

pytestmark = pytest.mark.slow


def bits(result):
    return [
        (i, tree.feature.tobytes(), tree.threshold.tobytes(), tree.action.tobytes(), tree.counts.tobytes())
        for i, tree in sorted(result.profile.students.items())
    ]


@pytest.mark.parametrize("algorithm", ["hydraviper", "maviper", "iviper", "imitation"])
def test_workers_do_not_change_a_bit(game, small, algorithm, two_workers):
    expert = hydraviper.shipped_expert(game)
    variant = hydraviper.VARIANTS[algorithm]
    alone = hydraviper.distill(game, expert, small, variant)
    again = hydraviper.distill(game, expert, small, variant)
    with hydraviper.LocalEngine(partial(catalogue.make, game.name), workers=3) as engine:
        threads = hydraviper.distill(game, two_workers(expert), small, variant, engine)
    assert bits(alone) == bits(again) == bits(threads)
    assert [choice.means for choice in alone.choices] == [choice.means for choice in threads.choices]
    other = hydraviper.distill(game, expert, hydraviper.Settings(**{**small.to_json(), "seed": 1}), variant)
    assert bits(other) != bits(alone)


@pytest.mark.parametrize("selection", ["ucb1", "ucb1-normal"])
def test_batched_pulls_do_not_depend_on_workers(navigation, small, selection):
    expert = hydraviper.shipped_expert(navigation)
    settings = hydraviper.Settings(**{**small.to_json(), "selection": selection, "valid_budget": 200})
    alone = hydraviper.distill(navigation, expert, settings)
    with hydraviper.LocalEngine(partial(catalogue.make, navigation.name), workers=2) as engine:
        threads = hydraviper.distill(navigation, expert, settings, engine=engine)
    assert alone.choices == threads.choices


def test_worker_processes_give_the_same_rollouts(deception):
    expert = hydraviper.shipped_expert(deception)
    profile = hydraviper.Profile(expert)
    seeds = np.arange(12, dtype=np.uint64)
    here = hydraviper.play(deception, profile, seeds, record=True)
    with hydraviper.LocalEngine(partial(make_slow, deception.name), workers=2) as engine:
        there = engine.play(profile, seeds, record=True)
        many = engine.play_many([profile, profile], [seeds[:3], seeds[3:]])
    np.testing.assert_array_equal(here.returns, there.returns)
    for ours, theirs in zip(here.observations, there.observations, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(np.concatenate([part.returns for part in many]), here.returns)
    assert isinstance(deception.recommended, Recommended)
