"""Teams with too many joint actions to value each: refused, or searched with what is left open told."""

import math
import time
from collections.abc import Sequence

import numpy as np

from hydraviper.data import InputError, Team
from hydraviper.dataset import Dataset
from hydraviper.protocols import SearchesWorst, ValuesJointly
from hydraviper.steps.resample import Weighted, team_weights
from hydraviper.steps.task import Task

TRIED = 2_000  # joint actions that are valued, at most, to time one of them
ROWS = 16  # samples of that trial


def check(task: Task, teams: tuple[Team, ...], resample: object) -> None:
    """Refuse teams with more joint actions than the settings allow, where the expert values each of them.

    C-Q's weights need not be refused if the expert can search for the worst joint action instead.
    """
    if not isinstance(resample, Weighted) or not (isinstance(task.expert, ValuesJointly) and task.expert.joint):
        return
    most, team = max((resample.joint_actions(task, team), team) for team in teams)
    limit = task.settings.max_joint_actions
    if most <= limit or (resample.weigh is team_weights and isinstance(task.expert, SearchesWorst)):
        return
    samples = (task.settings.rollouts_per_iteration + task.settings.train_budget) * task.game.horizon
    raise InputError(
        f"the weights for a team of {len(team)} ask for the values of {most:,} joint actions per sample, more than "
        f"{limit:,}: for {samples:,} samples that takes {_in_words(_seconds(task, team) * most * samples)} here; use "
        "an expert with local values (--expert), split the team (--partition, --teams), take fewer agents, choose "
        "iviper, or raise --max-joint-actions."
    )


def tell_gaps(task: Task, datasets: Sequence[Dataset]) -> None:
    """Note how far the worst joint actions that were searched for may be from the worst there are."""
    for dataset in datasets:
        if searched := dataset.scratch.get("weights and gaps"):
            weights, gaps = (np.concatenate(column) for column in zip(*searched, strict=True))
            task.ledger.note(
                f"A team of {len(dataset.team)} has too many joint actions to try all, so the worst was searched by "
                "branch and bound: "
                f"weights are {weights.mean():.3g} on average and could be {gaps.mean():.3g} larger at most."
            )


def _seconds(task: Task, team: Team) -> float:
    """Seconds that an expert takes to value one joint action of one sample, from a short trial."""
    counts = [len(task.game.agents[i].actions) for i in team]
    movers = next(k for k in range(len(team), 0, -1) if math.prod(counts[:k]) <= TRIED or k == 1)
    draws = np.random.default_rng(0)
    seen = [draws.normal(size=(ROWS, len(agent.features))).astype(np.float32) for agent in task.game.agents]
    actions = np.zeros((ROWS, len(task.game.agents)), np.int64)
    spent = []
    for _ in range(3):  # the first compiles
        start = time.perf_counter()
        task.expert.worst_team_q(seen, actions, team[:movers], team)
        spent.append(time.perf_counter() - start)
    return min(spent) / ROWS / math.prod(counts[:movers])


def _in_words(seconds: float) -> str:
    """A rough duration in words."""
    for size, unit in ((86_400 * 365, "years"), (86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"about {round(seconds / size):,} {unit}"
    return f"about {max(1, round(seconds))} seconds"
