"""Why a tree answers as it does: the path in words, what is known about the leaf, and what would change the answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hydraviper.data import Agent, Derived
from hydraviper.trees.derived import extend
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.trees.words import agreement, number, percent, shares

_GRID = 2_001  # values tried where a derived feature may rise and fall with a plain one


@dataclass(frozen=True)
class Step:
    """A question on the way, and the answer."""

    node: int
    feature: str
    value: float  # what was seen
    threshold: float
    at_most: bool  # the answer: went left


@dataclass(frozen=True)
class Change:
    """A value of one plain feature, all others as they are, with which the tree answers otherwise."""

    feature: str
    value: float  # now
    to: float  # the nearest value with another answer
    action: str  # that answer
    node: int  # the question that is answered otherwise, on the way as it is now
    question: str
    at_most: bool  # how it is answered then
    just_above: bool  # `to` is the next number above a place where an answer changes, not the place itself
    exact: bool  # whether no smaller change of this feature does it; False: none was found

    @property
    def amount(self) -> float:
        """By how much."""
        return self.to - self.value


@dataclass(frozen=True)
class Explanation:
    """Everything that there is to say about one answer."""

    agent: str
    action: str
    path: tuple[Step, ...]
    leaf: int
    reached: float  # weight of the data at the leaf
    share: float  # of the data; not a number if the tree has seen none
    agreement: float  # of the expert with the leaf's action; not a number where there is no data
    changes: tuple[Change, ...]  # one per plain feature that can change the answer alone, the smallest first

    def to_json(self) -> dict[str, Any]:
        """Plain values by name."""
        changes = [{**asdict(change), "amount": change.amount} for change in self.changes]
        known = {"reached": self.reached, "share": _known(self.share), "expert_agrees": _known(self.agreement)}
        return {
            "agent": self.agent,
            "action": self.action,
            "path": [asdict(step) for step in self.path],
            "leaf": {"node": self.leaf, **known},
            "smallest_change": changes[0] if changes else None,
            "changes": changes,
        }


def explain(agent: Agent, tree: Tree, observation: np.ndarray) -> Explanation:
    """Explain the answer to one observation [F], in the order of the agent's features."""
    observation = np.asarray(observation, np.float32)
    nodes, names = tree.path(observation), tree.names(agent)
    seen = extend(observation[None], tree.derived)[0]
    path = tuple(
        Step(
            node,
            names[tree.feature[node]],
            float(seen[tree.feature[node]]),
            float(tree.threshold[node]),
            bool(seen[tree.feature[node]] <= tree.threshold[node]),
        )
        for node in nodes[:-1]
    )
    leaf = nodes[-1]
    return Explanation(
        agent.name,
        agent.actions[tree.action[leaf]],
        path,
        leaf,
        float(tree.counts[leaf].sum()),
        float(shares(tree)[leaf]),
        float(agreement(tree)[leaf]),
        changes(agent, tree, observation),
    )


# --------------------------------------------------------------------------- the smallest change


def changes(agent: Agent, tree: Tree, observation: np.ndarray) -> tuple[Change, ...]:
    """Per plain feature, the smallest change that flips the answer while all others stay; the smallest first.

    As one feature grows and the others stay, the answer changes only where the answer to some question does. All such
    places are found, and the tree itself is asked on both sides of each.
    """
    found = [change for feature in range(len(agent.features)) if (change := _change(agent, tree, observation, feature))]
    return tuple(sorted(found, key=lambda change: abs(change.amount)))


def _change(agent: Agent, tree: Tree, observation: np.ndarray, feature: int) -> Change | None:
    places, exact = _places(agent, tree, observation, feature)
    if not len(places):
        return None
    with np.errstate(over="ignore"):
        above = np.nextafter(places, np.float32(np.inf))
    candidates = np.unique(np.concatenate([places, above]))
    candidates = candidates[np.isfinite(candidates)]
    rows = np.repeat(observation[None], len(candidates), axis=0)
    rows[:, feature] = candidates
    now = int(tree.action[tree.path(observation)[-1]])
    other = np.flatnonzero(tree.predict(rows) != now)
    if not len(other):
        return None
    nearest = other[np.abs(candidates[other].astype(float) - float(observation[feature])).argmin()]
    before, after = tree.path(observation), tree.path(rows[nearest])
    parting = next(k for k, (a, b) in enumerate(zip(before, after, strict=False)) if a != b) - 1
    node = before[parting]
    return Change(
        agent.features[feature],
        float(observation[feature]),
        float(candidates[nearest]),
        agent.actions[tree.action[after[-1]]],
        node,
        tree.names(agent)[tree.feature[node]],
        bool(after[parting + 1] == tree.left[node]),
        candidates[nearest] not in places,
        exact,
    )


def _places(agent: Agent, tree: Tree, observation: np.ndarray, feature: int) -> tuple[np.ndarray, bool]:
    """The values of a feature behind which the answer to some question changes, and whether these are all."""
    plain, exact = len(agent.features), True
    found: set[float] = set()
    for node in np.flatnonzero(tree.feature != LEAF):
        asked, threshold = int(tree.feature[node]), tree.threshold[node]
        if asked == feature:
            found.add(float(threshold))
        elif asked >= plain:
            derived = tree.derived[asked - plain]
            if any(feature in term.inputs for term in derived.terms):
                pieces, complete = _pieces(observation, derived, feature)
                exact &= complete
                found |= set(_crossings(observation, derived, feature, threshold, pieces))
    return np.array(sorted(found), np.float32), exact


