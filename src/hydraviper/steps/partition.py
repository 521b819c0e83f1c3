"""Partition: agents into teams by clustering their graph (Algorithm 4), so that a team has few joint actions."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from hydraviper.data import InputError, Team
from hydraviper.experts.local_q import LocalQExpert
from hydraviper.profile import Profile
from hydraviper.protocols import ValuesJointly, offers
from hydraviper.seeding import Purpose, generator, rollout_seeds
from hydraviper.steps.task import Task

DISTANCE_STEPS = 1000  # steps of the expert's rollouts that measure how agents influence each other's values
DISTANCE_ROLLOUTS = 20  # rollouts for them, at most
_NEEDS_CRITIC = (
    "--partition {} asks how agents influence each other's values, but this expert's values are local: each depends on "
    "its agent's own action alone. Fit joint critics with `hydraviper critic` and pass that file with --expert."
)


def by_settings(task: Task) -> tuple[Team, ...]:
    """The game's own teams, each split into `teams` by the settings' method."""
    method = METHODS[task.settings.partition]
    return tuple(part for team in task.game.teams for part in method(task, team))


def alone(task: Task) -> tuple[Team, ...]:
    """Every distilled agent as a team of its own (IVIPER, VIPER)."""
    return tuple((i,) for team in task.game.teams for i in team)


def natural(task: Task) -> tuple[Team, ...]:
    """The game's own teams (MAVIPER)."""
    return task.game.teams


def keep(task: Task, team: Team) -> list[Team]:
    """The team as it is."""
    return [team]


def contiguous(task: Task, team: Team) -> list[Team]:
    """Consecutive agents in the game's order, larger teams last."""
    _check_size(task, team)
    bounds = np.linspace(0, len(team), task.settings.teams + 1).astype(int)
    return [team[start:stop] for start, stop in pairwise(bounds)]


def at_random(task: Task, team: Team) -> list[Team]:
    """Every agent in a random team; no team is empty."""
    _check_size(task, team)
    draws = generator(task.settings.seed, Purpose.PARTITION, team[0])
    labels = np.append(
        np.arange(task.settings.teams), draws.integers(0, task.settings.teams, len(team) - task.settings.teams)
    )
    return _by_label(team, draws.permutation(labels))


def graph_metis(task: Task, team: Team) -> list[Team]:
    """METIS on the game's own graph of neighbours (a road network)."""
    _check_size(task, team)
    edges = offers(task.game).graph.neighbours
    if edges is None:
        raise InputError(f"{task.game.name} has no graph of neighbours: choose another --partition.")
    weights = np.zeros((len(task.game.agents),) * 2, int)
    for i, j in edges:
        weights[i, j] = weights[j, i] = 1
    return _metis(task, team, weights[np.ix_(team, team)])


def marginal_metis(task: Task, team: Team) -> list[Team]:
    """METIS on how much agents influence each other's values, scaled to whole numbers from 0 to 100."""
    _check_size(task, team)
    percent = _percentiles(_influence(task, team))
    return _metis(task, team, np.maximum(percent, 1) * ~np.eye(len(team), dtype=bool))


def marginal_kmeans(task: Task, team: Team) -> list[Team]:
    """k-means on each agent's row of the same numbers; an agent's influence on itself counts as 100."""
    from sklearn.cluster import KMeans

    _check_size(task, team)
    percent = _percentiles(_influence(task, team))
    np.fill_diagonal(percent, 100)
    starts: Any = 10  # the stubs only know "auto"
    model = KMeans(task.settings.teams, n_init=starts, random_state=task.settings.seed % 2**32)
    return _by_label(team, model.fit_predict(percent))


def _influence(task: Task, team: Team) -> np.ndarray:
    """1 / d(i, j), [A, A]: how much one agent's action can lower the other's value, mean of both ways and all steps.

    The paper's d is the expectation of 2 / (delta_ij + delta_ji). Where each agent's action already is the worst for
    the other, that is infinite, and one such step suffices. So here d is 1 over the expectation of the deltas.
    """
    if isinstance(task.expert, LocalQExpert):
        raise InputError(_NEEDS_CRITIC.format(task.settings.partition))
    count = min(DISTANCE_ROLLOUTS, max(4, -(-DISTANCE_STEPS // task.game.horizon)))
    seeds = rollout_seeds(task.settings.seed, Purpose.PARTITION, 0, count)
    observations = task.engine.play(Profile(task.expert), seeds, record=True).observations or ()
    task.ledger.note(f"The expert played {count} rollouts beyond the budget to measure who influences whom.")
    actions = task.expert.act(observations)
    best = task.expert.q(observations, actions)
    delta = np.array(
        [
            [(best[:, j] - task.expert.worst_team_q(observations, actions, (i,), judges=(j,))).mean() for j in team]
            for i in team
        ]
    )
    influence = (delta + delta.T) / 2
    others = influence[~np.eye(len(team), dtype=bool)]
    if not np.isfinite(influence).all():
        raise InputError("the expert valued a joint action with something that is not a number: train it again.")
    if len(team) > 1 and others.max() <= 1e-6 * max(np.abs(influence).max(), 1e-12):
        raise InputError(_NEEDS_CRITIC.format(task.settings.partition))
    return influence


def _percentiles(influence: np.ndarray) -> np.ndarray:
    """Whole numbers from 0 (the least influence between two agents) to 100 (the most), [A, A]."""
    others = influence[~np.eye(len(influence), dtype=bool)]
    low, high = (others.min(), others.max()) if len(others) else (0.0, 1.0)
    return np.rint(100 * (influence - low) / max(high - low, 1e-12)).astype(int)


def _metis(task: Task, team: Team, weights: np.ndarray) -> list[Team]:
    """Teams by METIS: as many as the settings say, or more, until each has few enough joint actions to be valued."""
    wanted = count = task.settings.teams
    parts = _cut(team, weights, count)
    while _too_many(task, parts) and count < len(team):
        count += 1
        parts = _cut(team, weights, count)
    if count > wanted:
        limit = f"none has more than {task.settings.max_joint_actions:,} joint actions"
        task.ledger.note(f"METIS made {len(parts)} teams instead of {wanted}, so that {limit}.")
    return parts


def _too_many(task: Task, parts: list[Team]) -> bool:
    """Whether a team has more joint actions than the settings let an expert with joint critics value."""
    joint = isinstance(task.expert, ValuesJointly) and task.expert.joint
    sizes = [math.prod(len(task.game.agents[i].actions) for i in part) for part in parts]
    return joint and max(sizes) > task.settings.max_joint_actions


def _cut(team: Team, weights: np.ndarray, count: int) -> list[Team]:
    import pymetis

    neighbours = [np.flatnonzero(row) for row in weights]
    starts = np.cumsum([0, *map(len, neighbours)])
    edges = np.concatenate(neighbours).astype(int)
    edge_weights = np.concatenate([row[near] for row, near in zip(weights, neighbours, strict=True)]).astype(int)
    _, labels = pymetis.part_graph(
        count,
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
