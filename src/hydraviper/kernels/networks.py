"""Small networks in a fixed order of operations, so that no batch, thread, BLAS or processor can change a last bit.

Every network has two hidden ReLU layers; weights are [in, out]. The inner loops run over outputs, which the
compiler vectorises without reordering a sum. Products are added with one rounding by `fused`: leaving it to the
compiler would round once or twice, depending on what the processor has.
"""

from typing import Any

import numba as nb
import numpy as np
from numba.extending import intrinsic

LANES = 16  # joint actions come in whole vectors


def _fused(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c of three numbers of one type, rounded once."""
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.fma(*arguments)

    return a(a, b, c), generate


fused: Any = intrinsic(_fused)


@nb.njit(cache=True, nogil=True)
def _add_rows(out, rows, index, scale, count):
    """Add scale[n] * rows[index[n]] to out, eight rows at a time; index and scale are padded with zeros."""
    for n in range(0, count, 8):
        i0, i1, i2, i3 = index[n], index[n + 1], index[n + 2], index[n + 3]
        i4, i5, i6, i7 = index[n + 4], index[n + 5], index[n + 6], index[n + 7]
        s0, s1, s2, s3 = scale[n], scale[n + 1], scale[n + 2], scale[n + 3]
        s4, s5, s6, s7 = scale[n + 4], scale[n + 5], scale[n + 6], scale[n + 7]
        for j in range(out.shape[0]):
            value = fused(s1, rows[i1, j], fused(s0, rows[i0, j], out[j]))
            value = fused(s3, rows[i3, j], fused(s2, rows[i2, j], value))
            value = fused(s5, rows[i5, j], fused(s4, rows[i4, j], value))
            out[j] = fused(s7, rows[i7, j], fused(s6, rows[i6, j], value))


@nb.njit(cache=True, nogil=True)
def _copy(out, source):
    for j in range(out.shape[0]):  # a loop compiles much sooner than a slice
        out[j] = source[j]


@nb.njit(cache=True, nogil=True)
def _pad(index, scale, count):
    for n in range(count, count + 8):
        index[n], scale[n] = 0, 0.0


@nb.njit(cache=True, nogil=True)
def _relu_all(values):
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
    _pad(index, scale, count)
    _copy(out, bias)
    _add_rows(out, rows, index, scale, count)


@nb.njit(cache=True, nogil=True)
def lists(inputs, first, second):
    """Room for the indices and factors of as many rows as the largest layer has, and the padding."""
    room = max(inputs, first, second) + 8
    return np.zeros(room, np.int64), np.zeros(room, np.float32)


@nb.njit(cache=True, nogil=True)
def greedy_row(row, w0, b0, w1, b1, w2, b2, first, second, third, index, scale):
    """The most valued action of one row [F], -1 if a value is not a number; the last five give it room to work."""
    layer_row(first, b0, row, w0, index, scale)
    _relu_all(first)
    layer_row(second, b1, first, w1, index, scale)
    _relu_all(second)
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
        _relu_all(first)
        layer_row(second, b1, first, w1, index, scale)
        _relu_all(second)
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
        _relu_all(first)
        layer_row(second, b1, first, w1, index, scale)
        _relu_all(second)
        layer_row(third, b2, second, w2, index, scale)
        out[b] = third[0]


@nb.njit(cache=True, nogil=True)
def _spread(out, start, parts, counts):
    """start + one of each member's parts [M, A], for every joint action (the last member's action fastest)."""
    size = 1
    out[0] = start
    for m in range(counts.shape[0] - 1, -1, -1):
        for a in range(counts[m] - 1, -1, -1):
            part = parts[m, a]
            for j in range(size):
                out[a * size + j] = out[j] + part
        size *= counts[m]


@nb.njit(cache=True, nogil=True)
def _add_relu(out, values, weight):
    for j in range(out.shape[0]):
        out[j] = fused(np.float32(0.0) if values[j] <= 0.0 else values[j], weight, out[j])


@nb.njit(cache=True, nogil=True)
def _bound(low, high, linear, counts, rows, between, most, unsure):
    """Widen the second layer's sums [W] from both sides by whatever a joint action may add."""
    for m in range(counts.shape[0]):
        for n in range(low.shape[0]):
            least, largest = linear[m, 0, n], linear[m, 0, n]
            for a in range(1, counts[m]):
                least, largest = min(least, linear[m, a, n]), max(largest, linear[m, a, n])
            low[n] += least
            high[n] += largest
    for u in range(unsure):
        row, reach = rows[between[u]], most[u]
        for n in range(low.shape[0]):
            low[n] += min(row[n], np.float32(0.0)) * reach
            high[n] += max(row[n], np.float32(0.0)) * reach


@nb.njit(cache=True, nogil=True)
def _member_parts(first, low, high, w0, rows, counts):
    """The members' rows of w0 as first [H, M, A], and the least and the most that a joint action adds to a unit [H]."""
    for m in range(counts.shape[0]):
        for k in range(low.shape[0]):
            least, largest = w0[rows[m], k], w0[rows[m], k]
            for a in range(counts[m]):
                part = w0[rows[m] + a, k]
                first[k, m, a] = part
                least, largest = min(least, part), max(largest, part)
            low[k] += least
            high[k] += largest


@nb.njit(cache=True, nogil=True)
def _base(base, w0, b0, joint, actions, offsets, others, index, scale):
    """The first layer's sums [H] without the team: observations [G] and everybody else's actions."""
    n = joint.shape[0]
    for k in range(n):
        index[k], scale[k] = k, joint[k]
    for i in range(actions.shape[0]):
        if others[i]:
            index[n], scale[n] = offsets[i] + actions[i], 1.0
            n += 1
    _pad(index, scale, n)
    _copy(base, b0)
    _add_rows(base, w0, index, scale, n)


