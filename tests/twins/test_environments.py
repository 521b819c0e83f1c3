"""The same game as our compiled world and as mpe2's environment through the adapter."""

from __future__ import annotations

import numpy as np
import pytest

import hydraviper

pytestmark = pytest.mark.slow

NAME = "pettingzoo:mpe2.simple_spread_v3"


@pytest.fixture(scope="module")
def compiled():
    return hydraviper.make("cooperative-navigation:physics=mpe2")


@pytest.fixture(scope="module")
def adapted():
    return hydraviper.make(f"{NAME},instances=8")


def test_step_for_step(compiled, adapted):
    draws = np.random.default_rng(4)
    theirs = adapted.reset(np.arange(8, dtype=np.uint64))
    worlds = [instance.unwrapped.world for instance in adapted._instances]
    positions, landmarks = (
        np.array([[thing.state.p_pos for thing in getattr(world, kind)] for world in worlds])
        for kind in ("agents", "landmarks")
    )
    ours = compiled.place(positions, landmarks, np.zeros(8))
    done = np.zeros(8, bool)
    while not done.all():
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, other, atol=1e-5)
        actions = draws.integers(0, 5, (8, 3))
        ours, our_rewards, done = compiled.step(actions)
        theirs, their_rewards, their_done = adapted.step(actions)
        np.testing.assert_allclose(our_rewards, their_rewards, atol=1e-5)
        np.testing.assert_array_equal(done, their_done)


def test_trees_score_alike(compiled, adapted):
    expert = hydraviper.shipped_expert(hydraviper.make("cooperative-navigation"))
    settings = hydraviper.Settings(iterations=4, train_budget=100, valid_budget=100, rollouts_per_iteration=40)
    trees = hydraviper.distill(compiled, expert, settings).profile
    seeds = np.arange(2000, dtype=np.uint64)
    ours, theirs = (hydraviper.play(game, trees, seeds[:count]) for game, count in ((compiled, 2000), (adapted, 160)))
    ours, theirs = ours.returns.mean(axis=1), theirs.returns.mean(axis=1)  # their starts differ: other random numbers
    error = np.sqrt(ours.var() / len(ours) + theirs.var() / len(theirs))
    assert abs(ours.mean() - theirs.mean()) < 3 * error
    assert error < 0.05 * abs(ours.mean())
