"""What trees ask and what they are told, in the words for each feature's values: counts are whole, a light is red."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import floor

from hydraviper.data import Agent, Values
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.trees.words import number, threshold_texts


@dataclass(frozen=True)
class Question:
    """What an inner node asks: yes goes left."""

    subject: str  # "queue from west, left"
    test: str  # "≤ 3", or "is empty"
    no: str  # what is true where the answer is no: "queue from west, left > 3"

    @property
    def yes(self) -> str:
        """What is true where the answer is yes."""
        return f"{self.subject} {self.test}".strip()


def questions(agent: Agent, tree: Tree) -> list[Question | None]:
    """Every node's question, None at a leaf."""
    names, values, texts = tree.names(agent), tree.values(agent), threshold_texts(tree)
    columns = zip(tree.feature.tolist(), tree.threshold.tolist(), texts, strict=True)
    return [None if k == LEAF else question(names[k], values[k], threshold, text) for k, threshold, text in columns]


def question(name: str, values: Values, threshold: float, text: str | None = None) -> Question:
    """One question; `text` is how its threshold is written where values are not whole."""
    subject, unit = _measured(name, values)
    if values.kind == "real":
        text = number(threshold) if text is None else text
        return Question(subject, f"≤ {text}{unit}", f"{subject} > {text}{unit}")
    if _asks_for_nought(values, threshold):
        return _nought_question(name, values)
    most = f"{floor(threshold)}{unit}"
    return Question(subject, f"≤ {most}", f"{subject} > {most}")


def seen(name: str, values: Values, value: float, text: str | None = None) -> str:
    """What an observation tells of a feature: "phase 1 is red", "queue from west, left is 3".

    A value that the feature cannot have is written as a number, by `text` if that is given.
    """
    if values.kind == "real" or not is_possible(values, value):
        return _numbered(name, values, number(value) if text is None else text)
    if value == 0 and _nought(name, values):
        return _nought(name, values)
    if values.kind == "flag":
        return name if values.nought else f"{name}: yes"
    return _numbered(name, values, str(round(value)))


def answered(name: str, values: Values, value: float, threshold: float, texts: Sequence[str]) -> str:
    """What an observation tells of a feature, and which side of a threshold that is on.

    `texts` are value and threshold as they are written where values are not whole.
    """
    at_most = value <= threshold
    if values.kind == "real" or not is_possible(values, value):
        return f"{_numbered(name, values, texts[0])}, {'at most' if at_most else 'above'} {texts[1]}"
    if _asks_for_nought(values, threshold) and (at_most or values.kind == "flag"):
        return seen(name, values, value)
    side = f"{'at most' if at_most else 'more than'} {floor(threshold)}{_measured(name, values)[1]}"
    return f"{_numbered(name, values, str(round(value)))}, {side}"


def is_possible(values: Values, value: float) -> bool:
    """Whether a feature can have a value."""
    if values.kind == "real":
        return True
    return value == floor(value) and (values.kind == "whole" or value >= 0) and (values.kind != "flag" or value <= 1)


def _asks_for_nought(values: Values, threshold: float) -> bool:
    """Whether a question tells 0 from everything else, and there are words for that."""
    return 0 <= threshold < 1 and (values.kind == "flag" or (values.kind == "count" and bool(values.nought)))


def _nought(name: str, values: Values) -> str:
    """How people say that a feature is 0; nothing if they have no words for it."""
    return values.nought or (f"{name}: no" if values.kind == "flag" else "")


def _nought_question(name: str, values: Values) -> Question:
    """A question whose answer is yes where a feature is 0; the test is what differs from the feature's name."""
    words = _nought(name, values).strip()
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(words, name, strict=False)))
    signs = re.match(r"[^\w\s]*\s", words[shared:])  # behind the whole name
    split = shared + signs.end() if signs else words.rfind(" ", 0, shared) + 1
    no = seen(name, values, 1.0) if values.kind == "flag" else f"{name} > 0"
    return Question(words[:split].strip(), words[split:], no)


def _numbered(name: str, values: Values, text: str) -> str:
    """A feature with its number: "queue from west, left is 3", "phase 1 has been red for 40 s"."""
    subject, unit = _measured(name, values)
    return f"{subject} {text}{unit}" if subject != name else f"{name} is {text}{unit}"


def _measured(name: str, values: Values) -> tuple[str, str]:
    """A feature's name without its unit, and the unit as it stands behind a number."""
    return name.removesuffix(f", {values.unit}"), f" {values.unit}" if values.unit else ""
