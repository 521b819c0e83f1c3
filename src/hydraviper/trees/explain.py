"""Why a tree answers as it does: the path, the data at the leaf, and the smallest changes of the answer, in words."""

from dataclasses import asdict, dataclass, replace

import numpy as np

from hydraviper.data import Agent, InputError, Values
from hydraviper.trees.derived import extend, single
from hydraviper.trees.flips import Flip, nearest_flip
from hydraviper.trees.questions import answered, is_possible, seen
from hydraviper.trees.tree import Tree
from hydraviper.trees.words import agreement, number, percent, shares


@dataclass(frozen=True)
class Step:
    """A question on the path, and its answer."""

    node: int
    feature: str
    value: float  # what was seen
    threshold: float
    at_most: bool  # the answer: went left
    words: str  # what was seen, and which side of the threshold that is on


@dataclass(frozen=True)
class Change:
    """A value of one plain feature that changes the tree's answer, all others as they are."""

    feature: str
    value: float  # now
    to: float  # the nearest value with another answer
    action: str  # that answer
    node: int  # the first question on the path that is then answered otherwise
    question: str
    at_most: bool  # how it is answered then
    just_above: bool  # `to` is the next float32 above the last one with the present answer
    exact: bool  # no smaller change of this feature does it; False: the search ended before that was certain
    searched: float  # no change of this feature that is smaller than this does it
    words: str = ""  # what changes, and how

    @property
    def amount(self) -> float:
        """By how much."""
        return self.to - self.value


@dataclass(frozen=True)
class Unsettled:
    """A plain feature for which the search ended before it was certain that it cannot change the answer alone."""

    feature: str
    searched: float  # no change smaller than this does it


@dataclass(frozen=True)
class Explanation:
    """Why a tree gives one answer, and what would change it."""

    agent: str
    action: str
    path: tuple[Step, ...]
    leaf: int
    reached: float  # weight of the data at the leaf
    share: float  # of the data; not a number if the tree has seen none
    agreement: float  # share of that data where the expert takes the leaf's action; not a number without data
    changes: tuple[Change, ...]  # one per plain feature that can change the answer alone, the smallest first
    unsettled: tuple[Unsettled, ...] = ()  # features that may be able to

    def to_json(self) -> dict[str, object]:
        """Plain values by name."""
        changes = [{**asdict(change), "amount": change.amount} for change in self.changes]
        data = {"reached": self.reached, "share": _finite(self.share), "expert_agrees": _finite(self.agreement)}
        return {
            "agent": self.agent,
            "action": self.action,
            "path": [asdict(step) for step in self.path],
            "leaf": {"node": self.leaf, **data},
            "smallest_change": changes[0] if changes else None,
            "changes": changes,
            "unsettled": [asdict(one) for one in self.unsettled],
        }


def explain(agent: Agent, tree: Tree, observation: np.ndarray) -> Explanation:
    """Explain the answer to one observation [F], in the order of the agent's features."""
    observation = single(observation)
    *asked, leaf = tree.path(observation)
    shown = extend(observation[None], tree.derived)[0]
    path = tuple(_step(agent, tree, node, float(shown[tree.feature[node]])) for node in asked)
    return Explanation(
        agent.name,
        agent.actions[tree.action[leaf]],
        path,
        leaf,
        float(tree.counts[leaf].sum()),
        float(shares(tree)[leaf]),
        float(agreement(tree)[leaf]),
        *changes(agent, tree, observation),
    )


def _step(agent: Agent, tree: Tree, node: int, value: float) -> Step:
    k, threshold = int(tree.feature[node]), float(tree.threshold[node])
    name, texts = tree.names(agent)[k], (_told_apart(value, threshold), _told_apart(threshold, value))
    words = answered(name, tree.values(agent)[k], value, threshold, texts)
    return Step(node, name, value, threshold, value <= threshold, words)


# --------------------------------------------------------------------------- the smallest change


def changes(agent: Agent, tree: Tree, observation: np.ndarray) -> tuple[tuple[Change, ...], tuple[Unsettled, ...]]:
    """Per plain feature, the smallest change that flips the answer while all others stay, the smallest first.

    Also the features for which no change was found before the search ended.
    """
    row = single(observation)
    if row.shape != (len(agent.features),) or not np.isfinite(row).all():
        raise InputError(f"{agent.name} sees {len(agent.features)} finite numbers: pass one for each feature.")
    found, open_ends, values = [], [], tree.values(agent)
    for feature, name in enumerate(agent.features):
        flip = _flip(tree, row, feature, values[feature])
        if flip.to is not None:
            found.append(_change(agent, tree, row, feature, flip.to, flip))
        elif not flip.settled:
            open_ends.append(Unsettled(name, flip.searched))
    return tuple(sorted(found, key=lambda change: abs(change.amount))), tuple(open_ends)


