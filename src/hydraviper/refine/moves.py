"""Moves: random changes of one tree, such as another threshold, feature or action, or a question more or fewer.

A move starts from an observation that the trees have met, so nodes on busy paths change more often and thresholds lie
where the data lie. Half of the changes of an action start where the expert loses most by the tree's action.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numba as nb
import numpy as np

from hydraviper.trees.packed import ACTION, FEATURE, LEFT, RIGHT, Packed, asked_value
from hydraviper.trees.tree import LEAF, Tree

MOST_DEPTH = 12  # deeper trees are searched, but get no new questions


@dataclass(frozen=True)
class SizeLimits:
    """How large a tree may become."""

    depth: int
    leaves: int | None = None

    @property
    def nodes(self) -> int:
        """The most nodes that such a tree can have."""
        most = 2 ** (min(self.depth, MOST_DEPTH) + 1) - 1
        return most if self.leaves is None else min(most, 2 * self.leaves - 1)

    def fit(self, tree: Tree) -> bool:
        """Whether a tree is within the limits."""
        return tree.depth <= self.depth and (self.leaves is None or tree.leaves <= self.leaves)


@dataclass(frozen=True)
class Wishes:
    """Observations at which the expert acts differently, drawn in proportion to what it loses by the tree's action."""

    rows: np.ndarray  # [K] rows of the views
    actions: np.ndarray  # [K] the expert's actions there


@nb.njit(cache=True, nogil=True)
def value_at(views, r, f, a, starts, terms):
    """The value of tree a's feature f in row r."""
    return views[r, f] if f < starts[a, 0] else asked_value(views, r, f, a, starts, terms)


@nb.njit(cache=True, nogil=True)
def walk(views, r, a, nodes, threshold, starts, terms, path):
    """Write the nodes on the path of row r through tree a, root first; returns how many."""
    node, n = 0, 0
    path[0] = 0
    while nodes[a, node, 0] >= 0:
        value = value_at(views, r, nodes[a, node, 0], a, starts, terms)
        node = nodes[a, node, 1] if value <= threshold[a, node] else nodes[a, node, 2]
        n += 1
        path[n] = node
    return n + 1


