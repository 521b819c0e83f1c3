"""Joint critics by fitted Q-evaluation: against exact values, on disk, and as a user calls for them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

critics = pytest.importorskip("hydraviper.experts.critics", exc_type=ImportError)

import hydraviper  # noqa: E402
from hydraviper.data import Agent, Score  # noqa: E402
from hydraviper.experts import store  # noqa: E402
from hydraviper.experts.exploring import Exploring  # noqa: E402
from hydraviper.experts.frap import SHAPES, FrapNetwork, FrapQ  # noqa: E402
from hydraviper.experts.local_q import LocalQExpert, NetworkQ  # noqa: E402
from hydraviper.experts.networks import CriticExpert  # noqa: E402
from tests.helpers.command_line import refuses  # noqa: E402
from tests.helpers.experts import random_expert  # noqa: E402
from tests.helpers.street import STREET  # noqa: E402


@pytest.fixture(autouse=True)
def short_rollouts_are_kept(monkeypatch):
    """Rollouts of the tests' street are over so soon that nobody would keep them."""
    monkeypatch.setattr("hydraviper.runs.critic.QUICK", 0.0)


pytestmark = pytest.mark.slow

PLACES, ACTIONS, GAMMA = 4, (2, 3), 0.8
REWARDS = np.random.default_rng(3).normal(size=(PLACES, *ACTIONS, 2))


class Ring:
    """Two agents move one token around a ring of four places; the joint action decides what each is paid."""

    name, parameters, horizon, width = "ring", {}, 12, None
    agents = tuple(
        Agent(f"agent-{i}", tuple("abcd"), tuple(f"do {a}" for a in range(count))) for i, count in enumerate(ACTIONS)
    )
    teams = ((0, 1),)
    score = Score("pay", "", lower_is_better=False, weights=(1.0, 1.0))

    def reset(self, seeds):
        self.place, self.clock = (seeds % np.uint64(PLACES)).astype(int), 0
        return self._observe()

    def step(self, actions):
        self.clock += 1
        paid = REWARDS[self.place, actions[:, 0], actions[:, 1]]
        self.place = _next(self.place, actions[:, 0], actions[:, 1])
        return self._observe(), paid, np.full(len(paid), self.clock >= self.horizon)

    def measures(self):
        return {}

    def _observe(self):
        return [np.eye(PLACES, dtype=np.float32)[self.place]] * 2


class Walker:
    """What is valued: a fixed action at every place."""

    def act(self, observations):
        place = observations[0].argmax(axis=1)
        return np.stack([place % 2, place % 3], axis=1)


def _next(place, first, second):
    return (place + first + 2 * second + 1) % PLACES


def exact():
    """Q [places, A0, A1, N] of the walker, by going round until nothing changes."""
    values = np.zeros((PLACES, *ACTIONS, 2))
    where = np.array([[[_next(p, a, b) for b in range(ACTIONS[1])] for a in range(ACTIONS[0])] for p in range(PLACES)])
    for _ in range(200):
        follows = np.array([values[p, p % 2, p % 3] for p in range(PLACES)])
        values = REWARDS + GAMMA * follows[where]
    return values


def test_values_are_the_exact_ones_and_the_worst_case_is_found():
    settings = critics.CriticSettings(
        rollouts=300,
        most_random=1,
        gamma=GAMMA,
        hidden=32,
        updates=3000,
        batch=128,
        weight_decay=0,
        tau=0.02,
    )
    seen = []
    fit = critics.fit(Ring(), Walker(), settings, on_progress=lambda *what: seen.append(what))
    truth = exact()
    rows = np.array(list(itertools.product(range(PLACES), range(ACTIONS[0]), range(ACTIONS[1]))))
    observations, actions = [np.eye(PLACES, dtype=np.float32)[rows[:, 0]]] * 2, np.ascontiguousarray(rows[:, 1:])
    wanted = truth[rows[:, 0], rows[:, 1], rows[:, 2]]
    values = fit.expert.q(observations, actions)
    assert np.abs(values - wanted).max() < 0.1 * wanted.std()
    worst = fit.expert.worst_team_q(observations, actions, (0, 1))
    np.testing.assert_allclose(worst, truth.mean(axis=3).min(axis=(1, 2))[rows[:, 0]], atol=0.1 * wanted.std())
    np.testing.assert_array_equal(fit.expert.act(observations), Walker().act(observations))
    assert min(fit.explained) > 0.99
    assert min(fit.correlation) > 0.9
    assert seen[-1] == ("checks", 1, 1)
    assert fit.rollouts == 300
    with pytest.raises(hydraviper.InputError, match="only a trained expert or a yardstick"):
        store.save(fit.expert, Path("nowhere.safetensors"))


