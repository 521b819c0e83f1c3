"""Resampling: weigh samples by what a wrong action costs (Algorithm 2, C-Q), and the baselines' weights.

A weight depends on the expert and the observation alone (Theorem 1), so each is computed once. Drawing as many rows
as there are, with replacement, is drawing how often each row is taken: counts, which the tree takes as weights.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from hydraviper.data import Dataset, InputError
from hydraviper.seeding import Purpose, generator
from hydraviper.steps.task import Task

Weigh = Callable[[Task, Dataset, slice], np.ndarray]


def resample(task: Task, dataset: Dataset, iteration: int, weigh: Weigh) -> tuple[np.ndarray, float]:
    """Counts [A, S] of how often each member's tree takes each sample, and how many rollouts were dropped."""
    new = slice(len(dataset.weights), len(dataset))
    if new.start < new.stop:
        weights = weigh(task, dataset, new)  # line 1
        if not np.isfinite(weights).all():
            raise InputError("the expert valued a joint action with something that is not a number: train it again.")
        dataset.add_weights(np.maximum(weights, 0))  # a network's own action is not always its critic's best
    dropped = _dropped_rollouts(task, dataset)  # line 2
    draws = generator(task.settings.seed, Purpose.RESAMPLE, iteration, dataset.team[0])
    counts = [_draw(column, draws) for column in dataset.weights.T]  # line 3
    shared = len(counts) == 1
    return np.stack([counts[0 if shared else k] for k in range(len(dataset.team))]), dropped


def team_weights(task: Task, dataset: Dataset, rows: slice) -> np.ndarray:
    """C-Q: the team's mean value of the expert's actions minus that of its worst joint action, [rows, 1]."""
    observations, actions = _part(dataset, rows)
    best = task.expert.q(observations, actions)[:, dataset.team].mean(axis=1)
    return (best - task.expert.worst_team_q(observations, actions, dataset.team))[:, None]


def own_weights(task: Task, dataset: Dataset, rows: slice) -> np.ndarray:
    """IVIPER: each member's value of the expert's actions minus that of its own worst action, [rows, A]."""
    observations, actions = _part(dataset, rows)
    best = task.expert.q(observations, actions)[:, dataset.team]
    worst = [task.expert.worst_team_q(observations, actions, (i,)) for i in dataset.team]
    return best - np.stack(worst, axis=1)


def joint_weights(task: Task, dataset: Dataset, rows: slice) -> np.ndarray:
    """MAVIPER: each member's loss by the team's worst joint action, averaged over the others' actions, [rows, A]."""
    observations, actions = _part(dataset, rows)
    best = task.expert.q(observations, actions)[:, dataset.team]
    others = [i for i in range(len(task.game.agents)) if i not in dataset.team]
    choices = list(itertools.product(*(range(len(task.game.agents[i].actions)) for i in others)))
    worst = np.zeros_like(best)
    for choice in choices:
        played = actions.copy()
        played[:, others] = choice
        for column, i in enumerate(dataset.team):
            worst[:, column] += task.expert.worst_team_q(observations, played, dataset.team, judges=(i,)) / len(choices)
    return best - worst


def take_all(task: Task, dataset: Dataset, iteration: int) -> tuple[np.ndarray, float]:
    """Every sample once (imitation)."""
    return np.ones((len(dataset.team), len(dataset))), math.inf


def _part(dataset: Dataset, rows: slice) -> tuple[list[np.ndarray], np.ndarray]:
    return [seen[rows] for seen in dataset.observations], dataset.actions[rows]


def _dropped_rollouts(task: Task, dataset: Dataset) -> int:
    """K_drop: how many rollouts the samples with a weight of at most epsilon make up."""
    weights = dataset.weights.min(axis=1)
    if task.settings.drop_threshold is not None:
        epsilon = task.settings.drop_threshold
    else:
        # the warm-up's rows come first and their weights never change
        epsilon = np.quantile(weights[: dataset.first_rows], task.settings.drop_quantile)
    return math.ceil((weights <= epsilon).sum() / (len(dataset) / dataset.episodes))


def _draw(weights: np.ndarray, draws: np.random.Generator) -> np.ndarray:
    total = weights.sum()
    chances = weights / total if total > 0 else np.full(len(weights), 1 / len(weights))
    return draws.multinomial(len(weights), chances).astype(np.float64)
