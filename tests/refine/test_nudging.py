"""Thresholds tuned by pairs of episodes."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

import hydraviper
from hydraviper.protocols import Graph, Offers
from hydraviper.refine import nudging
from hydraviper.refine.experience import Experience
from hydraviper.refine.records import RefineSettings, SearchState
from hydraviper.refine.search import search_state
from tests.helpers.slow_world import Slow


def test_pairs_tell_which_way_and_leave_chance_out():
    draws = np.random.default_rng(0)
    truth = np.array([1.0, -0.5, *np.zeros(18)])
    moves = draws.standard_normal((400, 20))
    gains = moves @ truth + draws.standard_normal(400)
    direction = nudging._direction(moves, gains)
    assert direction[0] > 0.7
    assert -0.8 < direction[1] < -0.2
    assert np.abs(direction[2:]).max() < 0.2
    assert (direction[2:] == 0).sum() > 8


def test_one_jam_does_not_decide():
    draws = np.random.default_rng(1)
    moves = draws.standard_normal((100, 5))
    gains = moves[:, 0] + 0.1 * draws.standard_normal(100)
    gains[7] = 1000 * np.sign(-moves[7, 0])
    assert nudging._direction(moves, gains)[0] > 0.5


def test_an_agent_is_judged_by_what_it_and_its_neighbours_earn():
    chain = SimpleNamespace(offers=Offers(graph=Graph(neighbours=((0, 1), (1, 2), (2, 3)))))
    gains = np.array([[1.0, 10.0, 100.0, 1000.0]])
    state = cast("SearchState", SimpleNamespace(game=chain, team=(0, 2)))
    assert nudging._near(state, gains).tolist() == [[11.0, 1110.0]]
    alone = cast("SearchState", SimpleNamespace(game=SimpleNamespace(offers=Offers()), team=(0, 2)))
    assert nudging._near(alone, gains).tolist() == [[1111.0, 1111.0]]


@pytest.mark.slow
def test_thresholds_move_and_nothing_else(navigation):
    expert = hydraviper.shipped_expert(navigation)
    settings = hydraviper.settings_for(navigation.recommended, iterations=3, train_budget=60, valid_budget=9)
    given = hydraviper.distill(navigation, expert, settings).profile.students
    slow = Slow("cooperative-navigation")
    results = []
    for workers in (1, 2):
        with hydraviper.LocalEngine(partial(Slow, "cooperative-navigation"), workers) as engine:
            state = search_state(slow, expert, given, engine, RefineSettings(rollouts=40))
            experience = Experience(state)
            experience.gather(state.given, 0, 4)
            named, played = nudging.nudged(state, state.given, experience, 10)
            assert played == 20
            results.append(named)
    assert len(results[0]) == len(nudging.STEPS)
    for name, trees in results[0].items():
        for i, tree in trees.items():
            old, again = given[i], results[1][name][i]
            np.testing.assert_array_equal(tree.feature, old.feature)
            np.testing.assert_array_equal(tree.action, old.action)
            np.testing.assert_array_equal(tree.threshold, again.threshold)
        assert any((tree.threshold != given[i].threshold).any() for i, tree in trees.items())
    nothing, played = nudging.nudged(state, state.given, experience, 1)
    assert (nothing, played) == ({}, 0)
