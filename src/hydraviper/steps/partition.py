"""Partition: agents into teams (Algorithm 5 of the paper's text), so that joint actions stay few."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from hydraviper.data import InputError, Team
from hydraviper.profile import Profile
from hydraviper.seeding import Purpose, generator, rollout_seeds
from hydraviper.steps.task import Task

DISTANCE_ROLLOUTS = 20  # the expert's, for the influence of agents on each other's values


def by_settings(task: Task) -> tuple[Team, ...]:
    """The game's own teams, each cut into `teams` by the settings' method."""
    method = METHODS[task.settings.partition]
    return tuple(part for team in task.game.teams for part in method(task, team))


def alone(task: Task) -> tuple[Team, ...]:
    """Every distilled agent by itself (IVIPER, VIPER)."""
    return tuple((i,) for team in task.game.teams for i in team)


def natural(task: Task) -> tuple[Team, ...]:
    """The game's own teams, whatever the settings say (MAVIPER)."""
    return task.game.teams


def keep(task: Task, team: Team) -> list[Team]:
    """The team as it is."""
    return [team]


def contiguous(task: Task, team: Team) -> list[Team]:
    """Runs of neighbours in the game's own order, the larger ones last."""
    _check_size(task, team)
    bounds = np.linspace(0, len(team), task.settings.teams + 1).astype(int)
    return [team[start:stop] for start, stop in pairwise(bounds)]


def at_random(task: Task, team: Team) -> list[Team]:
    """Every agent to a random team; no team stays empty."""
    _check_size(task, team)
    draws = generator(task.settings.seed, Purpose.PARTITION, team[0])
    labels = np.append(
        np.arange(task.settings.teams), draws.integers(0, task.settings.teams, len(team) - task.settings.teams)
    )
    return _by_label(team, draws.permutation(labels))


def graph_metis(task: Task, team: Team) -> list[Team]:
    """METIS on the game's own graph of neighbours (a road network)."""
    _check_size(task, team)
    edges = getattr(task.game, "neighbours", None)
    if edges is None:
        raise InputError(f"{task.game.name} has no graph of neighbours: choose another --partition.")
    weights = np.zeros((len(task.game.agents),) * 2, int)
    for i, j in edges:
        weights[i, j] = weights[j, i] = 1
    return _metis(task, team, weights[np.ix_(team, team)])


def marginal_metis(task: Task, team: Team) -> list[Team]:
    """METIS on how much agents move each other's values, rescaled to percentiles (METIS needs whole numbers)."""
    _check_size(task, team)
    influence = _influence(task, team)
    off_diagonal = ~np.eye(len(team), dtype=bool)
    low, high = influence[off_diagonal].min(), influence[off_diagonal].max()
    percent = np.rint(1 + 99 * (influence - low) / max(high - low, 1e-12)).astype(int)
    return _metis(task, team, percent * off_diagonal)


def marginal_kmeans(task: Task, team: Team) -> list[Team]:
    """k-means on each agent's row of influences."""
    from sklearn.cluster import KMeans

    _check_size(task, team)
    influence = _influence(task, team)
    model = KMeans(task.settings.teams, random_state=task.settings.seed % 2**32)
    return _by_label(team, model.fit_predict((influence + influence.T) / 2))


def _influence(task: Task, team: Team) -> np.ndarray:
    """1 / d(i, j) [A, A]: the mean range of one agent's value that the other's action causes, symmetric."""
    seeds = rollout_seeds(task.settings.seed, Purpose.PARTITION, 0, DISTANCE_ROLLOUTS)
    observations = task.engine.play(Profile(task.expert), seeds, record=True).observations or ()
    actions = task.expert.act(observations)
    best = task.expert.q(observations, actions)
    delta = np.array(
        [[best[:, j] - task.expert.worst_team_q(observations, actions, (i,), judges=(j,)) for j in team] for i in team]
    )  # [A, A, S]
    pairs = np.maximum((delta + delta.transpose(1, 0, 2)) / 2, 1e-9)
    return 1.0 / (1.0 / pairs).mean(axis=2)


def _metis(task: Task, team: Team, weights: np.ndarray) -> list[Team]:
    import pymetis

    neighbours = [np.flatnonzero(row) for row in weights]
    starts = np.cumsum([0, *map(len, neighbours)])
    edges = np.concatenate(neighbours).astype(int)
    edge_weights = np.concatenate([row[own] for row, own in zip(weights, neighbours, strict=True)]).astype(int)
    _, labels = pymetis.part_graph(
        task.settings.teams,
        pymetis.CSRAdjacency(starts.tolist(), edges.tolist()),
        eweights=edge_weights.tolist(),
        recursive=True,
    )
    return _by_label(team, np.asarray(labels))


def _by_label(team: Team, labels: np.ndarray) -> list[Team]:
    teams = [tuple(i for i, label in zip(team, labels, strict=True) if label == wanted) for wanted in np.unique(labels)]
    return sorted(teams)


def _check_size(task: Task, team: Team) -> None:
    if task.settings.teams > len(team):
        raise InputError(
            f"--teams {task.settings.teams} is more than the {len(team)} agents of {task.game.name}'s team."
        )


METHODS: dict[str, Callable[[Task, Team], list[Team]]] = {
    "none": keep,
    "graph-metis": graph_metis,
    "marginal-metis": marginal_metis,
    "marginal-kmeans": marginal_kmeans,
    "random": at_random,
    "contiguous": contiguous,
}
