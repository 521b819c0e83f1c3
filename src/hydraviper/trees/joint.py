"""MAVIPER's joint trees: a team's trees grow level by level; each node keeps the samples that the team can get right.

A node, the root included, is made from the samples that reach it. Of these it keeps those that more than half of the
team (itself included) would answer correctly with their projected final trees, or all of them if none would stay. A
projection is the unfinished tree with a CART of the remaining depth, fitted to what a node kept, in place of each
unfinished node; before a tree has a root, it is a CART of the full depth on everything. That CART's first question is
the node's own split, since CART is greedy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hydraviper.trees import cart
from hydraviper.trees.bins import Bins
from hydraviper.trees.tree import LEAF, Tree, in_preorder


@dataclass
class _Node:
    kept: np.ndarray  # rows it keeps
    here: np.ndarray  # all rows that walk to it, kept or not
    projection: Tree  # a CART of the remaining depth on what it keeps
    children: list[_Node] = field(default_factory=list)


class _Member:
    """One agent's unfinished tree, and whether its projection answers each sample correctly."""

    def __init__(self, bins: Bins, actions: np.ndarray, weights: np.ndarray, action_count: int, depth: int) -> None:
        self.bins, self.actions, self.weights, self.action_count = bins, actions, weights, action_count
        rows = np.arange(len(bins))
        drawn = np.flatnonzero(weights > 0)
        self.root = _Node(drawn, rows, self.project(drawn, depth))
        self.unfinished = [self.root]
        self.correct = np.empty(len(rows), bool)
        self.judge(self.root)

    def plant(self, team: Sequence[_Member], depth: int) -> None:
        """Make the root from the samples that the team can get right."""
        self.root.kept = _staying(self.root.kept, _enough(team))
        self.root.projection = self.project(self.root.kept, depth)
        self.judge(self.root)

    def project(self, rows: np.ndarray, depth: int) -> Tree:
        return cart.grow(self.bins, self.actions, self.weights, self.action_count, depth, rows=rows)

    def judge(self, node: _Node) -> None:
        """Note which of the rows that walk to a node its projection answers correctly."""
        self.correct[node.here] = node.projection.predict(self.bins.features[node.here]) == self.actions[node.here]

    def deepen(self, team: Sequence[_Member], depth_left: int) -> None:
        """Split every unfinished node and make its children, which have `depth_left` questions left."""
        enough = _enough(team)
        deeper: list[_Node] = []
        for node in self.unfinished:
            split = node.projection
            if split.feature[0] == LEAF:
                continue
            node.children = [self._child(node, side, enough, depth_left) for side in (True, False)]
            deeper += node.children
        for node in deeper:
            self.judge(node)
        self.unfinished = deeper

    def _child(self, parent: _Node, left: bool, enough: np.ndarray, depth_left: int) -> _Node:
        split, features = parent.projection, self.bins.features
        kept, here = (
            rows[(features[rows, split.feature[0]] <= split.threshold[0]) == left]
            for rows in (parent.kept, parent.here)
        )
        kept = _staying(kept, enough)
        return _Node(kept, here, self.project(kept, depth_left))

    def finished(self) -> Tree:
        """The grown tree."""
        feature, threshold, left, right, counts = [], [], [], [], []

        def visit(node: _Node) -> int:
            number = len(feature)
            split = node.projection
            feature.append(split.feature[0] if node.children else LEAF)
            threshold.append(split.threshold[0])
            counts.append(split.counts[0])
            left.append(LEAF)
            right.append(LEAF)
            if node.children:
                left[number], right[number] = visit(node.children[0]), visit(node.children[1])
            return number

        visit(self.root)
        table = np.array(counts)
        arrays = (np.array(feature), np.array(threshold), np.array(left), np.array(right))
        return in_preorder(*arrays, table.argmax(axis=1), table)


def _enough(team: Sequence[_Member]) -> np.ndarray:
    """Whether more than half of the team would answer a row correctly, bool [S]."""
    return np.sum([member.correct for member in team], axis=0) * 2 > len(team)


def _staying(rows: np.ndarray, enough: np.ndarray) -> np.ndarray:
    """Those of the rows that are good enough; all of them if none is."""
    staying = rows[enough[rows]]
    return staying if len(staying) > 0 else rows


def grow_together(
    bins: Sequence[Bins],
    actions: Sequence[np.ndarray],
    weights: Sequence[np.ndarray],
    action_counts: Sequence[int],
    depth: int,
    draws: np.random.Generator,
) -> list[Tree]:
    """Grow a team's trees together; per member its bins, actions [S], weights [S] and number of actions."""
    team = [_Member(*parts, depth) for parts in zip(bins, actions, weights, action_counts, strict=True)]
    for k in draws.permutation(len(team)):
        team[k].plant(team, depth)
    for level in range(depth):
        for k in draws.permutation(len(team)):
            team[k].deepen(team, depth - level - 1)
    return [member.finished() for member in team]