def _flip(tree: Tree, row: np.ndarray, feature: int, values: Values) -> Flip:
    """The nearest value that changes the answer, among those that the feature can have."""
    now = float(row[feature])
    if values.kind == "real" or not is_possible(values, now) or abs(now) > _WHOLE:
        return nearest_flip(tree, row, feature)
    tried = now + np.arange(-_WHOLE, _WHOLE + 1)
    tried = tried[[is_possible(values, value) for value in tried]]
    rows = np.repeat(row[None], len(tried), axis=0)
    rows[:, feature] = tried
    others = tried[tree.predict(rows) != tree.predict(row[None])]
    if len(others):
        to = float(others[np.abs(others - now).argmin()])
        return Flip(to, abs(to - now), True)
    if values.kind == "flag":
        return Flip(None, np.inf, True)
    far = nearest_flip(tree, row, feature)
    is_near = far.to is not None and abs(far.to - now) <= _WHOLE  # between two whole numbers
    return Flip(None, np.inf, True) if is_near else far


_WHOLE = 1000  # how far whole numbers are tried one by one


def _change(agent: Agent, tree: Tree, row: np.ndarray, feature: int, to: float, flip: Flip) -> Change:
    moved = row.copy()
    moved[feature] = to
    before, after = tree.path(row), tree.path(moved)
    parting = next(k for k, (a, b) in enumerate(zip(before, after, strict=False)) if a != b) - 1
    node, values = before[parting], tree.values(agent)[feature]
    change = Change(
        feature=agent.features[feature],
        value=float(row[feature]),
        to=to,
        action=agent.actions[tree.action[after[-1]]],
        node=node,
        question=tree.names(agent)[tree.feature[node]],
        at_most=bool(after[parting + 1] == tree.left[node]),
        just_above=to > float(row[feature]) and not (values.kind != "real" and is_possible(values, to)),
        exact=flip.settled,
        searched=flip.searched,
    )
    return replace(change, words=_words_of(change, values))


# --------------------------------------------------------------------------- words


def in_words(explanation: Explanation, most_changes: int = 3) -> str:
    """The explanation as text."""
    lines = [f"{explanation.agent} answers: {explanation.action}", ""]
    lines.append("because" if explanation.path else "always, whatever it sees")
    lines += [f"  node {step.node:>2}: {step.words}" for step in explanation.path]
    reached = f"{explanation.reached:,.0f} samples, {percent(explanation.share)} of the data"
    lines += ["", f"leaf {explanation.leaf} was reached by {reached};"]
    lines.append(f"the expert did the same in {percent(explanation.agreement)} of them")
    lines += ["", *_change_words(explanation, most_changes)]
    return "\n".join(lines) + "\n"


def _change_words(explanation: Explanation, most: int) -> list[str]:
    unsettled = [
        f"not settled: {one.feature}, of which no change below {number(one.searched)} would change the answer"
        for one in explanation.unsettled
    ]
    if not explanation.changes:
        others = "no change of another feature alone would" if unsettled else "no change of one feature alone would"
        return [*unsettled, f"{others} change the answer"]
    smallest, *larger = explanation.changes
    lines = ["the smallest change of one feature that would change the answer:", f"  {change_in_words(smallest)}"]
    if larger:
        lines.append("or, changing another feature alone:")
        lines += [f"  {change_in_words(change)}" for change in larger[: most - 1]]
        rest = len(explanation.changes) - most
        lines += [f"  (and {rest} more features: see --json)"] if rest > 0 else []
    return lines + unsettled


def change_in_words(change: Change) -> str:
    """One change as a phrase, and what it does."""
    side = "at most" if change.at_most else "above"
    why = f" (then {change.question} is {side} the threshold of node {change.node})"
    why = "" if change.question == change.feature else why
    about = "" if change.exact else f"; a smaller change may do, but none below {number(change.searched)}"
    return f"{change.words}{why} → {change.action}{about}"


def _words_of(change: Change, values: Values) -> str:
    """What changes, and how: "queue from west, left up by 1, from 3 to 4"."""
    if values.kind == "flag" and is_possible(values, change.value):
        return " instead of ".join(seen(change.feature, values, value) for value in (change.to, change.value))
    way = "up" if change.amount > 0 else "down"
    now, to = _told_apart(change.value, change.to), _told_apart(change.to, change.value)
    to = f"just above {to}" if change.just_above else to
    return f"{change.feature} {way} by {number(abs(change.amount))}, from {now} to {to}"


def _told_apart(value: float, other: float) -> str:
    """A number with three digits, or as many as tell it from another."""
    enough = (digits for digits in range(3, 10) if value == other or number(value, digits) != number(other, digits))
    return number(value, next(enough, 9))


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
