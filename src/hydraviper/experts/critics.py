"""Joint critics for any policy by fitted Q-evaluation: the value of each joint action if the policy plays on.

The policy plays with some random actions (none to half of them, from rollout to rollout), and one critic per agent
learns Q_i(o, a) = r_i + gamma * Q_i(o', policy(o')). So a script, a local Q (IDQN, MPLight) or any other network gets
values that weigh joint actions and show which agents influence each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hydraviper.data import InputError, Observations, Progress, Rollouts
from hydraviper.experts import networks
from hydraviper.experts.exploring import Exploring
from hydraviper.experts.layers import Network, forward, fresh_network
from hydraviper.experts.learner import Learned, Optimizer, learn
from hydraviper.experts.local_q import LocalQExpert
from hydraviper.experts.networks import CriticExpert, NetworkExpert
from hydraviper.experts.training import head
from hydraviper.protocols import Engine, Expert, Game, Policy, offers
from hydraviper.rollout import play
from hydraviper.seeding import Purpose, generator, rollout_seeds


@dataclass(frozen=True)
class CriticSettings:
    """How critics are fitted."""

    seed: int = 0  # of every random choice
    rollouts: int = 60  # played for the fit, held-out ones included
    most_random: float = 0.5  # share of random actions, in the rollouts with most of them
    held_out: int = 5  # every fifth rollout is kept for the error that is reported
    checks: int = 6  # more rollouts, without random actions, whose returns the values are compared with
    gamma: float = 0.95  # discount
    hidden: int = 64  # units of each of the two hidden layers
    updates: int = 4_000  # of the critics
    batch: int = 256  # samples per update
    learning_rate: float = 2e-3  # of Adam, at the start
    final_learning_rate: float = 1e-4  # at the end; a cosine in between
    weight_decay: float = 16_000  # divided by the number of samples: few samples need more of it
    tau: float = 0.01  # how fast the target networks follow
    hops: int | None = None  # critics look at agents so many steps away on the game's graph; None: at everybody

    def __post_init__(self) -> None:
        least = {"rollouts": 2 * self.held_out, "held_out": 2, "checks": 2, "hidden": 1, "updates": 1}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise InputError(f"{name} must be at least {value}, not {getattr(self, name)}.")
        if not 0 <= self.gamma < 1:
            raise InputError(f"gamma must be at least 0 and less than 1, not {self.gamma}.")


def settings_for(
    game: Game, policy: Policy, seed: int = 0, engine: Engine | None = None, **changes: Any
) -> CriticSettings:
    """Settings that suit a game, with the policy's own discount, if it says so and episodes are long enough for it."""
    if game.width is None:
        changes = {"rollouts": 2000, "checks": 200, **changes}
    elif offers(game).foreign is not None:  # whose episodes may end long before their horizon
        seeds = rollout_seeds(seed, Purpose.EXPERT_VALIDATION, 2, TIMED)
        steps = (play(game, policy, seeds) if engine is None else engine.play(policy, seeds)).lengths.mean()
        changes = {"rollouts": int(np.clip(ENOUGH_STEPS / steps, 60, 2000)), "checks": 20, **changes}
    settings = getattr(policy, "about", {}).get("settings", {})
    names = ("gamma", "discount")  # the second in older files
    gamma = next((settings[name] for name in names if name in settings), None) if isinstance(settings, dict) else None
    if isinstance(gamma, int | float) and 0 <= gamma < 1:
        changes["gamma"] = min(float(gamma), longest_discount(game.horizon))
    return CriticSettings(seed=seed, **changes)


@dataclass(frozen=True)
class Fit:
    """A policy with critics, and how good they are; per agent [N]."""

    expert: NetworkExpert | CriticExpert | LocalQExpert  # an expert with actors keeps them and gets new critics
    error: tuple[float, ...]  # root mean square of r + gamma * Q(next) - Q on held-out rollouts, in rewards
    explained: tuple[float, ...]  # share of the held-out targets' variance that the values explain
    correlation: tuple[float, ...]  # of values with the returns that followed, on separate rollouts
    rollouts: int  # with random actions, held-out ones included
    samples: int  # that were fitted


AHEAD, LEAST_AHEAD = 0.1, 20  # how far values look ahead at most: a share of an episode, and steps
ENOUGH_STEPS = 50_000  # of an environment of another package
TIMED = 8  # rollouts that tell how long its episodes are
ROUNDS = 20  # calls into which the updates are cut, to show progress


