"""A policy from elsewhere as a local Q-function: what it is shown, what its answers are worth, which are allowed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hydraviper.data import InputError
from hydraviper.kernels import chains as kernels
from hydraviper.protocols import Foreign

# What a policy answers with: a value of every action, a preference for every action (logits), or just an action.
VALUES, PREFERENCES, CHOICES = "values", "preferences", "choices"
# What it is shown: the agent's features as they are; the environment's observation, flattened and one-hot where it is
# discrete; of an observation with a mask beside it only the `observation`; or the observation in its own form.
FEATURES, WHOLE, INNER, OWN = "features", "whole", "observation", "own"


@dataclass(frozen=True)
class RowByRow:
    """A policy of another framework, asked for one row at a time, so that no row's answer depends on the others."""

    load: Callable[[], Callable[[Any], Any]]  # makes what answers a row; called once in every process

    @cached_property
    def _answer(self) -> Callable[[Any], Any]:
        return self.load()

    @cached_property
    def _last(self) -> dict[bytes, np.ndarray]:
        """The answers to the last batch: observations are labelled, then valued, then valued at their worst."""
        return {}

    def __getstate__(self) -> dict[str, object]:
        return {"load": self.load}

    def __call__(self, shown: object) -> np.ndarray:
        """Its answers to a batch, [B, A], or [B] if they are actions."""
        key = _bytes(shown)
        answers = self._last.get(key)
        if answers is None:
            answers = np.array([self._answer(row) for row in _rows(shown)])
            self._last.clear()
            self._last[key] = answers
        return answers


def _bytes(batch: object) -> bytes:
    """What tells a batch of observations from others."""
    if isinstance(batch, dict | tuple):
        return b"".join(map(_bytes, batch.values() if isinstance(batch, dict) else batch))
    return np.asarray(batch).tobytes()


def _rows(batch: Any) -> Iterator[Any]:
    """One observation of a batch after the other; they may be nested."""
    if isinstance(batch, dict):
        yield from (dict(zip(batch, parts, strict=True)) for parts in zip(*map(_rows, batch.values()), strict=True))
    elif isinstance(batch, tuple):
        yield from zip(*map(_rows, batch), strict=True)
    else:
        yield from batch


@dataclass(frozen=True)
class AdaptedQ:
    """One agent's policy from elsewhere as values of its actions; it takes the one that it values most.

    Preferences become log-probabilities. A policy that only chooses, or whose answers are not to weigh anything, gives
    1 to the action that it takes and 0 to all others, so that every observation weighs the same.
    """

    network: Callable[[Any], np.ndarray]  # what it is shown, a batch -> answers [B, A], or chosen actions [B]
    features: int  # how many features it sees
    actions: int  # how many actions it values
    answers: str  # VALUES, PREFERENCES or CHOICES
    weighed: bool = True  # False: its answers decide what it does, but are worth nothing
    shown: str = FEATURES  # FEATURES, WHOLE, INNER or OWN
    agent: int = 0  # whose it is, in the game
    foreign: Foreign | None = None  # the environment, if the game is one of another package
    digest: str = ""  # tells it from others where the network alone does not

    def values(self, observations: np.ndarray) -> np.ndarray:
        """What every action is worth, [B, F] -> [B, A]; a row never depends on the other rows.

        Where the environment allows nothing, nobody acts, and the policy is not asked.
        """
        allowed = np.ones((len(observations), self.actions), bool)
        if self.foreign is not None and self.foreign.masked[self.agent]:
            allowed = self.foreign.allowed(self.agent, observations)
        acting, values = allowed.any(axis=1), np.zeros(allowed.shape)
        if acting.any():
            values[acting] = self.asked(observations[acting], allowed[acting])
        return values

    def asked(self, observations: np.ndarray, allowed: np.ndarray) -> np.ndarray:
        """The same where something is allowed, bool [B, A]."""
        told = self.network(seen(self.foreign, self.agent, observations, self.shown))
        if self.answers == CHOICES:
            return self._chosen(told)
        told = np.array(told, np.float64)
        if told.shape != allowed.shape or not np.isfinite(told).all():
            raise InputError(
                f"the expert of agent {self.agent} answered {told[:1].tolist()}, which is not one number for each of "
                f"its {self.actions} actions: pass an expert of this game."
            )
        if self.answers == PREFERENCES:
            kernels.log_probabilities(told, allowed)
        possible = np.where(allowed, told, -np.inf)
        if not self.weighed:
            return self._chosen(possible.argmax(axis=1))
        # The worst that can happen is the worst of what is allowed; what is not must not be chosen either.
        least = np.where(allowed, told, np.inf).min(axis=1, keepdims=True)
        return np.where(allowed, told, np.nextafter(least, -np.inf))

    def _chosen(self, actions: np.ndarray) -> np.ndarray:
        """1 for the actions [B] and 0 for all others, [B, A]."""
        if actions.ndim != 1 or actions.dtype.kind not in "iu" or not ((actions >= 0) & (actions < self.actions)).all():
            raise InputError(
                f"the expert of agent {self.agent} answered {actions[:1].tolist()}, which is no action: its actions "
                f"are 0 to {self.actions - 1}."
            )
        return np.eye(self.actions)[actions]


def seen(foreign: Foreign | None, agent: int, features: np.ndarray, shown: str) -> Any:
    """What a policy is shown of an agent's features [B, F]: numbers [B, I], or the environment's own form."""
    if foreign is None or shown == FEATURES:
        return features
    space, observations = foreign.observation_spaces[agent], foreign.unflatten(agent, features)
    if shown == OWN:
        return observations
    if shown == INNER:
        space, observations = space.spaces["observation"], observations["observation"]
    return flattened(space, observations)


def flattened(space: Any, observations: Any) -> np.ndarray:
    """A batch of an environment's observations as numbers [B, I]: one-hot where they are discrete, as is usual."""
    kind = type(space).__name__
    if kind == "Dict":
        return np.concatenate([flattened(one, observations[key]) for key, one in space.spaces.items()], axis=1)
    if kind == "Tuple":
        pairs = zip(space.spaces, observations, strict=True)
        return np.concatenate([flattened(one, part) for one, part in pairs], axis=1)
    values = np.asarray(observations)
    if kind == "Discrete":
        return np.eye(int(space.n), dtype=np.float32)[values.reshape(-1) - int(space.start)]
    if kind == "MultiDiscrete":
        numbers = values.reshape(len(values), -1) - np.ravel(space.start)
        counts = np.ravel(space.nvec)
        return np.concatenate([np.eye(n, dtype=np.float32)[numbers[:, k]] for k, n in enumerate(counts)], axis=1)
    return values.reshape(len(values), -1).astype(np.float32)


def ways(foreign: Foreign | None, agent: int, features: int) -> dict[str, int]:
    """What a network can be shown of an agent's features, and how many numbers that is."""
    if foreign is None:
        return {FEATURES: features}
    spaces = getattr(foreign.observation_spaces[agent], "spaces", {})
    nested = isinstance(spaces, dict) or hasattr(spaces, "keys")
    possible = [WHOLE, INNER, FEATURES] if nested and "observation" in spaces else [WHOLE, FEATURES]
    nothing = np.zeros((1, features), np.float32)
    return {way: seen(foreign, agent, nothing, way).shape[1] for way in possible}
