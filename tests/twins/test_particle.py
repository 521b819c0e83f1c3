"""The compiled worlds against a straightforward NumPy world, and against the mpe2 package, step for step."""

from __future__ import annotations

import mpe2.simple_adversary_v3
import mpe2.simple_spread_v3
import numpy as np
import pytest

import hydraviper
from hydraviper.games.scripts import Staying

EPISODES = 100
PUSH = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]], float)


def play_and_compare(env, game, place, names, episodes=EPISODES):
    draws = np.random.default_rng(1)
    for episode in range(episodes):
        theirs, _ = env.reset(seed=episode)
        ours = place(env.unwrapped.world)
        for _ in range(game.horizon):
            for i, name in enumerate(names):
                np.testing.assert_allclose(ours[i][0], theirs[name], atol=1e-5)
            actions = draws.integers(0, 5, len(names))
            theirs, their_rewards, *_ = env.step(dict(zip(names, map(int, actions), strict=True)))
            ours, our_rewards, done = game.step(actions[None])
            np.testing.assert_allclose(our_rewards[0], [their_rewards[name] for name in names], atol=1e-5)
        for i, name in enumerate(names):
            np.testing.assert_allclose(ours[i][0], theirs[name], atol=1e-5)
        assert done.all()
        assert not env.agents  # both ended at the same step


@pytest.mark.slow
@pytest.mark.parametrize(("agents", "episodes"), [(3, EPISODES), (5, 20)])
def test_navigation_is_simple_spread(agents, episodes):
    game = hydraviper.make(f"cooperative-navigation:physics=mpe2,agents={agents}")
    env = mpe2.simple_spread_v3.parallel_env(N=agents, max_cycles=25)

    def place(world):
        positions = np.array([agent.state.p_pos for agent in world.agents])
        landmarks = np.array([landmark.state.p_pos for landmark in world.landmarks])
        return game.place(positions[None], landmarks[None], np.zeros(1))

    play_and_compare(env, game, place, [f"agent_{i}" for i in range(agents)], episodes)


@pytest.mark.slow
def test_deception_is_simple_adversary():
    game = hydraviper.make("physical-deception:physics=mpe2")
    env = mpe2.simple_adversary_v3.parallel_env(N=2, max_cycles=25)

    def place(world):
        positions = np.array([agent.state.p_pos for agent in world.agents])
        landmarks = np.array([landmark.state.p_pos for landmark in world.landmarks])
        goal = [landmark is world.agents[0].goal_a for landmark in world.landmarks].index(True)
        return game.place(positions[None], landmarks[None], np.array([goal]))

    play_and_compare(env, game, place, ["adversary_0", "agent_0", "agent_1"])


class PlainWorld:
    """The original particle world, one episode, as its paper describes it."""

    def __init__(self, positions, landmarks, collide):
        self.p, self.v, self.landmarks, self.collide = positions.copy(), np.zeros_like(positions), landmarks, collide

    def step(self, actions):
        force = 5.0 * PUSH[actions]
        for i in range(len(self.p)):
            for j in range(len(self.p)):
                if i != j and self.collide:
                    gap = self.p[i] - self.p[j]
                    distance = np.sqrt((gap**2).sum())
                    penetration = np.logaddexp(0, -(distance - 0.3) / 1e-3) * 1e-3
                    force[i] += 100.0 * gap / distance * penetration
        self.v = 0.75 * self.v + 0.1 * force
        self.p = self.p + 0.1 * self.v

    def distances(self, place):
        return np.sqrt(((self.p - place) ** 2).sum(axis=1))


def others(positions, i):
    return np.concatenate([positions[j] - positions[i] for j in range(len(positions)) if j != i])


