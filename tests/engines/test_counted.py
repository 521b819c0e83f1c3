"""An engine that counts plays a few episodes at a time: the same ones, and it tells how many there have been."""

import numpy as np
import pytest

import hydraviper
from hydraviper.engines.counted import EACH, FEWEST, Counted, counted

AT_ONCE = 12


class AlwaysLeft:
    def act(self, observations):
        return np.zeros((len(observations[0]), 1), np.int64)


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
    telling = Counted(engine, told.append, AT_ONCE)
    seeds = np.arange(2 * AT_ONCE + 5, dtype=np.uint64)
    same(telling.play(expert, seeds, record=True), engine.play(expert, seeds, record=True))
    assert told == [AT_ONCE, 2 * AT_ONCE, 2 * AT_ONCE + 5]
    asked = [seeds, seeds[:1], seeds[:0], *(seeds[k : k + 1] for k in range(AT_ONCE + 1)), seeds[:AT_ONCE]]
    policies = [expert] * len(asked)
    for one, other in zip(telling.play_many(policies, asked), engine.play_many(policies, asked), strict=True):
        same(one, other)
    assert told == sorted(told)
    assert told[-1] == 2 * AT_ONCE + 5 + sum(map(len, asked))


def test_at_most_some_episodes_at_once(game):
    calls = []

    class Noted(hydraviper.LocalEngine):
        def play_many(self, policies, seeds):
            calls.append(sum(map(len, seeds)))
            return super().play_many(policies, seeds)

    telling = Counted(Noted(lambda: game), lambda played: None, AT_ONCE)
    expert = hydraviper.shipped_expert(game)
    telling.play_many([expert] * 30, [np.array([k], np.uint64) for k in range(30)])
    assert calls == [AT_ONCE, AT_ONCE, 30 - 2 * AT_ONCE]


def test_a_compiled_game_plays_all_at_once_and_a_dear_one_keeps_its_workers_busy(game):
    calls = []

    class Noted(hydraviper.LocalEngine):
        def play(self, policy, seeds, record=False):
            calls.append(len(seeds))
            return super().play(policy, seeds, record)

    seeds, told = np.arange(50, dtype=np.uint64), []
    counted(game, Noted(lambda: game), told.append).play(hydraviper.shipped_expert(game), seeds)
    assert (calls, told) == ([50], [50])
    dear = hydraviper.make("gymnasium:CartPole-v1")
    engine = Noted(lambda: dear)
    engine.workers = 5
    calls.clear()
    told.clear()
    counted(dear, engine, told.append).play(AlwaysLeft(), seeds)
    size = max(FEWEST, EACH * 5 * dear.width)
    assert calls == [len(seeds[start : start + size]) for start in range(0, 50, size)]
    assert told[-1] == 50
