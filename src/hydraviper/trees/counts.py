"""How often a tree's nodes are reached and what the expert does there: made again for a tree that was changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hydraviper.trees.derived import extend
from hydraviper.trees.tree import LEAF, Tree


def recounted(tree: Tree, observations: np.ndarray, actions: np.ndarray) -> Tree:
    """The same tree with counts from observations [S, F] and the expert's actions [S]; a row weighs 1.

    An inner node's action becomes the heaviest of its counts, as in a tree that was grown; a leaf keeps its own.
    """
    features = extend(observations, tree.derived)
    counts, action = np.zeros_like(tree.counts), tree.action.copy()
    rows = {0: np.arange(len(features))}
    for node in range(len(tree)):  # children stand behind their parents
        here = rows.pop(node)
        counts[node] = np.bincount(actions[here], minlength=counts.shape[1])
        if tree.feature[node] != LEAF:
            left = features[here, tree.feature[node]] <= tree.threshold[node]
            rows[int(tree.left[node])], rows[int(tree.right[node])] = here[left], here[~left]
            if len(here) > 0:
                action[node] = counts[node].argmax()
    return replace(tree, counts=counts, action=action)
