"""How often each node of a tree is reached and what the expert does there, counted anew for a changed tree."""

from dataclasses import replace

import numpy as np

from hydraviper.trees.tree import LEAF, Tree


def recount(tree: Tree, observations: np.ndarray, actions: np.ndarray, weights: np.ndarray | None = None) -> Tree:
    """The tree with the counts of observations [S, F], the expert's actions [S] and weights [S] (default: 1 each).

    An inner node that is reached gets the heaviest action that was counted, as in a tree that was grown; leaves keep
    theirs.
    """
    counts, action = np.zeros_like(tree.counts), tree.action.copy()
    np.add.at(counts, (tree.apply(observations), actions), 1.0 if weights is None else weights)
    for node in np.flatnonzero(tree.feature != LEAF)[::-1]:  # children stand behind their parent
        counts[node] = counts[tree.left[node]] + counts[tree.right[node]]
        if counts[node].any():
            action[node] = counts[node].argmax()
    return replace(tree, counts=counts, action=action)
