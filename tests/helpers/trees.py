"""Random trees, and files of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

import hydraviper
from hydraviper.data import Agent, Derived, Term
from hydraviper.expressions.features import read_lines
from hydraviper.trees.derived import extend
from hydraviper.trees.file import TreesFile, save
from hydraviper.trees.tree import LEAF, Tree, in_preorder

MADE = {"algorithm": "by hand", "settings": {}, "expert": "none", "version": "1.2.3"}


def random_tree(
    agent: Agent,
    draws: np.random.Generator,
    depth: int = 4,
    *,
    derived: tuple[Derived, ...] = (),
    splits: float = 0.9,
    thresholds: Callable[[int], np.ndarray] | None = None,
) -> Tree:
    """A tree of random questions, whose leaves lie at `depth` or, where a node does not split, above it.

    By default a threshold is a value that its feature took, so that observations can lie exactly on it;
    `thresholds` draws others. Actions are random as well, and counts add up from the leaves to the root.
    """
    size = 2 ** (depth + 1) - 1
    seen = extend(draws.normal(size=(size, len(agent.features))).astype(np.float32), derived)
    inner = (np.arange(size) < size // 2) & (draws.random(size) < splits)
    features = np.where(inner, draws.integers(seen.shape[1], size=size), LEAF)
    asked = thresholds(size).astype(np.float32) if thresholds else seen[np.arange(size), features]
    left, right = (np.where(inner, 2 * np.arange(size) + k, LEAF) for k in (1, 2))
    counts = draws.integers(0, 50, size=(size, len(agent.actions))).astype(float)
    for node in np.flatnonzero(inner)[::-1]:
        counts[node] = counts[left[node]] + counts[right[node]]
    actions = draws.integers(len(agent.actions), size=size)
    return in_preorder(features, asked, left, right, actions, counts, derived)


def team(derived: bool, depth: int = 5, seed: int = 0) -> TreesFile:
    """Random trees for the agents of a real game."""
    game = hydraviper.make("cooperative-navigation")
    draws = np.random.default_rng(seed)
    extra = game.offers.search.derived if derived else [()] * len(game.agents)
    trees = tuple(random_tree(agent, draws, depth, derived=own) for agent, own in zip(game.agents, extra, strict=True))
    return TreesFile(game.name, {}, game.agents, trees, MADE)


def signals(seed: int = 0) -> TreesFile:
    """Trees of signals with differences of queues, counts as features."""
    features = (
        *(f"phase {k + 1} is green" for k in range(3)),
        *(f"queue from {way}" for way in ("west", "East, left")),
    )
    agent = Agent("signal-1", features, tuple(f"phase {k + 1}: straight+right (left yields)" for k in range(3)))
    derived = (
        Derived("queue of phase 1 less phase 2", (Term("value", (3,), -1), Term("value", (4,)), Term("value", (0,)))),
    )
    draws = np.random.default_rng(seed)
    return TreesFile("traffic", {}, (agent,), (random_tree(agent, draws, 4, derived=derived),), MADE)


def formulas(seed: int = 0) -> TreesFile:
    """Trees that ask for formulas of every kind."""
    agent = Agent("a", ("x", "y", "goal dx", "goal dy", "hv pile 1"), ("stay", "go", "turn"))
    lines = """
        near = min(distance([goal]), |[x] - [y]|, 0.7) - [hv pile 1]
        far = 2.3 * max([x] * [y], -0.1 * [goal dx], [hv pile 1] - 1) + 1/3
        turned = -(min([x], [y]) * [goal dy]) / 7 - 0.25
        away = distance(([goal dx] + 1, [goal dy] * [x]), ([x], -[y]))
        mixed = abs(max([x], [y]) - min([x], [y])) - (1 - max([goal dx], [goal dy] - max([x], 0.5)))
    """
    derived = read_lines(lines, (agent,), ((),))[0]
    tree = random_tree(agent, np.random.default_rng(seed), 6, derived=derived, splits=1.0)
    return TreesFile("formulas", {}, (agent,), (tree,), MADE)


def leaf(action: int, actions: int = 5) -> Tree:
    columns = [np.array([value]) for value in (LEAF, LEAF, LEAF, action)]
    return Tree(columns[0], np.zeros(1, np.float32), *columns[1:], np.ones((1, actions)))


def save_constant_trees(folder: Path, action: int = 1) -> None:
    """Three trees that always do the same."""
    game = hydraviper.make("cooperative-navigation")
    made = {"algorithm": "by hand", "settings": {}, "seed": 0, "expert": "none", "version": "0"}
    trees = TreesFile(game.name, game.parameters, game.agents, (leaf(action),) * 3, made)
    save(trees, folder / "trees.json")


def question_of(trees) -> tuple[int, int]:
    """A question of the second agent's tree that asks for a plain feature, and one of its leaves."""
    feature = trees.trees[1].feature
    return int(np.flatnonzero(feature != LEAF)[-1]), int(np.flatnonzero(feature == LEAF)[0])


CASES = {"plain": team(False), "derived": team(True), "signals": signals(), "formulas": formulas()}
