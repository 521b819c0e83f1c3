"""Students of several trees, which the paper mentions beside CART: forests, and mixtures of trees with a gate.

They score higher than one tree but are hard to read: commands that need a tree refuse them.
"""

from dataclasses import dataclass

import numba as nb
import numpy as np

from hydraviper.data import Derived
from hydraviper.trees import cart
from hydraviper.trees.bins import Bins
from hydraviper.trees.derived import extend
from hydraviper.trees.tree import Tree

FOREST = 15  # trees
SUBSPACE = 0.5  # share of the features that each tree of a forest may ask for
REGIONS = 2  # trees of a mixture
ROUNDS, STEPS = 3, 30  # rounds of expectation-maximisation; gradient steps of the gate in each
GATE_ROWS = 2000  # rows that the gate is fitted to, at most
SURPRISE = 1e-3  # least probability of an action under a tree


@dataclass(frozen=True)
class Forest:
    """Trees that vote with the shares of the actions at their leaves."""

    trees: tuple[Tree, ...]
    derived: tuple[Derived, ...] = ()  # features they may ask for behind those of the observation

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Actions [B] for observations [B, F]."""
        seen = extend(features, self.derived)
        votes = np.zeros((len(seen), self.trees[0].counts.shape[1]))
        for tree in self.trees:  # one after the other: a row's sum depends on nothing else
            votes += _chances(tree, seen)
        return votes.argmax(axis=1)


@dataclass(frozen=True)
class Mixture:
    """A linear gate that gives each observation to one of several trees (a hard mixture of experts)."""

    gate: np.ndarray  # [F + 1, trees], the last row is the bias
    trees: tuple[Tree, ...]
    derived: tuple[Derived, ...] = ()

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Actions [B] for observations [B, F]."""
        seen = extend(features, self.derived)
        region = _scores(np.asarray(seen, np.float64), self.gate).argmax(axis=1)
        actions = np.empty(len(seen), np.int64)
        for number, tree in enumerate(self.trees):
            here = region == number
            actions[here] = tree.predict(seen[here])
        return actions


def grow_forest(
    bins: Bins,
    actions: np.ndarray,
    weights: np.ndarray,
    action_count: int,
    depth: int,
    most_leaves: int | None,
    draws: np.random.Generator,
) -> Forest:
    """Grow trees on bootstrapped rows and random subspaces of the features."""
    size = bins.features.shape[1]
    trees = []
    for _ in range(FOREST):
        columns = np.sort(draws.choice(size, max(1, round(SUBSPACE * size)), replace=False))
        again = draws.poisson(weights).astype(np.float64)
        drawn = again if again.any() else weights
        tree = cart.grow(bins.columns(columns), actions, drawn, action_count, depth, most_leaves)
        trees.append(_renamed(tree, columns))
    return Forest(tuple(trees))


def grow_mixture(
    bins: Bins,
    actions: np.ndarray,
    weights: np.ndarray,
    action_count: int,
    depth: int,
    most_leaves: int | None,
    draws: np.random.Generator,
) -> Mixture:
    """Grow one tree per region and the gate between regions by expectation-maximisation, from random regions."""
    rows = np.flatnonzero(weights > 0)
    seen = np.asarray(bins.features[rows], np.float64)
    centre, scale = seen.mean(axis=0), np.maximum(seen.std(axis=0), 1e-6)
    standard = np.ascontiguousarray((seen - centre) / scale)
    starts = standard[draws.integers(0, len(rows), REGIONS)]
    gate = np.vstack([starts.T, -(starts**2).sum(axis=1) / 2]) / len(centre)  # whose start is nearest
    some = np.sort(draws.choice(len(rows), min(len(rows), GATE_ROWS), replace=False))

    def grown() -> list[Tree]:
        region = _scores(standard, gate).argmax(axis=1)
        parts = [rows[region == number] for number in range(REGIONS)]
        return [
            cart.grow(bins, actions, weights, action_count, depth, most_leaves, part if len(part) else rows)
            for part in parts
        ]

    trees = grown()
    for _ in range(ROUNDS):
        chances = [
            _chances(tree, bins.features[rows[some]])[np.arange(len(some)), actions[rows[some]]] for tree in trees
        ]
        belongs = _softmax(_scores(standard[some], gate)) * np.maximum(np.stack(chances, axis=1), SURPRISE)
        belongs /= belongs.sum(axis=1, keepdims=True)
        _climb(standard[some], belongs, weights[rows[some]] / weights[rows[some]].sum(), gate, STEPS)
        trees = grown()
    plain = gate.copy()
    plain[:-1] /= scale[:, None]
    plain[-1] -= (plain[:-1] * centre[:, None]).sum(axis=0)
    return Mixture(plain, tuple(trees))


def _renamed(tree: Tree, columns: np.ndarray) -> Tree:
    """A tree grown on some columns, with the features' numbers among all."""
    feature = np.where(tree.feature >= 0, columns[tree.feature], tree.feature)
    return Tree(feature, tree.threshold, tree.left, tree.right, tree.action, tree.counts)


def _chances(tree: Tree, features: np.ndarray) -> np.ndarray:
    """The shares of the actions at each row's leaf, [B, actions]."""
    shares = tree.counts / np.maximum(tree.counts.sum(axis=1, keepdims=True), 1e-300)
    return shares[tree.apply(features)]


def _scores(features: np.ndarray, gate: np.ndarray) -> np.ndarray:
    """The gate's score of every region, [B, regions], summed in a fixed order, so that batches do not matter."""
    scores = np.repeat(gate[-1:], len(features), axis=0)
    for column, row in zip(features.T, gate[:-1], strict=True):
        scores += column[:, None] * row
    return scores


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@nb.njit(cache=True, nogil=True)
def _climb(features, belongs, weights, gate, steps):
    """Fit the gate to the probabilities of the regions per row [S, regions], by gradient steps of the likelihood."""
    size, regions = gate.shape
    slope, chance = np.empty((size, regions)), np.empty(regions)
    for _ in range(steps):
        slope[:] = 0.0
        for row in range(features.shape[0]):
            highest = -np.inf
            for k in range(regions):
                chance[k] = gate[size - 1, k]
                for f in range(size - 1):
                    chance[k] += features[row, f] * gate[f, k]
                highest = max(highest, chance[k])
            total = 0.0
            for k in range(regions):
                chance[k] = np.exp(chance[k] - highest)
                total += chance[k]
            for k in range(regions):
                pull = weights[row] * (belongs[row, k] - chance[k] / total)
                slope[size - 1, k] += pull
                for f in range(size - 1):
                    slope[f, k] += pull * features[row, f]
        for f in range(size):
            for k in range(regions):
                gate[f, k] += slope[f, k]
