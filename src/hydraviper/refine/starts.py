"""Other trees to start a search from: the simple rules that a game knows, as trees.

A rule with fixed roles (agent i to landmark i) coordinates without a word. As a tree it is often a better place to
start than the imitation of a network whose roles change from one state to the next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hydraviper.data import Observations, Team
from hydraviper.profile import Profile
from hydraviper.protocols import Policy, Student, offers
from hydraviper.refine.records import SEARCH, Search, Trees
from hydraviper.trees import cart
from hydraviper.trees.bins import Bins
from hydraviper.trees.derived import extend
from hydraviper.trees.tree import LEAF, Tree

ROUNDS, EPISODES = 8, 50  # the rule plays first, then its trees; the rule says what it would have done


@dataclass(frozen=True)
class _Rule:
    """A script that plays whoever has no tree yet."""

    policy: Policy

    def act(self, observations: Observations, agents: Team | None = None) -> np.ndarray:
        """Everybody's actions."""
        return self.policy.act(observations)


def _rules(search: Search) -> dict[str, Policy]:
    """What the game knows: policies for everybody, and rules for the teams, whose opponents play the expert."""
    scoring = offers(search.game).scoring
    team_rules = {name: Profile(search.expert, scripts) for name, scripts in scoring.team_rules.items()}
    return {**scoring.yardsticks, **team_rules}


def script_starts(search: Search) -> tuple[dict[str, Trees], int]:
    """A tree per agent for each of the game's rules that acts like a tree can: an action, and not always the same.

    Also the episodes that it took.
    """
    starts: dict[str, Trees] = {}
    budget = search.settings.rollouts
    episodes = EPISODES if budget is None else max(2, min(EPISODES, budget // 1000))
    rules = _rules(search)
    for number, (name, policy) in enumerate(rules.items()):
        trees = _imitate(search, policy, episodes, 800_000 + 100 * number)
        if trees is not None:
            starts[f"script: {name}"] = trees
    return starts, ROUNDS * episodes * len(rules)


def _imitate(search: Search, policy: Policy, episodes: int, number: int) -> Trees | None:
    vocabulary, team = search.vocabulary, search.team
    bins = [Bins(size) for size in vocabulary.sizes]
    labels: list[np.ndarray] = []
    seen: list[list[np.ndarray]] = [[] for _ in team]  # derived features
    trees: dict[int, Student] = {}
    rule = _Rule(policy)
    for turn in range(ROUNDS):
        profile = Profile(rule, trees)  # pyright: ignore[reportArgumentType] (nobody asks a rule for values)
        seeds = search.seeds(SEARCH, number + turn, episodes)
        observations = search.engine.play(profile, seeds, record=True).observations or ()
        labels.append(policy.act(observations))
        wanted = np.concatenate(labels)
        if wanted.min() < 0 or all((wanted[:, i] == wanted[0, i]).all() for i in team):
            return None
        for a, i in enumerate(team):
            features = extend(observations[i], vocabulary.derived[a])
            bins[a].append(features)
            own, count = np.ascontiguousarray(wanted[:, i]), len(search.game.agents[i].actions)
            tree = cart.grow(bins[a], own, np.ones(len(own)), count, search.limits.depth, search.limits.leaves)
            if offers(search.game).scoring.team_rules and search.limits.leaves is None:
                plain = len(search.game.agents[i].features)
                seen[a].append(features[:, plain:])
                tree = _look_ahead(tree, bins[a], plain, np.concatenate(seen[a]), own, count, search.limits.depth)
            trees[i] = replace(tree, derived=vocabulary.derived[a])
    return {i: tree.merged() for i, tree in trees.items()}  # pyright: ignore[reportAttributeAccessIssue] (all are trees)


def _look_ahead(
    tree: Tree, bins: Bins, plain: int, derived: np.ndarray, actions: np.ndarray, count: int, depth: int
) -> Tree:
    """The tree, or a more faithful one that first asks for the sign of a derived feature.

    Who is nearer tells nothing about the next step by itself, so CART, which looks at one question at a time, never
    asks it first; with it, the rest of the tree has one landmark to go to.
    """
    for column in range(derived.shape[1]):
        below = derived[:, column] <= 0
        if depth < 2 or below.all() or not below.any():
            continue
        sides = [
            cart.grow(bins, actions, np.ones(len(actions)), count, depth - 1, rows=np.flatnonzero(side))
            for side in (below, ~below)
        ]
        candidate = _joined(plain + column, *sides)
        tree = candidate if candidate.fidelity > tree.fidelity else tree
    return tree


def _joined(feature: int, yes: Tree, no: Tree) -> Tree:
    """A tree that asks whether a feature is at most 0, and goes on with one of two."""
    second = 1 + len(yes)
    counts = yes.counts[0] + no.counts[0]

    def children(name: str, root: int) -> np.ndarray:
        parts = [(getattr(yes, name), 1), (getattr(no, name), second)]
        return np.concatenate([[root], *(np.where(part == LEAF, LEAF, part + start) for part, start in parts)])

    return Tree(
        np.concatenate([[feature], yes.feature, no.feature]),
        np.concatenate([[0.0], yes.threshold, no.threshold]).astype(np.float32),
        children("left", 1),
        children("right", second),
        np.concatenate([[counts.argmax()], yes.action, no.action]),
        np.concatenate([counts[None], yes.counts, no.counts]),
    )