@nb.njit(cache=True, nogil=True)
def _split_units(base, first, low, high, counts, index, scale, between, most, active):
    """Sort the first layer's units by what the team can do about them; how many are always on, how many switch.

    `index` and `scale` get those that are always on, `between`, `most` and `active` [unit, joint action] those that
    some joint action switches; those that are always off are left out.
    """
    sure, unsure = 0, 0
    for k in range(base.shape[0]):
        if base[k] + low[k] >= 0.0:
            index[sure], scale[sure] = k, base[k]
            sure += 1
        elif not base[k] + high[k] <= 0.0:  # what is not a number must not be lost
            between[unsure], most[unsure] = k, base[k] + high[k]
            _spread(active[unsure], base[k], first[k], counts)
            _relu_all(active[unsure])
            unsure += 1
    _pad(index, scale, sure)
    return sure, unsure


@nb.njit(cache=True, nogil=True)
def _linear_parts(linear, w0, w1, rows, counts, index, scale, sure):
    """What each member's action adds to the second layer through the units that are always on, [M, A, W]."""
    for m in range(counts.shape[0]):
        for a in range(counts[m]):
            for n in range(w1.shape[1]):
                linear[m, a, n] = 0.0
            row = w0[rows[m] + a]
            for n in range(sure):
                scale[n] = row[index[n]]
            _add_rows(linear[m, a], w1, index, scale, sure)


@nb.njit(cache=True, nogil=True)
def _add_outputs(
    out, w1, w2, b2, start, least, largest, linear, counts,
    active, between, unsure, upto, scale, total, parts, on_parts, on,
):  # fmt: skip
    """Add the last layer's value of each joint action to out [J']; units of the second layer are sorted as before.

    Those that are always on are summed in `constant`, `on_parts` [M, A] and `on` [switching units of the first layer].
    """
    constant = b2[0]
    for u in range(unsure + 8):
        on[u] = 0.0
    for n in range(unsure, unsure + 8):
        scale[n] = 0.0
    for m in range(counts.shape[0]):
        for a in range(counts[m]):
            on_parts[m, a] = 0.0
    for n in range(w1.shape[1]):
        weight = w2[n, 0]
        if least[n] >= 0.0:
            constant += weight * start[n]
            for m in range(counts.shape[0]):
                for a in range(counts[m]):
                    on_parts[m, a] += weight * linear[m, a, n]
            for u in range(unsure):
                on[u] += weight * w1[between[u], n]
        elif not largest[n] <= 0.0:
            for m in range(counts.shape[0]):
                for a in range(counts[m]):
                    parts[m, a] = linear[m, a, n]
            for u in range(unsure):
                scale[u] = w1[between[u], n]
            _spread(total, start[n], parts, counts)
            _add_rows(total, active, upto, scale, unsure)
            _add_relu(out, total, weight)
    _spread(total, constant, on_parts, counts)
    _add_rows(total, active, upto, on, unsure)
    for j in range(out.shape[0]):
        out[j] += total[j]


@nb.njit(cache=True, nogil=True)
def add_joint_values(joint, actions, offsets, team, counts, w0, b0, w1, b1, w2, b2, out):
    """Add a critic's value of each joint action of the team to out [B, J'] (last member's action fastest, J' >= J).

    Nothing is computed per joint action that does not depend on it. The first layer is factored into observations,
    everybody else's actions and one row per member's action. A hidden unit that no joint action can switch is either
    off, and skipped, or on, and then linear: its part of the next layer is summed per member and action. The same
    holds for the second layer. Only units that some joint action switches are looked at for each of them.
    """
    hidden, width, members, joints = b0.shape[0], b1.shape[0], team.shape[0], out.shape[1]
    others, rows = np.ones(actions.shape[1], np.bool_), np.empty(members, np.int64)
    for m in range(members):
        others[team[m]], rows[m] = False, offsets[team[m]]
    first = np.zeros((hidden, members, counts.max()), np.float32)
    low, high = np.zeros(hidden, np.float32), np.zeros(hidden, np.float32)
    _member_parts(first, low, high, w0, rows, counts)
    # room to work in, used again for every row
    room = max(hidden, joint.shape[1] + actions.shape[1]) + 8
    index, scale, upto = np.zeros(room, np.int64), np.zeros(room, np.float32), np.arange(room)
    base, between, most = np.empty(hidden, np.float32), np.empty(hidden, np.int64), np.empty(hidden, np.float32)
    start, least, largest = np.empty(width, np.float32), np.empty(width, np.float32), np.empty(width, np.float32)
    linear = np.empty((members, counts.max(), width), np.float32)
    parts, on_parts = np.zeros((members, counts.max()), np.float32), np.zeros((members, counts.max()), np.float32)
    on, active = np.zeros(hidden + 8, np.float32), np.zeros((hidden + 8, joints), np.float32)
    total = np.zeros(joints, np.float32)
    for b in range(joint.shape[0]):
        _base(base, w0, b0, joint[b], actions[b], offsets, others, index, scale)
        sure, unsure = _split_units(base, first, low, high, counts, index, scale, between, most, active)
        _copy(start, b1)
        _add_rows(start, w1, index, scale, sure)
        _linear_parts(linear, w0, w1, rows, counts, index, scale, sure)
        _copy(least, start)
        _copy(largest, start)
        _bound(least, largest, linear, counts, w1, between, most, unsure)
        _add_outputs(
            out[b], w1, w2, b2, start, least, largest, linear, counts,
            active, between, unsure, upto, scale, total, parts, on_parts, on,
        )  # fmt: skip
