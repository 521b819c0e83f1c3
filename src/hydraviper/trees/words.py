"""Numbers of a tree as people read them: thresholds, shares, agreement, and its size in words."""

from math import floor, isfinite, log10

import numpy as np

from hydraviper.data import Agent
from hydraviper.trees.tree import LEAF, Tree


def number(value: float, digits: int = 3) -> str:
    """A number with at most `digits` significant digits, without trailing zeros and never as -0."""
    if value == 0 or not isfinite(value):
        return "0" if value == 0 else str(float(value))
    rounded = float(f"{value:.{digits - 1}e}")
    exponent = floor(log10(abs(rounded)))
    if not -5 < exponent < 7:
        mantissa, _, power = f"{rounded:.{digits - 1}e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{int(power)}"
    text = f"{rounded:.{max(0, digits - 1 - exponent)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float) -> str:
    """A share in per cent, with a decimal where it is small; a dash where it is not known."""
    if not isfinite(share):
        return "–"
    hundredths = 100 * share
    if 0 < hundredths < 0.095:
        return "<0.1%"
    if 0 < hundredths < 9.95:
        return f"{hundredths:.1f}%"
    if 99.5 <= hundredths < 100 - 1e-9:  # must not read as all
        return f"{min(hundredths, 99.9):.1f}%"
    return f"{hundredths:.0f}%"


def threshold_texts(tree: Tree) -> list[str]:
    """Every node's threshold with three digits, or with as many as tell a feature's thresholds apart."""
    digits: dict[int, int] = {}
    for feature in set(tree.feature.tolist()) - {LEAF}:
        values = set(tree.threshold[tree.feature == feature].tolist())
        enough = (count for count in range(3, 10) if len({number(value, count) for value in values}) == len(values))
        digits[feature] = next(enough, 9)
    columns = zip(tree.feature.tolist(), tree.threshold.tolist(), strict=True)
    return ["" if feature == LEAF else number(value, digits[feature]) for feature, value in columns]


def shares(tree: Tree) -> np.ndarray:
    """The share of the data that reaches each node, [nodes]; not a number without data."""
    weight = tree.counts.sum(axis=1)
    return weight / weight[0] if weight[0] > 0 else np.full(len(tree), np.nan)


def agreement(tree: Tree) -> np.ndarray:
    """The share of the data at each node on which tree and expert agree, [nodes]; not a number without data."""
    weight = tree.counts.sum(axis=1)
    agreeing = tree.counts[np.arange(len(tree)), tree.action]
    for node in np.flatnonzero(tree.feature != LEAF)[::-1]:  # children stand behind their parent
        agreeing[node] = agreeing[tree.left[node]] + agreeing[tree.right[node]]
    return np.divide(agreeing, weight, out=np.full(len(tree), np.nan), where=weight > 0)


def short_actions(agent: Agent) -> tuple[str, ...]:
    """Short names of the actions: the part before a colon, if some names are long and these parts differ."""
    starts = tuple(name.partition(":")[0].strip() for name in agent.actions)
    long = any(len(name) > 24 for name in agent.actions)
    return starts if long and all(starts) and len(set(starts)) == len(starts) else agent.actions


def size_of(tree: Tree) -> str:
    """The tree's size in words: `12 leaves, depth 4`."""
    return f"{tree.leaves} {'leaf' if tree.leaves == 1 else 'leaves'}, depth {tree.depth}"
