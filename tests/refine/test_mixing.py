"""For each agent the best candidate's tree, found by episodes in which candidates are mixed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from hydraviper.data import Rollouts
from hydraviper.protocols import Graph, Offers
from hydraviper.refine import mixing
from hydraviper.refine.records import SearchState
from hydraviper.trees.tree import Tree

AGENTS, CANDIDATES = 6, 8


def leaf(action: int) -> Tree:
    nothing = np.array([-1])
    return Tree(nothing, np.zeros(1, np.float32), nothing, nothing, np.array([action]), np.ones((1, CANDIDATES)))


class Chain:
    """Plays agents in a chain whose trees are leaves: an agent earns by its action and spoils its neighbours'."""

    def __init__(self, own: np.ndarray, beside: np.ndarray, noise: float, jams: frozenset[int] = frozenset()) -> None:
        self.own, self.beside, self.noise, self.jams = own, beside, noise, jams  # [N, actions] each
        self.played = 0

    def play_many(self, policies, seeds):
        return [self._play(policy, int(seed[0])) for policy, seed in zip(policies, seeds, strict=True)]

    def _play(self, policy, seed: int) -> Rollouts:
        actions = [int(policy.students[i].action[0]) for i in range(AGENTS)]
        luck = np.random.default_rng(seed).normal(0, 5)  # the same for all who play the seed
        chance = np.random.default_rng([seed, *actions]).normal(0, self.noise, AGENTS)
        earned = luck + chance + self.own[range(AGENTS), actions]
        for i, action in enumerate(actions):
            for j in (i - 1, i + 1):
                if 0 <= j < AGENTS:
                    earned[j] += self.beside[i, action]
        self.played += 1
        if self.played in self.jams:
            earned -= 1000
        return Rollouts(returns=earned[None], lengths=np.ones(1, np.int64))


def state_of(engine: Chain) -> SearchState:
    graph = Graph(neighbours=tuple((i, i + 1) for i in range(AGENTS - 1)))
    game = SimpleNamespace(
        agents=tuple(range(AGENTS)), offers=Offers(graph=graph), score=SimpleNamespace(weights=(1.0,) * AGENTS)
    )
    return cast(
        "SearchState",
        SimpleNamespace(
            game=game,
            team=tuple(range(AGENTS)),
            engine=engine,
            expert=None,
            sign=1.0,
            settings=SimpleNamespace(seed=0),
            left=lambda: float("inf"),
            seeds=lambda use, number, count: np.arange(number, number + count, dtype=np.uint64),
        ),
    )


def whole(candidate: int) -> dict[int, Tree]:
    return {i: leaf(candidate) for i in range(AGENTS)}


def chosen(trees) -> list[int]:
    return [int(trees[i].action[0]) for i in range(AGENTS)]


@pytest.mark.parametrize("jams", [frozenset(), frozenset({5, 50})])
def test_every_agent_gets_the_tree_that_is_best_for_it_and_its_neighbours(jams):
    """What is best follows from the table, agent by agent; a jam that hits everybody does not change it."""
    draws = np.random.default_rng(3)
    own, beside = draws.uniform(-1, 1, (AGENTS, CANDIDATES)), np.zeros((AGENTS, CANDIDATES))
    own[2, 4], beside[2, 4] = 3.0, -4.0  # good for agent 2, bad for those beside it
    own[range(AGENTS), range(AGENTS)] = 2.5  # candidate i is the best for agent i, and for nobody else
    engine = Chain(own, beside, noise=0.3, jams=jams)
    trees, played = mixing.mixed(state_of(engine), [whole(k) for k in range(CANDIDATES)], 240)
    assert chosen(trees) == list(range(AGENTS))
    assert played == engine.played <= 240


def test_equal_trees_are_not_compared_and_worse_ones_not_taken():
    engine = Chain(np.zeros((AGENTS, CANDIDATES)), np.zeros((AGENTS, CANDIDATES)), noise=1.0)
    same = [whole(0), whole(0)]
    trees, played = mixing.mixed(state_of(engine), same, 100)
    assert (chosen(trees), played) == ([0] * AGENTS, 0)
    worse = np.full((AGENTS, CANDIDATES), -1.0)
    worse[:, 0] = 0
    trees, _ = mixing.mixed(state_of(Chain(worse, 0 * worse, noise=0.5)), [whole(k) for k in range(4)], 120)
    assert chosen(trees) == [0] * AGENTS


def test_too_few_episodes_play_nothing():
    engine = Chain(np.zeros((AGENTS, CANDIDATES)), np.zeros((AGENTS, CANDIDATES)), noise=1.0)
    trees, played = mixing.mixed(state_of(engine), [whole(k) for k in range(CANDIDATES)], 7)
    assert (chosen(trees), played, engine.played) == ([0] * AGENTS, 0, 0)
