"""Chains of linear layers and activations of any length, row by row in a fixed order of operations."""

import math

import numba as nb
import numpy as np

from hydraviper.kernels.networks import layer_row, lists

ACTIVATIONS = ("identity", "relu", "tanh", "elu", "leaky-relu", "sigmoid", "silu")  # a kernel knows them by number
_IDENTITY, _RELU, _TANH, _ELU, _LEAKY_RELU, _SIGMOID = range(6)


@nb.njit(cache=True, nogil=True)
def _activated(value, activation):
    """One unit's output, in double precision: libraries differ in the last bits of a single-precision tanh."""
    if activation == _IDENTITY or (value > 0.0 and activation in (_RELU, _ELU, _LEAKY_RELU)):
        return value
    if activation == _RELU:
        return 0.0
    if activation == _TANH:
        return math.tanh(value)
    if activation == _ELU:
        return math.expm1(value)
    if activation == _LEAKY_RELU:
        return 0.01 * value
    once = 1.0 / (1.0 + math.exp(-value))
    return once if activation == _SIGMOID else value * once


@nb.njit(cache=True, nogil=True)
def layer(inputs, weight, bias, activation, out):
    """One layer for every row: inputs [B, I], weight [I, O], bias [O] -> out [B, O]."""
    index, scale = lists(weight.shape[0], 0, 0)
    for b in range(inputs.shape[0]):
        layer_row(out[b], bias, inputs[b], weight, index, scale)
        if activation != _IDENTITY:
            for j in range(out.shape[1]):
                out[b, j] = np.float32(_activated(np.float64(out[b, j]), activation))


@nb.njit(cache=True, nogil=True)
def log_probabilities(preferences, allowed):
    """Turn preferences [B, A] into log-probabilities among the allowed actions [B, A]; the others are left alone."""
    for b in range(preferences.shape[0]):
        most = -np.inf
        for a in range(preferences.shape[1]):
            if allowed[b, a]:
                most = max(most, preferences[b, a])
        total = 0.0
        for a in range(preferences.shape[1]):
            if allowed[b, a]:
                total += math.exp(preferences[b, a] - most)
        for a in range(preferences.shape[1]):
            preferences[b, a] -= most + math.log(total)
