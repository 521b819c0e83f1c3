"""Experts that need no training."""

from __future__ import annotations

import numpy as np

import hydraviper
from hydraviper.experts.networks import Network, NetworkExpert


def random_expert(game: hydraviper.Game, seed: int = 0, hidden: int = 24) -> NetworkExpert:
    """An untrained expert that fits a game."""
    draws = np.random.default_rng(seed)
    sizes = [len(agent.features) for agent in game.agents]
    counts = [len(agent.actions) for agent in game.agents]

    def network(inputs: int, outputs: int) -> Network:
        shapes = [(inputs, hidden), (hidden,), (hidden, hidden), (hidden,), (hidden, outputs), (outputs,)]
        return Network(tuple(draws.normal(size=shape, scale=0.5).astype(np.float32) for shape in shapes))

    actors = tuple(network(size, count) for size, count in zip(sizes, counts, strict=True))
    critics = tuple(network(sum(sizes) + sum(counts), 1) for _ in sizes)
    return NetworkExpert(actors, critics, {"game": game.name})


def forward(network, inputs):
    w0, b0, w1, b1, w2, b2 = (layer.astype(np.float64) for layer in network.layers)
    hidden = np.maximum(np.maximum(inputs @ w0 + b0, 0) @ w1 + b1, 0)
    return hidden @ w2 + b2
