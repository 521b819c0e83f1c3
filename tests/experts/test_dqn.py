"""The DQN trainer: it learns, it repeats bit for bit, and it keeps the checkpoint that fears its worst episode."""

import json
from pathlib import Path

import numpy as np
import pytest

dqn = pytest.importorskip("hydraviper.experts.dqn", exc_type=ImportError)

import hydraviper  # noqa: E402
from hydraviper.data import Agent, Score  # noqa: E402
from hydraviper.experts import store  # noqa: E402
from hydraviper.experts.local_q import LocalQExpert  # noqa: E402
from hydraviper.experts.training import Checkpoint  # noqa: E402
from hydraviper.protocols import Offers, Scoring  # noqa: E402
from tests.helpers.street import STREET  # noqa: E402

pytestmark = pytest.mark.slow


class Lights:
    """Two toy signals; each serves one of its queues, the others grow. The second sees one queue more."""

    name, parameters, horizon, width = "lights", {}, 20, 1
    agents = (
        Agent("first", ("a", "b"), ("serve a", "serve b")),
        Agent("second", ("a", "b", "c"), ("serve a", "serve b", "serve c")),
    )
    teams = ((0, 1),)
    score = Score("queue", "", lower_is_better=True, weights=(-1 / 20, -1 / 20))

    def reset(self, seeds):
        self.random = np.random.default_rng(int(seeds[0]))
        self.queues, self.clock = [np.zeros((1, 2), np.float32), np.zeros((1, 3), np.float32)], 0
        return [queue.copy() for queue in self.queues]

    def step(self, actions):
        self.clock += 1
        for queue, action in zip(self.queues, actions[0], strict=True):
            queue += self.random.integers(0, 4, queue.shape)
            queue[0, action] = 0
        rewards = -np.array([[queue.sum() for queue in self.queues]])
        return [queue.copy() for queue in self.queues], rewards, np.array([self.clock >= self.horizon])

    def measures(self):
        return {}


QUICK = dqn.DqnSettings(
    episodes=50,
    hidden=16,
    batch=32,
    warmup=100,
    updates_per_step=2,
    evaluate_every=5,
    evaluate_from=0.4,
    evaluation_episodes=10,
    final_episodes=10,
)


def test_a_short_training_learns_and_repeats_bit_for_bit():
    seen = []
    training = dqn.train(Lights(), QUICK, seen.append)
    assert tuple(seen) == training.curve
    assert [point.episodes for point in seen] == list(range(1, 51))
    assert [point.episodes for point in seen if point.mean is not None] == list(range(20, 51, 5))
    by_chance = np.mean([point.training_score for point in seen[:5]])
    assert training.score < 0.8 * by_chance
    longest = [np.array([[3.0, 9.0]], np.float32), np.array([[1.0, 2.0, 9.0]], np.float32)]
    assert training.expert.act(longest).tolist() == [[1, 2]]
    arrays, again = (store.to_arrays(expert) for expert in (training.expert, dqn.train(Lights(), QUICK).expert))
    assert arrays.keys() == again.keys()
    assert all(np.array_equal(arrays[name], again[name]) for name in arrays)


def test_epsilon_falls_and_then_nothing_is_random():
    settings = dqn.DqnSettings(episodes=100, explore=0.6, settle=0.9)
    shares = [settings.epsilon(episode) for episode in range(100)]
    assert shares[0] == 1.0
    assert shares[60] == shares[89] == pytest.approx(0.05)
    assert shares[90] == shares[99] == 0.0
    assert shares == sorted(shares, reverse=True)


def test_a_checkpoint_that_jams_once_loses_against_a_steady_one(monkeypatch):
    trainer = dqn.DqnTrainer(Lights(), dqn.Idqn.of(Lights(), 8), dqn.DqnSettings(episodes=10, finalists=2))
    brilliant, steady, poor = (LocalQExpert((), {"name": name}) for name in ("brilliant", "steady", "poor"))
    more = {"brilliant": np.array([6.0, 46.0]), "steady": np.array([7.0, 7.5])}  # the jam shows on more seeds only
    monkeypatch.setattr(trainer, "scores", lambda expert, count, start: more[expert.about["name"]])
    points = [
        Checkpoint(number, expert, np.array(scores))
        for number, expert, scores in ((1, brilliant, [6.0, 6.1]), (2, steady, [7.0, 7.1]), (3, poor, [9.0, 30.0]))
    ]
    assert trainer.choose(points)[0] is steady


def test_exploring_follows_yardsticks_that_act():
    class Always:
        def __init__(self, action):
            self.action = action

        def act(self, observations):
            return np.full((1, 2), self.action)

    class Guided(Lights):
        offers = Offers(Scoring(yardsticks={"nobody": Always(-1), "first": Always(0)}))

    settings = dqn.DqnSettings(episodes=2, guided=1.0)
    trainer = dqn.DqnTrainer(Guided(), dqn.Idqn.of(Guided(), 8), settings)
    assert [guide.action for guide in trainer.guides] == [0]
    trainer.play(1)
    assert trainer.replay.draw(np.random.default_rng(0), 1, 50).actions.max() == 0


def test_training_a_signal_by_the_command_line(call):
    code, printed, complaint = call(
        "train", STREET, "--episodes", 3, "--workers", 1, "--out", "expert.safetensors", "--json"
    )
    assert code == 0, complaint
    report = json.loads(printed)
    assert report["algorithm"] == "idqn"  # what suits a game that plays one episode at a time
    assert len(report["curve"]) == 3
    assert {"mean", "median", "worst", "jammed"} <= report["expert"].keys()
    game = hydraviper.make(STREET)
    assert isinstance(store.load(Path("expert.safetensors"), game), LocalQExpert)
    budget = ["--iterations", 2, "--train-budget", 2, "--valid-budget", 2, "--episodes", 2, "--workers", 1]
    assert call("distill", STREET, *budget, "--expert", "expert.safetensors", "--out", "run")[0] == 0
