"""Experts with joint critics: small networks that value the joint action of all agents, without JAX."""

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

import numpy as np

from hydraviper.data import InputError, Observations, Team
from hydraviper.kernels import joint as joint_kernels
from hydraviper.kernels import networks as kernels
from hydraviper.kernels.sums import LANES
from hydraviper.protocols import Policy, SeededPolicy

BLOCK = 256  # samples per piece of work; no sample's result depends on it
MOST_JOINT_ACTIONS = 1_000_000  # of a team, to look for the worst one

Layers = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Network:
    """Two hidden ReLU layers and a linear output."""

    layers: Layers  # w0 [in, H0], b0 [H0], w1 [H0, H1], b1 [H1], w2 [H1, out], b2 [out]; float32

    def __post_init__(self) -> None:
        w0, b0, w1, b1, w2, b2 = self.layers
        hidden, out = (*b0.shape, *b1.shape), (*b1.shape, *b2.shape)
        if w0.shape[1:] != b0.shape or w1.shape != hidden or w2.shape != out:
            raise InputError(f"a network's layers do not fit each other: {[array.shape for array in self.layers]}.")
        if not all(np.isfinite(array).all() for array in self.layers):
            raise InputError("a network holds weights that are not numbers: train the expert again.")


class HasCritics(Protocol):
    """Agents with one joint critic each."""

    @property
    def critics(self) -> tuple[Network, ...]:
        """[N], all observations and one-hot actions -> value."""
        ...

    @property
    def observation_sizes(self) -> tuple[int, ...]:
        """Features of each agent."""
        ...

    @property
    def action_counts(self) -> tuple[int, ...]:
        """Actions of each agent."""
        ...

    @property
    def workers(self) -> int:
        """Threads for the critics; the results do not depend on it."""
        ...


class JointValues:
    """`q` and `worst_team_q` by joint critics."""

    joint: ClassVar[bool] = True  # the worst joint action is found among all of them

    def q(self: HasCritics, observations: Observations, actions: np.ndarray) -> np.ndarray:
        """Every agent's value of the joint actions, [B, N]."""
        joint, offsets = np.concatenate(observations, axis=1), _offsets(self)
        out = np.empty((len(self.critics), len(joint)), np.float32)

        def one(i: int) -> None:
            kernels.values(joint, actions, offsets, *self.critics[i].layers, out[i])

        _each(self.workers, one, range(len(self.critics)))
        return out.T.astype(np.float64)

    def worst_team_q(
        self: HasCritics, observations: Observations, actions: np.ndarray, team: Team, judges: Team | None = None
    ) -> np.ndarray:
        """The least mean value to the judges over the team's joint actions, [B]."""
        judges = team if judges is None else judges
        counts = np.array([self.action_counts[i] for i in team])
        joint_actions = math.prod(counts.tolist())
        if joint_actions > MOST_JOINT_ACTIONS:
            raise InputError(f"a team of {len(team)} has {joint_actions:,} joint actions: split it with --teams.")
        members, offsets = np.array(team), _offsets(self)
        stacked = _stacked([self.critics[judge] for judge in judges])
        out = np.empty(len(actions), np.float32)

        def one(start: int) -> None:
            rows = slice(start, start + BLOCK)
            joint = np.concatenate([seen[rows] for seen in observations], axis=1)
            joint_kernels.worst_values(joint, actions[rows], offsets, members, counts, *stacked, out[rows])

        _each(self.workers, one, range(0, len(actions), BLOCK))
        return out.astype(np.float64) / len(judges)


@dataclass(frozen=True)
class NetworkExpert(JointValues):
    """Greedy actors, and critics that value the joint action of all agents from all observations."""

    actors: tuple[Network, ...]  # [N], observation -> one number per action
    critics: tuple[Network, ...]  # [N], all observations and one-hot actions -> value
    about: Mapping[str, object] = field(default_factory=dict)  # game, how it was made, its score
    workers: int = 1  # threads for the critics; the results do not depend on it

    @property
    def observation_sizes(self) -> tuple[int, ...]:
        """Features of each agent."""
        return tuple(actor.layers[0].shape[0] for actor in self.actors)

    @property
    def action_counts(self) -> tuple[int, ...]:
        """Actions of each agent."""
        return tuple(actor.layers[5].shape[0] for actor in self.actors)

    def act(self, observations: Observations, agents: Team | None = None) -> np.ndarray:
        """Everybody's greedy action, [B, N]; with `agents`, only theirs."""
        actions = np.zeros((len(self.actors), len(observations[0])), np.int64)
        for i in range(len(self.actors)) if agents is None else agents:
            if not kernels.greedy(observations[i], *self.actors[i].layers, actions[i]):
                raise InputError(f"the expert of agent {i} answered with a value that is not a number: train it again.")
        return actions.T


@dataclass(frozen=True)
class CriticExpert(JointValues):
    """Any policy, with joint critics that were fitted to it (see critics.py)."""

    policy: Policy  # a file can hold a LocalQExpert or a game's yardstick
    critics: tuple[Network, ...]  # [N], all observations and one-hot actions -> value
    observation_sizes: tuple[int, ...]  # features of each agent
    action_counts: tuple[int, ...]  # actions of each agent
    about: Mapping[str, object] = field(default_factory=dict)  # game, how it was made, how well it fits
    workers: int = 1  # threads for the critics; the results do not depend on it

    def begin(self, seeds: np.ndarray) -> "CriticExpert":
        """The expert for the episodes of these seeds (uint64 [B]): a policy may depend on them."""
        return replace(self, policy=self.policy.begin(seeds)) if isinstance(self.policy, SeededPolicy) else self

    def act(self, observations: Observations, agents: Team | None = None) -> np.ndarray:
        """The policy's actions, [B, N]."""
        del agents  # a policy answers for everybody
        return np.array(self.policy.act(observations))


def _offsets(expert: HasCritics) -> np.ndarray:
    """Where each agent's actions begin in a critic's first layer, [N]."""
    counts = np.array(expert.action_counts)
    return sum(expert.observation_sizes) + np.cumsum(counts) - counts


def _stacked(networks: Sequence[Network]) -> Layers:
    """The layers of several networks, each kind in one array; units that do nothing fill up whole vectors."""
    first, second = (_whole(max(network.layers[k].shape[0] for network in networks)) for k in (1, 3))
    inputs = networks[0].layers[0].shape[0]

    def stack(k: int, *shape: int) -> np.ndarray:
        arrays = np.zeros((len(networks), *shape), np.float32)
        for held, network in zip(arrays, networks, strict=True):
            held[tuple(slice(size) for size in network.layers[k].shape)] = network.layers[k]
        return arrays

    hidden = stack(0, inputs, first), stack(1, first), stack(2, first, second), stack(3, second)
    return (*hidden, stack(4, second, 1), stack(5, 1))


def _whole(units: int) -> int:
    return -(-units // LANES) * LANES


def _each(workers: int, work: Callable[[int], None], items: Sequence[int]) -> None:
    if workers == 1 or len(items) < 2:
        for item in items:
            work(item)
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(work, items))
