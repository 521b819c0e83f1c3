"""The worst joint action of a team that is too large to try all: branch and bound, with what is left open told.

A node of the search has fixed the actions of some members. For each critic, lines above and below ReLU over the ranges
that the other members leave give a lower bound of its value that is a sum over members: a constant, and one number per
member and action. The least of each member together bounds the node from below, and is also a joint action to try.
What is fixed next is the member whose numbers differ most. Nodes with the lowest bound go first.
"""

import numba as nb
import numpy as np


@nb.njit(cache=True, nogil=True)
def _ranges(low, high, base, parts, counts, fixed):
    """The least and the largest sum of every unit of the first layer, [H], over what members may still do."""
    for k in range(base.shape[0]):
        low[k] = high[k] = base[k]
    for m in range(counts.shape[0]):
        if fixed[m] >= 0:
            for k in range(base.shape[0]):
                low[k] += parts[m, fixed[m], k]
                high[k] += parts[m, fixed[m], k]
        else:
            for k in range(base.shape[0]):
                least, largest = parts[m, 0, k], parts[m, 0, k]
                for a in range(1, counts[m]):
                    least, largest = min(least, parts[m, a, k]), max(largest, parts[m, a, k])
                low[k] += least
                high[k] += largest


@nb.njit(cache=True, nogil=True)
def _second_ranges(least, largest, low, high, w1, b1):
    """The least and the largest sum of every unit of the second layer, [W], if units of the first were independent."""
    for n in range(b1.shape[0]):
        least[n] = largest[n] = b1[n]
    for k in range(low.shape[0]):
        under, over = max(low[k], 0.0), max(high[k], 0.0)
        if over > 0.0:
            for n in range(b1.shape[0]):
                weight = w1[k, n]
                least[n] += weight * (under if weight > 0.0 else over)
                largest[n] += weight * (over if weight > 0.0 else under)


@nb.njit(cache=True, nogil=True)
def _under(weight, least, largest):
    """A line below weight * ReLU(z) for z from least to largest: its slope, and its value at 0."""
    if least >= 0.0:
        return weight, 0.0
    if largest <= 0.0:
        return 0.0, 0.0
    if weight >= 0.0:
        return (weight if largest > -least else 0.0), 0.0
    slope = weight * largest / (largest - least)
    return slope, -slope * least


@nb.njit(cache=True, nogil=True)
def _add_bound(shares, base, parts, counts, fixed, w1, b1, w2, b2, room):
    """Add a critic's bound: to shares [M, A] what each action of a member adds at least; the rest is returned."""
    low, high, least, largest = room[0, : base.shape[0]], room[1, : base.shape[0]], room[2], room[3]
    slopes = room[4]
    _ranges(low, high, base, parts, counts, fixed)
    _second_ranges(least, largest, low, high, w1, b1)
    constant = np.float64(b2)
    for n in range(b1.shape[0]):
        slopes[n], at_zero = _under(np.float64(w2[n]), least[n], largest[n])
        constant += at_zero + slopes[n] * b1[n]
    for k in range(base.shape[0]):
        if high[k] <= 0.0:
            continue
        weight = 0.0
        for n in range(b1.shape[0]):
            weight += slopes[n] * w1[k, n]
        slope, at_zero = _under(weight, low[k], high[k])
        constant += at_zero + slope * base[k]
        for m in range(counts.shape[0]):
            for a in range(counts[m]):
                shares[m, a] += slope * parts[m, a, k]
    return constant


@nb.njit(cache=True, nogil=True)
def _value(base, parts, chosen, w1, b1, w2, b2, room):
    """A critic's value of one joint action."""
    first, second = room[0, : base.shape[0]], room[1, : b1.shape[0]]
    for k in range(base.shape[0]):
        first[k] = base[k]
    for m in range(chosen.shape[0]):
        for k in range(base.shape[0]):
            first[k] += parts[m, chosen[m], k]
    for n in range(b1.shape[0]):
        second[n] = b1[n]
    for k in range(base.shape[0]):
        if not first[k] <= 0.0:
            for n in range(b1.shape[0]):
                second[n] += first[k] * w1[k, n]
    value = np.float64(b2)
    for n in range(b1.shape[0]):
        value += (0.0 if second[n] <= 0.0 else second[n]) * w2[n]
    return value


