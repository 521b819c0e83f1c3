"""Values of each agent's own actions by fitted Q-evaluation: against exact values, and with a rule on disk."""

from __future__ import annotations

import numpy as np
import pytest

local_critics = pytest.importorskip("hydraviper.experts.local_critics", exc_type=ImportError)

import hydraviper  # noqa: E402
from hydraviper.data import Agent, Score  # noqa: E402
from hydraviper.experts import store  # noqa: E402
from hydraviper.experts.critics import CriticSettings  # noqa: E402
from tests.helpers.street import STREET  # noqa: E402

pytestmark = pytest.mark.slow

PLACES, ACTIONS, GAMMA = 4, (2, 3), 0.8
REWARDS = [np.random.default_rng(i).normal(size=(PLACES, count)) for i, count in enumerate(ACTIONS)]


class Rings:
    """Each agent moves a token of its own around a ring of four places; its own move decides what it is paid."""

    name, parameters, horizon, width = "rings", {}, 12, None
    agents = tuple(
        Agent(f"agent-{i}", tuple("abcd"), tuple(f"do {a}" for a in range(count))) for i, count in enumerate(ACTIONS)
    )
    teams = ((0, 1),)
    score = Score("pay", "", lower_is_better=False, weights=(1.0, 1.0))

    def reset(self, seeds):
        self.places = [(seeds // np.uint64(4**i) % np.uint64(PLACES)).astype(int) for i in range(2)]
        self.clock = 0
        return self._observe()

    def step(self, actions):
        self.clock += 1
        paid = np.stack([REWARDS[i][self.places[i], actions[:, i]] for i in range(2)], axis=1)
        self.places = [(self.places[i] + actions[:, i] + 1) % PLACES for i in range(2)]
        return self._observe(), paid, np.full(len(paid), self.clock >= self.horizon)

    def measures(self):
        return {}

    def _observe(self):
        return [np.eye(PLACES, dtype=np.float32)[place] for place in self.places]


class Walker:
    """What is valued: a fixed action at every place."""

    def act(self, observations):
        return np.stack(
            [seen.argmax(axis=1) % count for seen, count in zip(observations, ACTIONS, strict=True)], axis=1
        )


def exact(i):
    """Q [places, actions] of the walker's token i, by going round until nothing changes."""
    values = np.zeros((PLACES, ACTIONS[i]))
    where = (np.arange(PLACES)[:, None] + np.arange(ACTIONS[i]) + 1) % PLACES
    for _ in range(200):
        follows = values[np.arange(PLACES), np.arange(PLACES) % ACTIONS[i]]
        values = REWARDS[i] + GAMMA * follows[where]
    return values


def test_values_are_the_exact_ones():
    learning = {"hidden": 32, "updates": 3000, "batch": 128, "weight_decay": 0, "tau": 0.02}
    settings = CriticSettings(rollouts=300, most_random=1, gamma=GAMMA, **learning)
    fit = local_critics.fit(Rings(), Walker(), settings)
    everywhere = [np.eye(PLACES, dtype=np.float32)] * 2
    least = np.zeros(PLACES)
    for i in range(2):
        truth = exact(i)
        values = fit.expert.q_functions[i].values(everywhere[i])
        assert np.abs(values - truth).max() < 0.1 * truth.std()
        least += values.min(axis=1) / 2
    np.testing.assert_allclose(fit.expert.worst_team_q(everywhere, np.zeros((PLACES, 2), int), (0, 1)), least)
    np.testing.assert_array_equal(fit.expert.act(everywhere), Walker().act(everywhere))
    assert min(fit.explained) > 0.99
    assert min(fit.correlation) > 0.8  # the horizon cuts returns off, not values


def test_a_rule_with_values_comes_back_from_its_file(tmp_path):
    game = hydraviper.make(STREET)
    rule = store.yardstick(game, "longest queue")
    fit = local_critics.fit(game, rule, CriticSettings(rollouts=10, checks=2, updates=40))
    store.save(fit.expert, tmp_path / "rule.safetensors")
    loaded = store.load(tmp_path / "rule.safetensors", game)
    assert store.digest(loaded) == store.digest(fit.expert)
    assert store.policy_digest(loaded) == store.policy_digest(rule)  # it acts as the rule, whatever its values are
    played = hydraviper.play(game, rule, np.arange(1, dtype=np.uint64), record=True)
    seen = played.observations
    np.testing.assert_array_equal(loaded.act(seen), rule.act(seen))
    np.testing.assert_array_equal(loaded.q(seen, loaded.act(seen)), fit.expert.q(seen, rule.act(seen)))
    with pytest.raises(hydraviper.InputError, match="load it with its game"):
        store.load(tmp_path / "rule.safetensors").act(seen)
