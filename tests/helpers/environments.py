"""Small environments with one peculiarity each."""

from __future__ import annotations

import itertools
from typing import ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv


class Rooms(gymnasium.Env):
    """Shows everything that a Dict can hold, and a mask beside; ends after a number of steps that the seed decides."""

    metadata: ClassVar = {"render_modes": ["rgb_array"]}
    observation_space = spaces.Dict(
        {
            "place": spaces.Box(-1, 1, (2, 2), np.float64),
            "room": spaces.Discrete(3, start=5),
            "doors": spaces.MultiBinary(2),
            "bag": spaces.Tuple((spaces.MultiDiscrete([4, 2]), spaces.Box(0, 9, (1,), np.int16))),
        }
    )
    action_space = spaces.MultiDiscrete([2, 3])

    def __init__(self, longest=8, render_mode=None):
        self.longest, self.render_mode = longest, render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = int(self.np_random.integers(2, self.longest))
        self.taken = []
        return self._see(), self._tell()

    def step(self, action):
        assert self.action_space.contains(action), action
        assert self._tell()["action_mask"][3 * action[0] + action[1]], "a masked action was taken"
        self.taken.append(tuple(map(int, action)))
        self.left -= 1
        return self._see(), float(action[1]), self.left == 0, False, self._tell()

    def _see(self):
        return {
            "place": self.np_random.uniform(-1, 1, (2, 2)),
            "room": 5 + self.left % 3,
            "doors": np.array([1, self.left % 2], np.int8),
            "bag": (np.array([self.left % 4, 1]), np.array([self.left], np.int16)),
        }

    def _tell(self):
        mask = np.ones(6, np.int8)
        mask[self.left % 6] = 0
        return {"action_mask": mask}

    def render(self):
        return np.full((40, 60, 3), 20 * self.left, np.uint8)


class Leaving(ParallelEnv):
    """Three agents of two kinds, with spaces of their own; one leaves in every step, and a time limit ends the rest."""

    metadata: ClassVar = {"name": "leaving_v0", "render_modes": []}

    def __init__(self, limit=4):
        self.possible_agents = ["ant_0", "ant_1", "bee_0"]
        self.limit = limit

    def observation_space(self, agent):
        return spaces.Box(-9, 9, (2 if agent.startswith("ant") else 3,), np.float32)

    def action_space(self, agent):
        return spaces.Discrete(2 if agent.startswith("ant") else 4)

    def reset(self, seed=None, options=None):
        self.random, self.clock = np.random.default_rng(seed), 0
        self.agents = list(self.possible_agents)
        return self._see(), {agent: {} for agent in self.agents}

    def step(self, actions):
        assert set(actions) == set(self.agents), (actions, self.agents)
        self.clock += 1
        over = {agent: agent == f"ant_{self.clock - 1}" for agent in self.agents}
        cut = dict.fromkeys(self.agents, self.clock == self.limit)
        paid = {agent: 1.0 + actions[agent] for agent in self.agents}
        seen, infos = self._see(), {agent: {} for agent in self.agents}
        self.agents = [agent for agent in self.agents if not over[agent] and not cut[agent]]
        return seen, paid, over, cut, infos

    def _see(self):
        return {agent: self.random.normal(size=self.observation_space(agent).shape) for agent in self.agents}


class Forgetful(gymnasium.Env):
    """Ignores its seed."""

    observation_space = spaces.Box(0, 1, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self):
        self.own = np.random.default_rng()

    def reset(self, *, seed=None, options=None):
        return self.own.random(2, np.float32), {}

    def step(self, action):
        return self.own.random(2, np.float32), 0.0, False, False, {}


class Growing(Forgetful):
    """Shows more and more."""

    def reset(self, *, seed=None, options=None):
        self.clock = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.clock += 1
        return np.zeros(2 + self.clock // 3, np.float32), 0.0, False, False, {}


class Crowd(Leaving):
    """New agents come all the time."""

    def step(self, actions):
        seen, paid, over, cut, infos = super().step(actions)
        name = f"stranger_{next(self.numbers)}"
        return {**seen, name: np.zeros(2)}, paid, over, cut, infos

    numbers = itertools.count()


class Nameless(Leaving):
    """Does not say which agents there can be."""

    def __init__(self):
        super().__init__()
        self.names, self.possible_agents = self.possible_agents, []


class Steering(Forgetful):
    """Has continuous actions."""

    action_space = spaces.Box(-1, 1, (2,), np.float32)
