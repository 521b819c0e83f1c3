"""Policies around a policy: one that sometimes acts at random, and a yardstick that a file can name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hydraviper.data import InputError, Observations
from hydraviper.protocols import Policy
from hydraviper.seeding import GOLDEN, mix


@dataclass(frozen=True)
class Exploring:
    """Acts as a policy does, but everybody takes a share of their actions at random.

    The random numbers are a hash of what everybody sees: no batch and no worker can change them, and what was done
    can be computed again from what was seen.
    """

    policy: Policy
    actions: tuple[int, ...]  # how many each agent has
    share: float  # of the actions that are random
    salt: int  # another number, other random actions

    def act(self, observations: Observations) -> np.ndarray:
        """One action per episode and agent, [B, N]."""
        chosen = self.policy.act(observations)
        if self.share == 0:
            return chosen
        random = _uniform(observations, self.salt, 2 * len(self.actions))
        explores, others = random[:, ::2] < self.share, (random[:, 1::2] * self.actions).astype(np.int64)
        return np.where(explores, others, chosen)


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


def _uniform(observations: Observations, salt: int, count: int) -> np.ndarray:
    """Numbers from 0 to 1, [B, count], by what each row shows."""
    seen = np.concatenate(observations, axis=1).astype(np.float32) + np.float32(0)  # -0 and 0 are the same sight
    with np.errstate(over="ignore"):
        places = GOLDEN * np.arange(1, seen.shape[1] + 1, dtype=np.uint64) + mix(np.array([salt], np.uint64))
        rows = mix(seen.view(np.uint32).astype(np.uint64) + places).sum(axis=1, dtype=np.uint64)
        drawn = mix(rows[:, None] + GOLDEN * np.arange(1, count + 1, dtype=np.uint64))
    return (drawn >> np.uint64(11)).astype(np.float64) * 2.0**-53
