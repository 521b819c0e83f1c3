"""Environments and policies of other people, as small as possible."""

from __future__ import annotations

import gymnasium
import numpy as np
from gymnasium import spaces


class Lights(gymnasium.Env):
    """One of three lamps is lit and some switches are blocked; press the switch of the lamp."""

    observation_space = spaces.Dict(
        {"observation": spaces.Box(0, 1, (3,), np.float32), "action_mask": spaces.Box(0, 1, (3,), np.int8)}
    )
    action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.clock = 0
        return self._observe(), {}

    def step(self, action):
        assert self.mask[action]
        self.clock += 1
        reward = float(action == self.lamp)
        return self._observe(), reward, False, self.clock >= 10, {}

    def _observe(self):
        self.lamp = int(self.np_random.integers(3))
        self.mask = (self.np_random.random(3) < 0.5).astype(np.int8)
        self.mask[self.lamp] = 1
        return {"observation": np.eye(3, dtype=np.float32)[self.lamp], "action_mask": self.mask.copy()}


class Stairs(gymnasium.Env):
    """A walker on five steps, numbered from 1, that is paid for being high; it goes down, stays or goes up."""

    observation_space = spaces.Discrete(5, start=1)
    action_space = spaces.Discrete(3, start=-1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.clock = int(self.np_random.integers(1, 6)), 0
        return self.place, {}

    def step(self, action):
        self.place, self.clock = int(np.clip(self.place + action, 1, 5)), self.clock + 1
        return self.place, float(self.place), False, self.clock >= 8, {}


def press(observation):
    """A policy for Lights."""
    return int(np.argmax(observation["observation"]))


def climb(observation, agent):
    """A policy for Stairs."""
    assert agent
    return 1 if observation < 5 else 0


def rule(game, text):
    """What a package offers as an expert: a function by its name."""
    assert game.agents
    return {"climb": climb, "stay": lambda observation: 0}[text]


class Climber:
    """The same as an expert of the user's own, with values."""

    def act(self, observations, agents=None):
        return np.where(observations[0] < 5, 2, 1).astype(np.int64)

    def q(self, observations, actions):
        return np.where(actions == self.act(observations), 1.0, actions - 5.0)


class Mute:
    """Neither a function nor a policy."""
