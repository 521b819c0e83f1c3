"""Small networks in a fixed order of operations, so that no batch, thread or BLAS can change a last bit.

Every network has two hidden ReLU layers; weights are [in, out]. The inner loops run over outputs, which the
compiler vectorises without reordering a sum.
"""

from __future__ import annotations

import numba as nb
import numpy as np

LANES = 16  # partial sums of a dot product, added up in a fixed order at the end


@nb.njit(cache=True, nogil=True, inline="always")
def _add_scaled(out, row, scale):
    for j in range(out.shape[0]):
        out[j] += scale * row[j]


@nb.njit(cache=True, nogil=True, inline="always")
def _relu(value):
    return np.float32(0.0) if value <= 0.0 else value


@nb.njit(cache=True, nogil=True)
def greedy(features, w0, b0, w1, b1, w2, b2, actions):
    """The most valued action of every row, [B, F] -> actions [B]; False if a value is not a number."""
    first, second, third = np.empty_like(b0), np.empty_like(b1), np.empty_like(b2)
    sound = True
    for b in range(features.shape[0]):
        first[:] = b0
        for k in range(features.shape[1]):
            _add_scaled(first, w0[k], features[b, k])
        second[:] = b1
        for k in range(first.shape[0]):
            if not first[k] <= 0.0:  # what is not a number must not be lost
                _add_scaled(second, w1[k], first[k])
        third[:] = b2
        for k in range(second.shape[0]):
            if not second[k] <= 0.0:
                _add_scaled(third, w2[k], second[k])
        best = 0
        for a in range(third.shape[0]):
            if third[a] > third[best]:
                best = a
            sound = sound and np.isfinite(third[a])
        actions[b] = best
    return sound


@nb.njit(cache=True, nogil=True)
def _head(first, w1, b1, w2, b2, second, lanes):
    """The value from the first layer's sums: ReLU, second layer, ReLU, one output."""
    second[:] = b1
    for k in range(first.shape[0]):
        if not first[k] <= 0.0:
            _add_scaled(second, w1[k], first[k])
    return _output(second, w2, b2, lanes)


@nb.njit(cache=True, nogil=True, inline="always")
def _output(second, w2, b2, lanes):
    lanes[:] = 0.0
    whole = second.shape[0] - second.shape[0] % LANES
    for j in range(0, whole, LANES):
        for lane in range(LANES):
            lanes[lane] += _relu(second[j + lane]) * w2[j + lane, 0]
    for j in range(whole, second.shape[0]):
        lanes[j - whole] += _relu(second[j]) * w2[j, 0]
    value = b2[0]
    for lane in range(LANES):
        value += lanes[lane]
    return value


@nb.njit(cache=True, nogil=True)
def values(joint, actions, offsets, w0, b0, w1, b1, w2, b2, out):
    """A critic's value of joint actions: joint observations [B, G], actions [B, N] -> out [B].

    An agent's action picks row offsets[agent] + action of w0, which is what a one-hot input does.
    """
    first, second, lanes = np.empty_like(b0), np.empty_like(b1), np.empty(LANES, np.float32)
    for b in range(joint.shape[0]):
        first[:] = b0
        for k in range(joint.shape[1]):
            _add_scaled(first, w0[k], joint[b, k])
        for i in range(actions.shape[1]):
            _add_scaled(first, w0[offsets[i] + actions[b, i]], np.float32(1.0))
        out[b] = _head(first, w1, b1, w2, b2, second, lanes)


@nb.njit(cache=True, nogil=True)
def add_joint_values(joint, actions, offsets, team, counts, w0, b0, w1, b1, w2, b2, out):
    """Add a critic's value of each joint action of the team, out [B, J] (last member's action fastest).

    The first layer is factored: observations and everybody else's actions once per sample, then one row per member.
    A hidden unit whose sign no joint action can change is off (and skipped) or on, and then linear: its part of the
    second layer is summed once per member and action. Only the units in between are looked at per joint action.
    """
    hidden, width, members = b0.shape[0], b1.shape[0], team.shape[0]
    others = np.ones(actions.shape[1], np.bool_)
    for i in team:
        others[i] = False
    low, high = np.zeros(hidden, np.float32), np.zeros(hidden, np.float32)
    for m in range(members):
        rows = w0[offsets[team[m]] : offsets[team[m]] + counts[m]]
        for k in range(hidden):
            low[k] += rows[:, k].min()
            high[k] += rows[:, k].max()
    most = counts.max()
    base = np.empty(hidden, np.float32)
    linear = np.empty((members, most, width), np.float32)
    partial = np.empty((members + 1, hidden), np.float32)  # sums of the first layer, one member more per level
    second = np.empty((members + 1, width), np.float32)
    total, lanes = np.empty(width, np.float32), np.empty(LANES, np.float32)
    between, choice = np.empty(hidden, np.int64), np.zeros(members, np.int64)
    for b in range(joint.shape[0]):
        base[:] = b0
        for k in range(joint.shape[1]):
            _add_scaled(base, w0[k], joint[b, k])
        for i in range(actions.shape[1]):
            if others[i]:
                _add_scaled(base, w0[offsets[i] + actions[b, i]], np.float32(1.0))
        linear[:] = 0.0
        second[0, :] = b1
        unsure = 0
        for k in range(hidden):
            if base[k] + high[k] <= 0.0:
                continue
            if base[k] + low[k] >= 0.0:
                _add_scaled(second[0], w1[k], base[k])
                for m in range(members):
                    for a in range(counts[m]):
                        _add_scaled(linear[m, a], w1[k], w0[offsets[team[m]] + a, k])
            else:
                between[unsure] = k
                unsure += 1
        for n in range(unsure):
            partial[0, n] = base[between[n]]
        choice[:] = 0
        level = 0  # members before it have their sums in place
        for j in range(out.shape[1]):
            for m in range(level, members):
                row = w0[offsets[team[m]] + choice[m]]
                for n in range(unsure):
                    partial[m + 1, n] = partial[m, n] + row[between[n]]
                for n in range(width):
                    second[m + 1, n] = second[m, n] + linear[m, choice[m], n]
            total[:] = second[members]
            for n in range(unsure):
                if not partial[members, n] <= 0.0:
                    _add_scaled(total, w1[between[n]], partial[members, n])
            out[b, j] += _output(total, w2, b2, lanes)
            level = members - 1
            while level >= 0:
                choice[level] += 1
                if choice[level] < counts[level]:
                    break
                choice[level] = 0
                level -= 1
