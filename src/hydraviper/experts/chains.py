"""Networks that are a chain of layers, as most policies for small observations are.

Their answers to a row never depend on the other rows, and they need no framework to be asked.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hydraviper.data import InputError
from hydraviper.kernels import chains as kernels

# Random inputs, small and large, on which a chain must answer as its original, up to this part of its answers.
TRIED, TOLERANCE = 64, 1e-4


@dataclass(frozen=True)
class Chain:
    """Linear layers with activations between them."""

    weights: tuple[np.ndarray, ...]  # [in, out] each, float32
    biases: tuple[np.ndarray, ...]  # [out] each, float32
    activations: tuple[str, ...]  # after each layer but the last

    def __post_init__(self) -> None:
        shapes = [weight.shape for weight in self.weights]
        fitting = all(before[1] == after[0] for before, after in itertools.pairwise(shapes))
        biases = [bias.shape for bias in self.biases]
        if not shapes or not fitting or biases != [shape[1:] for shape in shapes]:
            raise InputError(f"a network's layers do not fit each other: weights {shapes}, biases {biases}.")
        if unknown := set(self.activations) - set(kernels.ACTIVATIONS):
            known = ", ".join(kernels.ACTIVATIONS)
            raise InputError(f"there is no activation {sorted(unknown)[0]!r}: choose one of {known}.")
        if not all(np.isfinite(array).all() for array in (*self.weights, *self.biases)):
            raise InputError("a network holds weights that are not numbers: train the expert again.")

    @staticmethod
    def of(layers: Sequence[tuple[np.ndarray, np.ndarray]], activation: str) -> "Chain":
        """A chain from (weight [out, in], bias [out]) pairs, as torch keeps them, with one kind of activation."""
        weights = tuple(np.ascontiguousarray(weight.T, np.float32) for weight, _ in layers)
        biases = tuple(np.ascontiguousarray(bias, np.float32) for _, bias in layers)
        return Chain(weights, biases, (activation,) * (len(layers) - 1))

    @property
    def inputs(self) -> int:
        """How many numbers it is shown."""
        return self.weights[0].shape[0]

    @property
    def outputs(self) -> int:
        """How many numbers it answers with."""
        return self.weights[-1].shape[1]

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """Its answers, [B, I] -> [B, O]."""
        values = np.ascontiguousarray(inputs, np.float32)
        for weight, bias, activation in zip(self.weights, self.biases, (*self.activations, "identity"), strict=True):
            out = np.empty((len(values), len(bias)), np.float32)
            kernels.layer(values, weight, bias, kernels.ACTIVATIONS.index(activation), out)
            values = out
        return values


def chain_like(
    layers: Sequence[tuple[np.ndarray, np.ndarray]], answer: Callable[[np.ndarray], np.ndarray]
) -> Chain | None:
    """The chain of these layers that answers random inputs as `answer` (row [I] -> [A]) does; None if none does."""
    shapes = [weight.shape for weight, _ in layers]
    if not shapes or any(before[0] != after[1] for before, after in itertools.pairwise(shapes)):
        return None
    draws = np.random.default_rng(0)
    asked = (draws.normal(size=(TRIED, shapes[0][1])) * 10 ** draws.uniform(-2, 2, (TRIED, 1))).astype(np.float32)
    try:
        told = np.stack([np.asarray(answer(row), np.float64) for row in asked])
    except (RuntimeError, ValueError, TypeError, IndexError, KeyError):
        return None  # it wants to be shown something else
    chains = (Chain.of(layers, activation) for activation in kernels.ACTIVATIONS)
    alike = (chain for chain in chains if told.shape == (TRIED, chain.outputs) and _alike(chain(asked), told))
    return next(alike, None)


def _alike(answers: np.ndarray, told: np.ndarray) -> bool:
    """Whether answers [B, A] differ by no more than rounding."""
    return bool((np.abs(answers - told) <= TOLERANCE * np.abs(told).max(axis=1, keepdims=True)).all())
