"""Small networks in JAX, for training. Playing needs no JAX (see networks.py)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hydraviper.data import Team
from hydraviper.protocols import Game, offers

Network = list[tuple[jax.Array, jax.Array]]  # per layer: weight [in, out], bias [out]; ReLU between


class Sizes(NamedTuple):
    """What MADDPG's networks depend on in a game."""

    features: tuple[int, ...]
    actions: tuple[int, ...]
    groups: tuple[Team, ...]  # agents that share a reward, and so a critic: the teams, and every other agent alone
    opponents: Team  # agents outside all teams
    public: tuple[tuple[bool, ...], ...]  # per agent and feature: whether it is no secret of the game

    @staticmethod
    def of(game: Game, share_team_reward: bool) -> Sizes:
        """The sizes of a game."""
        opponents = tuple(sorted(set(range(len(game.agents))).difference(*game.teams)))
        teams = game.teams if share_team_reward else [(i,) for team in game.teams for i in team]
        features, actions = zip(*((len(agent.features), len(agent.actions)) for agent in game.agents), strict=True)
        secrets = offers(game).secrets
        public = tuple(tuple(name not in secrets for name in agent.features) for agent in game.agents)
        return Sizes(features, actions, (*teams, *((i,) for i in opponents)), opponents, public)

    @property
    def group_of(self) -> list[int]:
        """The index of each agent's group, [N]."""
        return [next(k for k, group in enumerate(self.groups) if i in group) for i in range(len(self.actions))]

    @property
    def joint_size(self) -> int:
        """Width of a critic's input."""
        return sum(self.features) + sum(self.actions)

    def joint_input(self, observations: Sequence[jax.Array], actions: jax.Array) -> jax.Array:
        """A critic's input: all observations, then all actions [S, N] as one-hot, in the order of the agents."""
        one_hot = [jax.nn.one_hot(actions[:, i], count) for i, count in enumerate(self.actions)]
        return jnp.concatenate([*observations, *one_hot], axis=1)


def fresh_network(random: np.random.Generator, *widths: int) -> Network:
    """Glorot-uniform weights, biases of 0."""
    network = []
    for inputs, outputs in pairwise(widths):
        weight = random.uniform(-1, 1, (inputs, outputs)) * np.sqrt(6 / (inputs + outputs))
        network.append((jnp.asarray(weight, jnp.float32), jnp.zeros(outputs)))
    return network


def forward(network: Network, x: jax.Array) -> jax.Array:
    """Outputs [S, out] for inputs [S, in]."""
    for weight, bias in network[:-1]:
        x = jax.nn.relu(x @ weight + bias)
    weight, bias = network[-1]
    return x @ weight + bias


def value_of_each_action(critic: Network, joint: jax.Array, own: slice) -> jax.Array:
    """Q [S, A_i] of every action of one agent, whose one-hot action has the columns `own` of the input `joint`."""
    (weight, bias), *rest = critic
    others = joint.at[:, own].set(0) @ weight + bias
    hidden = jax.nn.relu(others[:, None] + weight[own])  # an action only adds a row of the first layer
    return forward(rest, hidden.reshape(-1, hidden.shape[-1])).reshape(hidden.shape[:2])


@jax.jit
def act(actors: list[Network], observations: list[jax.Array], key: jax.Array | None) -> jax.Array:
    """Everybody's action [S, N]: greedy, or with a key drawn from the softmax (the Gumbel-max trick)."""
    logits = [forward(actor, seen) for actor, seen in zip(actors, observations, strict=True)]
    if key is not None:
        keys = jax.random.split(key, len(actors))
        logits = [one + jax.random.gumbel(noise, one.shape) for one, noise in zip(logits, keys, strict=True)]
    return jnp.stack([jnp.argmax(one, axis=1) for one in logits], axis=1)


def named_arrays(actors: list[Network], critics: list[Network]) -> dict[str, np.ndarray]:
    """The networks as arrays, by the names of `store.to_arrays`."""
    return {
        f"{role}.{i}.{kind}.{layer}": np.asarray(array)
        for role, networks in (("actor", actors), ("critic", critics))
        for i, network in enumerate(networks)
        for layer, pair in enumerate(network)
        for kind, array in zip(("weight", "bias"), pair, strict=True)
    }
