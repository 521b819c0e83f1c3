"""Starts: trees that imitate the game's scripted rules, for a search to start from.

A rule with fixed roles (agent i to landmark i) coordinates without communication. As a tree it is often a better start
than the imitation of a network whose roles change from one state to the next.
"""

from dataclasses import dataclass, replace

import numpy as np

from hydraviper.data import Observations, Team
from hydraviper.profile import Profile
from hydraviper.protocols import Policy, Student, offers
from hydraviper.refine.records import SEARCH, SearchState, Trees
from hydraviper.seeding import Purpose, generator
from hydraviper.trees import cart
from hydraviper.trees.ahead import Ahead, grow_behind, joined, look
from hydraviper.trees.bins import Bins
from hydraviper.trees.derived import extend
from hydraviper.trees.tree import Tree

ROUNDS, EPISODES = 8, 50  # first the rule plays, then the trees; the rule labels what they meet
LOOKING = (0, 2)  # rounds in which questions are looked for that come before CART's


@dataclass(frozen=True)
class _Rule:
    """A scripted policy in the place of the expert: it acts for the agents that have no tree yet."""

    policy: Policy

    def act(self, observations: Observations, agents: Team | None = None) -> np.ndarray:
        """The actions of all agents."""
        return self.policy.act(observations)


def _rules(state: SearchState) -> dict[str, Policy]:
    """The game's scripted policies for all agents, and those for the teams, whose opponents the expert plays."""
    scoring = offers(state.game).scoring
    team_rules = {name: Profile(state.expert, scripts) for name, scripts in scoring.team_rules.items()}
    return {**scoring.yardsticks, **team_rules}


def script_starts(state: SearchState) -> tuple[dict[str, Trees], int]:
    """Trees for each of the game's rules that a tree can imitate, by name; also the episodes it took.

    Left out are rules that do not choose actions, and rules that always choose the same.
    """
    starts: dict[str, Trees] = {}
    budget = state.settings.rollouts
    episodes = EPISODES if budget is None else max(2, min(EPISODES, budget // 1000))
    rules = _rules(state)
    for number, (name, policy) in enumerate(rules.items()):
        trees = _imitate(state, policy, episodes, 800_000 + 100 * number)
        if trees is not None:
            starts[f"script: {name}"] = trees
    return starts, ROUNDS * episodes * len(rules)


def _imitate(state: SearchState, policy: Policy, episodes: int, number: int) -> Trees | None:
    vocabulary, team = state.vocabulary, state.team
    bins = [Bins(size) for size in vocabulary.sizes]
    labels: list[np.ndarray] = []
    seen: list[list[np.ndarray]] = [[] for _ in team]  # derived features, per tree and round
    trees: dict[int, Student] = {}
    ahead: dict[int, Ahead | None] = {}
    rule = _Rule(policy)
    for turn in range(ROUNDS):
        profile = Profile(rule, trees)  # pyright: ignore[reportArgumentType] (nobody asks a rule for values)
        seeds = state.seeds(SEARCH, number + turn, episodes)
        observations = state.engine.play(profile, seeds, record=True).observations or ()
        labels.append(policy.act(observations))
        wanted = np.concatenate(labels)
        if wanted.min() < 0 or all((wanted[:, i] == wanted[0, i]).all() for i in team):
            return None
        for a, i in enumerate(team):
            features = extend(observations[i], vocabulary.derived[a])
            bins[a].append(features)
            actions, count = np.ascontiguousarray(wanted[:, i]), len(state.game.agents[i].actions)
            weights = np.ones(len(actions))
            tree = cart.grow(bins[a], actions, weights, count, state.limits.depth, state.limits.leaves)
            plain = len(state.game.agents[i].features)
            if state.settings.features not in ("plain", "derived") and state.limits.leaves is None:
                if turn in LOOKING:
                    draws = generator(state.settings.seed, Purpose.REFINE, number + turn, i)
                    ahead[i] = look(bins[a], plain, actions, weights, count, state.limits.depth, draws, shares=())
                other = grow_behind(ahead[i], bins[a], actions, weights, count, state.limits.depth)
                tree = other if other.fidelity > tree.fidelity else tree
            elif offers(state.game).scoring.team_rules and state.limits.leaves is None:
                seen[a].append(features[:, plain:])
                tree = _look_ahead(tree, bins[a], plain, np.concatenate(seen[a]), actions, count, state.limits.depth)
            trees[i] = replace(tree, derived=vocabulary.derived[a])
    return {i: tree.merged() for i, tree in trees.items()}  # pyright: ignore[reportAttributeAccessIssue] (all are trees)


def _look_ahead(
    tree: Tree, bins: Bins, plain: int, derived: np.ndarray, actions: np.ndarray, count: int, depth: int
) -> Tree:
    """The tree, or a more faithful one whose first question is the sign of a derived feature.

    Which agent is nearer says nothing about the next step by itself, so CART, which is greedy, never asks for it first;
    once it is asked, the rest of the tree needs to consider one landmark only.
    """
    for column in range(derived.shape[1]):
        below = derived[:, column] <= 0
        if depth < 2 or below.all() or not below.any():
            continue
        sides = [
            cart.grow(bins, actions, np.ones(len(actions)), count, depth - 1, rows=np.flatnonzero(side))
            for side in (below, ~below)
        ]
        candidate = joined(plain + column, np.float32(0), *sides)
        tree = candidate if candidate.fidelity > tree.fidelity else tree
    return tree
