"""Small networks in a fixed order of operations, so that no batch, thread, BLAS or processor can change a last bit.

Every network has two hidden ReLU layers; weights are [in, out]. Rows of them are added up in vectors, one output
per lane (sums.py), which reorders no sum.
"""

import numba as nb
import numpy as np

from hydraviper.kernels.sums import add_rows


@nb.njit(cache=True, nogil=True)
def copy(out, source):
    """out[:] = source."""
    for j in range(out.shape[0]):  # a loop compiles much sooner than a slice
        out[j] = source[j]


@nb.njit(cache=True, nogil=True)
def relu_all(values):
    """Put 0 in place of what is below it."""
    for j in range(values.shape[0]):
        values[j] = np.float32(0.0) if values[j] <= 0.0 else values[j]


@nb.njit(cache=True, nogil=True)
def layer_row(out, bias, inputs, rows, index, scale):
    """out = bias + inputs @ rows, leaving out inputs that are 0."""
    count = 0
    for k in range(inputs.shape[0]):
        if inputs[k] != 0.0:
            index[count], scale[count] = k, inputs[k]
            count += 1
    copy(out, bias)
    add_rows(out, rows, index, scale, count)


@nb.njit(cache=True, nogil=True)
def lists(inputs, first, second):
    """Room for the indices and factors of as many rows as the largest layer has."""
    room = max(inputs, first, second)
    return np.zeros(room, np.int64), np.zeros(room, np.float32)


@nb.njit(cache=True, nogil=True)
def greedy_row(row, w0, b0, w1, b1, w2, b2, first, second, third, index, scale):
    """The most valued action of one row [F], -1 if a value is not a number; the last five give it room to work."""
    layer_row(first, b0, row, w0, index, scale)
    relu_all(first)
    layer_row(second, b1, first, w1, index, scale)
    relu_all(second)
    layer_row(third, b2, second, w2, index, scale)
    best, sound = 0, True
    for a in range(third.shape[0]):
        if third[a] > third[best]:
            best = a
        sound = sound and np.isfinite(third[a])
    return best if sound else -1


@nb.njit(cache=True, nogil=True)
def greedy(features, w0, b0, w1, b1, w2, b2, actions):
    """The most valued action of every row, [B, F] -> actions [B]; False if a value is not a number."""
    first, second, third = np.empty_like(b0), np.empty_like(b1), np.empty_like(b2)
    index, scale = lists(w0.shape[0], w1.shape[0], w2.shape[0])
    sound = True
    for b in range(features.shape[0]):
        best = greedy_row(features[b], w0, b0, w1, b1, w2, b2, first, second, third, index, scale)
        sound = sound and best >= 0
        actions[b] = max(best, 0)
    return sound


@nb.njit(cache=True, nogil=True)
def outputs(features, w0, b0, w1, b1, w2, b2, out):
    """What a network answers to every row, [B, F] -> out [B, A]."""
    first, second = np.empty_like(b0), np.empty_like(b1)
    index, scale = lists(w0.shape[0], w1.shape[0], w2.shape[0])
    for b in range(features.shape[0]):
        layer_row(first, b0, features[b], w0, index, scale)
        relu_all(first)
        layer_row(second, b1, first, w1, index, scale)
        relu_all(second)
        layer_row(out[b], b2, second, w2, index, scale)


@nb.njit(cache=True, nogil=True)
def values(joint, actions, offsets, w0, b0, w1, b1, w2, b2, out):
    """A critic's value of joint actions: joint observations [B, G], actions [B, N] -> out [B].

    An agent's action picks row offsets[agent] + action of w0, which is what a one-hot input does.
    """
    first, second, third = np.empty_like(b0), np.empty_like(b1), np.empty_like(b2)
    index, scale = lists(w0.shape[0], w1.shape[0], w2.shape[0])
    for b in range(joint.shape[0]):
        layer_row(first, b0, joint[b], w0, index, scale)
        for i in range(actions.shape[1]):
            row = w0[offsets[i] + actions[b, i]]
            for k in range(first.shape[0]):
                first[k] += row[k]
        relu_all(first)
        layer_row(second, b1, first, w1, index, scale)
        relu_all(second)
        layer_row(third, b2, second, w2, index, scale)
        out[b] = third[0]
