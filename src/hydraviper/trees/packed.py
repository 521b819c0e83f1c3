"""A team's trees as rectangular arrays, for kernels that play whole episodes with the trees inside.

A derived feature is computed only at the nodes that ask for it, with the same bits as in derived.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numba as nb
import numpy as np

from hydraviper.data import Derived
from hydraviper.trees.derived import table, value_of
from hydraviper.trees.tree import LEAF, Tree, in_preorder


@dataclass(frozen=True)
class Vocabulary:
    """Per tree what its nodes may ask for: the plain features, then derived ones."""

    plain: tuple[int, ...]  # [A] plain features of each agent
    derived: tuple[tuple[Derived, ...], ...]  # [A]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many features each tree may ask for."""
        return tuple(plain + len(derived) for plain, derived in zip(self.plain, self.derived, strict=True))

    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        """For kernels: plain features, then where each derived feature's terms begin [A, D + 2]; terms [A, T, 6]."""
        tables = [table(derived) for derived in self.derived]
        starts = np.zeros((len(tables), max(len(begin) for begin, _ in tables) + 1), np.int64)
        terms = np.zeros((len(tables), max(1, *(len(rows) for _, rows in tables)), 6), np.int64)
        for a, (begin, rows) in enumerate(tables):
            starts[a, 0] = self.plain[a]
            starts[a, 1 : 1 + len(begin)] = begin
            terms[a, : len(rows)] = rows
        return starts, terms


FEATURE, LEFT, RIGHT, ACTION = range(4)  # columns of a node


@dataclass(frozen=True)
class Packed:
    """The nodes of several trees, root first, a row per tree."""

    nodes: np.ndarray  # [A, M, 4] int64: feature (-1 at a leaf and where there is no node), left, right, action
    threshold: np.ndarray  # [A, M] float32

    def copy(self) -> Packed:
        """A copy of the arrays."""
        return Packed(self.nodes.copy(), self.threshold.copy())


def pack(trees: Sequence[Tree], vocabulary: Vocabulary, room: int) -> Packed:
    """Trees as rows with room for `room` nodes; their derived features must be in the vocabulary."""
    room = max(room, *(len(tree) for tree in trees))
    nodes, threshold = np.full((len(trees), room, 4), LEAF, np.int64), np.zeros((len(trees), room), np.float32)
    nodes[:, :, ACTION] = 0
    for a, tree in enumerate(trees):
        plain, derived, n = vocabulary.plain[a], vocabulary.derived[a], len(tree)
        number = np.array([*range(plain), *(plain + derived.index(feature) for feature in tree.derived), LEAF])
        nodes[a, :n, FEATURE] = number[tree.feature]  # a leaf's -1 is the last entry
        nodes[a, :n, LEFT], nodes[a, :n, RIGHT], nodes[a, :n, ACTION] = tree.left, tree.right, tree.action
        threshold[a, :n] = tree.threshold
    return Packed(nodes, threshold)


def unpack(packed: Packed, vocabulary: Vocabulary, actions: Sequence[int]) -> list[Tree]:
    """The trees without counts, and with only the derived features that they ask for."""
    trees = []
    for a, count in enumerate(actions):
        feature, left, right, action = packed.nodes[a].T
        tree = in_preorder(feature, packed.threshold[a], left, right, action, np.zeros((len(feature), count)))
        plain = vocabulary.plain[a]
        asked = sorted({int(f) for f in tree.feature if f >= plain})
        number = {f: plain + k for k, f in enumerate(asked)}
        renumbered = np.array([number.get(int(f), int(f)) for f in tree.feature], np.int64)
        trees.append(replace(tree, feature=renumbered, derived=tuple(vocabulary.derived[a][f - plain] for f in asked)))
    return trees


@nb.njit(cache=True, nogil=True, inline="always")
def asked_value(seen, r, f, a, starts, terms):
    """The value of a derived feature f that tree a sees in row r of seen [B, F]."""
    d = f - starts[a, 0] + 1
    return value_of(seen, r, starts[a, d], starts[a, d + 1], a, terms)


@nb.njit(cache=True, nogil=True, inline="always")
def leaf_of(seen, r, a, nodes, threshold, starts, terms):
    """The leaf that tree a reaches in row r of seen [B, F]."""
    node, plain = 0, starts[a, 0]
    f = nodes[a, 0, 0]
    while f >= 0:
        value = seen[r, f] if f < plain else asked_value(seen, r, f, a, starts, terms)
        node = nodes[a, node, 1] if value <= threshold[a, node] else nodes[a, node, 2]
        f = nodes[a, node, 0]
    return node