class Repeated:
    """Plays given actions [B, T, N]."""

    def __init__(self, actions):
        self.steps = iter(actions.transpose(1, 0, 2))

    def act(self, observations):
        return next(self.steps)


def test_who_explores_does_so_by_seed_and_step(navigation):
    script = store.yardstick(navigation, "nobody moves")
    seeds = np.arange(40, dtype=np.uint64)
    explorer = Exploring(script, (5, 5, 5), 1.0, 7)
    played = hydraviper.play(navigation, explorer, seeds, record=True)
    actions = explorer.changed(np.zeros((1000, 3), int), np.repeat(seeds, 25), np.tile(np.arange(25), 40))
    random = (actions.reshape(40, 25, 3) != 0).mean(axis=(1, 2))
    assert random.min() < 0.1
    assert random.max() > 0.7
    assert 0.3 < random.mean() < 0.5  # half of them, of which a fifth stays
    assert np.abs(np.bincount(actions[:, 1], minlength=5)[1:] / len(actions) - 0.1).max() < 0.04
    parts = [hydraviper.play(navigation, explorer, own, record=True) for own in (seeds[:7], seeds[7:])]
    np.testing.assert_array_equal(hydraviper.Rollouts.join(parts).observations[0], played.observations[0])
    replayed = hydraviper.play(navigation, Repeated(actions.reshape(40, 25, 3)), seeds)
    np.testing.assert_array_equal(replayed.returns, played.returns)
    assert (explorer.changed(actions, seeds[[0] * 1000] + np.uint64(1), np.arange(1000)) != actions).any()
    np.testing.assert_array_equal(played.rewards.reshape(40, -1, 3).sum(axis=1), played.returns)


def test_a_script_gets_values_and_a_file(navigation, tmp_path):
    rule = store.yardstick(navigation, "best assignment")
    settings = critics.CriticSettings(rollouts=100, checks=20, updates=400, hidden=16)
    fit = critics.fit(navigation, rule, settings)
    again = critics.fit(navigation, rule, settings)
    assert store.digest(fit.expert) == store.digest(again.expert)
    path = tmp_path / "script.safetensors"
    store.save(fit.expert, path)
    loaded = hydraviper.load_expert(path, navigation)
    observations = hydraviper.play(navigation, rule, np.arange(5, dtype=np.uint64), record=True).observations
    np.testing.assert_array_equal(loaded.act(observations), rule.act(observations))
    same_values(loaded, fit.expert, observations)
    assert store.digest(loaded) == store.digest(fit.expert)
    with pytest.raises(hydraviper.InputError, match="load it with its game"):
        hydraviper.load_expert(path).act(observations)
    with pytest.raises(hydraviper.InputError, match="is an expert for cooperative-navigation"):
        hydraviper.load_expert(path, hydraviper.make("physical-deception"))
    small = hydraviper.Settings(iterations=3, train_budget=6, valid_budget=6, rollouts_per_iteration=4)
    assert set(hydraviper.distill(navigation, loaded, small).profile.students) == {0, 1, 2}


def test_actors_keep_acting_and_get_new_critics(deception):
    expert = random_expert(deception)
    fit = critics.fit(deception, expert, critics.CriticSettings(rollouts=20, checks=4, updates=40, hidden=8))
    assert fit.expert.actors == expert.actors
    assert fit.expert.critics[0].layers[1].shape == (8,)
    assert store.kind_of(fit.expert) == store.JOINT


def same_values(first, second, observations):
    actions = second.act(observations)
    np.testing.assert_array_equal(first.q(observations, actions), second.q(observations, actions))
    np.testing.assert_array_equal(
        first.worst_team_q(observations, actions, (0, 1)), second.worst_team_q(observations, actions, (0, 1))
    )


def local_expert(game, kind="network"):
    """An untrained IDQN or MPLight expert."""
    if kind == "network":
        return LocalQExpert(tuple(NetworkQ(actor) for actor in random_expert(game).actors), {"game": game.name})
    draws = np.random.default_rng(0)
    network = FrapNetwork(tuple(draws.normal(size=shape).astype(np.float32) for shape in SHAPES.values()))
    pairs = zip(game.offers.graph.served, game.agents, strict=True)
    return LocalQExpert(tuple(FrapQ(network, own, len(agent.features)) for own, agent in pairs), {"game": game.name})


@pytest.mark.parametrize("kind", ["network", "frap"])
def test_a_local_expert_with_critics_on_disk(street, tmp_path, kind):
    local, other = local_expert(street, kind), random_expert(street, seed=1)
    expert = CriticExpert(
        local, other.critics, other.observation_sizes, other.action_counts, {"game": street.name, "policy": {"x": 1}}
    )
    store.save(expert, tmp_path / "expert.safetensors")
    loaded = hydraviper.load_expert(tmp_path / "expert.safetensors", street)
    played = hydraviper.play(street, local, np.arange(1, dtype=np.uint64), record=True)
    np.testing.assert_array_equal(loaded.act(played.observations), local.act(played.observations))
    same_values(loaded, expert, played.observations)
    assert loaded.policy.about == {"x": 1}
    assert store.policy_digest(loaded) == store.policy_digest(local)  # critics do not act
    assert store.digest(loaded) != store.digest(local)


