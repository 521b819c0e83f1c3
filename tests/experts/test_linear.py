"""Linear rules for signals: what they value, and that tuning finds better ones."""

from __future__ import annotations

import numpy as np
import pytest

import hydraviper
from hydraviper.experts import linear, store
from tests.helpers.street import street_with

QUICK = linear.LinearSettings(episodes=48, candidates=4, episodes_each=2, validation=4)


@pytest.mark.parametrize("near", [0, 100])
def test_a_phase_is_worth_what_it_lets_go(near):
    """Against a loop over the movements of every phase."""
    game = hydraviper.make(street_with(memory=1, reach=200, near=near))
    weights = np.array([0.5, 0.25, 2.0, 0.01, *([0.125] if near else [])])
    expert = linear._Search(game, QUICK, None, lambda status: None).expert(weights)
    draws = np.random.default_rng(0)
    seen = [draws.integers(0, 9, (20, len(agent.features))).astype(np.float32) for agent in game.agents]
    for i, agent in enumerate(game.agents):
        at = {name: k for k, name in enumerate(agent.features)}
        values = expert.q_functions[i].values(seen[i])
        for row, phase in np.ndindex(values.shape):
            worth = 2.0 * seen[i][row, at[f"phase {phase + 1} is green"]]
            worth += 0.01 * seen[i][row, at[f"phase {phase + 1} has been red for, s"]]
            for group in game.network.signals[i].groups:
                if phase in group.phases:
                    queue, moving, pressure = (
                        float(seen[i][row, at[f"{what} from {group.name}"]]) for what in ("queue", "moving", "pressure")
                    )
                    worth += queue + 0.5 * moving + 0.25 * (pressure - queue)
                    worth += 0.125 * float(seen[i][row, at[f"coming from {group.name}"]]) if near else 0
            assert values[row, phase] == pytest.approx(worth, abs=1e-4)


@pytest.mark.slow
def test_tuning_repeats_and_is_kept_in_a_file(tmp_path):
    game = hydraviper.make(street_with(score="delay"))
    first, again = (linear.train(game, QUICK) for _ in range(2))
    assert first.score == again.score
    store.save(first.expert, tmp_path / "linear.safetensors")
    loaded = store.load(tmp_path / "linear.safetensors", game)
    assert store.digest(loaded) == store.digest(again.expert)
    assert loaded.about["algorithm"] == "linear"
    assert [status.episodes for status in first.curve] == [4 * number for number in range(1, 11)]


def test_linear_rules_are_for_signals():
    game = hydraviper.make("cooperative-navigation")
    with pytest.raises(hydraviper.InputError, match="are for traffic signals"):
        linear.train(game, QUICK)
    with pytest.raises(hydraviper.InputError, match="which loops do not tell"):
        linear.train(hydraviper.make(street_with(detectors="loops", seconds_per_step=10)), QUICK)
    with pytest.raises(hydraviper.InputError, match="at least 80 episodes"):
        linear.LinearSettings(episodes=79)


def test_few_episodes_are_spread_over_rounds():
    each = {episodes: linear.LinearSettings(episodes=episodes).played_by_each for episodes in (80, 260, 960, 5000)}
    assert each == {80: 1, 260: 1, 960: 4, 5000: 5}


@pytest.mark.parametrize("shared", [True, False])
def test_own_weights_are_judged_by_what_a_signal_and_its_neighbours_lose(shared):
    """Against a loop over the signals; shared weights are judged by the score."""
    game = hydraviper.make("ingolstadt-corridor:steps=2")
    search = linear._Search(game, linear.LinearSettings(), None, lambda status: None)
    signals, kinds = len(game.agents), len(search.kinds)
    draws = np.random.default_rng(0)
    candidates = draws.normal(size=(8, kinds * (1 if shared else signals)))
    returns = [draws.normal(size=(3, signals)) for _ in candidates]
    elite = search._elite(candidates, returns)
    assert elite.shape == (2, candidates.shape[1])
    for i in range(1 if shared else signals):
        beside = {i, *(a + b - i for a, b in game.offers.graph.neighbours if i in (a, b))}
        judges = range(signals) if shared else beside
        lost = [-sum(one[:, j].mean() for j in judges) for one in returns]
        block = slice(i * kinds, (i + 1) * kinds)
        np.testing.assert_array_equal(elite[:, block], candidates[np.argsort(lost)[:2], block])


def test_the_first_round_tries_long_greens(monkeypatch):
    tried = []
    game = hydraviper.make(street_with(memory=1))
    search = linear._Search(game, QUICK, None, lambda status: None)
    monkeypatch.setattr(search, "expert", tried.append)
    monkeypatch.setattr(search, "returns", lambda policies, seeds: [np.zeros((1, 2)) for _ in policies])
    start, spread = np.array([linear.KINDS[kind] for kind in search.kinds]).T
    search.around(start, np.maximum(spread, 1e-3), 0.2)
    first = np.abs(np.array(tried[: QUICK.candidates])[:, search.kinds.index("green")])
    assert first[1::2].mean() > 2 * first[0]
