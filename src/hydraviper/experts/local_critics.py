"""Values of each agent's own actions for any policy, by fitted Q-evaluation of what that agent sees, does and is paid.

Joint critics (critics.py) show how agents influence each other, but a team's joint actions grow exponentially with its
members. These values are separable, so that a network of any size can be weighed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hydraviper.data import Progress
from hydraviper.experts.critics import (
    ROUNDS,
    CriticSettings,
    Fit,
    Samples,
    Units,
    checked,
    correlation_with_returns,
    gather,
    held_out,
    plain_network,
)
from hydraviper.experts.layers import Network, forward, fresh_network
from hydraviper.experts.learner import Learned, Optimizer, learn
from hydraviper.experts.local_q import LocalQExpert, NetworkQ
from hydraviper.experts.training import head
from hydraviper.protocols import Engine, Game, Policy
from hydraviper.rollout import play
from hydraviper.seeding import Purpose, generator, rollout_seeds


def fit(
    game: Game,
    policy: Policy,
    settings: CriticSettings | None = None,
    engine: Engine | None = None,
    on_progress: Progress = lambda step, done, of: None,
) -> Fit:
    """Fit values of its own actions to every agent of a policy; the engine, if there is one, plays the rollouts."""
    settings = settings or CriticSettings()
    play_on = partial(play, game) if engine is None else engine.play
    checked(game, policy.act(game.reset(rollout_seeds(settings.seed, Purpose.EXPERT_TRAINING, 0, 1))))
    samples = gather(game, policy, settings, play_on, on_progress)
    values, rows = _fitted(samples, [len(agent.actions) for agent in game.agents], settings, on_progress)
    name = getattr(policy, "name", type(policy).__name__)
    expert = LocalQExpert(values, head(game, f"{name}-local", settings), policy=policy)
    error, explained = held_out(expert, samples, settings.gamma)
    seeds = rollout_seeds(settings.seed, Purpose.EXPERT_VALIDATION, 1, settings.checks)
    correlation = correlation_with_returns(expert, play_on(policy, seeds, True), settings.gamma)
    on_progress("checks", 1, 1)
    return Fit(expert, error, explained, correlation, samples.episodes, rows)


class _Table(NamedTuple):
    """All samples, normalised; the first two hold an array per agent."""

    now: tuple[Any, ...]  # [S, F_i]
    following: tuple[Any, ...]  # [S, F_i] the next observations
    actions: Any  # [S, N] taken
    wanted: Any  # [S, N] the policy's own at the next observations
    rewards: Any  # [S, N]
    continues: Any  # [S]


@dataclass(frozen=True)
class _Rule:
    """One step of all agents' values."""

    optimizer: Optimizer
    gamma: float
    offset: tuple[float, ...]  # [N], normalised

    def update(self, learned: Learned, rows: jax.Array, table: _Table) -> tuple[Learned, jax.Array]:
        """Move the values towards reward + gamma * value of what the policy does next, on some rows of the table."""
        batch = jax.tree.map(lambda column: column[rows], table)

        def loss(values: list[Network]) -> jax.Array:
            total = jnp.zeros(())
            for i, offset in enumerate(self.offset):
                future = _taken(forward(learned.targets[i], batch.following[i]), batch.wanted[:, i]) + offset
                goal = batch.rewards[:, i] + self.gamma * batch.continues * future
                total += jnp.mean((_taken(forward(values[i], batch.now[i]), batch.actions[:, i]) - goal) ** 2)
            return total

        return self.optimizer.step(learned, loss)


def _taken(values: jax.Array, actions: jax.Array) -> jax.Array:
    """The values [S] of the actions [S] among [S, A]."""
    return jnp.take_along_axis(values, actions[:, None], axis=1)[:, 0]


def _fitted(
    samples: Samples, actions: list[int], settings: CriticSettings, on_progress: Progress
) -> tuple[tuple[NetworkQ, ...], int]:
    """One Q-function per agent, and how many samples they were fitted to."""
    units, sizes = Units.of(samples, settings.gamma), [seen.shape[1] for seen in samples.observations]
    cuts = np.cumsum(sizes)[:-1]
    parts = list(zip(np.split(units.mean, cuts), np.split(units.spread, cuts), strict=True))  # per agent
    both = zip(samples.observations, parts, strict=True)
    now = [((seen - mean) / spread).astype(np.float32) for seen, (mean, spread) in both]
    table = _Table(
        tuple(now),
        tuple(seen[samples.following] for seen in now),
        samples.actions.astype(np.int32),
        samples.wanted[samples.following].astype(np.int32),
        ((samples.rewards - units.offset) / units.scale).astype(np.float32),
        samples.continues.astype(np.float32),
    )
    rows, per_round = np.flatnonzero(samples.usable & ~samples.held_out), -(-settings.updates // ROUNDS)
    rates, decay = (settings.learning_rate, settings.final_learning_rate), settings.weight_decay / len(rows)
    optimizer = Optimizer(*rates, settings.updates, "cosine", settings.tau, weight_decay=decay)
    rule = _Rule(optimizer, settings.gamma, tuple((units.offset / units.scale).tolist()))
    random = generator(settings.seed, Purpose.EXPERT_TRAINING, 2)
    hidden = settings.hidden
    fresh = [fresh_network(random, size, hidden, hidden, count) for size, count in zip(sizes, actions, strict=True)]
    learned = optimizer.start(fresh)
    for number in range(ROUNDS):
        drawn = rows[random.integers(0, len(rows), (per_round, settings.batch))]
        learned, _ = learn(rule, learned, jnp.asarray(drawn), table)
        on_progress("updates", (number + 1) * per_round, ROUNDS * per_round)
    functions = []
    for i, (mean, spread) in enumerate(parts):
        layers = [np.array(array, np.float64) for pair in learned.parameters[i] for array in pair]
        functions.append(NetworkQ(plain_network(layers, mean, spread, units.scale[i], units.offset[i])))
    return tuple(functions), len(rows)
