"""Weights against their definitions, and counting draws against drawing rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hydraviper.data import InputError
from hydraviper.dataset import Dataset
from hydraviper.engines.local import LocalEngine
from hydraviper.ledger import Ledger
from hydraviper.settings import Settings
from hydraviper.steps import resample
from hydraviper.steps.task import Task
from tests.helpers.experts import random_expert


@pytest.fixture
def deception_task(deception):
    expert = random_expert(deception, seed=1)
    task = Task(deception, expert, LocalEngine(lambda: deception), Settings(), Ledger())
    draws = np.random.default_rng(0)
    observations = [draws.normal(size=(80, len(agent.features))).astype(np.float32) for agent in deception.agents]
    dataset = Dataset((1, 2), [len(agent.features) for agent in deception.agents])
    dataset.extend(observations, expert.act(observations), episodes=8)  # of 10 steps each
    return task, dataset


def all_values(task, dataset, team, others=None):
    """Every agent's value of every joint action of the team, [J, S, N]."""
    values = []
    for choice in itertools.product(range(5), repeat=len(team)):
        played = dataset.actions.copy()
        played[:, list(team)] = choice
        if others is not None:
            played[:, 0] = others
        values.append(task.expert.q(dataset.observations, played))
    return np.stack(values)


def test_team_weights(deception_task):
    task, dataset = deception_task
    best = task.expert.q(dataset.observations, dataset.actions)[:, [1, 2]].mean(axis=1)
    worst = all_values(task, dataset, (1, 2))[:, :, [1, 2]].mean(axis=2).min(axis=0)
    weights = resample.team_weights(task, dataset, slice(0, 80))
    np.testing.assert_allclose(weights[:, 0], best - worst, atol=1e-3)


def test_own_weights(deception_task):
    task, dataset = deception_task
    best = task.expert.q(dataset.observations, dataset.actions)
    weights = resample.own_weights(task, dataset, slice(0, 80))
    for column, i in enumerate((1, 2)):
        worst = all_values(task, dataset, (i,))[:, :, i].min(axis=0)
        np.testing.assert_allclose(weights[:, column], best[:, i] - worst, atol=1e-3)


def test_joint_weights_average_over_the_adversary(deception_task):
    task, dataset = deception_task
    best = task.expert.q(dataset.observations, dataset.actions)
    weights = resample.joint_weights(task, dataset, slice(0, 80))
    for column, i in enumerate((1, 2)):
        worst = np.mean([all_values(task, dataset, (1, 2), other)[:, :, i].min(axis=0) for other in range(5)], axis=0)
        np.testing.assert_allclose(weights[:, column], best[:, i] - worst, atol=1e-3)


def test_range_weights(deception_task):
    task, dataset = deception_task
    weights = resample.range_weights(task, dataset, slice(0, 80))
    for column, i in enumerate((1, 2)):
        values = all_values(task, dataset, (i,))[:, :, i]
        np.testing.assert_allclose(weights[:, column], values.max(axis=0) - values.min(axis=0), atol=1e-3)


def test_averaged_weights_judge_the_expert_against_any_adversary(deception_task):
    task, dataset = deception_task
    weights = resample.averaged_weights(task, dataset, slice(0, 80))
    everything = np.mean([all_values(task, dataset, (1, 2), other) for other in range(5)], axis=0)
    chosen = dataset.actions[:, 1] * 5 + dataset.actions[:, 2]
    for column, i in enumerate((1, 2)):
        best = everything[chosen, np.arange(80), i]
        np.testing.assert_allclose(weights[:, column], best - everything[:, :, i].min(axis=0), atol=1e-3)


def test_without_weights_all_samples_are_drawn_alike_and_the_drop_count_stays(deception_task):
    task, dataset = deception_task
    _, dropped = resample.resample(task, dataset, 1, resample.team_weights)
    drawn, dropped_too = zip(
        *(resample.resample(task, dataset, k, resample.team_weights, evenly=True) for k in range(1, 400)), strict=True
    )
    assert set(dropped_too) == {dropped}
    assert dataset.weights.std() > 0.1 * dataset.weights.mean()  # so that a weighted draw would be seen
    np.testing.assert_allclose(np.mean(drawn, axis=0), 1.0, atol=0.25)


@pytest.mark.slow
def test_counting_draws_is_drawing_rows():
    """The counts have the distribution of `choice` with replacement: same mean, same variance."""
    weights = np.array([0.0, 1.0, 2.0, 5.0, 2.0])
    draws = np.random.default_rng(0)
    ours = np.array([resample._draw(weights, draws) for _ in range(20_000)])
    rows = np.array([np.bincount(draws.choice(5, 5, p=weights / weights.sum()), minlength=5) for _ in range(20_000)])
    assert (ours.sum(axis=1) == 5).all()
    assert (ours[:, 0] == 0).all()
    np.testing.assert_allclose(ours.mean(axis=0), rows.mean(axis=0), atol=0.03)
    np.testing.assert_allclose(np.cov(ours.T), np.cov(rows.T), atol=0.04)


def test_weights_are_computed_once_and_clipped(deception_task):
    task, dataset = deception_task
    asked = []

    def weigh(task, dataset, rows):
        asked.append((rows.start, rows.stop))
        return np.linspace(-1, 1, rows.stop - rows.start)[:, None]

    counts, dropped = resample.resample(task, dataset, 1, weigh)
    assert counts.shape == (2, 80)
    assert (counts[0] == counts[1]).all()
    assert counts[0, :40].sum() == 0  # negative weights became 0 and are never drawn
    again, _ = resample.resample(task, dataset, 1, weigh)
    np.testing.assert_array_equal(again, counts)
    assert asked == [(0, 80)]
    # the 0.3 quantile of weights of which half are 0: those 40 samples are four rollouts of 10 steps
    assert dropped == 4


def test_a_threshold_overrides_the_quantile(deception_task):
    task, dataset = deception_task
    task = Task(task.game, task.expert, task.engine, Settings(drop_threshold=0.25), task.ledger)
    weigh = lambda task, dataset, rows: np.linspace(0, 1, 80)[:, None]  # noqa: E731
    assert resample.resample(task, dataset, 1, weigh)[1] == 2  # 20 samples are two rollouts of 10


def test_values_that_are_not_numbers_are_refused(deception_task):
    task, dataset = deception_task
    with pytest.raises(InputError, match="not a number"):
        resample.resample(task, dataset, 1, lambda task, dataset, rows: np.full((80, 1), np.nan))
