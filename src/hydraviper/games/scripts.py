"""Scripted policies for the particle worlds: yardsticks, rules for defenders, and adversaries that do not learn."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from hydraviper.data import Observations
from hydraviper.protocols import Policy, Student

CLOSE = 0.02  # nearer than this an agent stays where it is
MOST_TRIED = 5  # agents whose assignments are all tried at once, which is quicker than the Hungarian method
COAST = 0.1  # how far an agent's speed still carries it, in seconds


@dataclass(frozen=True)
class Script:
    """One agent's rule: go to a point that depends on what it sees."""

    aim: Callable[[np.ndarray], np.ndarray]  # [B, F] -> [B, 2], relative to the agent

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Move along the axis on which the point is farther away; stay when there."""
        wish = self.aim(features)
        sideways = np.abs(wish[:, 0]) >= np.abs(wish[:, 1])
        move = np.where(sideways, np.where(wish[:, 0] < 0, 1, 2), np.where(wish[:, 1] < 0, 3, 4))
        return np.where(np.abs(wish).max(axis=1) < CLOSE, 0, move)


@dataclass(frozen=True)
class Scripted:
    """A policy made of one rule per agent."""

    rules: tuple[Student, ...]

    def act(self, observations: Observations) -> np.ndarray:
        """One action per episode and agent, [B, N]."""
        return np.stack([rule.predict(seen) for rule, seen in zip(self.rules, observations, strict=True)], axis=1)


@dataclass(frozen=True)
class Staying:
    """A policy of agents that never move."""

    agents: int

    def act(self, observations: Observations) -> np.ndarray:
        """Zeros, [B, N]."""
        return np.zeros((len(observations[0]), self.agents), np.int64)


def navigators(count: int) -> dict[str, Policy]:
    """Yardsticks for cooperative navigation."""
    rules: dict[str, Policy] = {
        "agent i to landmark i": Scripted(tuple(Script(partial(_to_own, i=i)) for i in range(count)))
    }
    aims = [partial(_to_assigned, i=i, count=count) for i in range(count)]
    rules["best assignment"] = Scripted(tuple(Script(aim) for aim in aims))
    return rules | {"nobody moves": Staying(count)}


def defenders(count: int) -> dict[str, Mapping[int, Student]]:
    """Rules for the defenders of physical deception that ignore the goal: name -> each defender's rule."""
    fixed = {i + 1: Script(partial(_at, i=i)) for i in range(count)}
    rules: dict[str, Mapping[int, Student]] = {"defender i to landmark i": fixed}
    if 2 <= count <= 5:
        rules["best assignment"] = {i + 1: Script(partial(_to_guarded, i=i, count=count)) for i in range(count)}
    return rules


def adversaries(landmarks: int) -> dict[str, Mapping[int, Student]]:
    """Scripted adversaries for physical deception: name -> the rule of agent 0."""
    aims = {"nearest landmark": _nearest, "midpoint": _midpoint, "where defenders crowd": _crowded}
    return {name: {0: Script(partial(aim, count=landmarks))} for name, aim in aims.items()}


def _at(seen: np.ndarray, i: int) -> np.ndarray:
    return seen[:, 2 + 2 * i : 4 + 2 * i]


def _to_own(seen: np.ndarray, i: int) -> np.ndarray:
    return seen[:, 4 + 2 * i : 6 + 2 * i] - COAST * seen[:, :2]


def _to_assigned(seen: np.ndarray, i: int, count: int) -> np.ndarray:
    """The landmark assigned to agent i, less how far the agent will coast."""
    landmarks = seen[:, 4 : 4 + 2 * count].reshape(-1, count, 2)
    others = seen[:, 4 + 2 * count : 2 + 4 * count].reshape(len(seen), count - 1, 2)
    return _assigned(landmarks, others, i) - COAST * seen[:, :2]


def _to_guarded(seen: np.ndarray, i: int, count: int) -> np.ndarray:
    """The landmark assigned to defender i, whose features are the goal, landmarks, the adversary, other defenders."""
    landmarks = seen[:, 2 : 2 + 2 * count].reshape(-1, count, 2)
    mates = seen[:, 4 + 2 * count :].reshape(len(seen), count - 1, 2)
    return _assigned(landmarks, mates, i)


def _assigned(landmarks: np.ndarray, others: np.ndarray, i: int) -> np.ndarray:
    """The landmark that the assignment of least total distance gives to agent i, computed from its own view."""
    count = landmarks.shape[1]
    agents = np.insert(others, i, 0.0, axis=1)
    distances = np.linalg.norm(agents[:, :, None] - landmarks[:, None], axis=3)  # [B, N, N]
    if count <= MOST_TRIED:
        orders = np.array(list(itertools.permutations(range(count))))  # [P, N], agent -> landmark
        totals = distances[:, np.arange(count), orders].sum(axis=2)  # [B, P]
        assigned = orders[totals.argmin(axis=1), i]
    else:
        from scipy.optimize import linear_sum_assignment

        assigned = [linear_sum_assignment(row)[1][i] for row in distances]
    return landmarks[np.arange(len(landmarks)), assigned]


def _landmarks(seen: np.ndarray, count: int) -> np.ndarray:
    return seen[:, : 2 * count].reshape(-1, count, 2)


def _nearest(seen: np.ndarray, count: int) -> np.ndarray:
    places = _landmarks(seen, count)
    return places[np.arange(len(seen)), np.linalg.norm(places, axis=2).argmin(axis=1)]


def _midpoint(seen: np.ndarray, count: int) -> np.ndarray:
    return _landmarks(seen, count).mean(axis=1)


def _crowded(seen: np.ndarray, count: int) -> np.ndarray:
    """The landmark with the least total distance to the defenders."""
    places, defenders = _landmarks(seen, count), seen[:, 2 * count :].reshape(-1, count, 2)
    distances = np.linalg.norm(places[:, :, None] - defenders[:, None], axis=3).sum(axis=2)
    return places[np.arange(len(seen)), distances.argmin(axis=1)]
