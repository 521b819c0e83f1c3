"""The worst joint action of a team, by critics with two hidden ReLU layers.

Nothing is computed per joint action that does not depend on it. The first layer is factored into observations,
everybody else's actions and one row per member's action. A hidden unit that no joint action can switch is either off,
and skipped, or on, and then linear: its part of the next layer is summed per member and action. The same holds for the
second layer. Only units that some joint action switches are looked at for each of them, in squares of LANES joint
actions by LANES units.
"""

import numba as nb
import numpy as np

from hydraviper.kernels.networks import copy, relu_all
from hydraviper.kernels.sums import LANES, add_products, add_rows, added, relu_sums, tile, turned, widened, widened_by


@nb.njit(cache=True, nogil=True)
def _whole(count):
    """As many, in whole vectors."""
    return (count + LANES - 1) // LANES * LANES


@nb.njit(cache=True, nogil=True)
def _spread(out, parts, counts, units):
    """out[0] plus one of each member's parts [M, A, units], for every joint action (the last member's action fastest).

    `out` is flat, `units` numbers for each joint action; `units` is a multiple of LANES.
    """
    size, flat = 1, parts.ravel()
    for m in range(counts.shape[0] - 1, -1, -1):
        for a in range(counts[m] - 1, -1, -1):
            part = (m * parts.shape[1] + a) * parts.shape[2]
            for j in range(size):
                for n in range(0, units, LANES):
                    added(out, (a * size + j) * units + n, out, j * units + n, flat, part + n)
        size *= counts[m]


