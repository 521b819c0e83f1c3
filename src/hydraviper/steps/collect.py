"""Training rollouts: students play and the expert relabels (Algorithm 3, TR-A); also the baselines' ways."""

from collections.abc import Sequence

import numpy as np

from hydraviper.data import InputError
from hydraviper.dataset import Dataset
from hydraviper.profile import Profile
from hydraviper.rollout import check_actions
from hydraviper.seeding import Purpose
from hydraviper.steps.task import Task

PLAYED_AT_ONCE = 256 * 2**20  # bytes of rollouts on their way into the data


def adaptive(task: Task, datasets: Sequence[Dataset], profile: Profile, iteration: int, dropped: float) -> int:
    """TR-A: as many rollouts as the last resampling dropped, while the budget lasts; the warm-up is not charged."""
    settings, spent = task.settings, task.ledger.rollouts
    if iteration == 1:
        return _warm_up(task, datasets, profile)
    left = settings.train_budget - spent["train"]
    count = int(min(dropped, settings.rollouts_per_iteration, left))  # line 1, never beyond the budget
    spent["train"] += count  # line 2
    _play_and_relabel(task, datasets, profile, iteration, count)  # lines 3-5
    return count


def uniform_after_warm_up(
    task: Task, datasets: Sequence[Dataset], profile: Profile, iteration: int, dropped: float
) -> int:
    """TR-A's warm-up, then equal shares of the whole budget: as many rollouts as TR-A, evenly spread."""
    if iteration == 1:
        return _warm_up(task, datasets, profile)
    count = _part(task.settings.train_budget, iteration - 1, task.settings.iterations - 1)
    task.ledger.rollouts["train"] += count
    _play_and_relabel(task, datasets, profile, iteration, count)
    return count


def uniform(task: Task, datasets: Sequence[Dataset], profile: Profile, iteration: int, dropped: float) -> int:
    """Students play together: equal shares of the budget, the expert's first iteration included."""
    count = _share(task, iteration, 0, 1)
    task.ledger.rollouts["warmup" if iteration == 1 else "train"] += count
    _play_and_relabel(task, datasets, profile, iteration, count)
    return count


def each_among_experts(
    task: Task, datasets: Sequence[Dataset], profile: Profile, iteration: int, dropped: float
) -> int:
    """Each team plays its part of the share among experts for everybody else (IVIPER, MAVIPER)."""
    total = 0
    for number, dataset in enumerate(datasets):
        count = _share(task, iteration, number, len(datasets))
        total += count
        members = {i: student for i, student in profile.students.items() if i in dataset.team}
        task.ledger.rollouts["warmup" if iteration == 1 else "train"] += count
        _play_and_relabel(
            task, [dataset], Profile(profile.expert, members), iteration + number * task.settings.iterations, count
        )
    return total


def by_expert(task: Task, datasets: Sequence[Dataset], profile: Profile, iteration: int, dropped: float) -> int:
    """The expert plays the whole budget at once (imitation)."""
    count = task.settings.train_budget
    task.ledger.rollouts["train"] += count
    _play_and_relabel(task, datasets, Profile(task.expert), iteration, count)
    return count


def _share(task: Task, iteration: int, team: int, teams: int) -> int:
    """One team's rollouts in one iteration: equal parts of the budget, the larger ones first, the first at least 1."""
    budget, iterations = task.settings.train_budget, task.settings.iterations
    if budget < teams:
        raise InputError(f"--train-budget must be at least {teams} here, a rollout for each team, not {budget}.")
    team_budget = -(-(budget - team) // teams)  # all teams' parts add up to the budget
    return _part(team_budget, iteration, iterations)


def _part(budget: int, iteration: int, iterations: int) -> int:
    """One iteration's part of a budget: equal parts, the larger ones first."""
    return -(-budget * iteration // iterations) - -(-budget * (iteration - 1) // iterations)


def _warm_up(task: Task, datasets: Sequence[Dataset], profile: Profile) -> int:
    """K_train rollouts of the expert, not charged to the budget."""
    count = task.settings.rollouts_per_iteration
    task.ledger.rollouts["warmup"] += count
    _play_and_relabel(task, datasets, profile, 1, count)
    return count


def _play_and_relabel(task: Task, datasets: Sequence[Dataset], profile: Profile, iteration: int, count: int) -> None:
    if count == 0:
        task.ledger.score = None
        return
    seeds = task.seeds(Purpose.COLLECT, iteration, count)
    size, scores = _at_once(task), []
    for start in range(0, count, size):
        rollouts = task.engine.play(profile, seeds[start : start + size], record=True)
        scores.append(task.game.score.of(rollouts.returns))
        observations = rollouts.observations or ()
        actions = check_actions(task.game, task.expert.act(observations), int(rollouts.lengths.sum()))
        for number, dataset in enumerate(datasets):
            if number and rollouts.acting is None:  # all teams learn from the same samples, which are kept once
                dataset.share(datasets[0], rollouts.episodes)
            else:
                dataset.extend(observations, actions, rollouts.episodes, rollouts.acting)
    task.ledger.score = float(np.concatenate(scores).mean())
    for dataset in datasets:
        if not len(dataset):
            members = ", ".join(task.game.agents[i].name for i in dataset.team)
            raise InputError(f"no action of {members} counted in {count} episodes: choose who is distilled.")


def _at_once(task: Task) -> int:
    """How many episodes are played before they go into the data: as many as fit into some memory, one per worker."""
    features = sum(len(agent.features) for agent in task.game.agents)
    episode = task.game.horizon * (features * 4 + len(task.game.agents) * 16)  # bytes, with rewards and actions
    return max(getattr(task.engine, "workers", 1), PLAYED_AT_ONCE // max(episode, 1), 1)