class Mover:
    """Draws moves of one tree at a time, from observations that can be replaced."""

    def __init__(
        self,
        tables: tuple[np.ndarray, np.ndarray],
        features: Sequence[np.ndarray],  # per tree, the features worth asking for
        actions: Sequence[int],  # per tree, how many there are
        limits: SizeLimits,
        draws: np.random.Generator,
    ) -> None:
        self._tables, self._features, self._actions = tables, features, actions
        self._limits, self._draws = limits, draws
        self._path = np.zeros(64, np.int64)

    def meet(self, views: np.ndarray, rows: int, wishes: Sequence[Wishes]) -> None:
        """Replace the observations: those of tree a are rows [a * rows, (a + 1) * rows) of views."""
        self._views, self._rows, self._wishes = views, rows, wishes
        sample = views[:: max(1, len(views) // 2000)]
        a_of = np.arange(len(views))[:: max(1, len(views) // 2000)] // rows
        self._spreads = [self._spread(sample[a_of == a], a) for a in range(len(self._actions))]

    def change(self, trees: Packed, a: int) -> Packed | None:
        """A copy of the trees with tree a changed; None if the move that was drawn is impossible."""
        new = trees.copy()
        kind, wished = self._draws.random(), -1
        row = a * self._rows + int(self._draws.integers(self._rows))
        wishes = self._wishes[a]
        if kind < 0.32 and len(wishes.rows) > 0 and self._draws.random() < 0.5:
            pick = int(self._draws.integers(len(wishes.rows)))
            row, wished = int(wishes.rows[pick]), int(wishes.actions[pick])
        path = self._walk(trees, a, row)
        if kind < 0.25:
            new.nodes[a, path[-1], ACTION] = self._other_action(a, int(new.nodes[a, path[-1], ACTION]), wished)
            return new
        if kind < 0.32:
            return new if len(path) <= self._limits.depth and self._split(new, a, path[-1], row, wished) else None
        if len(path) == 1:
            return None
        return self._change_question(trees, new, a, path, row, (kind - 0.32) / 0.68)

    def _change_question(
        self, trees: Packed, new: Packed, a: int, path: list[int], row: int, kind: float
    ) -> Packed | None:
        at = int(self._draws.integers(len(path) - 1))
        node, child = path[at], path[at + 1]
        nodes, threshold = new.nodes[a], new.threshold[a]
        if kind < 0.37:  # a threshold nearby
            scale = self._spreads[a][nodes[node, FEATURE]] * 10 ** self._draws.uniform(-2.5, 0)
            threshold[node] += np.float32(scale * self._draws.normal())
        elif kind < 0.48:  # a threshold at the observation
            threshold[node] = self._value(row, int(nodes[node, FEATURE]), a)
        elif kind < 0.82:  # another feature
            feature = self._feature(a)
            nodes[node, FEATURE], threshold[node] = feature, self._value(row, feature, a)
            if self._draws.random() < 0.3:
                nodes[node, LEFT], nodes[node, RIGHT] = nodes[node, RIGHT], nodes[node, LEFT]
        elif kind < 0.85:  # the sides swapped
            nodes[node, LEFT], nodes[node, RIGHT] = nodes[node, RIGHT], nodes[node, LEFT]
        elif kind < 0.91:  # a question removed
            return graft(trees, new, a, node, child)
        elif kind < 0.95:  # a question and the next one swapped
            if nodes[child, FEATURE] == LEAF:
                return None
            nodes[[node, child], FEATURE] = nodes[[child, node], FEATURE]
            threshold[[node, child]] = threshold[[child, node]]
        else:  # a subtree copied to another place
            other = self._walk(trees, a, a * self._rows + int(self._draws.integers(self._rows)))
            grafted = graft(trees, new, a, node, other[int(self._draws.integers(len(other)))])
            return grafted if grafted is not None and self._fits(grafted.nodes[a]) else None
        return new

    def _fits(self, nodes: np.ndarray) -> bool:
        depth, leaves = size_of(nodes)
        return depth <= self._limits.depth and leaves <= (self._limits.leaves or leaves)

    def _walk(self, trees: Packed, a: int, row: int) -> list[int]:
        count = walk(self._views, row, a, trees.nodes, trees.threshold, *self._tables, self._path)
        return self._path[:count].tolist()

    def _value(self, row: int, feature: int, a: int) -> float:
        return float(value_at(self._views, row, feature, a, *self._tables))

    def _feature(self, a: int) -> int:
        return int(self._features[a][int(self._draws.integers(len(self._features[a])))])

    def _other_action(self, a: int, action: int, wished: int) -> int:
        if wished >= 0 and wished != action:
            return wished
        return (action + 1 + int(self._draws.integers(max(1, self._actions[a] - 1)))) % self._actions[a]

    def _split(self, new: Packed, a: int, leaf: int, row: int, wished: int) -> bool:
        """Replace a leaf by a question; the side on which the row lies gets another action."""
        nodes = new.nodes[a]
        used = reached(nodes)
        free = [node for node in range(len(nodes)) if node not in used][:2]
        leaves = (len(used) + 1) // 2
        if len(free) < 2 or (self._limits.leaves is not None and leaves >= self._limits.leaves):
            return False
        feature, action = self._feature(a), int(nodes[leaf, ACTION])
        value, left = np.float32(self._value(row, feature, a)), self._draws.random() < 0.5
        for node in free:
            nodes[node] = (LEAF, LEAF, LEAF, action)
        nodes[free[0 if left else 1], ACTION] = self._other_action(a, action, wished)
        nodes[leaf, :ACTION] = (feature, *free)
        new.threshold[a, leaf] = value if left else np.nextafter(value, np.float32(-np.inf))
        return True

    def _spread(self, sample: np.ndarray, a: int) -> np.ndarray:
        """The standard deviation of each feature."""
        spread = np.full(1 + int(max(self._features[a])), 0.0 if len(sample) else 1.0)
        rows = range(min(len(sample), 200))
        for feature in self._features[a] if rows else ():
            spread[feature] = np.std([value_at(sample, r, int(feature), a, *self._tables) for r in rows])
        return spread


def reached(nodes: np.ndarray) -> set[int]:
    """The nodes that the root of a packed tree [M, 4] reaches."""
    found, stack = set(), [0]
    while stack:
        node = stack.pop()
        found.add(node)
        if nodes[node, FEATURE] != LEAF:
            stack += [int(nodes[node, LEFT]), int(nodes[node, RIGHT])]
    return found


def size_of(nodes: np.ndarray) -> tuple[int, int]:
    """Depth and number of leaves of a packed tree [M, 4]."""
    depth, leaves, stack = 0, 0, [(0, 0)]
    while stack:
        node, level = stack.pop()
        depth = max(depth, level)
        if nodes[node, FEATURE] == LEAF:
            leaves += 1
        else:
            stack += [(int(nodes[node, LEFT]), level + 1), (int(nodes[node, RIGHT]), level + 1)]
    return depth, leaves


def graft(old: Packed, new: Packed, a: int, node: int, source: int) -> Packed | None:
    """Write tree a of `old`, with the subtree at `source` in place of the node, to `new`; None if it is too large."""
    nodes, threshold = old.nodes[a], old.threshold[a]
    order: list[int] = []  # the old number of each new node
    children: list[tuple[int, int]] = []

    def visit(here: int, copying: bool) -> int:
        if here == node and not copying:
            return visit(source, True)
        number = len(order)
        order.append(here)
        children.append((LEAF, LEAF))
        if nodes[here, FEATURE] != LEAF and len(order) <= len(nodes):
            children[number] = (visit(int(nodes[here, LEFT]), copying), visit(int(nodes[here, RIGHT]), copying))
        return number

    visit(0, False)
    count = len(order)
    if count > len(nodes):
        return None
    new.nodes[a, :, :ACTION] = LEAF
    new.nodes[a, :count] = nodes[order]
    new.nodes[a, :count, LEFT : RIGHT + 1] = children
    new.threshold[a, :count] = threshold[order]
    return new