@nb.njit(cache=True, nogil=True)
def _look(node, bases, parts, counts, fixed, w1, b1, w2, b2, shares, chosen, room):
    """A node's bound, the value of the joint action that its bound suggests, and the member to fix next (or -1)."""
    shares[:, :] = 0.0
    bound, value = 0.0, 0.0
    for c in range(bases.shape[0]):
        bound += _add_bound(shares, bases[c], parts[c], counts, fixed[node], w1[c], b1[c], w2[c, :, 0], b2[c, 0], room)
    branch, widest = -1, -1.0
    for m in range(counts.shape[0]):
        best, least, largest = fixed[node, m], np.inf, -np.inf
        if best >= 0:
            least = shares[m, best]
        else:
            for a in range(counts[m]):
                largest = max(largest, shares[m, a])
                if shares[m, a] < least or a == 0:
                    best, least = a, shares[m, a]
            if largest - least > widest:
                branch, widest = m, largest - least
        chosen[m] = best
        bound += least
    for c in range(bases.shape[0]):
        value += _value(bases[c], parts[c], chosen, w1[c], b1[c], w2[c, :, 0], b2[c, 0], room)
    return bound, value, branch


@nb.njit(cache=True, nogil=True)
def _base(base, w0, b0, joint, actions, offsets, others):
    """The first layer's sums without the team."""
    for k in range(base.shape[0]):
        base[k] = b0[k]
    for g in range(joint.shape[0]):
        for k in range(base.shape[0]):
            base[k] += joint[g] * w0[g, k]
    for i in range(actions.shape[0]):
        if others[i]:
            for k in range(base.shape[0]):
                base[k] += w0[offsets[i] + actions[i], k]


@nb.njit(cache=True, nogil=True)
def worst_bounded(joint, actions, offsets, team, counts, w0, b0, w1, b1, w2, b2, nodes, tolerance, out, gaps):
    """The least sum of critics' values that was found, [B], and how much lower it may be at most, [B].

    The arguments are those of `joint.worst_values`, and how many `nodes` to look at for each row; a gap of `tolerance`
    times the spread of the values that were seen is small enough.
    """
    critics, hidden, width, members, most = w0.shape[0], w0.shape[2], w1.shape[2], team.shape[0], counts.max()
    others = np.ones(actions.shape[1], np.bool_)
    parts = np.zeros((critics, members, most, hidden))
    for m in range(members):
        others[team[m]] = False
        for c in range(critics):
            for a in range(counts[m]):
                for k in range(hidden):
                    parts[c, m, a, k] = w0[c, offsets[team[m]] + a, k]
    bases, room = np.empty((critics, hidden)), np.empty((5, max(hidden, width)))
    shares, chosen = np.zeros((members, most)), np.zeros(members, np.int64)
    places = nodes * most + 1
    fixed, branches = np.empty((places, members), np.int64), np.empty(places, np.int64)
    bounds = np.empty(places)
    for b in range(joint.shape[0]):
        for c in range(critics):
            _base(bases[c], w0[c], b0[c], joint[b], actions[b], offsets, others)
        fixed[0, :] = -1
        bounds[0], least, branches[0] = _look(0, bases, parts, counts, fixed, w1, b1, w2, b2, shares, chosen, room)
        largest, count, looked = least, 1, 1
        while True:
            lowest = 0
            for node in range(1, count):  # few enough to look through them all
                if bounds[node] < bounds[lowest]:
                    lowest = node
            small = tolerance * (largest - least)
            if bounds[lowest] >= least - small or looked >= nodes or branches[lowest] < 0:
                break
            m, parent = branches[lowest], fixed[lowest].copy()
            bounds[lowest] = np.inf
            for a in range(counts[m]):
                place = lowest if a == 0 else count
                count += a > 0
                fixed[place] = parent
                fixed[place, m] = a
                bounds[place], value, branches[place] = _look(
                    place, bases, parts, counts, fixed, w1, b1, w2, b2, shares, chosen, room
                )
                looked += 1
                least, largest = min(least, value), max(largest, value)
        out[b], gaps[b] = least, max(0.0, least - bounds[lowest])
