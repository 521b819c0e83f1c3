"""Resampling: weigh samples by what a wrong action costs (Algorithm 2, C-Q), and the baselines' weights.

A weight depends on the expert and the observation alone (Theorem 1), so each is computed once. Instead of drawing as
many rows as there are, with replacement, we draw how often each row is taken, and trees take these counts as weights.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from hydraviper.data import InputError, Team
from hydraviper.dataset import Dataset
from hydraviper.experts.enumeration import joint_actions
from hydraviper.protocols import SearchesWorst
from hydraviper.seeding import Purpose, generator
from hydraviper.steps.task import Task

Weigh = Callable[[Task, Dataset, slice], np.ndarray]


def resample(
    task: Task, dataset: Dataset, iteration: int, weigh: Weigh, evenly: bool = False
) -> tuple[np.ndarray, float]:
    """Counts [A, S] of how often each member's tree takes each sample, and how many rollouts were dropped.

    With `evenly`, all samples have the same chance, and the weights only decide how many rollouts are dropped.
    """
    new = slice(len(dataset.weights), len(dataset))
    if new.start < new.stop:
        weights = weigh(task, dataset, new)  # line 1
        if not np.isfinite(weights).all():
            raise InputError("the expert valued a joint action with something that is not a number: train it again.")
        dataset.add_weights(np.maximum(weights, 0))  # an actor's action is not always its critic's best
    dropped = _dropped_rollouts(task, dataset)  # line 2
    draws = generator(task.settings.seed, Purpose.RESAMPLE, iteration, dataset.team[0])
    columns = np.ones((1, len(dataset))) if evenly else dataset.weights.T
    counts = [_draw(column, draws) for column in columns]  # line 3
    shared = len(counts) == 1
    return dataset.counted(np.stack([counts[0 if shared else k] for k in range(len(dataset.team))])), dropped


def team_weights(task: Task, dataset: Dataset, rows: slice) -> np.ndarray:
    """C-Q: the team's mean value of the expert's actions minus that of its worst joint action, [rows, 1]."""
    observations, actions = _part(dataset, rows)
    best = _taken(task, dataset, rows)[:, dataset.team].mean(axis=1)
    if _of_team(task, dataset.team) > task.settings.max_joint_actions and isinstance(task.expert, SearchesWorst):
        worst, gaps = task.expert.search_worst_team_q(observations, actions, dataset.team)
        dataset.scratch.setdefault("weights and gaps", []).append((best - worst, gaps))
    else:
        worst = task.expert.worst_team_q(observations, actions, dataset.team)
    return (best - worst)[:, None]


def own_weights(task: Task, dataset: Dataset, rows: slice) -> np.ndarray:
    """IVIPER: each member's value of the expert's actions minus that of its own worst action, [rows, A]."""
    observations, actions = _part(dataset, rows)
    best = _taken(task, dataset, rows)[:, dataset.team]
    worst = [task.expert.worst_team_q(observations, actions, (i,)) for i in dataset.team]
    return best - np.stack(worst, axis=1)


def joint_weights(task: Task, dataset: Dataset, rows: slice) -> np.ndarray:
    """MAVIPER: each member's loss by the team's worst joint action, averaged over the others' actions, [rows, A]."""
    observations, actions = _part(dataset, rows)
    best = _taken(task, dataset, rows)[:, dataset.team]
    others = tuple(i for i in range(len(task.game.agents)) if i not in dataset.team)
    choices = math.prod(len(task.game.agents[i].actions) for i in others)
    worst = np.zeros_like(best)
    for played in _joint_actions(task, actions, others):
        for column, i in enumerate(dataset.team):
            worst[:, column] += task.expert.worst_team_q(observations, played, dataset.team, judges=(i,)) / choices
    return best - worst