def test_from_a_local_q_to_teams_by_influence(call, street):
    store.save(local_expert(street), Path("local.safetensors"))
    budget = ["--iterations", 2, "--train-budget", 2, "--valid-budget", 2, "--episodes", 2, "--workers", 1]
    teams = ["--partition", "marginal-metis", "--teams", 2]
    refuses(
        call, "hydraviper critic", "distill", STREET, "--expert", "local.safetensors", *teams, *budget, "--out", "run"
    )
    fit = ["critic", STREET, "--rollouts", 10, "--updates", 40, "--workers", 1]
    code, printed, complaint = call(*fit, "--expert", "local.safetensors", "--out", "joint.safetensors", "--json")
    assert code == 0, complaint
    report = json.loads(printed)
    assert len(report["held_out_error"]) == len(report["correlation_with_returns"]) == 2
    assert report["rollouts"] == 10
    assert not list(Path().glob("*.rollouts"))
    code, printed, complaint = call(
        "distill", STREET, "--expert", "joint.safetensors", *teams, *budget, "--out", "run", "--json"
    )
    assert code == 0, complaint
    assert json.loads(printed)["teams"] == [["signal-1"], ["signal-2"]]
    refuses(call, "already exists", *fit, "--expert", "local.safetensors", "--out", "joint.safetensors")


@pytest.mark.parametrize(
    ("sentence", "arguments"),
    [
        ("leaves agents of traffic to themselves", [STREET, "--yardstick", "fixed time", "--rollouts", 10]),
        ("no yardstick 'magic': choose one of agent i", ["cooperative-navigation", "--yardstick", "magic"]),
        ("--rollouts must be at least 10", ["cooperative-navigation", "--rollouts", 3]),
        ("--updates must be at least 1", ["cooperative-navigation", "--updates", 0]),
        ("not both", ["cooperative-navigation", "--yardstick", "nobody moves", "--expert", "x.safetensors"]),
    ],
)
def test_wrong_calls(call, sentence, arguments):
    refuses(call, sentence, "critic", *arguments, "--workers", 1)


def test_the_command_values_a_script(call):
    script = ["critic", "cooperative-navigation", "--yardstick", "best assignment", "--rollouts", 50, "--updates", 100]
    code, printed, complaint = call(*script)
    assert code == 0, complaint
    assert "correlation with returns" in printed
    assert Path("cooperative-navigation-best-assignment-critic-0.safetensors").is_file()


def test_values_look_no_further_ahead_than_episodes_can_show(navigation):
    """With MPLight's discount the returns that follow depend on how much of an episode is left; IDQN's may stay."""
    assert critics.longest_discount(125) == pytest.approx(0.95)
    assert critics.longest_discount(1000) == pytest.approx(0.99)
    walker = Walker()
    for trained, kept in ((0.99, 0.95), (0.95, 0.95), (0.9, 0.9), (0.0, 0.0)):
        walker.about = {"settings": {"gamma": trained}}
        assert critics.settings_for(navigation, walker).gamma == pytest.approx(kept)
    walker.about = {}
    assert critics.settings_for(navigation, walker).gamma == critics.CriticSettings.gamma


@pytest.mark.slow
def test_critics_of_neighbours_look_at_nobody_else(street):
    """Two signals on a street, and one hop is both; with none, each critic looks at its own signal."""
    agents = len(street.agents)
    policy = store.yardstick(street, "longest queue")
    settings = critics.CriticSettings(rollouts=10, updates=40, checks=2, hops=0)
    expert = critics.fit(street, policy, settings).expert
    assert [expert.scope_of(i, tuple(range(agents))) for i in range(agents)] == [(i,) for i in range(agents)]
    seen = street.reset(np.arange(4, dtype=np.uint64)[:1])
    before = expert.q(seen, np.zeros((1, agents), int))
    moved = [rows + (1.0 if i > 0 else 0.0) for i, rows in enumerate(seen)]
    after = expert.q([rows.astype(np.float32) for rows in moved], np.zeros((1, agents), int))
    assert before[0, 0] == after[0, 0]
    assert critics.neighbourhoods(street, 1).all() == (agents <= 2)


def test_a_game_without_a_graph_has_no_neighbours(navigation):
    with pytest.raises(hydraviper.InputError, match="without --hops"):
        critics.neighbourhoods(navigation, 1)
