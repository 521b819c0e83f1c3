"""What is known of a node of a tree: who gets there, what the expert does there, how the samples spread."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hydraviper.data import Agent
from hydraviper.rollout import play
from hydraviper.runs.replay import players
from hydraviper.runs.run import Run, Source, opened
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.trees.derived import extend
from hydraviper.trees.questions import questions
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.trees.words import agreement, shares

EPISODES = 40  # that samples are taken from


@dataclass(frozen=True)
class Spread:
    """How the values of a feature spread at a node."""

    feature: str
    threshold: float
    edges: tuple[float, ...]  # [bins + 1]
    counts: tuple[int, ...]  # [bins]


@dataclass(frozen=True)
class NodeFacts:
    """A node in words and numbers."""

    node: int
    words: str  # what it asks or answers
    way: tuple[str, ...]  # the conditions from the root to it
    share: float  # of the data of training that gets here
    agreement: float  # share of that data on which the expert answers as the tree does
    expert: Mapping[str, float]  # action -> share of that data
    reached: int = 0  # of the samples
    of: int = 0
    spread: Spread | None = None  # of the feature that it asks for, among those samples


def samples(run: Source, episodes: int = EPISODES) -> dict[str, np.ndarray]:
    """Play episodes of `evaluate` with the trees, one in a simulator; what each agent saw in them, [S, F]."""
    run = opened(run)
    seeds = rollout_seeds(0, Purpose.EVALUATE, 0, 1 if run.game.width == 1 else episodes)
    played = play(run.game, players(run), seeds, record=True)
    return {run.game.agents[i].name: (played.observations or ())[i][played.moments(i)] for i in run.students}


def node_facts(agent: Agent, tree: Tree, node: int, seen: np.ndarray | None = None, bins: int = 20) -> NodeFacts:
    """What is known of a node; with samples, also how they spread over the feature that it asks for."""
    whole, is_leaf = tree.counts[node].sum(), tree.feature[node] == LEAF
    expert = {name: float(tree.counts[node, k] / whole) for k, name in enumerate(agent.actions)} if whole > 0 else {}
    facts = NodeFacts(
        node,
        in_words(agent, tree, node),
        tuple(_way(agent, tree, node)),
        float(shares(tree)[node]),
        float(agreement(tree)[node]),
        expert,
    )
    if seen is None:
        return facts
    shown = extend(seen, tree.derived)
    here = shown[reaching(tree, shown, node)]
    spread = None
    if not is_leaf and len(here):
        k = int(tree.feature[node])
        counts, edges = np.histogram(here[:, k], bins)
        spread = Spread(
            tree.names(agent)[k],
            float(tree.threshold[node]),
            tuple(map(float, edges)),
            tuple(map(int, counts)),
        )
    return NodeFacts(**{**vars(facts), "reached": len(here), "of": len(shown), "spread": spread})


def in_words(agent: Agent, tree: Tree, node: int) -> str:
    """What a node asks, or what it answers."""
    question = questions(agent, tree)[node]
    return f"→ {agent.actions[tree.action[node]]}" if question is None else question.yes


def reaching(tree: Tree, shown: np.ndarray, node: int) -> np.ndarray:
    """Which rows [S] of observations, with the derived features behind them, get to a node."""
    inside = np.ones(len(shown), bool)
    for parent, goes_left in _steps(tree, node):
        inside &= (shown[:, tree.feature[parent]] <= tree.threshold[parent]) == goes_left
    return inside


def searched(agent: Agent, tree: Tree, words: str) -> list[int]:
    """The nodes that ask for a feature, or answer with an action, whose name holds the words."""
    wanted, names = words.casefold().strip(), tree.names(agent)
    if not wanted:
        return []
    told = [agent.actions[tree.action[n]] if k == LEAF else names[k] for n, k in enumerate(tree.feature.tolist())]
    return [n for n, name in enumerate(told) if wanted in name.casefold()]


def differing(agent: Agent, first: Tree, second: Tree) -> tuple[set[int], set[int]]:
    """The nodes of two trees of one agent that differ, each by its own tree's numbers, from the root down.

    Where the questions differ the branches are still compared side by side; what only one tree has differs as a whole.
    """
    names = first.names(agent), second.names(agent)
    apart: tuple[set[int], set[int]] = set(), set()
    stack = [(0, 0)]
    while stack:
        a, b = stack.pop()
        leaves = first.feature[a] == LEAF, second.feature[b] == LEAF
        if leaves[0] != leaves[1]:
            apart[0].update(_below(first, a))
            apart[1].update(_below(second, b))
            continue
        if leaves[0]:
            same = first.action[a] == second.action[b]
        else:
            stack += [(int(first.left[a]), int(second.left[b])), (int(first.right[a]), int(second.right[b]))]
            same = names[0][first.feature[a]] == names[1][second.feature[b]]
            same = same and first.threshold[a] == second.threshold[b]
        if not same:
            apart[0].add(a)
            apart[1].add(b)
    return apart


def versions(run: Run) -> list[tuple[str, tuple[Tree, ...]]]:
    """The trees before each edit, the first ones first, and as they are now; each with a sentence."""
    trees = list(run.trees.trees)
    told = [("as they are now", tuple(trees))]
    for number, edit in reversed(list(enumerate(run.trees.edits, 1))):
        if edit.undo is None:
            break
        trees[run.trees.place(edit.agent)] = Tree.from_json(edit.undo.tree)
        words = f"before edit {number} ({edit.agent}: {edit.before} became {edit.after})"
        told.append((words, tuple(trees)))
    return told[::-1]


def _below(tree: Tree, node: int) -> list[int]:
    found, stack = [], [node]
    while stack:
        found.append(stack.pop())
        if tree.feature[found[-1]] != LEAF:
            stack += [int(tree.left[found[-1]]), int(tree.right[found[-1]])]
    return found


def _steps(tree: Tree, node: int) -> list[tuple[int, bool]]:
    """The questions above a node, from the root, and whether the way goes left there."""
    parents = {}
    for parent in np.flatnonzero(tree.feature != LEAF).tolist():
        parents[int(tree.left[parent])] = parent, True
        parents[int(tree.right[parent])] = parent, False
    steps = []
    while node in parents:
        steps.append(parents[node])
        node = parents[node][0]
    return steps[::-1]


def _way(agent: Agent, tree: Tree, node: int) -> list[str]:
    asked = questions(agent, tree)
    way = []
    for parent, goes_left in _steps(tree, node):
        question = asked[parent]
        if question is not None:
            way.append(question.yes if goes_left else question.no)
    return way