@nb.njit(cache=True, nogil=True)
def _member_rows(low, high, turned_rows, w0, rows, counts):
    """The members' rows of w0, turned [blocks, H, LANES]; the least and the most that they add to a unit, [H]."""
    for m in range(counts.shape[0]):
        for k in range(low.shape[0]):
            least, largest = w0[rows[m], k], w0[rows[m], k]
            for a in range(counts[m]):
                part, place = w0[rows[m] + a, k], m * counts.max() + a
                turned_rows[place // LANES, k, place % LANES] = part
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
    copy(base, b0)
    add_rows(base, w0, index, scale, n)


@nb.njit(cache=True, nogil=True)
def _split_units(base, w0, rows, low, high, counts, index, scale, between, most, active, parts):
    """Sort the first layer's units by what the team can do about them; how many are always on, how many switch.

    `index` and `scale` get those that are always on, `between`, `most` and `active` [joint action, unit] those that
    some joint action switches; those that are always off are left out.
    """
    sure, unsure = 0, 0
    for k in range(base.shape[0]):  # without branches: nobody could predict them
        on, off = base[k] + low[k] >= 0.0, base[k] + high[k] <= 0.0
        index[sure], scale[sure] = k, base[k]
        between[unsure], most[unsure], active[unsure] = k, base[k] + high[k], base[k]
        sure += on
        unsure += not (on or off)  # what is not a number must not be lost
    for m in range(counts.shape[0]):
        for a in range(counts[m]):
            row, part = w0[rows[m] + a], parts[m, a]
            for u in range(unsure):
                part[u] = row[between[u]]
    _spread(active, parts, counts, _whole(unsure))
    return sure, unsure


@nb.njit(cache=True, nogil=True)
def _linear_parts(linear, turned_parts, members, w1, index, sure):
    """What each member's action adds to the second layer through the units that are always on: [M * A, W], and turned.

    `members` [blocks, H, LANES] are their rows of w0, turned; `turned_parts` is [blocks, W, LANES].
    """
    width, flat = w1.shape[1], w1.ravel()
    for block in range(members.shape[0]):
        out = turned_parts[block].ravel()
        for n in range(out.shape[0]):
            out[n] = 0.0
        for n in range(0, width, LANES):
            tile(out, n * LANES, LANES, flat, n, width, 1, members[block], index, sure)
            turned(linear, block * LANES * width + n, width, out, n * LANES, LANES)


@nb.njit(cache=True, nogil=True)
def _bound(low, high, linear, counts, most_actions, rows, between, most, unsure):
    """Widen the second layer's sums [W] from both sides by whatever a joint action may add."""
    width = low.shape[0]
    for m in range(counts.shape[0]):
        for n in range(0, width, LANES):
            widened(low, high, n, linear, m * most_actions * width + n, width, counts[m])
    for n in range(0, width, LANES):
        widened_by(low, high, n, rows, between, most, unsure)


@nb.njit(cache=True, nogil=True)
def _split_second(
    w1, turned_w1, w2, b2, start, least, largest, linear, turned_parts, counts, between, unsure,
    parts, mix, values, weights, on_actions, on_units, switching, index, scale,
):  # fmt: skip
    """Sort the second layer's units as the first's; how many switch.

    Each of these gets a lane of `parts` [blocks, M, A, LANES] and `mix` [blocks, switching units of the first layer,
    LANES], its sum in `values` and its weight. One more lane is all that are always on, weighted already.
    """
    width, mixed, sure, constant = w1.shape[1], 0, 0, b2[0]
    for n in range(width):
        on, off = least[n] >= 0.0, largest[n] <= 0.0
        index[sure], scale[sure], switching[mixed] = n, w2[n, 0], n
        sure += on
        mixed += not (on or off)
    for s in range(sure):
        constant += scale[s] * start[index[s]]
    for block in range(on_actions.shape[0]):
        for t in range(LANES):
            on_actions[block, t] = 0.0
    for k in range(on_units.shape[0]):
        on_units[k] = 0.0
    for block in range(on_actions.shape[0]):
        add_products(on_actions[block], 0, turned_parts[block], index, scale, sure)
    for k in range(0, on_units.shape[0], LANES):
        add_products(on_units, k, turned_w1, index, scale, sure)
    for s in range(mixed):
        n, block, lane = switching[s], s // LANES, s % LANES
        for m in range(counts.shape[0]):
            for a in range(counts[m]):
                parts[block, m, a, lane] = linear[(m * parts.shape[2] + a) * width + n]
        for u in range(unsure):
            mix[block, u, lane] = w1[between[u], n]
        values[block, lane], weights[s] = start[n], w2[n, 0]
    block, lane = mixed // LANES, mixed % LANES
    values[block, lane] = constant
    for m in range(counts.shape[0]):
        for a in range(counts[m]):
            place = m * parts.shape[2] + a
            parts[block, m, a, lane] = on_actions[place // LANES, place % LANES]
    for u in range(unsure):
        mix[block, u, lane] = on_units[between[u]]
    return mixed


@nb.njit(cache=True, nogil=True)
def _add_values(worth, values, weights, mixed, active, unsure, mix, upto, square):
    """Add a critic's value of every joint action to worth [J']; `values` [unit block, J', LANES] lack `mix`."""
    switching, joints = _whole(unsure), worth.shape[0]
    for j in range(0, joints, LANES):
        for block in range((mixed + LANES) // LANES):
            tile(values[block], j * LANES, LANES, active, j * switching, 1, switching, mix[block], upto, unsure)
            turned(square, 0, LANES, values[block], j * LANES, LANES)
            relu_sums(worth, j, square, weights, block * LANES, min(LANES, mixed - block * LANES))
        added(worth, j, worth, j, square, mixed % LANES * LANES)


@nb.njit(cache=True, nogil=True)
def _least(worth, joints):
    """The least of the first numbers; not a number if one of them is none."""
    worst = worth[0]
    for j in range(1, joints):
        if worth[j] < worst or worth[j] != worth[j]:
            worst = worth[j]
    return worst


@nb.njit(cache=True, nogil=True)
def _of_team(agents, offsets, team, counts, w0, w1):
    """What depends on the team alone.

    How many joint actions it has, who is not of the team [N], where its members' rows of w0 begin [M]; per critic the
    least and the most that members add to a unit of the first layer, their rows of w0 and w1, both turned.
    """
    critics, hidden, width, members, joints = w0.shape[0], w0.shape[2], w1.shape[2], team.shape[0], 1
    others, rows = np.ones(agents, np.bool_), np.empty(members, np.int64)
    for m in range(members):
        joints *= counts[m]
        others[team[m]], rows[m] = False, offsets[team[m]]
    low, high = np.zeros((critics, hidden), np.float32), np.zeros((critics, hidden), np.float32)
    turned_rows = np.zeros((critics, _whole(members * counts.max()) // LANES, hidden, LANES), np.float32)
    turned_w1 = np.empty((critics, width, hidden), np.float32)
    for c in range(critics):
        for k in range(hidden):  # a loop compiles much sooner than a slice
            for n in range(width):
                turned_w1[c, n, k] = w1[c, k, n]
        _member_rows(low[c], high[c], turned_rows[c], w0[c], rows, counts)
    return joints, others, rows, low, high, turned_rows, turned_w1


@nb.njit(cache=True, nogil=True)
def worst_values(joint, actions, offsets, team, counts, w0, b0, w1, b1, w2, b2, out):
    """The least sum of the critics' values over all joint actions of a team, [B, 1], or all of these sums, [B, J].

    `joint` [B, G] are everybody's observations, `actions` [B, N] what agents outside the team do, `offsets` [N] where
    an agent's actions begin in w0. The critics' layers are stacked: w0 [C, G + all actions, H] and so on.
    """
    critics, hidden, width, members = w0.shape[0], w0.shape[2], w1.shape[2], team.shape[0]
    joints, others, rows, low, high, turned_rows, turned_w1 = _of_team(actions.shape[1], offsets, team, counts, w0, w1)
    most_actions, blocks = counts.max(), turned_rows.shape[1]
    # room to work in, used again for every row
    room = max(hidden, width, joint.shape[1] + actions.shape[1]) + 1
    index, scale, upto = np.zeros(room, np.int64), np.zeros(room, np.float32), np.arange(room)
    base, between, most = np.empty(hidden, np.float32), np.empty(hidden + 1, np.int64), np.empty(hidden + 1, np.float32)
    start, least, largest = np.empty(width, np.float32), np.empty(width, np.float32), np.empty(width, np.float32)
    linear, turned_parts = np.empty(blocks * LANES * width, np.float32), np.empty((blocks, width, LANES), np.float32)
    switching, on_units = np.zeros(width + 1, np.int64), np.zeros(hidden, np.float32)
    on_actions = np.zeros((blocks, LANES), np.float32)
    first_parts = np.zeros((members, most_actions, hidden), np.float32)
    padded, columns = _whole(joints), width // LANES + 1
    second_parts = np.zeros((columns, members, most_actions, LANES), np.float32)
    mix, weights = np.zeros((columns, hidden, LANES), np.float32), np.zeros(width, np.float32)
    active, values = np.zeros(padded * hidden + 1, np.float32), np.zeros((columns, padded * LANES), np.float32)
    worth, square = np.zeros(padded, np.float32), np.zeros(LANES * LANES, np.float32)
    for b in range(joint.shape[0]):
        for j in range(padded):
            worth[j] = 0.0
        for c in range(critics):
            _base(base, w0[c], b0[c], joint[b], actions[b], offsets, others, index, scale)
            sure, unsure = _split_units(
                base, w0[c], rows, low[c], high[c], counts, index, scale, between, most, active, first_parts
            )
            relu_all(active[: joints * _whole(unsure)])
            copy(start, b1[c])
            add_rows(start, w1[c], index, scale, sure)
            _linear_parts(linear, turned_parts, turned_rows[c], w1[c], index, sure)
            copy(least, start)
            copy(largest, start)
            _bound(least, largest, linear, counts, most_actions, w1[c], between, most, unsure)
            mixed = _split_second(
                w1[c], turned_w1[c], w2[c], b2[c], start, least, largest, linear, turned_parts, counts, between, unsure,
                second_parts, mix, values, weights, on_actions, on_units, switching, index, scale,
            )  # fmt: skip
            for block in range(mixed // LANES + 1):
                _spread(values[block], second_parts[block], counts, LANES)
            _add_values(worth, values, weights, mixed, active, unsure, mix, upto, square)
        if out.shape[1] == joints:
            copy(out[b], worth)
        else:
            out[b, 0] = _least(worth, joints)
