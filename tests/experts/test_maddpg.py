"""The MADDPG trainer: it learns, it repeats bit for bit, and it leaves arrays of the documented shapes."""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import entropy

import hydraviper

maddpg = pytest.importorskip("hydraviper.experts.maddpg", exc_type=ImportError)

from hydraviper.data import Agent, Score  # noqa: E402
from hydraviper.experts.store import to_arrays  # noqa: E402
from hydraviper.experts.training import Checkpoint  # noqa: E402
from hydraviper.games import catalogue  # noqa: E402

pytestmark = pytest.mark.slow


class Guessing:
    """Two agents of unlike sizes see a bit each; they are paid for naming it. One of them stops early when wrong."""

    name, parameters, horizon, width = "guessing", {}, 4, None
    agents = (Agent("first", ("bit",), ("zero", "one")), Agent("second", ("bit", "noise"), ("zero", "one", "two")))
    teams = ((1,),)
    score = Score("reward", "", lower_is_better=False, weights=(0.0, 1.0))

    def reset(self, seeds):
        self.random = np.random.default_rng(int(seeds[0] % 2**32))
        self.count, self.clock = len(seeds), 0
        return self._observe()

    def _observe(self):
        self.bits = self.random.integers(0, 2, (self.count, 2))
        noise = self.random.random(self.count)
        return [self.bits[:, :1].astype(np.float32), np.stack([self.bits[:, 1], noise], 1).astype(np.float32)]

    def step(self, actions):
        self.clock += 1
        right = actions == self.bits
        done = ~right[:, 0] | (self.clock >= self.horizon)
        return self._observe(), right.astype(float), done

    def measures(self):
        return {}


def by_chance(game):
    """The mean score of actions drawn evenly."""
    random = np.random.default_rng(0)
    game.reset(np.arange(300, dtype=np.uint64))
    returns = sum(game.step(random.integers(0, 5, (300, len(game.agents))))[1] for _ in range(game.horizon))
    return game.score.of(returns).mean()


def test_a_short_training_learns_and_repeats_bit_for_bit():
    game = catalogue.make("cooperative-navigation:agents=2")
    settings = maddpg.MaddpgSettings(
        episodes=4_000, games=100, steps_per_update=100, warmup=5_000, hidden=16, training_critic_hidden=32, batch=128,
        evaluation_episodes=300, evaluations=4, critic_updates=100,
    )  # fmt: skip
    seen = []
    training = maddpg.train(game, settings, seen.append)
    assert tuple(seen) == training.curve
    assert [point.episodes for point in seen] == [1_000, 2_000, 3_000, 4_000]
    assert training.score == min(point.score for point in seen[2:]) < 0.9 * by_chance(game)
    arrays, again = to_arrays(training.expert), to_arrays(maddpg.train(game, settings).expert)
    assert arrays.keys() == again.keys()
    assert all(np.array_equal(arrays[name], again[name]) for name in arrays)


def test_agents_of_unlike_sizes_and_episodes_that_end_early_work():
    game = Guessing()
    settings = maddpg.MaddpgSettings(
        episodes=2_000, games=50, steps_per_update=10, warmup=500, hidden=16, training_critic_hidden=32, batch=64,
        evaluations=4, evaluation_episodes=100, critic_updates=500,
    )  # fmt: skip
    expert = maddpg.train(game, settings).expert
    arrays = to_arrays(expert)
    for i, agent in enumerate(game.agents):
        for role, widths in (("actor", (len(agent.features), 16, 16, len(agent.actions))), ("critic", (8, 16, 16, 1))):
            for layer in range(3):
                assert arrays[f"{role}.{i}.weight.{layer}"].shape == widths[layer : layer + 2]
                assert arrays[f"{role}.{i}.bias.{layer}"].shape == widths[layer + 1 : layer + 2]
                assert arrays[f"{role}.{i}.weight.{layer}"].dtype == np.float32
    bits = np.array([0, 1, 0, 1])
    observations = [bits[:, None].astype(np.float32), np.stack([1 - bits, np.full(4, 0.5)], 1).astype(np.float32)]
    right = np.stack([bits, 1 - bits], 1)
    assert np.array_equal(expert.act(observations), right)
    assert np.all(expert.q(observations, right) > expert.q(observations, 1 - right))


def test_settings_follow_from_what_the_game_is_like():
    together, against = (
        maddpg.recommended(catalogue.make(name)) for name in ("cooperative-navigation", "physical-deception")
    )
    assert together.actor_pace == together.opponent_pace
    assert against.actor_pace < against.opponent_pace
    assert against.replay >= against.episodes * 25  # nothing is forgotten


def test_teams_are_chosen_by_their_worst_opponent_and_opponents_by_their_best_rival(monkeypatch):
    game = Guessing()
    trainer = maddpg.MaddpgTrainer(game, maddpg.MaddpgSettings(episodes=100))
    scores = {("a", "a"): 9.0, ("b", "a"): 1.0, ("a", "b"): 5.0, ("b", "b"): 6.0}  # (teams, opponents)
    monkeypatch.setattr(trainer, "score", lambda actors: scores[actors[1], actors[0]])
    late = [Checkpoint(k, [name, name], np.zeros(1)) for k, name in enumerate("ab")]
    taken = {"trained_for": 0, "opponents_trained_for": 1}
    assert trainer.best_actors(late) == (["b", "a"], 5.0, taken)  # teams of a, opponents of b


def test_what_actions_tell_of_secrets_is_a_divergence():
    random = np.random.default_rng(0)
    logits, blind = random.normal(size=(2, 50, 5))
    exact = entropy(softmax(logits, axis=1), softmax(blind, axis=1), axis=1).mean()
    assert float(maddpg.disclosure(logits, blind)) == pytest.approx(exact, rel=1e-4)
    assert float(maddpg.disclosure(logits, logits + 3.0)) == pytest.approx(0.0, abs=1e-6)


def test_a_price_on_secrets_keeps_them():
    game = hydraviper.make("physical-deception")
    settings = maddpg.MaddpgSettings(
        episodes=200,
        games=20,
        warmup=1000,
        steps_per_update=10,
        batch=64,
        critic_updates=1,
        evaluations=1,
        evaluation_episodes=10,
        training_critic_hidden=16,
        hidden=16,
        secrecy=10.0,
    )
    expert = maddpg.train(game, settings).expert
    seeds = np.arange(50, dtype=np.uint64)
    observations = hydraviper.play(game, hydraviper.Profile(expert), seeds, record=True).observations
    unseen = [seen.copy() for seen in observations]
    for seen in unseen[1:]:
        seen[:, :2] = 0.0
    assert (expert.act(observations) != expert.act(unseen)).mean() < 0.02  # without a price it is 0.15
