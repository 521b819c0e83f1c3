"""Fixed-order kernels against plain matrix products, and the factored minimum against brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hydraviper
from hydraviper.experts import elimination, networks
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


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [1, 7, 40, 2_000])
def test_branch_and_bound_never_claims_too_much(monkeypatch, nodes):
    """What it finds is a joint action's value, no lower one lies beyond its gap, and with time it finds the worst."""
    monkeypatch.setattr(networks, "NODES", nodes)
    monkeypatch.setattr(networks, "TOLERANCE", 0.0)
    crowd, draws = hydraviper.make("cooperative-navigation:agents=4"), np.random.default_rng(6)
    for seed in range(3):
        expert = random_expert(crowd, seed=seed, hidden=12)
        observations = [draws.normal(size=(12, len(agent.features))).astype(np.float32) for agent in crowd.agents]
        actions = expert.act(observations)
        for team in ((0, 1, 2, 3), (2, 0)):
            worst = worst_team_q(expert.q, observations, actions, team, None, expert.action_counts)
            found, gaps = expert.search_worst_team_q(observations, actions, team)
            assert (found >= worst - 1e-3).all()
            assert (found - gaps <= worst + 1e-3).all()
            if nodes == 2_000:
                np.testing.assert_allclose(found, worst, rtol=1e-4, atol=1e-3)
                np.testing.assert_allclose(gaps, 0, atol=1e-6)


TIES = {
    "chain": lambda i, j: abs(i - j) <= 1,
    "star": lambda i, j: i == j or 0 in (i, j),
    "pairs": lambda i, j: i // 2 == j // 2,
    "nobody": lambda i, j: False,
    "everybody": lambda i, j: True,
}


@pytest.mark.parametrize("ties", TIES)
def test_messages_find_the_worst_joint_action(ties):
    """Critics that look at their neighbours alone; the twin tries all joint actions."""
    crowd, draws = hydraviper.make("cooperative-navigation:agents=5"), np.random.default_rng(7)
    expert = random_expert(crowd, hidden=16)
    expert = replace(expert, critics=tuple(looking_at(expert, i, TIES[ties]) for i in range(5)))
    observations = [draws.normal(size=(6, len(agent.features))).astype(np.float32) for agent in crowd.agents]
    actions = expert.act(observations)
    for team in ((0, 1, 2, 3, 4), (3, 0, 2)):
        worst = worst_team_q(expert.q, observations, actions, team, None, expert.action_counts)
        found, gaps = expert.search_worst_team_q(observations, actions, team)
        np.testing.assert_allclose(found, worst, rtol=1e-4, atol=1e-3)
        assert not gaps.any()


def test_a_long_chain_costs_two_agents_at_a_time():
    counts = dict.fromkeys(range(1000), 5)
    scopes = [tuple(j for j in (i - 1, i, i + 1) if 0 <= j < 1000) for i in range(1000)]
    order, most = elimination.order_of(scopes, counts)
    assert sorted(order) == list(range(1000))
    assert most == 5**3


def looking_at(expert, i, tied):
    """An agent's critic with the weights of agents that it is not tied to at 0."""
    w0, *rest = expert.critics[i].layers
    sizes, counts = expert.observation_sizes, expert.action_counts
    owner = np.concatenate([np.repeat(np.arange(5), sizes), np.repeat(np.arange(5), counts)])
    return Network((w0 * np.array([tied(i, j) for j in owner])[:, None].astype(np.float32), *rest))


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
