"""An expert whose agents value their own actions from their own observations: IDQN, MPLight, any local Q-function.

The mean of local values is least where each of them is least, so the worst joint action needs no enumeration.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import numpy as np

from hydraviper.data import InputError, Observations, Team
from hydraviper.experts.networks import Network
from hydraviper.kernels import networks as kernels
from hydraviper.protocols import Policy


class LocalQ(Protocol):
    """One agent's Q-function of its own actions."""

    @property
    def features(self) -> int:
        """How many features it sees."""
        ...

    @property
    def actions(self) -> int:
        """How many actions it values."""
        ...

    def values(self, observations: np.ndarray) -> np.ndarray:
        """The value of every action, [B, F] -> [B, A]; a row never depends on the other rows."""
        ...


@runtime_checkable
class BeginsQ(Protocol):
    """A Q-function that depends on the episode's seed: that of an agent that acts at random."""

    def begin(self, seeds: np.ndarray) -> LocalQ:
        """The Q-function for the episodes of these seeds (uint64 [B])."""
        ...


@dataclass(frozen=True)
class NetworkQ:
    """A Q-network of one agent (IDQN's)."""

    network: Network

    @property
    def features(self) -> int:
        """How many features it sees."""
        return self.network.layers[0].shape[0]

    @property
    def actions(self) -> int:
        """How many actions it values."""
        return self.network.layers[5].shape[0]

    def values(self, observations: np.ndarray) -> np.ndarray:
        """The Q-value of every action, [B, F] -> [B, A]."""
        out = np.empty((len(observations), self.actions), np.float32)
        kernels.outputs(observations, *self.network.layers, out)
        return out


@dataclass(frozen=True)
class LocalQExpert:
    """Every agent takes the action that it values most."""

    q_functions: tuple[LocalQ, ...]  # [N]
    about: Mapping[str, object] = field(default_factory=dict)  # game, how it was made, its score
    workers: int = 1  # not used: local values are too quick to be worth a thread
    policy: Policy | None = None  # who acts instead, where values were fitted to somebody (see local_critics.py)

    @property
    def observation_sizes(self) -> tuple[int, ...]:
        """Features of each agent."""
        return tuple(q.features for q in self.q_functions)

    @property
    def action_counts(self) -> tuple[int, ...]:
        """Actions of each agent."""
        return tuple(q.actions for q in self.q_functions)

    def begin(self, seeds: np.ndarray) -> "LocalQExpert":
        """The expert for the episodes of these seeds (uint64 [B]): only agents that act at random depend on them."""
        begun = tuple(q.begin(seeds) if isinstance(q, BeginsQ) else q for q in self.q_functions)
        return replace(self, q_functions=begun)

    def act(self, observations: Observations, agents: Team | None = None) -> np.ndarray:
        """Everybody's greedy action, [B, N], the first of equals; with `agents`, only theirs."""
        if self.policy is not None:
            return np.array(self.policy.act(observations))
        actions = np.zeros((len(self.q_functions), len(observations[0])), np.int64)
        for i in range(len(self.q_functions)) if agents is None else agents:
            values = self._values(i, observations)
            actions[i] = values.argmax(axis=1)
        return actions.T

    def q(self, observations: Observations, actions: np.ndarray) -> np.ndarray:
        """Every agent's value of its own action in the joint actions [B, N], as [B, N]."""
        return np.stack([self._taken(i, observations, actions) for i in range(len(self.q_functions))], axis=1)

    def worst_team_q(
        self, observations: Observations, actions: np.ndarray, team: Team, judges: Team | None = None
    ) -> np.ndarray:
        """The least mean value to the judges over the team's joint actions, [B].

        A judge in the team contributes its least value; a judge outside keeps its action, so its value stays.
        """
        judges = team if judges is None else judges
        total = np.zeros(len(actions))
        for judge in judges:
            if judge in team:
                total += self._values(judge, observations).min(axis=1)
            else:
                total += self._taken(judge, observations, actions)
        return total / len(judges)

    def _values(self, i: int, observations: Observations) -> np.ndarray:
        values = self.q_functions[i].values(observations[i]).astype(np.float64)
        if not np.isfinite(values).all():
            raise InputError(f"the expert of agent {i} answered with a value that is not a number: train it again.")
        return values

    def _taken(self, i: int, observations: Observations, actions: np.ndarray) -> np.ndarray:
        return np.take_along_axis(self._values(i, observations), actions[:, i : i + 1], axis=1)[:, 0]
