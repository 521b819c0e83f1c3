"""Gymnasium's CartPole behind the `Game` protocol: one agent, episodes that end early, 1 for every step."""

from __future__ import annotations

import gymnasium
import numpy as np

from hydraviper.data import Agent, Recommended, Score


class CartPole:
    """Steps a batch of single environments; those that are done stand still."""

    name, parameters = "cartpole", {}
    agents = (Agent("cart", ("position", "velocity", "angle", "turning"), ("left", "right")),)
    teams = ((0,),)
    horizon, width = 500, None
    score = Score("reward", "", lower_is_better=False, weights=(1.0,))
    recommended = Recommended()

    def __init__(self) -> None:
        self._envs: list[gymnasium.Env] = []

    def reset(self, seeds):
        while len(self._envs) < len(seeds):
            self._envs.append(gymnasium.make("CartPole-v1", disable_env_checker=True).unwrapped)
        self._steps = 0
        self._seen = np.array(
            [env.reset(seed=int(seed % 2**31))[0] for env, seed in zip(self._envs, seeds, strict=False)], np.float32
        )
        self._done = np.zeros(len(seeds), bool)
        return [self._seen.copy()]

    def step(self, actions):
        rewards = np.zeros((len(self._done), 1))
        for k in np.flatnonzero(~self._done):
            self._seen[k], rewards[k, 0], self._done[k], _, _ = self._envs[k].step(int(actions[k, 0]))
        self._steps += 1
        return [self._seen.copy()], rewards, self._done | (self._steps == self.horizon)

    def measures(self):
        return {}


class Balance:
    """Pushes to where the pole falls; a push is worth as much as it is needed."""

    gains = np.array([0.3, 0.6, 6.0, 1.5])

    def act(self, observations, agents=None):
        return (self._need(observations) > 0).astype(np.int64)[:, None]

    def q(self, observations, actions):
        return np.where(actions == 1, 1.0, -1.0) * self._need(observations)[:, None]

    def worst_team_q(self, observations, actions, team, judges=None):
        return -np.abs(self._need(observations))

    def _need(self, observations):
        return (observations[0] * self.gains).sum(axis=1)
