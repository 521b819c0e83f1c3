"""Joint critics for any policy by fitted Q-evaluation: what each joint action is worth if the policy goes on.

The policy plays with some random actions (none to half of them, from rollout to rollout), and a critic per agent
learns Q_i(o, a) = r_i + discount * Q_i(o', policy(o')). A script, a local Q (IDQN, MPLight) or somebody's
network gets values by which joint actions can be weighed and agents told apart that influence each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from hydraviper.data import InputError, Observations, Rollouts
from hydraviper.experts import networks
from hydraviper.experts.exploring import Exploring
from hydraviper.experts.layers import Network, forward, fresh_network
from hydraviper.experts.networks import CriticExpert, NetworkExpert
from hydraviper.protocols import Engine, Game, Policy
from hydraviper.rollout import play
from hydraviper.seeding import Purpose, generator, rollout_seeds


@dataclass(frozen=True)
class CriticSettings:
    """How critics are fitted."""

    seed: int = 0  # decides everything
    rollouts: int = 60  # played for the fit, those held out included
    most_random: float = 0.5  # of the actions, in the rollouts with most random ones
    held_out: int = 5  # every fifth rollout is kept for the error that is reported
    checks: int = 6  # rollouts more, without random actions, whose returns the values are compared with
    discount: float = 0.95  # worth of a reward one step later
    hidden: int = 64  # units of each of the two hidden layers
    updates: int = 4_000  # of the networks
    batch: int = 256  # samples per update
    learning_rate: float = 2e-3  # of Adam, at the start
    final_learning_rate: float = 1e-4  # at the end, along a cosine
    weight_decay: float = 16_000  # divided by the samples: holds back what few of them cannot show
    target_rate: float = 0.01  # how fast the target networks follow

    def __post_init__(self) -> None:
        least = {"rollouts": 2 * self.held_out, "held_out": 2, "checks": 2, "hidden": 1, "updates": 1}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise InputError(f"{name} must be at least {value}, not {getattr(self, name)}.")
        if not 0 <= self.discount < 1:
            raise InputError(f"discount must be at least 0 and less than 1, not {self.discount}.")


@dataclass(frozen=True)
class Fit:
    """The policy with values, and how good these are; per agent [N]."""

    expert: NetworkExpert | CriticExpert  # with actors of its own, an expert keeps them and gets new critics
    error: tuple[float, ...]  # root mean square of r + discount * Q(next) - Q on held-out rollouts, in rewards
    explained: tuple[float, ...]  # share of the held-out targets' variance that the values explain
    correlation: tuple[float, ...]  # of the values with the returns that followed, on rollouts of their own
    rollouts: int  # with random actions, those held out included
    samples: int  # fitted to


ROUNDS = 20  # calls into which the updates are cut, to show progress


def fit(
    game: Game,
    policy: Policy,
    settings: CriticSettings | None = None,
    engine: Engine | None = None,
    on_progress: Callable[[str, int, int], None] = lambda step, done, of: None,
) -> Fit:
    """Fit one joint critic per agent to a policy; the engine, if there is one, plays the rollouts."""
    settings = settings or CriticSettings()
    play_on = partial(play, game) if engine is None else engine.play
    _checked(game, policy.act(game.reset(rollout_seeds(settings.seed, Purpose.EXPERT_TRAINING, 0, 1))))
    samples = _gather(game, policy, settings, play_on, on_progress)
    actions = tuple(len(agent.actions) for agent in game.agents)
    units = _Units.of(samples, settings.discount)
    table = _Table(
        units.inputs(samples.observations, samples.actions, actions),
        units.inputs(samples.observations, samples.wanted, actions)[samples.following],
        ((samples.rewards - units.offset) / units.scale).astype(np.float32),
        samples.continues.astype(np.float32),
    )
    random = generator(settings.seed, Purpose.EXPERT_TRAINING, 1)
    rows, per_round = np.flatnonzero(samples.usable & ~samples.held_out), -(-settings.updates // ROUNDS)
    rule = _Rule(settings, tuple((units.offset / units.scale).tolist()), settings.weight_decay / len(rows))
    learner = rule.start(random, table.now.shape[1], len(actions))
    for number in range(ROUNDS):
        drawn = rows[random.integers(0, len(rows), (per_round, settings.batch))]
        learner = _learn(rule, learner, table, jnp.asarray(drawn))
        on_progress("updates", (number + 1) * per_round, ROUNDS * per_round)
    critics = tuple(units.critic(learner.critics, i) for i in range(len(actions)))
    sizes = tuple(len(agent.features) for agent in game.agents)
    expert = CriticExpert(policy, critics, sizes, actions)
    seeds = rollout_seeds(settings.seed, Purpose.EXPERT_VALIDATION, 1, settings.checks)
    error, explained = _held_out(expert, samples, settings.discount)
    correlation = _correlation(expert, play_on(policy, seeds, True), settings.discount)
    on_progress("checks", 1, 1)
    return Fit(_named(game, expert, settings), error, explained, correlation, samples.episodes, len(rows))


# ------------------------------------------------------------------------------------------------ what is played

PlayOn = Callable[[Policy, np.ndarray, bool], Rollouts]


class _Samples(NamedTuple):
    """What was played, one row per step."""

    observations: tuple[np.ndarray, ...]  # per agent [S, F_i]
    actions: np.ndarray  # [S, N] that were played
    wanted: np.ndarray  # [S, N] that the policy would have played
    rewards: np.ndarray  # [S, N]
    following: np.ndarray  # [S] the row of the next step
    continues: np.ndarray  # [S] False where the game was over before its horizon
    usable: np.ndarray  # [S] False where the horizon cut the game off, so that the next step is not known
    held_out: np.ndarray  # [S]
    episodes: int


def _gather(
    game: Game,
    policy: Policy,
    settings: CriticSettings,
    play_on: PlayOn,
    on_progress: Callable[[str, int, int], None],
) -> _Samples:
    """Play with random actions, some rollouts at a time to show progress."""
    explorer = Exploring(policy, tuple(len(agent.actions) for agent in game.agents), settings.most_random, 1)
    seeds, parts = rollout_seeds(settings.seed, Purpose.EXPERT_TRAINING, 1, settings.rollouts), []
    for own in np.array_split(seeds, -(-len(seeds) // max(settings.rollouts // ROUNDS, 4))):
        parts.append(play_on(explorer, own, True))
        on_progress("rollouts", sum(part.episodes for part in parts), len(seeds))
    played = Rollouts.join(parts)
    if played.observations is None or played.rewards is None:
        raise InputError("the engine kept no observations or rewards: it must where it is asked to.")
    ends, index = np.cumsum(played.lengths) - 1, np.arange(len(played.rewards))
    episode = np.repeat(np.arange(played.episodes), played.lengths)
    wanted = _checked(game, policy.act(played.observations))
    over = np.zeros(len(index), bool)
    over[ends] = played.lengths < game.horizon
    last = np.isin(index, ends)
    return _Samples(
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


def _checked(game: Game, actions: np.ndarray) -> np.ndarray:
    counts = [len(agent.actions) for agent in game.agents]
    if (actions < 0).any() or (actions >= counts).any():
        raise InputError(
            f"the policy leaves agents of {game.name} to themselves or names actions that they do not have: "
            "only what agents choose can be valued."
        )
    return actions


def _discounted(rewards: np.ndarray, following: np.ndarray, discount: float) -> np.ndarray:
    """What followed every row, [S, N], up to the end of its episode (a row that follows itself is a last one)."""
    returns = np.array(rewards, np.float64)
    for row in range(len(returns) - 1, -1, -1):
        if following[row] != row:
            returns[row] += discount * returns[following[row]]
    return returns


# ------------------------------------------------------------------------------------------------ what is learned


class _Units(NamedTuple):
    """What inputs and values are measured in while learning; folded into the first and last layers afterwards."""

    mean: np.ndarray  # [G] of all agents' features
    spread: np.ndarray  # [G]
    offset: np.ndarray  # [N] the value of being paid the mean reward for ever
    scale: np.ndarray  # [N] how far what follows varies

    @staticmethod
    def of(samples: _Samples, discount: float) -> _Units:
        joint = np.concatenate(samples.observations, axis=1)[~samples.held_out].astype(np.float64)
        spread = joint.std(axis=0)
        followed = _discounted(samples.rewards, samples.following, discount)
        return _Units(
            joint.mean(axis=0),
            np.where(spread < 1e-3, 1.0, spread),
            samples.rewards.mean(axis=0) / (1 - discount),
            np.maximum(followed.std(axis=0), 1e-6),
        )

    def inputs(self, observations: Observations, actions: np.ndarray, counts: Sequence[int]) -> np.ndarray:
        """A critic's input while it learns: all features in their units, then all actions as one-hot."""
        seen = (np.concatenate(observations, axis=1) - self.mean) / self.spread
        one_hot = [np.eye(count)[actions[:, i]] for i, count in enumerate(counts)]
        return np.concatenate([seen, *one_hot], axis=1).astype(np.float32)

    def critic(self, stacked: Network, i: int) -> networks.Network:
        """Agent i's critic as it is used: plain features in, values of plain rewards out."""
        w0, b0, w1, b1, w2, b2 = (np.array(array[i], np.float64) for pair in stacked for array in pair)
        seen = len(self.mean)
        b0 = b0 - (self.mean / self.spread) @ w0[:seen]
        w0[:seen] /= self.spread[:, None]
        layers = (w0, b0, w1, b1, w2 * self.scale[i], b2 * self.scale[i] + self.offset[i])
        w0, b0, w1, b1, w2, b2 = (np.ascontiguousarray(array, np.float32) for array in layers)
        return networks.Network((w0, b0, w1, b1, w2, b2))


