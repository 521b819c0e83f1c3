"""A search plays a few episodes at a time: the same ones, and it tells how many there have been."""

import numpy as np
import pytest

import hydraviper
from hydraviper.refine.counted import AT_ONCE, Counted


@pytest.fixture
def game():
    return hydraviper.make("cooperative-navigation")


def same(one, other):
    assert one.returns.tolist() == other.returns.tolist()
    assert (one.observations is None) == (other.observations is None)
    for mine, theirs in zip(one.observations or (), other.observations or (), strict=True):
        assert (mine == theirs).all()


def test_the_same_episodes_a_few_at_a_time(game):
    expert, engine, told = hydraviper.shipped_expert(game), hydraviper.LocalEngine(lambda: game), []
    counted = Counted(engine, told.append)
    seeds = np.arange(2 * AT_ONCE + 5, dtype=np.uint64)
    same(counted.play(expert, seeds, record=True), engine.play(expert, seeds, record=True))
    assert told == [AT_ONCE, 2 * AT_ONCE, 2 * AT_ONCE + 5]
    asked = [seeds, seeds[:1], seeds[:0], *(seeds[k : k + 1] for k in range(AT_ONCE + 1)), seeds[:AT_ONCE]]
    policies = [expert] * len(asked)
    for one, other in zip(counted.play_many(policies, asked), engine.play_many(policies, asked), strict=True):
        same(one, other)
    assert told == sorted(told)
    assert told[-1] == 2 * AT_ONCE + 5 + sum(map(len, asked))


def test_at_most_some_episodes_at_once(game):
    calls = []

    class Noted(hydraviper.LocalEngine):
        def play_many(self, policies, seeds):
            calls.append(sum(map(len, seeds)))
            return super().play_many(policies, seeds)

    counted = Counted(Noted(lambda: game), lambda played: None)
    expert = hydraviper.shipped_expert(game)
    counted.play_many([expert] * 30, [np.array([k], np.uint64) for k in range(30)])
    assert calls == [AT_ONCE, AT_ONCE, 30 - 2 * AT_ONCE]
