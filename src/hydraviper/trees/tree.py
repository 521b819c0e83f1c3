"""A decision tree as flat arrays, root first: predict, walk a path, prune, to and from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np

from hydraviper.data import Agent, Derived, InputError, Values
from hydraviper.records import from_json, to_json
from hydraviper.trees.derived import extend, single
from hydraviper.trees.shown import html_of

LEAF = -1


@dataclass(frozen=True)
class Tree:
    """Go left when x[feature] <= threshold; a leaf (feature -1) answers with its action."""

    feature: np.ndarray  # [nodes] int64, -1 at a leaf
    threshold: np.ndarray  # [nodes] float32, in the feature's own unit, 0 at a leaf
    left: np.ndarray  # [nodes] int64, -1 at a leaf
    right: np.ndarray  # [nodes] int64, -1 at a leaf
    action: np.ndarray  # [nodes] int64, the heaviest action, also at inner nodes
    counts: np.ndarray  # [nodes, actions] float64, weight of the samples that reached the node, per action
    derived: tuple[Derived, ...] = ()  # features that it may ask for, numbered after those of the observation

    def __post_init__(self) -> None:
        if not _is_tree(self.feature, self.left, self.right):
            raise InputError("these arrays are not a tree: every node but the root must be one node's child.")
        if self.feature.min() < LEAF or self.action.min() < 0:
            raise InputError("a tree's features are numbered from 0 (a leaf has -1), and so are its actions.")

    def __len__(self) -> int:
        return len(self.feature)

    @property
    def levels(self) -> np.ndarray:
        """The number of questions above each node, [nodes]."""
        levels = np.zeros(len(self), int)
        for node in np.flatnonzero(self.feature != LEAF):
            levels[self.left[node]] = levels[self.right[node]] = levels[node] + 1
        return levels

    @property
    def depth(self) -> int:
        """The number of questions on the longest path."""
        return int(self.levels.max())

    @property
    def leaves(self) -> int:
        """How many leaves it has."""
        return int((self.feature == LEAF).sum())

    @property
    def fidelity(self) -> float:
        """The share of its data on which it answers as the expert does; not a number without data."""
        leaves, whole = self.feature == LEAF, self.counts[0].sum()
        return float(self.counts[leaves, self.action[leaves]].sum() / whole) if whole > 0 else float("nan")

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Actions [B] for observations [B, F], which are rounded to single precision first."""
        return self._walked(features, self.action)

    def apply(self, features: np.ndarray) -> np.ndarray:
        """The leaves [B] that observations [B, F] reach, as node numbers."""
        return self._walked(features, np.arange(len(self)))

    def _walked(self, features: np.ndarray, answer: np.ndarray) -> np.ndarray:
        """What stands at each observation's leaf in a column `answer` [nodes]."""
        features = extend(features, self.derived)
        out = np.empty(len(features), np.int64)
        predict_into(self.feature, self.threshold, self.left, self.right, answer, features, out)
        return out

    def path(self, observation: np.ndarray) -> list[int]:
        """The nodes that one observation [F] visits, from the root to its leaf."""
        observation = extend(single(observation)[None], self.derived)[0]
        nodes = [0]
        while self.feature[nodes[-1]] != LEAF:
            node = nodes[-1]
            goes_left = observation[self.feature[node]] <= self.threshold[node]
            nodes.append(int(self.left[node] if goes_left else self.right[node]))
        return nodes

    def merged(self) -> Tree:
        """The same decisions without the splits whose leaves agree."""
        feature, action = self.feature.copy(), self.action.copy()
        for node in range(len(self) - 1, -1, -1):  # children stand behind their parent
            if feature[node] != LEAF:
                left, right = self.left[node], self.right[node]
                if feature[left] == feature[right] == LEAF and action[left] == action[right]:
                    # an inner node that becomes a leaf answers with what its leaves agree on
                    feature[node], action[node] = LEAF, action[left]
        return in_preorder(feature, self.threshold, self.left, self.right, action, self.counts, self.derived)

    def names(self, agent: Agent) -> tuple[str, ...]:
        """What it can ask for: the agent's features, then the derived ones."""
        return (*agent.features, *(feature.name for feature in self.derived))

    def values(self, agent: Agent) -> tuple[Values, ...]:
        """The values of what it can ask for, in the order of `names`; sums of whole numbers are whole."""
        plain = agent.values or (Values(),) * len(agent.features)
        derived = []
        for feature in self.derived:
            counted = all(plain[k].kind != "real" for k in feature.inputs)
            lengths = any(term.kind in ("distance", "length") for term in feature.terms)
            whole = counted and not lengths and all(term.number % 1 == 0 for term in feature.terms)
            derived.append(Values("whole" if whole else "real", own=all(plain[k].own for k in feature.inputs)))
        return (*plain, *derived)

    def to_sklearn(self, agent: Agent | None = None) -> Any:
        """A fitted `DecisionTreeClassifier` of scikit-learn that gives the same answers.

        `agent` says how many features there are; without it there are as many as the tree asks for. A tree with
        derived features becomes a `Pipeline` that computes them first, and needs the agent. Where a leaf's action is
        not the heaviest of its data, as after an edit, the classifier's probabilities are all on that action.
        """
        from hydraviper.trees.scikit_learn import to_scikit_learn

        return to_scikit_learn(self, agent)

    @staticmethod
    def from_sklearn(model: object, actions: int | None = None) -> Tree:
        """The tree of a fitted `DecisionTreeClassifier`, whose classes are numbers of actions.

        `actions` is how many actions there are; default: up to the highest class. Also takes what `to_sklearn` made.
        """
        from hydraviper.trees.scikit_learn import from_scikit_learn

        return in_preorder(*from_scikit_learn(model, actions))

    def _repr_html_(self) -> str | None:
        """What notebooks show: the drawing, with zoom and paths that light up; names are known to its run alone."""
        return html_of(self)

    def to_json(self) -> dict[str, list[Any]]:
        """Plain columns, for `trees.json`."""
        return {
            "feature": self.feature.tolist(),
            # the shortest decimal that reads back as the same float32
            "threshold": [float(str(value)) for value in self.threshold],
            "left": self.left.tolist(),
            "right": self.right.tolist(),
            "action": self.action.tolist(),
            "counts": self.counts.tolist(),
        } | ({"derived": [_derived_to_json(feature) for feature in self.derived]} if self.derived else {})

    @staticmethod
    def from_json(columns: Mapping[str, object]) -> Tree:
        """The tree that `to_json` wrote."""
        kinds = {"feature": int, "threshold": np.float32, "left": int, "right": int, "action": int, "counts": float}
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                arrays = {name: np.asarray(columns[name], kind) for name, kind in kinds.items()}
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            raise InputError(f"a tree's columns cannot be read ({error}): make the trees again.") from None
        if len({len(array) for array in arrays.values()}) != 1 or arrays["counts"].ndim != 2:
            raise InputError("a tree's columns differ in length: make the trees again.")
        for name, what in (("threshold", "threshold"), ("counts", "count")):
            if not np.isfinite(arrays[name]).all():
                raise InputError(f"a tree has a {what} that is not a number: make the trees again.")
        return Tree(**arrays, derived=from_json(tuple[Derived, ...], columns.get("derived", ()), "a tree"))