class _Table(NamedTuple):
    """All samples as the critics see them."""

    now: Any  # [S, I]
    following: Any  # [S, I] with the policy's next actions
    rewards: Any  # [S, N] in units
    continues: Any  # [S]


class _Learner(NamedTuple):
    """Everything that learning changes; all agents' critics are stacked, [N, ...]."""

    critics: Network
    targets: Network
    memory: Any  # the optimizer's


@dataclass(frozen=True)
class _Rule:
    """How a learner changes: pure functions of it and a batch."""

    settings: CriticSettings
    offset: tuple[float, ...]  # [N], in units
    decay: float  # of the weights

    @property
    def optimizer(self) -> optax.GradientTransformation:
        """Adam with a falling rate and weights that decay."""
        settings = self.settings
        floor = settings.final_learning_rate / settings.learning_rate
        schedule = optax.cosine_decay_schedule(settings.learning_rate, settings.updates, floor)
        return optax.adamw(schedule, weight_decay=self.decay)

    def start(self, random: np.random.Generator, inputs: int, agents: int) -> _Learner:
        """Fresh critics."""
        hidden = self.settings.hidden
        fresh = [fresh_network(random, inputs, hidden, hidden, 1) for _ in range(agents)]
        stacked = jax.tree.map(lambda *arrays: jnp.stack(arrays), *fresh)
        return _Learner(stacked, stacked, self.optimizer.init(stacked))

    def update(self, learner: _Learner, batch: _Table) -> _Learner:
        """One step of every critic towards reward + discounted value of what the policy does next."""
        values = jax.vmap(forward, (0, None))
        future = values(learner.targets, batch.following)[..., 0] + jnp.asarray(self.offset)[:, None]  # [N, S]
        goals = batch.rewards.T + self.settings.discount * batch.continues * future

        def loss(critics: Network) -> jax.Array:
            return jnp.sum(jnp.mean((values(critics, batch.now)[..., 0] - goals) ** 2, axis=1))

        change, memory = self.optimizer.update(jax.grad(loss)(learner.critics), learner.memory, learner.critics)
        critics = jax.tree.map(jnp.add, learner.critics, change)
        rate = self.settings.target_rate
        targets = jax.tree.map(lambda old, new: (1 - rate) * old + rate * new, learner.targets, critics)
        return _Learner(critics, targets, memory)


