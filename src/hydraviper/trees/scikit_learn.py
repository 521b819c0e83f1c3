"""Trees as classifiers of scikit-learn, and classifiers of scikit-learn as trees: the same answers, bit for bit.

`Tree.to_sklearn` and `Tree.from_sklearn` stand on it, so it knows no `Tree`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hydraviper.data import Agent, Derived, InputError
from hydraviper.trees.derived import extend

_EXTEND = "derived features"  # the pipeline's step that computes them
_TREE = "tree"


def to_scikit_learn(tree: Any, agent: Agent | None = None) -> Any:
    """A fitted `DecisionTreeClassifier`; behind a step that computes them, where the tree has derived features."""
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.tree import DecisionTreeClassifier

    if agent is None and tree.derived:
        raise InputError("a tree with derived features counts them behind its agent's own: pass the agent as well.")
    asked = int(tree.feature.max()) + 1
    columns = max(asked, 1) if agent is None else len(tree.names(agent))
    if asked > columns:
        raise InputError(f"the tree asks for feature {asked - 1}, but {agent and agent.name} has {columns} of them.")
    actions = tree.counts.shape[1]
    # fitted to one row per action, so that scikit-learn itself sets all that a fitted model has; then the tree is set
    model = DecisionTreeClassifier(random_state=0).fit(np.zeros((actions, columns), np.float32), np.arange(actions))
    model.tree_ = _grown(tree, model.tree_, columns)
    if not tree.derived:
        return model
    # a function of a module and plain values, so that the pipeline can be pickled and cloned
    computed = FunctionTransformer(extend, kw_args={"derived": tree.derived})
    return Pipeline([(_EXTEND, computed), (_TREE, model)])


def _grown(tree: Any, like: Any, columns: int) -> Any:
    """The nodes as scikit-learn keeps them."""
    values = _values(tree)
    nodes: Any = np.zeros(len(tree), like.__getstate__()["nodes"].dtype)
    inner = tree.left >= 0
    nodes["left_child"], nodes["right_child"] = tree.left, tree.right
    nodes["feature"] = np.where(inner, tree.feature, -2)  # scikit-learn's sign for a leaf
    nodes["threshold"] = np.where(inner, tree.threshold.astype(np.float64), -2.0)
    nodes["impurity"] = 1 - (values**2).sum(axis=1)
    nodes["weighted_n_node_samples"] = tree.counts.sum(axis=1)
    nodes["n_node_samples"] = np.rint(tree.counts.sum(axis=1))
    state = {"max_depth": tree.depth, "node_count": len(tree), "nodes": nodes, "values": values[:, None, :].copy()}
    grown = type(like)(columns, np.array([tree.counts.shape[1]], np.intp), 1)
    grown.__setstate__(state)
    return grown


def _values(tree: Any) -> np.ndarray:
    """The shares of the actions at each node [nodes, actions]; where another is the heaviest, the answer alone."""
    rows, whole = np.arange(len(tree)), tree.counts.sum(axis=1, keepdims=True)
    values = np.divide(tree.counts, whole, out=np.zeros_like(tree.counts), where=whole > 0)
    other = (values.argmax(axis=1) != tree.action) | (whole[:, 0] <= 0)  # a leaf without data, or edited by hand
    values[other] = 0.0
    values[rows[other], tree.action[other]] = 1.0
    return values


def from_scikit_learn(model: Any, action_count: int | None = None) -> tuple[Any, ...]:
    """The columns of a tree, from a fitted `DecisionTreeClassifier` or the pipeline that `to_scikit_learn` made.

    Its classes are numbers of actions, of which there are `action_count`; default: up to the highest class.
    """
    derived: tuple[Derived, ...] = ()
    if hasattr(model, "named_steps") and set(model.named_steps) == {_EXTEND, _TREE}:
        derived, model = model.named_steps[_EXTEND].kw_args["derived"], model.named_steps[_TREE]
    classes = _classes(model)
    count = int(classes.max()) + 1 if action_count is None else action_count
    if classes.max() >= count:
        raise InputError(f"the classifier answers with action {classes.max()}: there are {count}, from 0.")
    source = model.tree_
    counts = np.zeros((source.node_count, count))
    counts[:, classes] = source.value[:, 0, :] * source.weighted_n_node_samples[:, None]
    # our features are float32: round thresholds down, so that no float32 changes sides
    with np.errstate(over="ignore"):  # beyond every float32
        threshold = source.threshold.astype(np.float32)
    threshold = np.where(threshold > source.threshold, np.nextafter(threshold, np.float32(-np.inf)), threshold)
    feature = np.where(source.children_left < 0, source.children_left, source.feature)  # both write -1 at a leaf
    action = classes[source.value[:, 0, :].argmax(axis=1)]
    return feature, threshold, source.children_left, source.children_right, action, counts, derived


def is_tree(model: object) -> bool:
    """Tell whether a fitted model is a decision tree that classifies, with nodes as scikit-learn keeps them."""
    return hasattr(getattr(model, "tree_", None), "children_left") and hasattr(model, "classes_")


def _classes(model: Any) -> np.ndarray:
    """The classes of a fitted decision tree as whole numbers from 0."""
    if not is_tree(model) or getattr(model, "n_outputs_", None) != 1:
        raise InputError(
            f"{type(model).__name__} is no decision tree of one answer that was fitted: pass a DecisionTreeClassifier "
            "after fit(), or one that to_sklearn() made."
        )
    labels = np.asarray(model.classes_)
    if labels.dtype.kind not in "biuf" or not (labels == np.floor(labels)).all() or labels.min() < 0:
        raise InputError(f"the classes {labels.tolist()} are no numbers of actions: fit it to the actions' numbers.")
    return labels.astype(int)
