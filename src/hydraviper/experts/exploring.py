"""Policies around a policy: one that sometimes acts at random, and a yardstick that a file can name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hydraviper.data import InputError, Observations
from hydraviper.protocols import Policy
from hydraviper.seeding import GOLDEN, mix


@dataclass(frozen=True)
class Exploring:
    """Acts as a policy does, but everybody takes some of their actions at random.

    How many differs from episode to episode, none to `most` of them. The episode's seed and the step decide, so no
    batch and no worker can change it, and what was done can be told afterwards.
    """

    policy: Policy
    actions: tuple[int, ...]  # how many each agent has
    most: float  # the largest share of random actions
    salt: int  # another number, other random actions

    def act(self, observations: Observations) -> np.ndarray:
        """The policy's own actions, [B, N]: without an episode, nobody explores."""
        return self.policy.act(observations)

    def begin(self, seeds: np.ndarray) -> _Explorer:
        """Who plays the episodes of these seeds."""
        return _Explorer(self, seeds)

    def changed(self, wanted: np.ndarray, seeds: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """What is done [B, N] where the policy wants `wanted` [B, N], at steps [B] of the episodes of seeds [B]."""
        agents = len(self.actions)
        with np.errstate(over="ignore"):
            episodes = mix(np.asarray(seeds, np.uint64) + mix(np.array([self.salt], np.uint64)))
            places = mix(episodes + GOLDEN * (np.asarray(steps, np.uint64) + np.uint64(1)))
            drawn = _fractions(mix(places[:, None] + GOLDEN * np.arange(1, 2 * agents + 1, dtype=np.uint64)))
        explores = drawn[:, :agents] < self.most * _fractions(episodes)[:, None]
        return np.where(explores, (drawn[:, agents:] * self.actions).astype(np.int64), wanted)


class _Explorer:
    """Counts the steps of some episodes."""

    def __init__(self, exploring: Exploring, seeds: np.ndarray) -> None:
        self._exploring, self._seeds, self._step = exploring, seeds, 0

    def act(self, observations: Observations) -> np.ndarray:
        wanted = self._exploring.policy.act(observations)
        self._step += 1
        return self._exploring.changed(wanted, self._seeds, np.full(len(wanted), self._step - 1))


@dataclass(frozen=True)
class Yardstick:
    """A game's own rule by its name, so that a file can say who acts."""

    name: str
    rule: Policy | None = None  # unknown until there is a game

    def act(self, observations: Observations) -> np.ndarray:
        """What the rule does, [B, N]."""
        if self.rule is None:
            raise InputError(f"this expert acts as the game's yardstick {self.name!r}: load it with its game.")
        return self.rule.act(observations)


def _fractions(values: np.ndarray) -> np.ndarray:
    """Numbers from 0 to 1 of scrambled uint64."""
    return (values >> np.uint64(11)).astype(np.float64) * 2.0**-53
