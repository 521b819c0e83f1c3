"""Experts with local values: the network's own answers, and the separable minimum against brute force."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import hydraviper
from hydraviper.experts import store
from hydraviper.experts.enumeration import worst_team_q
from hydraviper.experts.local_q import LocalQExpert, NetworkQ
from tests.helpers.experts import forward, random_expert


def local_expert(game, seed=5):
    """An untrained expert with one network per agent."""
    return LocalQExpert(tuple(NetworkQ(actor) for actor in random_expert(game, seed).actors), {"game": game.name})


@pytest.fixture(scope="module")
def scene(game):
    draws = np.random.default_rng(4)
    observations = [draws.normal(size=(300, len(agent.features))).astype(np.float32) for agent in game.agents]
    expert = local_expert(game)
    return game, expert, observations, expert.act(observations)


def test_values_are_the_networks_and_the_best_is_played(scene):
    game, expert, observations, actions = scene
    for i in range(len(game.agents)):
        expected = forward(expert.q_functions[i].network, observations[i])
        np.testing.assert_allclose(expert.q_functions[i].values(observations[i]), expected, rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(expert.q(observations, actions)[:, i], expected.max(axis=1), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    ("team", "judges"),
    [((0, 1, 2), None), ((1, 2), None), ((1,), None), ((0, 2), (1,)), ((1, 2), (0, 1)), ((0,), (0, 1, 2))],
)
def test_the_worst_joint_action_is_found_without_enumerating(scene, team, judges):
    _, expert, observations, actions = scene
    worst = worst_team_q(expert.q, observations, actions, team, judges, expert.action_counts)
    np.testing.assert_allclose(expert.worst_team_q(observations, actions, team, judges), worst, rtol=1e-12)


def test_no_row_depends_on_the_others(scene):
    _, expert, observations, actions = scene
    values, worst = expert.q(observations, actions), expert.worst_team_q(observations, actions, (0, 2))
    for rows in (slice(0, 1), slice(3, 130), slice(299, 300)):
        part = [seen[rows] for seen in observations]
        np.testing.assert_array_equal(expert.act(part), actions[rows])
        np.testing.assert_array_equal(expert.q(part, actions[rows]), values[rows])
        np.testing.assert_array_equal(expert.worst_team_q(part, actions[rows], (0, 2)), worst[rows])


def test_only_the_agents_asked_for_are_computed(scene):
    _, expert, observations, actions = scene
    np.testing.assert_array_equal(expert.act(observations, (1,))[:, 1], actions[:, 1])


def test_saved_and_loaded_it_is_the_same(scene, tmp_path):
    game, expert, observations, actions = scene
    store.save(expert, tmp_path / "expert.safetensors")
    again = store.load(tmp_path / "expert.safetensors", game)
    assert isinstance(again, LocalQExpert)
    assert store.digest(again) == store.digest(expert) != store.digest(local_expert(game, seed=6))
    assert again.about == expert.about
    np.testing.assert_array_equal(again.q(observations, actions), expert.q(observations, actions))
    with pytest.raises(hydraviper.InputError, match="is an expert for"):
        store.load(tmp_path / "expert.safetensors", hydraviper.make("cooperative-navigation:agents=4"))


@dataclass(frozen=True)
class Table:
    """Values that are no network."""

    features: int
    actions: int
    best: float

    def values(self, observations):
        return np.tile(np.arange(self.actions) * self.best, (len(observations), 1))


def test_any_table_of_values_is_an_expert_that_can_be_distilled(navigation, tmp_path):
    expert = LocalQExpert(tuple(Table(18, 5, best) for best in (1.0, -1.0, 2.0)))
    settings = hydraviper.Settings(iterations=2, train_budget=4, valid_budget=4, rollouts_per_iteration=2)
    students = hydraviper.distill(navigation, expert, settings).profile.students
    observations = navigation.reset(np.zeros(1, np.uint64))
    assert [int(students[i].predict(observations[i])[0]) for i in range(3)] == [4, 0, 4]
    with pytest.raises(hydraviper.InputError, match="only experts made of networks"):
        store.save(expert, tmp_path / "expert.safetensors")
    broken = LocalQExpert(tuple(Table(18, 5, np.nan) for _ in range(3)))
    with pytest.raises(hydraviper.InputError, match="not a number"):
        broken.act(observations)
