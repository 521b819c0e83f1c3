"""Changing a tree by hand: a threshold, a feature, an action, a cut or a new split."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hydraviper.data import Agent, Derived, InputError, Values
from hydraviper.expressions.names import Scope
from hydraviper.expressions.parser import parse_formula
from hydraviper.trees.file import place_of
from hydraviper.trees.questions import question
from hydraviper.trees.tree import LEAF, Tree, in_preorder
from hydraviper.trees.words import number, short_actions


@dataclass(frozen=True)
class Wish:
    """A change of one node that a person asks for; None where nothing is asked."""

    node: int
    threshold: float | None = None
    feature: str | None = None
    action: str | None = None
    cut: bool = False
    split: str | None = None  # "FEATURE <= VALUE"
    left: str | None = None  # the action where the split's answer is yes; None keeps the subtree that was there
    right: str | None = None


@dataclass(frozen=True)
class Edited:
    """A changed tree; its counts are still those of before (see counts.py)."""

    tree: Tree
    what: str  # threshold, feature, action, cut or split
    before: str  # the node in words
    after: str


def apply(wish: Wish, agent: Agent, tree: Tree, offered: Sequence[Derived] = ()) -> Edited:
    """The tree after a change; `offered` are derived features that it may ask for beside those it has."""
    what = _what(wish)
    if not 0 <= wish.node < len(tree):
        raise InputError(f"the tree of {agent.name} has no node {wish.node}: its nodes are 0 to {len(tree) - 1}.")
    before = _node_words(agent, tree, wish.node)
    changed = {"action": _relabel, "cut": _cut, "split": _split}.get(what, _ask)(wish, agent, tree, offered)
    after = _node_words(agent, changed, wish.node)
    if before == after and not _same(changed, tree):  # 3.2 and 3.4 are the same limit of a count
        before, after = (_node_words(agent, one, wish.node, exactly=True) for one in (tree, changed))
    if what == "split":
        sides = (("yes", wish.left), ("no", wish.right))
        after += "? " + ", ".join(f"{side}: as before" if name is None else f"{side} → {name}" for side, name in sides)
    if before == after and what != "cut" and _same(changed, tree):
        raise InputError(f"node {wish.node} of {agent.name} already is {before!r}: there is nothing to change.")
    return Edited(changed, what, before, after)


# --------------------------------------------------------------------------- the ways to change a tree


def _what(wish: Wish) -> str:
    """The kind of change; refuses no change and several at once."""
    asked = wish.threshold is not None or wish.feature is not None
    if (wish.left is not None or wish.right is not None) and wish.split is None:
        raise InputError('--left and --right belong to a new split: pass --split "FEATURE <= VALUE" as well.')
    kinds = {
        "split": wish.split is not None,
        "cut": wish.cut,
        "feature" if wish.feature is not None else "threshold": asked,
        "action": wish.action is not None and not wish.cut,
    }
    chosen = [kind for kind, wanted in kinds.items() if wanted]
    if len(chosen) != 1:
        said = f"not {' and '.join(chosen)} at once" if chosen else "nothing was said"
        raise InputError(f"say one change of the node: --threshold, --feature, --action, --cut or --split, {said}.")
    return chosen[0]


def _ask(wish: Wish, agent: Agent, tree: Tree, offered: Sequence[Derived]) -> Tree:
    """Change a question: its feature, its threshold or both."""
    _check_question(wish, agent, tree)
    feature, threshold = tree.feature.copy(), tree.threshold.copy()
    if wish.feature is not None:
        tree, feature[wish.node] = _feature(wish.feature, agent, tree, offered)
    if wish.threshold is not None:
        threshold[wish.node] = _single(wish.threshold)
    return replace(tree, feature=feature, threshold=threshold)


def _relabel(wish: Wish, agent: Agent, tree: Tree, offered: Sequence[Derived]) -> Tree:
    """Change the action of a leaf."""
    if tree.feature[wish.node] != LEAF:
        raise InputError(
            f"node {wish.node} of {agent.name} asks a question ({_node_words(agent, tree, wish.node)}): "
            "pass --cut as well to put the action in place of everything below it."
        )
    action = tree.action.copy()
    action[wish.node] = _action(wish.action, agent)
    return replace(tree, action=action)


def _cut(wish: Wish, agent: Agent, tree: Tree, offered: Sequence[Derived]) -> Tree:
    """Replace a subtree by a leaf, with the heaviest action there or the one asked for."""
    _check_question(wish, agent, tree)
    feature, action = tree.feature.copy(), tree.action.copy()
    feature[wish.node] = LEAF
    if wish.action is not None:
        action[wish.node] = _action(wish.action, agent)
    return in_preorder(feature, tree.threshold, tree.left, tree.right, action, tree.counts, tree.derived)


def _split(wish: Wish, agent: Agent, tree: Tree, offered: Sequence[Derived]) -> Tree:
    """Put a new question in front of a node: a side gets the action asked for, or keeps what was there."""
    sides = [None if name is None else _action(name, agent) for name in (wish.left, wish.right)]
    is_leaf = bool(tree.feature[wish.node] == LEAF)
    if sides == [None, None]:
        raise InputError("say what a new split answers: pass --left ACTION, --right ACTION or both.")
    if not is_leaf and None not in sides:
        raise InputError(f"node {wish.node} asks a question that one side must keep: pass --left or --right, not both.")
    kept = [int(tree.action[wish.node]) if side is None else side for side in sides]
    if is_leaf and kept[0] == kept[1]:
        raise InputError(f"both sides of the split would answer {agent.actions[kept[0]]!r}: pass another action.")
    name, value = _condition(wish.split or "")
    tree, feature = _feature(name, agent, tree, offered)
    node, size = wish.node, len(tree)
    # two new nodes at the end: for each side a new leaf, or a copy of this node
    columns = [np.concatenate([column, column[[node, node]]]) for column in _columns(tree)]
    features, thresholds, left, right, actions, counts = columns
    for child, side in zip((size, size + 1), sides, strict=True):
        if side is not None:
            features[child], left[child], right[child], actions[child] = LEAF, LEAF, LEAF, side
    features[node], thresholds[node], left[node], right[node] = feature, _single(value), size, size + 1
    return in_preorder(features, thresholds, left, right, actions, counts, tree.derived)


# --------------------------------------------------------------------------- names and numbers


def _columns(tree: Tree) -> tuple[np.ndarray, ...]:
    return tree.feature, tree.threshold, tree.left, tree.right, tree.action, tree.counts


def _same(first: Tree, second: Tree) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(_columns(first), _columns(second), strict=True))


def _check_question(wish: Wish, agent: Agent, tree: Tree) -> None:
    if tree.feature[wish.node] == LEAF:
        raise InputError(
            f"node {wish.node} of {agent.name} is a leaf ({_node_words(agent, tree, wish.node)}): "
            "pass --action to change its answer, or --split to ask something there."
        )


def _feature(name: str, agent: Agent, tree: Tree, offered: Sequence[Derived]) -> tuple[Tree, int]:
    """The tree, with a derived feature more if it needs one, and the feature's number in it."""
    names = tree.names(agent)
    new = {feature.name: feature for feature in offered if feature.name not in names}
    if name not in names and name not in new and "[" in name:  # a feature of one's own, named by its formula
        new[name] = parse_formula(name, name, Scope((agent,), ((*tree.derived, *offered),), (0,)), 0)
    index = place_of(name, (*names, *new), f"{agent.name} has no feature")
    if index >= len(names):
        return replace(tree, derived=(*tree.derived, new[name])), len(names)
    return tree, index


