"""MPLight: one FRAP network shared by all signals, trained by double DQN for the least pressure.

A signal values its own phases only, so no invalid phase has to be masked, nor in the target's maximum.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from hydraviper.data import InputError, Observations
from hydraviper.experts import frap
from hydraviper.experts.dqn import DqnSettings
from hydraviper.experts.frap import FrapNetwork, FrapQ
from hydraviper.protocols import Game, offers

Layers = dict[str, jax.Array]  # by the names of frap.SHAPES

# Adam 1e-3, batch 32 and the rest as published (Chen et al. 2020, and RESCO's curves); rewards are divided by 10
RECOMMENDED = DqnSettings(
    episodes=500,
    gamma=0.99,
    dread=0.0,
    guided=0.0,
    updates_per_step=1,
    batch=32,
    replay=10_000,
    final_learning_rate=1e-3,
    tau=1.0,
    target_every=500,
    last_epsilon=0.0,
    explore=0.8,
    settle=0.8,
    evaluate_every=25,
)


@dataclass(frozen=True)
class Mplight:
    """One FRAP network shared by all signals, and the phases of each."""

    served: tuple[tuple[tuple[bool, ...], ...], ...]  # per signal [A, G]
    features: tuple[int, ...]
    name: str = "mplight"

    @staticmethod
    def of(game: Game) -> Mplight:
        """The model for a game of signals."""
        served = offers(game).graph.served
        if served is None:
            raise InputError(f"mplight trains traffic signals, and {game.name} has none: choose another algorithm.")
        if any(agent.features[-1].startswith("loop ") for agent in game.agents):
            raise InputError("mplight needs the pressure of every movement, which loops do not tell: choose idqn.")
        phases = tuple(tuple(tuple(map(bool, phase)) for phase in signal.tolist()) for signal in served)
        return Mplight(phases, tuple(len(agent.features) for agent in game.agents))

    def fresh(self, random: np.random.Generator) -> Layers:
        """Glorot-uniform weights, biases of 0, normal embeddings."""
        return {name: jnp.asarray(_fresh(random, name, shape), jnp.float32) for name, shape in frap.SHAPES.items()}

    def scales(self, observations: list[np.ndarray]) -> list[np.ndarray]:
        """Ones: pressures are taken as they are."""
        return [np.ones(seen.shape[1], np.float32) for seen in observations]

    def rewards(self, rewards: np.ndarray, following: Observations) -> np.ndarray:
        """Minus the sum of the pressures that each signal sees next, [B, N]."""
        del rewards
        left = [seen[:, -len(served[0]) :].sum(axis=1) for seen, served in zip(following, self.served, strict=True)]
        return -np.stack(left, axis=1).astype(np.float64)

    def values(self, parameters: Layers, agent: int, observations: jax.Array) -> jax.Array:
        """The Q-values of all phases of one signal, [S, F] -> [S, A]."""
        served = np.array(self.served[agent])
        phases, movements = served.shape
        on = (observations[:, :phases] @ served > 0.5).astype(jnp.int32)  # [S, G]
        pressure = observations[:, -movements:, None]
        demand = jax.nn.sigmoid(pressure * parameters["demand.weight"][0] + parameters["demand.bias"])
        state = jnp.concatenate([jax.nn.sigmoid(parameters["green"])[on], demand], axis=2)
        movement = jax.nn.relu(_dense(parameters, "movement", state))  # [S, G, 16]
        phase = jnp.einsum("pg,sgh->sph", served.astype(np.float32), movement)
        repeated = jnp.repeat(phase[:, :, None], phases, axis=2)
        pair = jnp.concatenate([repeated, jnp.swapaxes(repeated, 1, 2)], axis=3)  # [S, A, A, 32]
        related = jax.nn.relu(_dense(parameters, "relation", jax.nn.relu(parameters["relation"])))
        hidden = jax.nn.relu(_dense(parameters, "pair", pair)) * related[frap.relations(served)]
        value = _dense(parameters, "value", jax.nn.relu(_dense(parameters, "hidden", hidden)))[..., 0]
        return (value * (1 - np.eye(phases, dtype=np.float32))).sum(axis=2)

    def q_functions(self, parameters: Layers, scales: list[np.ndarray]) -> tuple[FrapQ, ...]:
        """JAX parameters as NumPy Q-functions."""
        del scales
        network = FrapNetwork(tuple(np.array(parameters[name], np.float32) for name in frap.SHAPES))
        pairs = zip(self.served, self.features, strict=True)
        return tuple(FrapQ(network, np.array(served), features) for served, features in pairs)


def _dense(parameters: Layers, name: str, inputs: jax.Array) -> jax.Array:
    return inputs @ parameters[f"{name}.weight"] + parameters[f"{name}.bias"]


def _fresh(random: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    if name.endswith("bias"):
        return np.zeros(shape)
    if name.endswith("weight"):
        return random.uniform(-1, 1, shape) * np.sqrt(6 / sum(shape))
    return random.normal(size=shape)  # an embedding
