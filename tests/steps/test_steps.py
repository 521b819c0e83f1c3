"""Budgets, allocation, selection and partition by the rules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import hydraviper
from hydraviper.data import Rollouts
from hydraviper.experts.local_q import LocalQExpert, NetworkQ
from hydraviper.ledger import Ledger
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.settings import Settings
from hydraviper.steps import partition, select
from hydraviper.steps.task import Task
from tests.helpers.experts import random_expert


def run(game, algorithm="hydraviper", **settings):
    expert = hydraviper.shipped_expert(game)
    return hydraviper.distill(game, expert, Settings(**settings), hydraviper.VARIANTS[algorithm])


def test_adaptive_rollouts_never_exceed_the_budget(game):
    result = run(game, iterations=12, drop_quantile=0.5, train_budget=47, valid_budget=100, rollouts_per_iteration=10)
    assert result.ledger.rollouts["warmup"] == 10
    assert result.ledger.rollouts["train"] == 47
    assert result.ledger.rollouts["valid"] <= 100
    taken = [line.rollouts for line in result.ledger.lines]
    dropped = [line.dropped for line in result.ledger.lines]
    assert taken[0] == 10
    for now, before, spent in zip(taken[1:], dropped[:-1], np.cumsum(taken)[:-1] - 10, strict=True):
        assert now == min(before, 10, 47 - spent)
    assert not result.ledger.notes


def test_a_budget_left_over_is_said(navigation):
    result = run(navigation, iterations=3, train_budget=500, valid_budget=9, rollouts_per_iteration=10)
    assert any("of 500 training rollouts" in note for note in result.ledger.notes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "warmup", "train", "valid"),
    [
        ("hydraviper-without-tra", 5, 50, 60),
        ("hydraviper-without-cq", 5, 45, 60),
        ("hydraviper-without-ucb", 5, 45, 60),
        ("hydraviper-without-tra-ucb", 5, 50, 60),
        ("hydraviper-no-weights", 5, 45, 60),
        ("maviper", 5, 45, 60),
        ("maviper-authors", 5, 45, 60),
        ("iviper-joint", 5, 45, 60),
        ("iviper-together", 5, 45, 60),
        ("iviper-authors", 5, 45, 60),
        ("iviper-max-min", 6, 44, 60),
        ("iviper-split", 6, 44, 60),
        ("iviper", 6, 44, 60),  # three agents with data and validation of their own share the budgets
        ("imitation", 0, 50, 0),
    ],
)
def test_what_each_algorithm_spends(navigation, algorithm, warmup, train, valid):
    budgets = {"iterations": 10, "train_budget": 50, "valid_budget": 60, "rollouts_per_iteration": 5}
    # a quantile of 1 drops the whole warm-up, so that adaptive collection always asks for all it may have
    result = run(navigation, algorithm, **budgets, drop_quantile=1.0)
    spent = result.ledger.rollouts
    assert (spent["warmup"], spent["train"]) == (warmup, train)
    assert valid - 3 <= spent["valid"] <= valid
    assert set(result.profile.students) == {0, 1, 2}
    assert all(tree.depth <= 4 for tree in result.profile.students.values())


def test_viper_for_one_agent():
    game = hydraviper.make("cooperative-navigation:agents=1")
    settings = Settings(iterations=5, train_budget=100, valid_budget=50, rollouts_per_iteration=20)
    expert = random_expert(game)
    result = hydraviper.distill(game, expert, settings, hydraviper.VARIANTS["viper"])
    assert set(result.profile.students) == {0}
    seeds = np.arange(200, dtype=np.uint64)
    trees, teacher = (hydraviper.play(game, policy, seeds).returns.mean() for policy in (result.profile, expert))
    assert abs(trees - teacher) < 0.3 * abs(teacher)


@pytest.mark.slow
def test_any_scikit_learn_classifier_stands_in(navigation, small):
    expert = hydraviper.shipped_expert(navigation)
    tree = hydraviper.VARIANTS["hydraviper"].with_classifier(DecisionTreeClassifier(max_depth=3, random_state=0))
    students = hydraviper.distill(navigation, expert, small, tree).profile.students
    assert all(isinstance(student, hydraviper.Tree) and student.depth <= 3 for student in students.values())
    few = replace(small, iterations=2)
    for model in (RandomForestClassifier(3, max_depth=3, random_state=0), KNeighborsClassifier(3)):
        variant = hydraviper.VARIANTS["hydraviper"].with_classifier(model)
        profile = hydraviper.distill(navigation, expert, few, variant).profile
        assert np.isfinite(hydraviper.play(navigation, profile, np.arange(5, dtype=np.uint64)).returns).all()


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [name for name in hydraviper.VARIANTS if name.startswith("hydraviper-")])
def test_every_ablation_has_as_many_rollouts_as_hydraviper(navigation, algorithm):
    budgets = {
        "iterations": 20,
        "train_budget": 50,
        "valid_budget": 60,
        "rollouts_per_iteration": 5,
        "drop_quantile": 1.0,
    }
    whole, part = (run(navigation, name, **budgets).ledger.rollouts for name in ("hydraviper", algorithm))
    assert (part["warmup"], part["train"]) == (whole["warmup"], whole["train"]) == (5, 50)


@pytest.mark.parametrize("algorithm", ["iviper", "maviper", "iviper-joint"])
def test_a_budget_smaller_than_its_parts_is_spread_and_spent(navigation, algorithm):
    result = run(navigation, algorithm, iterations=10, train_budget=7, valid_budget=30)
    assert result.ledger.rollouts["warmup"] + result.ledger.rollouts["train"] == 7
    assert result.ledger.lines[0].rollouts >= 1


def test_every_team_needs_a_rollout(navigation):
    with pytest.raises(hydraviper.InputError, match="--train-budget must be at least 3"):
        run(navigation, "iviper", iterations=10, train_budget=2, valid_budget=10)


def test_workers_that_would_share_a_game_are_refused(navigation):
    with pytest.raises(hydraviper.InputError, match="a game each"):
        hydraviper.LocalEngine(lambda: navigation, workers=2)


class Bandit:
    """An engine whose students pay a mean of their own plus noise that depends on the seed, and counts pulls."""

    workers = 1

    def __init__(self, means, noise=1.0, common=0.0):
        self.means, self.noise, self.common = means, noise, common
        self.pulls, self.expert = np.zeros(len(means), int), 0

    def play_many(self, policies, seeds):
        rollouts = []
        for policy, own in zip(policies, seeds, strict=True):
            arm = policy.students.get(0, len(self.means) - 1)  # the expert plays like the last one
            self.pulls[arm] += len(own) if policy.students else 0
            self.expert += 0 if policy.students else len(own)
            shared = np.array([np.random.default_rng(int(seed)).normal() for seed in own])
            private = np.array([np.random.default_rng([int(seed), arm]).normal() for seed in own])
            returns = self.means[arm] + self.common * shared + self.noise * private
            rollouts.append(Rollouts(returns[:, None] * 25, np.full(len(own), 25)))
        return rollouts


@pytest.mark.slow
@pytest.mark.parametrize("way", ["race", "ucb1", "ucb1-normal", "ucb1-expert", "uniform"])
def test_every_way_of_selection_keeps_the_budget_and_finds_the_best(navigation, way):
    means = np.linspace(-3, 0, 20)
    found = []
    for seed in range(5):
        bandit = Bandit(means)
        settings = Settings(seed=seed, selection=way, valid_budget=800, ucb_scale=1.0)
        task = Task(navigation, hydraviper.shipped_expert(navigation), bandit, settings, Ledger())
        choice = select.by_settings(task, (0,), [{0: arm} for arm in range(20)])
        assert bandit.pulls.sum() + bandit.expert == task.ledger.rollouts["valid"] <= 800
        assert bandit.pulls.tolist() == choice.pulls
        found.append(choice.chosen)
    assert np.mean(found) > 17.5


def test_racing_on_common_seeds_beats_ucb_when_episodes_differ(navigation):
    """Where luck of the episode is most of the noise, paired comparison sees through it."""
    means = np.linspace(-1, 0, 32)
    regret = {"race": 0.0, "ucb1": 0.0}
    for way in regret:
        for seed in range(6):
            bandit = Bandit(means, noise=0.3, common=3.0)
            settings = Settings(seed=seed, selection=way, valid_budget=400, ucb_scale=4.0)
            task = Task(navigation, hydraviper.shipped_expert(navigation), bandit, settings, Ledger())
            regret[way] -= means[select.by_settings(task, (0,), [{0: arm} for arm in range(32)]).chosen]
    assert regret["race"] < 0.5 * regret["ucb1"]


@pytest.mark.parametrize("way", ["race", "ucb1", "ucb1-normal", "ucb1-expert", "uniform"])
def test_students_that_play_equally_often_play_the_same_episodes(navigation, way):
    bandit = Bandit(np.linspace(-1, 0, 8), noise=0.0, common=10.0)
    settings = Settings(selection=way, valid_budget=64, ucb_scale=1.0)
    task = Task(navigation, hydraviper.shipped_expert(navigation), bandit, settings, Ledger())
    choice = select.by_settings(task, (0,), [{0: arm} for arm in range(8)])
    luck = {
        pulls: {round(choice.means[arm] - bandit.means[arm], 9) for arm in range(8) if choice.pulls[arm] == pulls}
        for pulls in set(choice.pulls) - {0}
    }
    assert all(len(same) == 1 for same in luck.values())
    assert max(map(choice.pulls.count, choice.pulls)) > 1  # or this would hold of itself


@pytest.mark.parametrize("way", ["race", "ucb1", "ucb1-normal", "ucb1-expert", "uniform"])
@pytest.mark.parametrize("budget", [1, 7, 20, 21])
def test_tiny_validation_budgets(navigation, way, budget):
    bandit = Bandit(np.linspace(-3, 0, 20), noise=0.0)
    task = Task(navigation, None, bandit, Settings(selection=way, valid_budget=budget), Ledger())
    choice = select.by_settings(task, (0,), [{0: arm} for arm in range(20)])
    assert bandit.pulls.sum() <= budget
    assert choice.chosen == 19  # the last student is always among those that play
    if budget < 20:
        assert any("too small for 20 students" in note for note in task.ledger.notes)


def test_two_students_are_both_validated_with_two_rollouts(navigation):
    bandit = Bandit(np.array([0.0, -1.0]), noise=0.0)
    task = Task(navigation, None, bandit, Settings(valid_budget=2), Ledger())
    assert select.by_settings(task, (0,), [{0: 0}, {0: 1}]).chosen == 0
    assert not any("too small" in note for note in task.ledger.notes)


def test_a_race_starts_fewer_students_rather_than_trust_one_rollout_each(navigation):
    """A rare disaster (a jam) shows only to a student that plays often: the winner must have."""
    bandit = Bandit(np.zeros(100), noise=1.0)
    task = Task(navigation, None, bandit, Settings(valid_budget=100), Ledger())
    choice = select.by_settings(task, (0,), [{0: arm} for arm in range(100)])
    assert np.count_nonzero(bandit.pulls) == 12
    assert bandit.pulls[choice.chosen] >= 20
    assert bandit.pulls.sum() <= 100


def test_ucb_says_when_its_warm_up_does_not_fit(navigation):
    bandit = Bandit(np.zeros(100))
    task = Task(navigation, None, bandit, Settings(selection="ucb1", valid_budget=1500), Ledger())
    select.by_settings(task, (0,), [{0: arm} for arm in range(100)])
    assert any("warm-up of 15 rollouts" in note for note in task.ledger.notes)


def partition_task(game, method, teams):
    settings = Settings(partition=method, teams=teams)
    expert = random_expert(game)
    return Task(game, expert, hydraviper.LocalEngine(lambda: game), settings, Ledger())


@pytest.mark.slow
@pytest.mark.parametrize("method", ["random", "contiguous", "marginal-metis", "marginal-kmeans"])
def test_partitions_cover_every_agent_once(method):
    game = hydraviper.make("cooperative-navigation:agents=6")
    teams = partition.by_settings(partition_task(game, method, 2))
    assert sorted(agent for team in teams for agent in team) == list(range(6))
    assert len(teams) == 2
    if method == "contiguous":
        assert teams == ((0, 1, 2), (3, 4, 5))
    if method == "marginal-metis":
        assert {len(team) for team in teams} == {3}


def test_metis_finds_who_influences_whom(monkeypatch):
    game = hydraviper.make("cooperative-navigation:agents=6")
    influence = np.full((6, 6), 0.1)
    for group in ((0, 2, 4), (1, 3, 5)):
        influence[np.ix_(group, group)] = 1.0
    monkeypatch.setattr(partition, "_influence", lambda task, team: influence)
    assert partition.by_settings(partition_task(game, "marginal-metis", 2)) == ((0, 2, 4), (1, 3, 5))
    assert partition.by_settings(partition_task(game, "marginal-kmeans", 2)) == ((0, 2, 4), (1, 3, 5))


def test_influence_is_how_far_an_action_can_push_a_value_down():
    """Against one call of q per action, straight from the paper's delta."""
    game = hydraviper.make("cooperative-navigation:agents=4")
    task = partition_task(game, "marginal-metis", 2)
    team = (0, 2, 3)
    influence = partition._influence(task, team)
    seeds = rollout_seeds(0, Purpose.PARTITION, 0, 20)
    observations = hydraviper.play(game, task.expert, seeds, record=True).observations
    actions = task.expert.act(observations)
    best = task.expert.q(observations, actions)
    delta = np.zeros((3, 3))
    for row, i in enumerate(team):
        tried = []
        for action in range(5):
            played = actions.copy()
            played[:, i] = action
            tried.append(task.expert.q(observations, played))
        delta[row] = (best - np.min(tried, axis=0)).mean(axis=0)[list(team)]
    np.testing.assert_allclose(influence, (delta + delta.T) / 2, rtol=1e-4)
    assert any("20 rollouts beyond the budget" in note for note in task.ledger.notes)
    percent = partition._percentiles(influence)
    others = percent[~np.eye(3, dtype=bool)]
    assert (others.min(), others.max()) == (0, 100)


