"""The usual way: HYDRAVIPER for cooperative navigation from mpe2, numpy and scikit-learn, with a timer on every step.

Written to be quick where plain code can be: networks are batched over samples, a sample is weighed once, trees skip
scikit-learn's input checks, BLAS uses all its threads. It steps one episode at a time, as the package it plays does.

S = samples (rows), N = 3 agents, F = 18 features, T = 25 steps.
"""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from sklearn.tree import DecisionTreeClassifier

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
from mpe2 import simple_spread_v3

AGENTS = ("agent_0", "agent_1", "agent_2")
HORIZON, ACTIONS, DEPTH = 25, 5, 4
JOINT_ACTIONS = tuple(itertools.product(range(ACTIONS), repeat=len(AGENTS)))

Layers = Sequence[np.ndarray]  # w0, b0, w1, b1, w2, b2
Act = Callable[[Sequence[np.ndarray]], list[int]]  # one observation [F] per agent -> one action per agent
Trees = list[DecisionTreeClassifier]  # one per agent


@dataclass(frozen=True)
class Budget:
    """The paper's symbols: M, B_train, B_valid, K_train, c, and epsilon as a quantile of the first weights."""

    iterations: int
    train: int
    valid: int
    rollouts_per_iteration: int = 50
    ucb_scale: float = 4.0
    drop_quantile: float = 0.5


@dataclass
class Timers:
    """Seconds per step."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def time(self, step: str) -> Iterator[None]:
        """Charge the enclosed work to a step."""
        start = time.perf_counter()
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start


@dataclass(frozen=True)
class Result:
    """The chosen trees, and what the run was like."""

    trees: Trees
    penalty: float  # of the chosen trees, by their validation rollouts
    rollouts: list[int]  # collected per iteration
    timers: Timers


def distill(actors: Sequence[Layers], critics: Sequence[Layers], budget: Budget, seed: int = 0) -> Result:
    """Run the paper's Algorithm 1 for one team of all three agents."""
    generator, timers = np.random.default_rng(seed), Timers()
    environment = simple_spread_v3.parallel_env(N=len(AGENTS), max_cycles=HORIZON)
    environment.reset(seed=seed)
    observations = np.empty((0, len(AGENTS), 18), np.float32)
    actions, weights = np.empty((0, len(AGENTS)), int), np.empty(0)
    students: list[Trees] = []
    collected: list[int] = []
    dropped, threshold = budget.rollouts_per_iteration, 0.0
    for iteration in range(budget.iterations):
        count = min(dropped, budget.rollouts_per_iteration)
        if iteration > 0:  # the expert's warm-up is free
            count = min(count, budget.train - sum(collected[1:]))
        collected.append(count)
        if count > 0:
            act = student_act(students[-1]) if students else expert_act(actors)
            with timers.time("collect"):
                new = np.concatenate([play(environment, act)[0] for _ in range(count)])
            with timers.time("resample"):
                labels = relabel(actors, new)
                new_weights = weigh(critics, new, labels)
            observations = np.concatenate([observations, new])
            actions, weights = np.concatenate([actions, labels]), np.concatenate([weights, new_weights])
        if iteration == 0:
            threshold = float(np.quantile(weights, budget.drop_quantile))
        dropped = math.ceil((weights <= threshold).sum() / HORIZON)
        with timers.time("train"):
            students.append(train(observations, actions, weights, generator))
    with timers.time("select"):
        chosen, mean = select(environment, students, budget)
    penalty = len(AGENTS) * HORIZON - 2 * HORIZON * mean
    return Result(students[chosen], penalty, collected, timers)


def play(environment, act: Act) -> tuple[np.ndarray, float]:
    """Play one episode: the observations [T, N, F] and the team's mean reward per step."""
    observations, _ = environment.reset()
    seen, total = [], 0.0
    while environment.agents:
        rows = [observations[name] for name in AGENTS]
        seen.append(rows)
        observations, rewards, *_ = environment.step(dict(zip(AGENTS, act(rows), strict=True)))
        total += sum(rewards.values())
    return np.array(seen, np.float32), total / len(seen)


def expert_act(actors: Sequence[Layers]) -> Act:
    """The expert, one row at a time."""
    return lambda rows: [int(forward(actor, row).argmax()) for actor, row in zip(actors, rows, strict=True)]


def student_act(trees: Trees) -> Act:
    """Trees, one row at a time; the rows are float32 already, so the costly input check is left out."""
    return lambda rows: [
        int(tree.predict(row[None], check_input=False)[0]) for tree, row in zip(trees, rows, strict=True)
    ]


