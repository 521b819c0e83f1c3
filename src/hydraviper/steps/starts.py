"""Other trees to start a search from: the simple rules that a game knows, as trees.

A rule with fixed roles (agent i to landmark i) coordinates without a word. As a tree it is often a better place to
start than the imitation of a network whose roles change from one state to the next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hydraviper.data import Observations, Team
from hydraviper.profile import Profile
from hydraviper.protocols import HasYardsticks, Policy, Student
from hydraviper.steps.refine import SEARCH, Search, Trees
from hydraviper.trees import cart
from hydraviper.trees.bins import Bins
from hydraviper.trees.derived import extend

ROUNDS, EPISODES = 8, 50  # the rule plays first, then its trees; the rule says what it would have done


@dataclass(frozen=True)
class _Rule:
    """A script that plays whoever has no tree yet."""

    policy: Policy

    def act(self, observations: Observations, agents: Team | None = None) -> np.ndarray:
        """Everybody's actions."""
        return self.policy.act(observations)


def script_starts(search: Search) -> tuple[dict[str, Trees], int]:
    """A tree per agent for each of the game's rules that acts like a tree can: an action, and not always the same.

    Also the episodes that it took.
    """
    if not isinstance(search.game, HasYardsticks):
        return {}, 0
    starts: dict[str, Trees] = {}
    budget = search.settings.rollouts
    episodes = EPISODES if budget is None else max(2, min(EPISODES, budget // 1000))
    rules = search.game.yardsticks()
    for number, (name, policy) in enumerate(rules.items()):
        trees = _imitate(search, policy, episodes, 800_000 + 100 * number)
        if trees is not None:
            starts[f"script: {name}"] = trees
    return starts, ROUNDS * episodes * len(rules)


def _imitate(search: Search, policy: Policy, episodes: int, number: int) -> Trees | None:
    vocabulary, team = search.vocabulary, search.team
    bins = [Bins(size) for size in vocabulary.sizes]
    labels: list[np.ndarray] = []
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
            bins[a].append(extend(observations[i], vocabulary.derived[a]))
            own, count = np.ascontiguousarray(wanted[:, i]), len(search.game.agents[i].actions)
            tree = cart.grow(bins[a], own, np.ones(len(own)), count, search.limits.depth, search.limits.leaves)
            trees[i] = replace(tree, derived=vocabulary.derived[a])
    return {i: tree.merged() for i, tree in trees.items()}  # pyright: ignore[reportAttributeAccessIssue] (all are trees)
