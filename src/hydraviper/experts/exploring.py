"""Policies that act at random, sometimes or always, and a game's yardstick by its name."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from hydraviper.data import InputError, Observations
from hydraviper.protocols import Foreign, Policy
from hydraviper.seeding import GOLDEN, mix


@dataclass(frozen=True)
class Exploring:
    """A policy whose agents take a share of their actions at random.

    The share differs from episode to episode, from 0 to `most`. The episode's seed and the step decide, so neither
    batch nor worker matters, and the actions can be computed again afterwards.
    """

    policy: Policy
    actions: tuple[int, ...]  # number of actions of each agent
    most: float  # the largest share of random actions
    salt: int  # changes the random actions

    def act(self, observations: Observations) -> np.ndarray:
        """The policy's own actions, [B, N]; only `begin` explores."""
        return self.policy.act(observations)

    def begin(self, seeds: np.ndarray) -> _Explorer:
        """The policy that explores in the episodes of these seeds."""
        return _Explorer(self, seeds)

    def changed(self, wanted: np.ndarray, seeds: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """The actions taken, [B, N], given the policy's own [B, N], at steps [B] of the episodes of seeds [B]."""
        agents = len(self.actions)
        with np.errstate(over="ignore"):
            episodes = mix(np.asarray(seeds, np.uint64) + mix(np.array([self.salt], np.uint64)))
            moments = mix(episodes + GOLDEN * (np.asarray(steps, np.uint64) + np.uint64(1)))
            drawn = _fractions(mix(moments[:, None] + GOLDEN * np.arange(1, 2 * agents + 1, dtype=np.uint64)))
        explores = drawn[:, :agents] < self.most * _fractions(episodes)[:, None]
        return np.where(explores, (drawn[:, agents:] * self.actions).astype(np.int64), wanted)


class _Explorer:
    """Counts the steps of a batch of episodes."""

    def __init__(self, exploring: Exploring, seeds: np.ndarray) -> None:
        self._exploring, self._seeds, self._step = exploring, seeds, 0

    def act(self, observations: Observations) -> np.ndarray:
        wanted = self._exploring.policy.act(observations)
        self._step += 1
        return self._exploring.changed(wanted, self._seeds, np.full(len(wanted), self._step - 1))


@dataclass(frozen=True)
class RandomQ:
    """An agent that acts at random, as values of its actions: 1 for the one that it takes, 0 for all others.

    The episode's seed and the step decide; where nobody plays, what it sees.
    """

    agent: int
    features: int
    actions: int
    foreign: Foreign | None = None  # the environment, if the game is one of another package
    seeds: np.ndarray | None = None  # uint64 [B] of the episodes that are played
    clock: list[int] = field(default_factory=lambda: [0])  # steps so far

    @property
    def digest(self) -> str:
        """Tells this policy from others."""
        return f"random {self.agent}"

    def begin(self, seeds: np.ndarray) -> RandomQ:
        """The same in the episodes of these seeds."""
        return replace(self, seeds=np.asarray(seeds, np.uint64), clock=[0])

    def values(self, observations: np.ndarray) -> np.ndarray:
        """1 for the action that it takes, 0 for all others, [B, F] -> [B, A]."""
        with np.errstate(over="ignore"):
            moments = self._moments(observations) + GOLDEN * np.uint64(self.agent + 1)
            drawn = mix(mix(moments)[:, None] + GOLDEN * np.arange(1, self.actions + 1, dtype=np.uint64))
        if self.foreign is not None and self.foreign.masked[self.agent]:
            drawn = np.where(self.foreign.allowed(self.agent, observations), drawn, np.uint64(0))
        return np.eye(self.actions)[drawn.argmax(axis=1)]

    def _moments(self, observations: np.ndarray) -> np.ndarray:
        """A number for every row that no other moment of any episode has, uint64 [B]."""
        if self.seeds is not None:
            self.clock[0] += 1
            return mix(self.seeds + GOLDEN * np.uint64(self.clock[0]))
        moments = np.zeros(len(observations), np.uint64)
        for column in np.ascontiguousarray(observations, np.float32).view(np.uint32).astype(np.uint64).T:
            moments = mix(moments + column + GOLDEN)
        return moments


@dataclass(frozen=True)
class Yardstick:
    """A game's yardstick by its name, so that a file can refer to it."""

    name: str
    rule: Policy | None = None  # None until a game is given

    def act(self, observations: Observations) -> np.ndarray:
        """The rule's actions, [B, N]."""
        if self.rule is None:
            raise InputError(f"this expert acts as the game's yardstick {self.name!r}: load it with its game.")
        return self.rule.act(observations)


def _fractions(values: np.ndarray) -> np.ndarray:
    """Random uint64 as numbers in [0, 1)."""
    return (values >> np.uint64(11)).astype(np.float64) * 2.0**-53