def _action(name: str | None, agent: Agent) -> int:
    """An action's number, by its name or its short name."""
    short = short_actions(agent)
    if name in short:
        return short.index(name)
    return place_of(name or "", agent.actions, f"{agent.name} has no action")


def _condition(text: str) -> tuple[str, float]:
    """Read `FEATURE <= VALUE`."""
    name, sign, value = text.replace("≤", "<=").rpartition("<=")
    try:
        if not sign or not name.strip():
            raise ValueError
        return name.strip(), float(value)
    except ValueError:
        raise InputError(f'--split {text!r} is no question: write "FEATURE <= VALUE".') from None


def _single(value: float) -> np.float32:
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if not np.isfinite(single):
        raise InputError(f"the threshold {value} is not a number that a tree can hold.")
    return single


def _node_words(agent: Agent, tree: Tree, node: int, exactly: bool = False) -> str:
    """What a node asks or answers; `exactly`, with its threshold as it is, also where the feature is a count."""
    k = int(tree.feature[node])
    if k == LEAF:
        return f"→ {agent.actions[tree.action[node]]}"
    shortest = float(str(tree.threshold[node]))  # the decimal that reads back as the same single precision number
    values = Values() if exactly else tree.values(agent)[k]
    return question(tree.names(agent)[k], values, shortest, number(shortest, 9)).yes
