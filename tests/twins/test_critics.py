"""Fixed-order kernels against plain matrix products, and the factored minimum against brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hydraviper
from hydraviper.experts.enumeration import worst_team_q
from hydraviper.experts.networks import Network
from hydraviper.kernels import networks as kernels
from tests.helpers.experts import forward, random_expert


def critic_inputs(game, observations, actions):
    one_hot = [np.eye(len(agent.actions))[actions[:, i]] for i, agent in enumerate(game.agents)]
    return np.concatenate([*observations, *one_hot], axis=1)


@pytest.fixture(scope="module")
def scene(game):
    expert = random_expert(game, seed=3)
    draws = np.random.default_rng(4)
    observations = [draws.normal(size=(700, len(agent.features))).astype(np.float32) for agent in game.agents]
    return game, expert, observations, expert.act(observations)


def test_actors_are_greedy(scene):
    game, expert, observations, actions = scene
    for i in range(len(game.agents)):
        logits = forward(expert.actors[i], observations[i])
        chosen = logits[np.arange(700), actions[:, i]]
        np.testing.assert_allclose(chosen, logits.max(axis=1), atol=1e-3)
        assert (actions[:, i] == logits.argmax(axis=1)).mean() > 0.995


def test_values_are_the_networks(scene):
    game, expert, observations, actions = scene
    inputs = critic_inputs(game, observations, actions)
    expected = np.concatenate([forward(critic, inputs) for critic in expert.critics], axis=1)
    np.testing.assert_allclose(expert.q(observations, actions), expected, rtol=1e-4, atol=1e-3)


def test_every_product_is_added_with_one_rounding():
    draws = np.random.default_rng(5)
    inputs, rows, bias = (draws.normal(size=size).astype(np.float32) for size in (37, (37, 24), 24))
    expected = bias
    for factor, row in zip(inputs, rows, strict=True):  # long enough to hold a product and a sum of two floats
        expected = (np.longdouble(factor) * row + expected).astype(np.float32)
    index, scale = kernels.lists(37, 24, 24)
    layer = np.empty(24, np.float32)
    kernels.layer_row(layer, bias, inputs, rows, index, scale)
    np.testing.assert_array_equal(layer, expected)


@pytest.mark.parametrize(("team", "judges"), [((0, 1, 2), None), ((1, 2), None), ((1,), None), ((0, 2), (1,))])
def test_the_worst_joint_action_is_found(scene, team, judges):
    _, expert, observations, actions = scene
    worst = worst_team_q(expert.q, observations, actions, team, judges, expert.action_counts)
    found = expert.worst_team_q(observations, actions, team, judges)
    np.testing.assert_allclose(found, worst, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("widths", [(5, 40), (33, 7), (64, 64)])
def test_critics_of_any_width_and_teams_of_any_size(widths):
    """Units and joint actions fill no whole vectors; critics are of unlike width, and many units switch."""
    crowd, draws = hydraviper.make("cooperative-navigation:agents=4"), np.random.default_rng(6)
    expert = random_expert(crowd, hidden=widths[0])
    critics = [critic(draws, expert.critics[0].layers[0].shape[0], *widths), *expert.critics[1:]]
    expert = replace(expert, critics=tuple(critics))
    observations = [draws.normal(size=(20, len(agent.features))).astype(np.float32) for agent in crowd.agents]
    actions = expert.act(observations)
    for team in ((0, 1, 2, 3), (3, 1)):
        worst = worst_team_q(expert.q, observations, actions, team, None, expert.action_counts)
        np.testing.assert_allclose(expert.worst_team_q(observations, actions, team), worst, rtol=1e-4, atol=1e-3)


def critic(draws, inputs, first, second):
    shapes = [(inputs, first), (first,), (first, second), (second,), (second, 1), (1,)]
    return Network(tuple(draws.normal(size=shape).astype(np.float32) for shape in shapes))


def test_a_value_that_is_not_a_number_is_not_lost(scene):
    _, expert, observations, actions = scene
    broken = [seen[:3].copy() for seen in observations]
    broken[0][1, 2] = np.nan
    found = expert.worst_team_q(broken, actions[:3], (0, 1, 2))
    assert np.isfinite(found[[0, 2]]).all()
    assert np.isnan(found[1])


@pytest.mark.slow
def test_no_row_depends_on_the_others(scene, two_workers):
    """However samples are batched and threaded, every bit stays."""
    _, expert, observations, actions = scene
    whole = expert.worst_team_q(observations, actions, (1, 2))
    values = expert.q(observations, actions)
    for rows in (slice(0, 1), slice(3, 130), slice(511, 700)):
        part = [seen[rows] for seen in observations]
        np.testing.assert_array_equal(expert.act(part), actions[rows])
        np.testing.assert_array_equal(expert.q(part, actions[rows]), values[rows])
        np.testing.assert_array_equal(expert.worst_team_q(part, actions[rows], (1, 2)), whole[rows])
    np.testing.assert_array_equal(two_workers(expert).worst_team_q(observations, actions, (1, 2)), whole)


def test_a_team_too_large_to_enumerate_is_refused():
    crowd = hydraviper.make("cooperative-navigation:agents=9")
    expert = random_expert(crowd, hidden=4)
    observations = crowd.reset(np.zeros(1, np.uint64))
    with pytest.raises(hydraviper.InputError, match="--teams"):
        expert.worst_team_q(observations, expert.act(observations), crowd.teams[0])