def forward(layers: Layers, rows: np.ndarray) -> np.ndarray:
    """A network's output for rows [S, in], or for a single one."""
    w0, b0, w1, b1, w2, b2 = layers
    hidden = rows @ w0
    hidden += b0
    np.maximum(hidden, 0, out=hidden)
    hidden = hidden @ w1
    hidden += b1
    np.maximum(hidden, 0, out=hidden)
    return hidden @ w2 + b2


def relabel(actors: Sequence[Layers], observations: np.ndarray) -> np.ndarray:
    """The expert's actions [S, N] for observations [S, N, F]."""
    return np.stack([forward(actor, observations[:, i]).argmax(1) for i, actor in enumerate(actors)], axis=1)


def weigh(critics: Sequence[Layers], observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """C-Q: the expert's mean team value minus the least over all joint actions, [S], never below 0."""
    samples, agents = actions.shape
    one_hot = np.eye(ACTIONS, dtype=np.float32)
    rows = np.empty((samples, observations[0].size + agents * ACTIONS), np.float32)
    rows[:, : -agents * ACTIONS] = observations.reshape(samples, -1)
    encoded = rows[:, -agents * ACTIONS :]  # a view: only the actions change from call to call
    encoded[:] = one_hot[actions].reshape(samples, -1)
    value = mean_value(critics, rows)
    worst = np.full(samples, np.inf, np.float32)
    for joint in JOINT_ACTIONS:
        encoded[:] = one_hot[list(joint)].reshape(-1)
        np.minimum(worst, mean_value(critics, rows), out=worst)
    return np.maximum(value - worst, 0).astype(float)


def mean_value(critics: Sequence[Layers], rows: np.ndarray) -> np.ndarray:
    """The critics' mean value, [S]."""
    return sum(forward(critic, rows)[:, 0] for critic in critics) / np.float32(len(critics))


def train(observations: np.ndarray, actions: np.ndarray, weights: np.ndarray, generator: np.random.Generator) -> Trees:
    """Draw as many samples as there are, with replacement and by weight, and fit one tree per agent."""
    drawn = generator.choice(len(weights), len(weights), p=weights / weights.sum())
    return [
        DecisionTreeClassifier(max_depth=DEPTH).fit(observations[drawn, i], actions[drawn, i])
        for i in range(actions.shape[1])
    ]


def select(environment, students: list[Trees], budget: Budget) -> tuple[int, float]:
    """VR-UCB by UCB1, never beyond the budget: the student of the best mean reward per step, and that mean."""
    first = min(math.ceil(2 * math.log(budget.valid)), budget.valid // len(students))
    acts = [student_act(trees) for trees in students]
    counts = np.full(len(students), first)
    totals = np.array([sum(play(environment, act)[1] for _ in range(first)) for act in acts], float)
    for _ in range(budget.valid - first * len(students)):
        with np.errstate(divide="ignore", invalid="ignore"):  # a budget smaller than the students leaves some unseen
            bounds = np.where(
                counts > 0, totals / counts + np.sqrt(budget.ucb_scale * math.log(budget.valid) / counts), np.inf
            )
        chosen = int(bounds.argmax())
        totals[chosen] += play(environment, acts[chosen])[1]
        counts[chosen] += 1
    means = np.where(counts > 0, totals / np.maximum(counts, 1), -np.inf)
    return int(means.argmax()), float(means.max())


@dataclass(frozen=True)
class Costs:
    """What the steps were measured to take, in seconds."""

    expert_rollout: float
    student_rollout: float
    sample: float  # relabelled and weighed
    sizes: Sequence[int]  # of datasets, ascending
    trainings: Sequence[float]  # one iteration's draw and three fits, at each size

    FORMULA = (
        "warm-up rollouts x s/expert rollout + (training + validation rollouts) x s/student rollout "
        "+ samples x s/sample weighed + sum over iterations of the training time at that dataset size (interpolated)"
    )


def extrapolate(costs: Costs, collected: Sequence[int], valid: int) -> dict[str, float]:
    """Seconds per step of a whole run by `Costs.FORMULA`, given each iteration's rollouts."""
    sizes = np.cumsum(collected) * HORIZON
    return {
        "collect": collected[0] * costs.expert_rollout + sum(collected[1:]) * costs.student_rollout,
        "resample": float(sizes[-1]) * costs.sample,
        "train": float(np.interp(sizes, costs.sizes, costs.trainings).sum()),
        "select": valid * costs.student_rollout,
    }