def _derived_to_json(feature: Derived) -> dict[str, object]:
    """A derived feature without what it does not have."""
    terms = [
        {key: value for key, value in to_json(term).items() if key != "number" or term.kind == "number"}
        for term in feature.terms
    ]
    return {"name": feature.name, "terms": terms, **({"formula": feature.formula} if feature.formula else {})}


def in_preorder(
    feature: np.ndarray,
    threshold: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    action: np.ndarray,
    counts: np.ndarray,
    derived: tuple[Derived, ...] = (),
) -> Tree:
    """Number the nodes that the root reaches in preorder, so that equal trees have equal arrays."""
    order: list[int] = []
    stack = [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if feature[node] != LEAF:
            stack += [int(right[node]), int(left[node])]
    number = np.full(len(feature), LEAF)
    number[order] = np.arange(len(order))
    inner = feature[order] != LEAF
    return Tree(
        feature=feature[order].astype(np.int64),
        threshold=np.where(inner, threshold[order], 0).astype(np.float32),
        left=np.where(inner, number[left[order]], LEAF),
        right=np.where(inner, number[right[order]], LEAF),
        action=action[order].astype(np.int64),
        counts=counts[order].astype(np.float64),
        derived=derived,
    )


@nb.njit(cache=True, nogil=True)
def predict_into(feature, threshold, left, right, action, features, out):
    """Write every row's action."""
    for b in range(features.shape[0]):
        node = 0
        while feature[node] >= 0:
            node = left[node] if features[b, feature[node]] <= threshold[node] else right[node]
        out[b] = action[node]


def _is_tree(feature: np.ndarray, left: np.ndarray, right: np.ndarray) -> bool:
    """Children stand behind their parents and every node but the root is a child exactly once."""
    inner = np.flatnonzero(feature != LEAF)
    children = np.concatenate([left[inner], right[inner]])
    return (
        len(feature) > 0
        and bool((children > np.concatenate([inner, inner])).all())
        and np.array_equal(np.sort(children), np.arange(1, len(feature)))
    )
