"""Experts with joint critics: small networks that value the joint action of all agents, without JAX."""

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

import numpy as np

from hydraviper.data import InputError, Observations, Team
from hydraviper.experts import elimination
from hydraviper.kernels import bounding
from hydraviper.kernels import joint as joint_kernels
from hydraviper.kernels import networks as kernels
from hydraviper.kernels.sums import LANES
from hydraviper.protocols import Policy, SeededPolicy

BLOCK = 256  # samples per piece of work; no sample's result depends on it
MOST_JOINT_ACTIONS = 1_000_000  # of a team, to try them all
MOST_ENTRIES, BLOCK_ENTRIES = 65_536, 4_000_000  # of a sum in message passing: for one sample, and at once
NODES, TOLERANCE = 24, 0.01  # of branch and bound: looks per sample, and the gap, relative, that is small enough

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

    def scope_of(self, judge: int, team: Team) -> Team:
        """Whose actions, of a team's members, an agent's critic looks at."""
        ...


class JointValues:
    """`q` and `worst_team_q` by joint critics, each of everybody or of some agents (whose weights are not all 0)."""

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
        stacked, given = _prepared(self, team, judges)
        if (joint_actions := math.prod(given[2].tolist())) > MOST_JOINT_ACTIONS:
            raise InputError(f"a team of {len(team)} has {joint_actions:,} joint actions: split it with --teams.")
        found = np.empty((len(actions), 1), np.float32)

        def one(start: int) -> None:
            joint, played, rows = _block(observations, actions, start)
            joint_kernels.worst_values(joint, played, *given, *stacked, found[rows])

        _each(self.workers, one, range(0, len(actions), BLOCK))
        return found[:, 0].astype(np.float64) / len(stacked[0])

    def scope_of(self: HasCritics, judge: int, team: Team) -> Team:
        """Whose actions, of a team's members, an agent's critic looks at."""
        weights, offsets = self.critics[judge].layers[0], _offsets(self)
        rows = {i: weights[offsets[i] : offsets[i] + self.action_counts[i]] for i in team}
        return tuple(i for i in team if (rows[i] != rows[i][0]).any())

    def search_worst_team_q(
        self: HasCritics, observations: Observations, actions: np.ndarray, team: Team
    ) -> tuple[np.ndarray, np.ndarray]:
        """The least mean value to a team that was found, [B], and how much lower one may be at most, [B].

        By message passing, which leaves no gap, if each critic looks at few members' actions; else branch and bound.
        """
        counts = dict(enumerate(self.action_counts))
        scopes = [self.scope_of(judge, team) for judge in team]
        order, most = elimination.order_of(scopes, counts)
        if most <= MOST_ENTRIES:
            return _by_messages(self, observations, actions, team, scopes, order, most), np.zeros(len(actions))
        stacked, given = _prepared(self, team, team)
        found, gaps = np.empty(len(actions)), np.empty(len(actions))

        def one(start: int) -> None:
            joint, played, rows = _block(observations, actions, start)
            bounding.worst_bounded(joint, played, *given, *stacked, NODES, TOLERANCE, found[rows], gaps[rows])

        _each(self.workers, one, range(0, len(actions), BLOCK))
        return found / len(team), gaps / len(team)


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


def _by_messages(
    expert: HasCritics, observations: Observations, actions: np.ndarray, team: Team, scopes: Sequence[Team],
    order: Sequence[int], most: int,
) -> np.ndarray:  # fmt: skip
    """The least mean value to a team, [B]: a table of each critic's values, and messages between them."""
    found = np.empty(len(actions))
    rows_at_once = max(1, BLOCK_ENTRIES // most)

    def one(start: int) -> None:
        rows, tables = slice(start, start + rows_at_once), []
        joint = np.concatenate([seen[rows] for seen in observations], axis=1)
        for judge, scope in zip(team, scopes, strict=True):
            # a critic that looks at nobody's action is a table of one member all the same
            stacked, given = _prepared(expert, scope or (judge,), (judge,))
            values = np.empty((len(joint), math.prod(given[2].tolist())), np.float32)
            joint_kernels.worst_values(joint, actions[rows], *given, *stacked, values)
            tables.append((scope, values.reshape(len(joint), *given[2]) if scope else values[:, 0]))
        found[rows] = elimination.least_sum(tables, order)

    _each(expert.workers, one, range(0, len(actions), rows_at_once))
    return found / len(team)


def _prepared(
    expert: HasCritics, team: Team, judges: Team | None
) -> tuple[Layers, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The judges' critics, stacked; where agents' actions begin, the members, and how many actions each has."""
    counts = np.array([expert.action_counts[i] for i in team])
    critics = _stacked([expert.critics[judge] for judge in (team if judges is None else judges)])
    return critics, (_offsets(expert), np.array(team), counts)


def _block(observations: Observations, actions: np.ndarray, start: int) -> tuple[np.ndarray, np.ndarray, slice]:
    """A piece of work: everybody's observations side by side, the actions, and which rows it is."""
    rows = slice(start, start + BLOCK)
    return np.concatenate([seen[rows] for seen in observations], axis=1), actions[rows], rows


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