@pytest.mark.slow
def test_navigation_in_the_original_order(navigation):
    draws = np.random.default_rng(2)
    for seed in range(EPISODES):
        navigation.reset(np.array([seed], np.uint64))
        # crowd the agents so that they do collide
        start, landmarks = 0.4 * navigation.positions[0], navigation.landmarks[0]
        observations = navigation.place(start[None], landmarks[None], np.zeros(1))
        world = PlainWorld(start, landmarks, collide=True)
        for _ in range(25):
            for i in range(3):
                expected = np.concatenate(
                    [world.v[i], world.p[i], (landmarks - world.p[i]).ravel(), others(world.p, i), np.zeros(4)]
                )
                np.testing.assert_allclose(observations[i][0], expected, atol=1e-5)
            actions = draws.integers(0, 5, 3)
            world.step(actions)
            observations, rewards, _ = navigation.step(actions[None])
            cover = sum(world.distances(landmark).min() for landmark in landmarks)
            collisions = [(world.distances(world.p[i]) < 0.3).sum() for i in range(3)]  # itself included
            np.testing.assert_allclose(rewards[0], [-cover - count for count in collisions], atol=1e-5)


@pytest.mark.slow
def test_deception_in_the_original_order(deception):
    draws = np.random.default_rng(3)
    for seed in range(EPISODES):
        observations = deception.reset(np.array([seed], np.uint64))
        landmarks, goal = deception.landmarks[0], deception.landmarks[0][deception.goals[0]]
        world = PlainWorld(deception.positions[0], landmarks, collide=False)
        far = 0.0
        for _ in range(25):
            for i in range(3):
                hint = [] if i == 0 else [goal - world.p[i]]
                expected = np.concatenate([*hint, (landmarks - world.p[i]).ravel(), others(world.p, i)])
                np.testing.assert_allclose(observations[i][0], expected, atol=1e-5)
            actions = draws.integers(0, 5, 3)
            world.step(actions)
            observations, rewards, _ = deception.step(actions[None])
            distances = world.distances(goal)
            far += distances[0] / 25
            good = distances[0] - distances[1:].min()
            np.testing.assert_allclose(rewards[0], [-(distances[0] ** 2), good, good], atol=1e-5)
        np.testing.assert_allclose(deception.measures()["adversary's distance to the goal"], [far], atol=1e-6)


def test_starts_are_uniform_and_repeat(game):
    seeds = np.arange(20_000, dtype=np.uint64)
    game.reset(seeds)
    positions, landmarks, goals = game.positions.copy(), game.landmarks.copy(), game.goals.copy()
    for values in (positions, landmarks):
        assert values.min() >= -1
        assert values.max() <= 1
        np.testing.assert_allclose(values.mean(axis=0), 0, atol=0.02)
        np.testing.assert_allclose(values.var(axis=0), 1 / 3, atol=0.01)
    correlation = np.corrcoef(np.concatenate([positions, landmarks], axis=1).reshape(len(seeds), -1).T)
    assert np.abs(correlation - np.eye(len(correlation))).max() < 0.03
    assert abs((goals == 0).mean() - 1 / landmarks.shape[1]) < 0.02
    game.reset(seeds[::-1])
    np.testing.assert_array_equal(game.positions[::-1], positions)


def test_the_score_is_the_same_from_the_packages_rewards():
    """Where nobody moves, both orders of physics see the same episode: the same penalty from different rewards."""
    seeds = np.arange(200, dtype=np.uint64)
    scores = []
    for physics in ("original", "mpe2"):
        game = hydraviper.make(f"cooperative-navigation:physics={physics}")
        game.reset(seeds)
        apart = np.ones(len(seeds), bool)  # agents that touch at the start are pushed
        for i, j in ((0, 1), (0, 2), (1, 2)):
            apart &= np.linalg.norm(game.positions[:, i] - game.positions[:, j], axis=1) > 0.4
        returns = hydraviper.play(game, Staying(3), seeds).returns
        scores.append(game.score.of(returns)[apart])
    assert apart.sum() > 50
    np.testing.assert_allclose(scores[0], scores[1])