class Lonely:
    """An expert whose agents only care for their own action, and who does not say so."""

    def __init__(self, expert):
        self.act = expert.act

    def q(self, observations, actions):
        return -np.asarray(actions, float)

    def worst_team_q(self, observations, actions, team, judges=None):
        values = self.q(observations, actions)
        values[:, list(team)] = -4.0
        return values[:, list(judges or team)].mean(axis=1)


@pytest.mark.parametrize("method", ["marginal-metis", "marginal-kmeans"])
def test_local_values_tell_nothing_about_influence(navigation, method):
    task = partition_task(navigation, method, 2)
    for expert in (LocalQExpert(tuple(NetworkQ(actor) for actor in task.expert.actors)), Lonely(task.expert)):
        with pytest.raises(hydraviper.InputError, match=f"--partition {method} .* `hydraviper critic`"):
            partition.by_settings(replace(task, expert=expert))


def test_partitioned_teams_are_distilled(navigation):
    settings = {"iterations": 4, "train_budget": 20, "valid_budget": 40, "rollouts_per_iteration": 10}
    result = run(navigation, partition="contiguous", teams=2, **settings)
    assert result.teams == ((0,), (1, 2))
    assert set(result.profile.students) == {0, 1, 2}


@pytest.mark.parametrize(
    ("method", "teams", "sentence"), [("contiguous", 4, "more than the 3"), ("graph-metis", 2, "no graph")]
)
def test_partitions_that_make_no_sense(navigation, method, teams, sentence):
    with pytest.raises(hydraviper.InputError, match=sentence):
        partition.by_settings(partition_task(navigation, method, teams))