def _pieces(observation: np.ndarray, derived: Derived, feature: int) -> tuple[np.ndarray, bool]:
    """Ends of the ranges of a feature on which a derived one only rises or only falls; whether that is certain.

    A size turns at 0, a distance where its ends meet; rounding never turns anything. Where the feature is in several
    terms that rise and fall against each other, a grid around its value stands in.
    """
    most = np.finfo(np.float32).max
    turns = {-float(most), float(most)}
    depends = [term for term in derived.terms if feature in term.inputs]
    for term in depends:
        if term.kind == "size" or len(term.inputs) == 2:
            turns.add(0.0)
        elif term.kind == "distance":
            turns |= {float(observation[term.inputs[k - 2]]) for k, i in enumerate(term.inputs) if i == feature}
    certain = len(depends) == 1 and depends[0].inputs.count(feature) == 1
    if not certain:
        now = float(observation[feature])
        reach = 4 * max(1.0, *np.abs(observation[[i for term in depends for i in term.inputs]]).tolist())
        turns |= set(np.linspace(now - reach, now + reach, _GRID).tolist())
    return np.unique(np.array(sorted(turns), np.float32)), certain


def _crossings(
    observation: np.ndarray, derived: Derived, feature: int, threshold: np.floating[Any], ends: np.ndarray
) -> list[float]:
    """In each range where a derived feature crosses the threshold, the last value before it does, by halving."""

    def below(values: np.ndarray) -> np.ndarray:
        rows = np.repeat(observation[None], len(values), axis=0)
        rows[:, feature] = values
        return extend(rows, (derived,))[:, -1] <= threshold

    sides = below(ends)
    crossed = np.flatnonzero(sides[:-1] != sides[1:])
    low, high = _ordinal(ends[crossed]), _ordinal(ends[crossed + 1])
    while (high - low > 1).any():
        middle = low + (high - low) // 2
        as_low = below(_value(middle)) == sides[crossed]
        low, high = np.where(as_low, middle, low), np.where(as_low, high, middle)
    return _value(low).tolist()


def _ordinal(values: np.ndarray) -> np.ndarray:
    """Number the float32 values in their order, so that halving a range halves how many values are in it."""
    bits = np.ascontiguousarray(values, np.float32).view(np.int32).astype(np.int64)
    return np.where(bits >= 0, bits, -(bits & 0x7FFFFFFF))


def _value(ordinals: np.ndarray) -> np.ndarray:
    """The float32 values of such numbers."""
    bits = np.where(ordinals >= 0, ordinals, -ordinals | 0x80000000)
    return bits.astype(np.uint32).view(np.float32)


# --------------------------------------------------------------------------- words


def in_words(explanation: Explanation, most_changes: int = 3) -> str:
    """The explanation to read."""
    own = explanation
    lines = [f"{own.agent} answers: {own.action}", ""]
    lines.append("because" if own.path else "always, whatever it sees")
    for step in own.path:
        value, threshold = _told_apart(step.value, step.threshold), _told_apart(step.threshold, step.value)
        lines.append(
            f"  node {step.node:>2}: {step.feature} is {value}, {'at most' if step.at_most else 'above'} {threshold}"
        )
    lines += ["", f"leaf {own.leaf} was reached by {own.reached:,.0f} samples, {percent(own.share)} of the data;"]
    lines.append(f"the expert did the same in {percent(own.agreement)} of them")
    lines += ["", *_change_words(own, most_changes)]
    return "\n".join(lines) + "\n"


def _change_words(own: Explanation, most: int) -> list[str]:
    if not own.changes:
        return ["no change of one feature alone would change the answer"]
    lines = ["the smallest change of one feature that would change the answer:", f"  {change_in_words(own.changes[0])}"]
    if own.changes[1:]:
        lines.append("or, changing another feature alone:")
        lines += [f"  {change_in_words(change)}" for change in own.changes[1:most]]
        rest = len(own.changes) - most
        lines += [f"  (and {rest} more features: see --json)"] if rest > 0 else []
    return lines


def change_in_words(change: Change) -> str:
    """One change as a phrase, and what it does."""
    way = "up" if change.amount > 0 else "down"
    now, to = _told_apart(change.value, change.to), _told_apart(change.to, change.value)
    side = "at most" if change.at_most else "above"
    why = f" (then {change.question} is {side} the threshold of node {change.node})"
    why = "" if change.question == change.feature else why
    to = f"just above {to}" if change.just_above else to
    about = "" if change.exact else "; a smaller change may do"
    return f"{change.feature} {way} by {number(abs(change.amount))}, from {now} to {to}{why} → {change.action}{about}"


def _told_apart(value: float, other: float) -> str:
    """A number with three digits, or as many as tell it from another."""
    enough = (digits for digits in range(3, 10) if value == other or number(value, digits) != number(other, digits))
    return number(value, next(enough, 9))


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None
