"""The features that ship for games: what a hand-made tree is worth, and that they can be read."""

import numpy as np
import pytest

import hydraviper
from hydraviper.data import Derived
from hydraviper.expressions.features import features_of
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.trees.tree import LEAF, Tree, in_preorder

COST = "team's way if I take landmark"
LEFT, RIGHT, DOWN, UP = 1, 2, 3, 4


def by_hand(plain: int, derived: tuple[Derived, ...]) -> Tree:
    """Two questions about whose landmark it is, and two about the direction; every threshold is 0."""
    number = {feature.name: plain + k for k, feature in enumerate(derived)}
    rows: list[list[int]] = []  # feature, left, right, action

    def node(name: str | None, *below, action: int = 0) -> int:
        at = len(rows)
        rows.append([LEAF if name is None else number[name], LEAF, LEAF, action])
        for side, make in enumerate(below, start=1):
            rows[at][side] = make()
        return at

    def leaf(action: int):
        return lambda: node(None, action=action)

    def way(k: int):
        less = f"landmark {k} right less up"
        sides = [lambda: node(less, leaf(LEFT), leaf(DOWN)), lambda: node(less, leaf(UP), leaf(RIGHT))]
        return lambda: node(f"landmark {k} right plus up", *sides)

    node(f"{COST} 0 less the best other", way(0), lambda: node(f"{COST} 1 less 2", way(1), way(2)))
    feature, left, right, action = np.array(rows).T
    return in_preorder(feature, np.zeros(len(rows)), left, right, action, np.ones((len(rows), 5)), derived)


@pytest.mark.slow
def test_a_hand_made_tree_beats_the_neural_expert():
    game = hydraviper.make("cooperative-navigation")
    features = features_of(game, "shipped")
    trees = {i: by_hand(len(agent.features), features[i]) for i, agent in enumerate(game.agents)}
    assert {tree.depth for tree in trees.values()} == {4}
    profile = hydraviper.Profile(hydraviper.shipped_expert(game), trees)
    played = hydraviper.play(game, profile, rollout_seeds(0, Purpose.EVALUATE, 0, 4_000))
    assert game.score.of(played.returns).mean() == pytest.approx(112.4, abs=1.0)  # the expert has 120.1


@pytest.mark.slow
def test_phases_are_told_apart_by_who_waits_for_them():
    game = hydraviper.make("resco:cologne1")
    features = {feature.name: feature for feature in features_of(game, "shipped")[0]}
    assert "queue of phase 1 less the most of others" in features
    assert "longest queue of phase 1" in features
    assert "all queues" in features
    assert features["longest queue"].formula.startswith("max([queue from ")
