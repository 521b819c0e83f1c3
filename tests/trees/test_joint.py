"""MAVIPER's joint growth against a slow version that recomputes every projection from its definition."""

from __future__ import annotations

import numpy as np
import pytest

from hydraviper.trees import cart, joint
from hydraviper.trees.bins import Bins
from hydraviper.trees.tree import LEAF


def scene(seed, members=3, rows=400):
    draws = np.random.default_rng(seed)
    features = [draws.integers(0, 20, (rows, 4)).astype(np.float32) for _ in range(members)]
    # each agent's action depends on what it sees, on what only another sees, and on noise
    actions = [
        (
            (features[i][:, 0] > features[i][:, 1]).astype(int)
            + 2 * (features[i - 1][:, 2] > 12)
            + draws.integers(0, 2, rows)
        )
        % 3
        for i in range(members)
    ]
    weights = [draws.integers(0, 3, rows).astype(float) for _ in range(members)]
    bins = []
    for own in features:
        bins.append(Bins(4))
        bins[-1].append(own)
    return features, actions, weights, bins


def slow_grow_together(features, actions, weights, bins, depth, draws):
    """Nodes as dictionaries; a projection is looked up sample by sample."""
    members = range(len(bins))

    def fit(i, kept, left):
        return cart.grow(bins[i], actions[i], weights[i], 3, left, rows=np.array(sorted(kept), int))

    roots = []
    for i in members:
        kept = [row for row in range(len(weights[i])) if weights[i][row] > 0]
        roots.append({"kept": kept, "cart": fit(i, kept, depth), "children": None, "depth": 0})

    def projected(i, row, level):
        """The answer of agent i's tree, as it was grown to `level`, finished by its unfinished node's CART."""
        node = roots[i]
        while node["children"] is not None and node["depth"] < level:
            split = node["cart"]
            goes_left = features[i][row, split.feature[0]] <= split.threshold[0]
            node = node["children"][0 if goes_left else 1]
        return node["cart"].predict(features[i][row : row + 1])[0]

    def frontier(node, level):
        if node["depth"] == level:
            return [node]
        return (
            []
            if node["children"] is None
            else frontier(node["children"][0], level) + frontier(node["children"][1], level)
        )

    for i in draws.permutation(len(bins)):
        votes = [sum(projected(j, row, 0) == actions[j][row] for j in members) for row in range(len(actions[0]))]
        staying = [row for row in roots[i]["kept"] if 2 * votes[row] > len(bins)] or roots[i]["kept"]
        roots[i] |= {"kept": staying, "cart": fit(i, staying, depth)}

    grown = dict.fromkeys(members, 0)
    for level in range(depth):
        for i in draws.permutation(len(bins)):
            votes = {
                row: sum(projected(j, row, grown[j]) == actions[j][row] for j in members)
                for row in range(len(actions[0]))
            }
            for node in frontier(roots[i], level):
                split = node["cart"]
                if split.feature[0] == LEAF:
                    continue
                node["children"] = []
                for left in (True, False):
                    here = [r for r in node["kept"] if (features[i][r, split.feature[0]] <= split.threshold[0]) == left]
                    staying = [r for r in here if 2 * votes[r] > len(bins)] or here
                    child = {"kept": staying, "cart": fit(i, staying, depth - level - 1), "children": None}
                    node["children"].append({**child, "depth": level + 1})
            grown[i] = level + 1

    def answer(node, row, i):
        while node["children"] is not None:
            split = node["cart"]
            node = node["children"][0 if features[i][row, split.feature[0]] <= split.threshold[0] else 1]
        return node["cart"].action[0]

    return [[answer(roots[i], row, i) for row in range(len(actions[0]))] for i in members]


@pytest.mark.parametrize("seed", range(4))
def test_joint_growth_is_as_defined(seed):
    features, actions, weights, bins = scene(seed)
    fast = joint.grow_together(bins, actions, weights, [3, 3, 3], 3, np.random.default_rng(seed))
    slow = slow_grow_together(features, actions, weights, bins, 3, np.random.default_rng(seed))
    for i in range(3):
        assert fast[i].depth <= 3
        np.testing.assert_array_equal(fast[i].predict(features[i]), slow[i])
