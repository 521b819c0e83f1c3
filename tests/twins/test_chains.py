"""Chains of layers against plain numpy in double precision, and bit for bit against themselves in other batches."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hydraviper.experts.chains import Chain, chain_like
from hydraviper.kernels import chains as kernels

PLAIN = {
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "leaky-relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
}


def random_layers(*sizes, seed=0):
    draws = np.random.default_rng(seed)
    return [
        (draws.normal(size=(out, size)) / np.sqrt(size), draws.normal(size=out))
        for size, out in itertools.pairwise(sizes)
    ]


def forward(layers, activation, inputs):
    values = inputs.astype(np.float64)
    for k, (weight, bias) in enumerate(layers):
        values = values @ weight.T + bias
        values = values if k == len(layers) - 1 else PLAIN[activation](values)
    return values


def seen(rows=150, columns=5):
    return np.random.default_rng(1).normal(size=(rows, columns)).astype(np.float32)


def test_every_activation_has_a_twin():
    assert set(PLAIN) == set(kernels.ACTIVATIONS)


@pytest.mark.parametrize("activation", PLAIN)
@pytest.mark.parametrize("sizes", [(5, 3), (5, 64, 2), (5, 7, 19, 33, 4)])
def test_a_chain_answers_as_plain_numpy(activation, sizes):
    layers = random_layers(*sizes)
    chain = Chain.of(layers, activation)
    np.testing.assert_allclose(chain(seen()), forward(layers, activation, seen()), rtol=1e-4, atol=1e-5)
    assert (chain.inputs, chain.outputs) == (sizes[0], sizes[-1])


def test_no_row_depends_on_the_others():
    chain, inputs = Chain.of(random_layers(5, 64, 64, 3), "tanh"), seen(rows=64)
    whole = chain(inputs)
    for size in (1, 7, 32):
        parts = [chain(inputs[start : start + size]) for start in range(0, 64, size)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(chain(inputs[::-1]), whole[::-1])


@pytest.mark.parametrize("activation", PLAIN)
def test_the_activation_is_found_by_asking(activation):
    layers = random_layers(5, 16, 16, 3)
    found = chain_like(layers, lambda row: forward(layers, activation, row[None])[0])
    assert found.activations == (activation,) * 2


def test_what_is_no_chain_is_not_taken_for_one():
    layers = random_layers(5, 16, 3)
    assert chain_like(layers, lambda row: forward(layers, "tanh", row[None])[0] + 0.01) is None
    assert chain_like(layers, lambda row: forward(layers, "tanh", np.clip(row, -5, 5)[None])[0]) is None
    assert chain_like([layers[0], (np.zeros((3, 9)), np.zeros(3))], lambda row: row) is None
    assert chain_like([], lambda row: row) is None


def test_log_probabilities_are_those_of_a_softmax_over_what_is_allowed():
    draws = np.random.default_rng(2)
    told, allowed = draws.normal(size=(50, 4)) * 5, draws.random((50, 4)) < 0.6
    allowed[:, 0] |= ~allowed.any(axis=1)
    logs = told.copy()
    kernels.log_probabilities(logs, allowed)
    chances = np.where(allowed, np.exp(told - told.max(axis=1, keepdims=True)), 0)
    chances /= chances.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(logs)[allowed], chances[allowed], rtol=1e-9)
