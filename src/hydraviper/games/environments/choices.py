"""What can be done in an environment, numbered from 0: the action spaces of Gymnasium, and masks of actions."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hydraviper.data import InputError
from hydraviper.games.environments.spaces import Sight

MOST_ACTIONS = 256  # of several choices taken as one


@dataclass(frozen=True)
class Choices:
    """What an agent can do, numbered from 0."""

    space: Any  # the environment's own
    own: tuple[Any, ...]  # the environment's own action of every number
    names: tuple[str, ...]
    start: np.ndarray  # the first value of every choice, [K]
    sizes: tuple[int, ...]  # the values of every choice, [K]

    @staticmethod
    def of(whose: str, space: object) -> Choices:
        """The actions of a space; several small choices become one."""
        from gymnasium import spaces

        if isinstance(space, spaces.Discrete):
            first, count = int(space.start), int(space.n)
            own = tuple(range(first, first + count))
            return Choices(space, own, tuple(f"action {k}" for k in own), np.array([first]), (count,))
        if isinstance(space, spaces.MultiDiscrete) and len(space.shape) == 1:
            start, sizes = np.array(space.start), tuple(map(int, space.nvec))
        elif isinstance(space, spaces.MultiBinary) and len(space.shape) == 1:
            start, sizes = np.zeros(space.shape, int), (2,) * space.shape[0]
        else:
            raise InputError(_no_choices(whose, space))
        if math.prod(sizes) > MOST_ACTIONS:
            raise InputError(
                f"{whose} makes {len(sizes)} choices at once, {math.prod(sizes):,} in all: trees choose among at most "
                f"{MOST_ACTIONS}, so make each choice an agent of its own or leave some out."
            )
        values = [start + np.array(choice) for choice in itertools.product(*map(range, sizes))]
        own = tuple(value.astype(space.dtype) for value in values)
        return Choices(space, own, tuple(f"actions {' '.join(map(str, value))}" for value in values), start, sizes)

    def numbers(self, own: np.ndarray) -> np.ndarray:
        """The numbers [B] of actions of the environment's own, [B] or [B, K]."""
        given = np.asarray(own).reshape(-1, len(self.sizes))
        rows = given.astype(np.int64) - self.start
        if given.dtype.kind == "f" and (rows + self.start != given).any():
            raise ValueError("an action is a whole number")
        return np.asarray(np.ravel_multi_index(tuple(rows.T), self.sizes), np.int64)


def _no_choices(whose: str, space: object) -> str:
    from gymnasium import spaces

    if not isinstance(space, spaces.Box):
        return f"{whose} acts in a {type(space).__name__}: trees choose among numbered actions, a Discrete space."
    return (
        f"{whose} has continuous actions ({space}), and trees choose among a few: ask the environment for discrete "
        "ones (continuous=false, continuous_actions=false, ... if it knows that), or wrap it so that a number stands "
        "for each of a few actions and name the wrapped one as python:PACKAGE.MODULE:CALLABLE."
    )


@dataclass(frozen=True)
class Interpreter:
    """The functions of `Foreign`: everybody's sight and choices. It can be sent to another process."""

    sights: tuple[Sight, ...]
    choices: tuple[Choices, ...]

    def unflatten(self, agent: int, features: np.ndarray) -> Any:
        """Observations in the environment's own structure."""
        return self.sights[agent].read(np.asarray(features))

    def allowed(self, agent: int, features: np.ndarray) -> np.ndarray:
        """The actions that are allowed, bool [B, A]."""
        return self.sights[agent].allowed(np.asarray(features), len(self.choices[agent].own))

    def numbers(self, agent: int, own: np.ndarray) -> np.ndarray:
        """The game's actions for the environment's own."""
        return self.choices[agent].numbers(own)


def next_allowed(actions: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Actions [B], where one that is not allowed (bool [B, A]) gives way to the next one that is.

    After the last action comes the first. Where nothing is allowed, nobody asks, and the action stays as it is.
    """
    rows = np.flatnonzero(~allowed[np.arange(len(actions)), actions] & allowed.any(axis=1))
    if len(rows) == 0:
        return actions
    count, changed = allowed.shape[1], actions.copy()
    onward = (actions[rows, None] + np.arange(count)) % count  # [R, A] the actions from the chosen one on
    first = np.take_along_axis(allowed[rows], onward, axis=1).argmax(axis=1)
    changed[rows] = onward[np.arange(len(rows)), first]
    return changed
