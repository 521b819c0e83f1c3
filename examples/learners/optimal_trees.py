"""Optimal trees in place of greedy ones: no tree of this depth and these thresholds agrees with the expert more often.

python examples/learners/optimal_trees.py        (needs `pip install 'hydraviper[optimal]'`)

Any scikit-learn classifier can be the learner. One that has the `tree_` of a `DecisionTreeClassifier` becomes a tree of
ours, to be shown, checked, edited and exported like every other.
"""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

import hydraviper
from hydraviper.trees.tree import in_preorder


class OptimalTree(ClassifierMixin, BaseEstimator):
    """STreeD's tree of least error (van der Linden, de Weerdt and Demirović, 2023), over quantiles of the features."""

    def __init__(self, depth=3, thresholds=6, seconds=60.0):
        self.depth = depth
        self.thresholds = thresholds  # per feature: the search tries only these
        self.seconds = seconds  # at most, per tree; the best so far is taken

    def fit(self, seen, actions):
        """Find the tree, and keep it as scikit-learn keeps its own."""
        from pystreed import STreeDClassifier

        shares = np.arange(1, self.thresholds + 1) / (self.thresholds + 1)
        places = np.quantile(seen, shares, axis=0, method="lower").astype(np.float32)  # [thresholds, features]
        asked = [(k, limit) for k in range(seen.shape[1]) for limit in np.unique(places[:, k])]
        answers = np.stack([seen[:, k] <= limit for k, limit in asked], axis=1).astype(np.int8)
        found = STreeDClassifier(max_depth=self.depth, time_limit=self.seconds).fit(answers, actions)
        agent = hydraviper.Agent(
            "one", tuple(map(str, range(seen.shape[1]))), tuple(map(str, range(actions.max() + 1)))
        )
        model = _tree(found.get_tree(), asked, answers, actions, len(agent.actions)).to_sklearn(agent)
        self.tree_, self.classes_, self.n_outputs_ = model.tree_, model.classes_, model.n_outputs_
        self.model_ = model
        return self

    def predict(self, seen):
        """Actions [B]."""
        return self.model_.predict(seen)


def _tree(root, asked, answers, actions, count):
    """STreeD's nodes as arrays: its right child is where the question's answer is yes, ours is the left one."""
    columns = {name: [] for name in ("feature", "threshold", "left", "right", "action", "counts")}

    def add(node, rows):
        number = len(columns["feature"])
        leaf = node.is_leaf_node()
        feature, threshold = (-1, 0.0) if leaf else asked[node.feature]
        counts = np.bincount(actions[rows], minlength=count)
        values = feature, threshold, -1, -1, int(node.label) if leaf else int(counts.argmax()), counts
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
        if not leaf:
            yes = answers[rows, node.feature] == 1
            columns["left"][number] = add(node.right_child, rows[yes])
            columns["right"][number] = add(node.left_child, rows[~yes])
        return number

    add(root, np.arange(len(actions)))
    return in_preorder(**{name: np.array(column) for name, column in columns.items()})


if __name__ == "__main__":
    game = hydraviper.make("cooperative-navigation")
    expert = hydraviper.shipped_expert(game)
    settings = hydraviper.Settings(train_budget=60, valid_budget=200, iterations=5, depth=3)
    variant = hydraviper.VARIANTS["hydraviper"].with_classifier(OptimalTree(depth=3))
    result = hydraviper.distill(game, expert, settings, variant)
    scores = hydraviper.evaluate(result, episodes=500)
    print(f"{game.score.name}: trees {scores.score:.1f}, expert {scores.expert:.1f}")