def fit(
    game: Game,
    policy: Policy,
    settings: CriticSettings | None = None,
    engine: Engine | None = None,
    on_progress: Progress = lambda step, done, of: None,
) -> Fit:
    """Fit one joint critic per agent to a policy; the engine, if there is one, plays the rollouts."""
    settings = settings or CriticSettings()
    play_on = partial(play, game) if engine is None else engine.play
    checked(game, policy.act(game.reset(rollout_seeds(settings.seed, Purpose.EXPERT_TRAINING, 0, 1))))
    masks = neighbourhoods(game, settings.hops)
    samples = gather(game, policy, settings, play_on, on_progress)
    critics, rows = _fitted(samples, tuple(len(agent.actions) for agent in game.agents), masks, settings, on_progress)
    sizes, actions = zip(*((len(agent.features), len(agent.actions)) for agent in game.agents), strict=True)
    expert = CriticExpert(policy, critics, sizes, actions)
    seeds = rollout_seeds(settings.seed, Purpose.EXPERT_VALIDATION, 1, settings.checks)
    error, explained = held_out(expert, samples, settings.gamma)
    correlation = correlation_with_returns(expert, play_on(policy, seeds, True), settings.gamma)
    on_progress("checks", 1, 1)
    return Fit(_named(game, expert, settings), error, explained, correlation, samples.episodes, rows)


# ------------------------------------------------------------------------------------------------ playing

PlayOn = Callable[[Policy, np.ndarray, bool], Rollouts]


class Samples(NamedTuple):
    """The rollouts, one row per step."""

    observations: tuple[np.ndarray, ...]  # per agent [S, F_i]
    actions: np.ndarray  # [S, N] taken
    wanted: np.ndarray  # [S, N] the policy's own
    rewards: np.ndarray  # [S, N]
    following: np.ndarray  # [S] the row of the next step
    continues: np.ndarray  # [S] False where the episode ended before its horizon
    usable: np.ndarray  # [S] False where the horizon cut the episode off: the next observation is not known
    held_out: np.ndarray  # [S]
    episodes: int