@partial(jax.jit, static_argnames="rule")
def _learn(rule: _Rule, learner: _Learner, table: _Table, drawn: jax.Array) -> _Learner:
    """Run an update per row of `drawn` [updates, batch]."""

    def one(learner: _Learner, rows: jax.Array) -> tuple[_Learner, None]:
        return rule.update(learner, _Table(*(column[rows] for column in table))), None

    return jax.lax.scan(one, learner, drawn)[0]


# ------------------------------------------------------------------------------------------------ how good it is


def _held_out(expert: CriticExpert, samples: _Samples, discount: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The held-out error of every critic, and the share of its targets' variance that it explains."""
    rows = samples.usable & samples.held_out
    after = expert.q(
        [seen[samples.following[rows]] for seen in samples.observations], samples.wanted[samples.following[rows]]
    )
    goals = samples.rewards[rows] + discount * samples.continues[rows, None] * after
    missed = goals - expert.q([seen[rows] for seen in samples.observations], samples.actions[rows])
    explained = 1 - missed.var(axis=0) / np.maximum(goals.var(axis=0), 1e-12)
    return _floats(np.sqrt((missed**2).mean(axis=0))), _floats(explained)


def _correlation(expert: CriticExpert, played: Rollouts, discount: float) -> tuple[float, ...]:
    """How values go with the discounted rewards that followed, where enough of the episode was left to tell."""
    observations, rewards = played.observations or (), played.rewards
    assert rewards is not None
    index, ends = np.arange(len(rewards)), np.repeat(np.cumsum(played.lengths) - 1, played.lengths)
    followed = _discounted(rewards, np.minimum(index + 1, ends), discount)
    tail = math.log(0.1) / math.log(discount) if discount > 0 else 1
    rows = index + np.minimum(tail, np.repeat(played.lengths, played.lengths) / 2) <= ends
    values = expert.q(observations, expert.act(observations))
    pairs = zip(values[rows].T, followed[rows].T, strict=True)
    return tuple(
        float(np.corrcoef(value, truth)[0, 1]) if value.std() > 0 and truth.std() > 0 else float("nan")
        for value, truth in pairs
    )


def _floats(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _named(game: Game, expert: CriticExpert, settings: CriticSettings) -> NetworkExpert | CriticExpert:
    """The expert with its head; one that has actors keeps them and only changes its critics."""
    policy = expert.policy
    origin = dict(getattr(policy, "about", {}))
    name = origin.get("algorithm") or getattr(policy, "name", type(policy).__name__)
    about = {
        "game": game.name,
        "parameters": dict(game.parameters),
        "algorithm": f"{name}-joint",
        "settings": asdict(settings),
        "policy": origin,
    }
    if isinstance(policy, NetworkExpert):
        return replace(policy, critics=expert.critics, about=about)
    return replace(expert, about=about)