def range_weights(task: Task, dataset: Dataset, rows: slice) -> np.ndarray:
    """IVIPER as in its authors' code: the value of each member's best action minus that of its worst, [rows, A]."""
    observations, actions = _part(dataset, rows)
    spread = []
    for i in dataset.team:
        values = [worth[:, i] for worth in _values(task, observations, actions, (i,))]
        spread.append(np.max(values, axis=0) - np.min(values, axis=0))
    return np.stack(spread, axis=1)


def averaged_weights(task: Task, dataset: Dataset, rows: slice) -> np.ndarray:
    """MAVIPER as in its authors' code: values are averaged over the others' actions first, [rows, A].

    So the expert's actions, too, are valued against others that act in any way, and the team's worst joint action is
    the worst on average. Without others this is `joint_weights`.
    """
    observations, actions = _part(dataset, rows)
    others = tuple(i for i in range(len(task.game.agents)) if i not in dataset.team)
    if not others:
        return joint_weights(task, dataset, rows)

    def averaged(played: np.ndarray) -> np.ndarray:
        return np.mean([worth[:, dataset.team] for worth in _values(task, observations, played, others)], axis=0)

    worst = [averaged(played) for played in _joint_actions(task, actions, dataset.team)]
    return averaged(actions) - np.min(worst, axis=0)


def _values(
    task: Task, observations: list[np.ndarray], actions: np.ndarray, movers: tuple[int, ...]
) -> Iterator[np.ndarray]:
    """Everybody's values [rows, N] for each joint action of the movers, while the rest keep theirs."""
    for played in _joint_actions(task, actions, movers):
        yield task.expert.q(observations, played)


def _joint_actions(task: Task, actions: np.ndarray, movers: tuple[int, ...]) -> Iterator[np.ndarray]:
    """The actions [rows, N] with each of the movers' joint actions in turn."""
    return joint_actions(actions, movers, [len(agent.actions) for agent in task.game.agents])


def _of_team(task: Task, team: Team) -> int:
    return math.prod(len(task.game.agents[i].actions) for i in team)


def _of_everybody(task: Task, team: Team) -> int:
    return _of_team(task, tuple(range(len(task.game.agents))))


def _of_members(task: Task, team: Team) -> int:
    return max(len(task.game.agents[i].actions) for i in team)


VALUED: dict[Weigh, Callable[[Task, Team], int]] = {  # how many joint actions are valued for one weight
    team_weights: _of_team,
    own_weights: _of_members,
    joint_weights: _of_everybody,
    range_weights: _of_members,
    averaged_weights: _of_everybody,
}


@dataclass(frozen=True)
class Weighted:
    """Resampling by one kind of weights: a step of a variant."""

    weigh: Weigh
    evenly: bool = False

    def __call__(self, task: Task, dataset: Dataset, iteration: int) -> tuple[np.ndarray, float]:
        """Counts [A, S] and how many rollouts were dropped."""
        return resample(task, dataset, iteration, self.weigh, self.evenly)

    def joint_actions(self, task: Task, team: Team) -> int:
        """How many joint actions an expert without a shortcut values for each sample."""
        return VALUED[self.weigh](task, team)


def take_all(task: Task, dataset: Dataset, iteration: int) -> tuple[np.ndarray, float]:
    """Every sample once (imitation)."""
    return dataset.counted(np.ones((len(dataset.team), len(dataset)))), math.inf


def _taken(task: Task, dataset: Dataset, rows: slice) -> np.ndarray:
    """Everybody's values of the expert's actions, [rows, N]; teams that share samples have them valued once."""
    return dataset.for_all(rows, lambda: task.expert.q(*_part(dataset, rows)))


def _part(dataset: Dataset, rows: slice) -> tuple[list[np.ndarray], np.ndarray]:
    return [seen[rows] for seen in dataset.observations], dataset.actions[rows]


def _dropped_rollouts(task: Task, dataset: Dataset) -> int:
    """K_drop: the samples with a weight of at most epsilon, counted in rollouts."""
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