def gather(game: Game, policy: Policy, settings: CriticSettings, play_on: PlayOn, on_progress: Progress) -> Samples:
    """Play with a share of random actions, a few rollouts at a time to show progress."""
    explorer = Exploring(policy, tuple(len(agent.actions) for agent in game.agents), settings.most_random, 1)
    seeds, parts = rollout_seeds(settings.seed, Purpose.EXPERT_TRAINING, 1, settings.rollouts), []
    for part_seeds in np.array_split(seeds, -(-len(seeds) // max(settings.rollouts // ROUNDS, 4))):
        parts.append(play_on(explorer, part_seeds, True))
        on_progress("rollouts", sum(part.episodes for part in parts), len(seeds))
    played = Rollouts.join(parts)
    if played.observations is None or played.rewards is None:
        raise InputError("the engine kept no observations or rewards, though asked to: use another engine.")
    ends, index = np.cumsum(played.lengths) - 1, np.arange(len(played.rewards))
    episode = np.repeat(np.arange(played.episodes), played.lengths)
    wanted = checked(game, policy.act(played.observations))
    over = np.zeros(len(index), bool)
    over[ends] = played.ended(game.horizon)
    last = np.isin(index, ends)
    return Samples(
        played.observations,
        explorer.changed(wanted, seeds[episode], index - (ends - played.lengths + 1)[episode]),
        wanted,
        played.rewards,
        np.where(last, index, index + 1),
        ~over,
        ~last | over,
        episode % settings.held_out == settings.held_out - 1,
        played.episodes,
    )


def checked(game: Game, actions: np.ndarray) -> np.ndarray:
    """The actions; refuses a policy that leaves agents to themselves."""
    counts = [len(agent.actions) for agent in game.agents]
    if (actions < 0).any() or (actions >= counts).any():
        raise InputError(
            f"the policy leaves agents of {game.name} to themselves or names actions that they do not have: "
            "critics can only value actions that a policy chooses."
        )
    return actions


def discounted(rewards: np.ndarray, following: np.ndarray, gamma: float) -> np.ndarray:
    """The discounted return from every row on, [S, N], to the end of its episode (whose last row follows itself)."""
    returns = np.array(rewards, np.float64)
    for row in range(len(returns) - 1, -1, -1):
        if following[row] != row:
            returns[row] += gamma * returns[following[row]]
    return returns


def longest_discount(horizon: int) -> float:
    """The largest discount whose values can be learned from, and held against, episodes of so many steps.

    A value looks ahead by 1 / (1 - gamma) steps. If that is most of an episode, the returns that follow depend on how
    much of the episode is left, which no observation tells.
    """
    return 1 - 1 / max(LEAST_AHEAD, AHEAD * horizon)


# ------------------------------------------------------------------------------------------------ learning


def _fitted(
    samples: Samples, actions: tuple[int, ...], masks: np.ndarray, settings: CriticSettings, on_progress: Progress
) -> tuple[tuple[networks.Network, ...], int]:
    """One critic per agent, and how many samples they were fitted to."""
    units = Units.of(samples, settings.gamma)
    table = _Table(
        units.inputs(samples.observations, samples.actions, actions),
        units.inputs(samples.observations, samples.wanted, actions)[samples.following],
        ((samples.rewards - units.offset) / units.scale).astype(np.float32),
        samples.continues.astype(np.float32),
    )
    seen_by = None if masks.all() else jnp.asarray(masks)
    rows, per_round = np.flatnonzero(samples.usable & ~samples.held_out), -(-settings.updates // ROUNDS)
    rates, decay = (settings.learning_rate, settings.final_learning_rate), settings.weight_decay / len(rows)
    optimizer = Optimizer(*rates, settings.updates, "cosine", settings.tau, weight_decay=decay)
    rule = _Rule(optimizer, settings.gamma, tuple((units.offset / units.scale).tolist()))
    random = generator(settings.seed, Purpose.EXPERT_TRAINING, 1)
    widths = table.now.shape[1], settings.hidden, settings.hidden, 1
    fresh = [fresh_network(random, *widths) for _ in actions]
    learned = optimizer.start(jax.tree.map(lambda *arrays: jnp.stack(arrays), *fresh))
    for number in range(ROUNDS):
        drawn = rows[random.integers(0, len(rows), (per_round, settings.batch))]
        learned, _ = learn(rule, learned, jnp.asarray(drawn), table, seen_by)
        on_progress("updates", (number + 1) * per_round, ROUNDS * per_round)
    return tuple(units.critic(learned.parameters, i, masks[i]) for i in range(len(actions))), len(rows)


def neighbourhoods(game: Game, hops: int | None) -> np.ndarray:
    """What each agent's critic looks at, [N, inputs]: 1 for features and actions of agents within so many hops."""
    agents = len(game.agents)
    near = np.ones((agents, agents), bool)
    if hops is not None:
        edges = offers(game).graph.neighbours
        if edges is None:
            raise InputError(f"{game.name} has no graph of neighbours: fit critics of everybody, without --hops.")
        step = np.eye(agents, dtype=bool)
        for i, j in edges:
            step[i, j] = step[j, i] = True
        near = np.linalg.matrix_power(step.astype(np.int64), hops) > 0
    owners = [np.repeat(np.arange(agents), [len(part) for part in parts]) for parts in zip(*_parts(game), strict=True)]
    return near[:, np.concatenate(owners)].astype(np.float32)


def _parts(game: Game) -> list[tuple[Sequence[str], Sequence[str]]]:
    return [(agent.features, agent.actions) for agent in game.agents]


class Units(NamedTuple):
    """Normalisation of inputs and values while learning; folded into the first and last layers afterwards."""

    mean: np.ndarray  # [G] of all agents' features
    spread: np.ndarray  # [G]
    offset: np.ndarray  # [N] the value of the mean reward for ever
    scale: np.ndarray  # [N] standard deviation of the discounted returns

    @staticmethod
    def of(samples: Samples, gamma: float) -> Units:
        """The units of the samples that are fitted to."""
        joint = np.concatenate(samples.observations, axis=1)[~samples.held_out].astype(np.float64)
        spread = joint.std(axis=0)
        followed = discounted(samples.rewards, samples.following, gamma)
        return Units(
            joint.mean(axis=0),
            np.where(spread < 1e-3, 1.0, spread),
            samples.rewards.mean(axis=0) / (1 - gamma),
            np.maximum(followed.std(axis=0), 1e-6),
        )

    def inputs(self, observations: Observations, actions: np.ndarray, counts: Sequence[int]) -> np.ndarray:
        """A critic's normalised input: all features, then all actions as one-hot."""
        seen = (np.concatenate(observations, axis=1) - self.mean) / self.spread
        one_hot = [np.eye(count)[actions[:, i]] for i, count in enumerate(counts)]
        return np.concatenate([seen, *one_hot], axis=1).astype(np.float32)

    def critic(self, stacked: Network, i: int, mask: np.ndarray) -> networks.Network:
        """Agent i's critic without normalisation: plain features in, values of plain rewards out; 0 where masked."""
        layers = [np.array(array[i], np.float64) for pair in stacked for array in pair]
        layers[0] *= mask[:, None]
        return plain_network(layers, self.mean, self.spread, float(self.scale[i]), float(self.offset[i]))


def plain_network(
    layers: Sequence[np.ndarray], mean: np.ndarray, spread: np.ndarray, scale: float, offset: float
) -> networks.Network:
    """A network of plain features, the first of its inputs, from one of normalised features and normalised values."""
    w0, b0, w1, b1, w2, b2 = layers
    b0 = b0 - (mean / spread) @ w0[: len(mean)]
    w0[: len(mean)] /= spread[:, None]
    folded = (w0, b0, w1, b1, w2 * scale, b2 * scale + offset)
    w0, b0, w1, b1, w2, b2 = (np.ascontiguousarray(array, np.float32) for array in folded)
    return networks.Network((w0, b0, w1, b1, w2, b2))


class _Table(NamedTuple):
    """All samples as inputs and rewards of the critics, normalised."""

    now: Any  # [S, I]
    following: Any  # [S, I] the next observations with the policy's actions
    rewards: Any  # [S, N]
    continues: Any  # [S]


@dataclass(frozen=True)
class _Rule:
    """One step of all agents' critics, which are stacked, [N, ...]."""

    optimizer: Optimizer
    gamma: float
    offset: tuple[float, ...]  # [N], normalised

    def update(
        self, learned: Learned, rows: jax.Array, table: _Table, masks: jax.Array | None
    ) -> tuple[Learned, jax.Array]:
        """Move the critics towards reward + gamma * value of what the policy does next, on some rows of the table.

        `masks` [N, I] says what each critic looks at; None: at everything.
        """
        batch = _Table(*(column[rows] for column in table))

        def values(critics: Network, inputs: jax.Array) -> jax.Array:
            if masks is None:
                return jax.vmap(forward, (0, None))(critics, inputs)
            return jax.vmap(lambda critic, mask: forward(critic, inputs * mask))(critics, masks)

        future = values(learned.targets, batch.following)[..., 0] + jnp.asarray(self.offset)[:, None]  # [N, S]
        goals = batch.rewards.T + self.gamma * batch.continues * future

        def loss(critics: Network) -> jax.Array:
            return jnp.sum(jnp.mean((values(critics, batch.now)[..., 0] - goals) ** 2, axis=1))

        return self.optimizer.step(learned, loss)


# ------------------------------------------------------------------------------------------------ quality


def held_out(expert: Expert, samples: Samples, gamma: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Every critic's error on held-out rollouts, and the share of its targets' variance that it explains."""
    rows = samples.usable & samples.held_out
    after = expert.q(
        [seen[samples.following[rows]] for seen in samples.observations], samples.wanted[samples.following[rows]]
    )
    goals = samples.rewards[rows] + gamma * samples.continues[rows, None] * after
    missed = goals - expert.q([seen[rows] for seen in samples.observations], samples.actions[rows])
    explained = 1 - missed.var(axis=0) / np.maximum(goals.var(axis=0), 1e-12)
    return tuple(np.sqrt((missed**2).mean(axis=0)).tolist()), tuple(explained.tolist())


def correlation_with_returns(expert: Expert, played: Rollouts, gamma: float) -> tuple[float, ...]:
    """The correlation of values with discounted returns, at steps with enough of the episode left to tell."""
    observations, rewards = played.observations or (), played.rewards
    assert rewards is not None
    index, ends = np.arange(len(rewards)), np.repeat(np.cumsum(played.lengths) - 1, played.lengths)
    followed = discounted(rewards, np.minimum(index + 1, ends), gamma)
    tail = math.log(0.1) / math.log(gamma) if gamma > 0 else 1
    rows = index + np.minimum(tail, np.repeat(played.lengths, played.lengths) / 2) <= ends
    values = expert.q(observations, expert.act(observations))
    pairs = zip(values[rows].T, followed[rows].T, strict=True)
    return tuple(
        float(np.corrcoef(value, truth)[0, 1]) if value.std() > 0 and truth.std() > 0 else float("nan")
        for value, truth in pairs
    )


def _named(game: Game, expert: CriticExpert, settings: CriticSettings) -> NetworkExpert | CriticExpert:
    """The expert with its description; one that has actors keeps them and gets the new critics."""
    policy = expert.policy
    origin = dict(getattr(policy, "about", {}))
    name = origin.get("algorithm") or getattr(policy, "name", type(policy).__name__)
    about = head(game, f"{name}-joint", settings) | {"policy": origin}
    if isinstance(policy, NetworkExpert):
        return replace(policy, critics=expert.critics, about=about)
    return replace(expert, about=about)
