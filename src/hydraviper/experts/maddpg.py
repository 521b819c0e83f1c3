"""MADDPG: actors that see their own observation, critics that see everybody's, trained on any game.

Differs from the original (Lowe et al., 2017) in three places, each because it was measured to learn faster:
an actor's gradient is the exact expectation over its own discrete actions instead of a Gumbel-softmax sample,
team mates' actions in that gradient come from their present actors instead of the replay, and the learning rate
falls to almost nothing. A last phase fits the critics to the greedy actors, because their values weigh samples later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from hydraviper.data import Team
from hydraviper.experts.networks import NetworkExpert
from hydraviper.experts.store import from_arrays
from hydraviper.protocols import Game
from hydraviper.rollout import play
from hydraviper.seeding import Purpose, generator, rollout_seeds

Network = list[tuple[jax.Array, jax.Array]]  # per layer: weight [in, out], bias [out]


@dataclass(frozen=True)
class MaddpgSettings:
    """How an expert is trained; the defaults make the experts that come with the package."""

    seed: int = 0  # decides everything
    episodes: int = 120_000  # played for training
    games: int = 100  # episodes played at once, between two rounds of updates
    steps_per_update: int = 100  # game steps (over all games) for every update of the networks
    warmup: int = 25_000  # game steps before the first update
    hidden: int = 64  # units of each of the two hidden layers
    batch: int = 1024  # samples per update
    replay: int = 1_000_000  # samples remembered
    discount: float = 0.95  # worth of a reward one step later
    target_rate: float = 0.01  # how fast the target networks follow
    gradient_clip: float = 0.5  # longest gradient of one network
    logit_penalty: float = 1e-3  # keeps actors from becoming certain, so that they go on exploring
    learning_rate: float = 3e-3  # of Adam, at the start
    final_learning_rate: float = 3e-5  # at the end, along a cosine
    share_team_reward: bool = True  # every member of a team is paid the team's mean reward
    evaluation_episodes: int = 1_000  # greedy, on fixed validation seeds
    evaluations: int = 20  # points of the curve
    critic_updates: int = 20_000  # at the end, for the critics alone: the value of the greedy actors
    critic_learning_rate: float = 1e-3  # at the start of that phase


@dataclass(frozen=True)
class Progress:
    """One point of the learning curve."""

    episodes: int  # played so far
    score: float  # mean on the validation seeds, greedy actions
    returns: tuple[float, ...]  # [N] mean per agent, same episodes
    critic_error: tuple[float, ...]  # [N] root mean square of the temporal difference


@dataclass(frozen=True)
class Training:
    """A trained expert and how it got there."""

    expert: NetworkExpert
    curve: tuple[Progress, ...]
    chosen: Progress  # the checkpoint that became the expert
    critic_error: tuple[float, ...]  # [N] root mean square of the temporal difference after the last phase


def train(
    game: Game, settings: MaddpgSettings | None = None, on_progress: Callable[[Progress], None] | None = None
) -> Training:
    """Train one actor and one joint critic per agent.

    Which checkpoint is kept: in a game of one team, the one with the best score on the validation seeds. With
    opponents in the game that rule would pick the moment of the weakest opponent, so there the last one is kept:
    the learning rate has fallen to almost nothing by then, and both sides have answered each other.
    """
    settings = settings or MaddpgSettings()
    sizes = _Sizes.of(game)
    cooperative = len(sizes.groups) == 1
    trainer = _Trainer(game, sizes, settings)
    curve: list[Progress] = []
    best: tuple[Progress, _Learner] | None = None
    for progress, learner in trainer.run():
        curve.append(progress)
        if on_progress:
            on_progress(progress)
        if best is None or not cooperative or game.score.better(progress.score, best[0].score):
            best = progress, learner
    assert best is not None
    chosen, learner = best
    critics, critic_error = trainer.evaluate_policy(learner)
    about = {
        "game": game.name,
        "parameters": dict(game.parameters),
        "algorithm": "maddpg",
        "settings": asdict(settings),
        "validation": {"score": chosen.score, "episodes": settings.evaluation_episodes},
        "critic_error": list(critic_error),
    }
    return Training(from_arrays(_arrays(learner.actors, critics), about), tuple(curve), chosen, critic_error)


class _Trainer:
    """Plays rounds of games and updates the networks between them."""

    def __init__(self, game: Game, sizes: _Sizes, settings: MaddpgSettings) -> None:
        self.game, self.sizes, self.settings = game, sizes, settings
        self.games = min(settings.games, game.width or settings.games)
        self.rounds = max(1, settings.episodes // self.games)
        self.updates = max(1, self.games * game.horizon // settings.steps_per_update)  # per round
        self.replay = _Replay(sizes, min(settings.replay, settings.episodes * game.horizon))
        self.random = generator(settings.seed, Purpose.EXPERT_TRAINING, 0)
        self.key = jax.random.key(settings.seed)

    def run(self) -> Iterator[tuple[Progress, _Learner]]:
        """Yield (progress, learner) at each evaluation; the last one comes at the end."""
        rule = _Rule(self.sizes, self.settings, self.settings.learning_rate, self.rounds * self.updates)
        learner, learn = rule.start(self.next_key()), _in_one_call(rule.update)
        marks = {self.rounds * (k + 1) // self.settings.evaluations for k in range(self.settings.evaluations)}
        error = np.full(len(self.game.agents), np.nan)
        for number in range(1, self.rounds + 1):
            self.play(learner.actors, number)
            if self.replay.count >= self.settings.warmup:
                batches = self.replay.draw(self.random, self.updates, self.settings.batch)
                learner, error = learn(learner, batches, self.next_key())
            if number in marks:
                returns = self.validate(learner.actors)
                score = float(self.game.score.of(returns).mean())
                means = tuple(float(mean) for mean in returns.mean(0))
                yield Progress(number * self.games, score, means, tuple(float(e) for e in error)), learner

    def evaluate_policy(self, learner: _Learner) -> tuple[list[Network], tuple[float, ...]]:
        """Fit the critics to the greedy actors, which no longer change; also their error on samples not fitted.

        Games are played with a share of random actions that differs from game to game (none to all), so that the
        values also hold for the bad actions and odd places that students will try.
        """
        rounds = self.settings.critic_updates // self.updates
        rule = _Rule(self.sizes, self.settings, self.settings.critic_learning_rate, rounds * self.updates)
        learner, fit = learner._replace(critic_memory=rule.forget(learner.critics)), _in_one_call(rule.update_critics)
        self.replay = _Replay(self.sizes, self.replay.capacity)
        random_share = np.linspace(0, 1, self.games)[:, None]
        error = np.full(len(self.game.agents), np.nan)
        for number in range(rounds):
            self.play(learner.actors, self.rounds + number + 1, random_share)
            batches = self.replay.draw(self.random, self.updates, self.settings.batch)
            learner, error = fit(learner, batches, self.next_key())
        return learner.critics, tuple(float(one) for one in error)

    def play(self, actors: list[Network], number: int, random_share: np.ndarray | None = None) -> None:
        """Play one round into the replay: sampled actions, or greedy ones with a share [B, 1] of random ones."""
        observations = self.game.reset(rollout_seeds(self.settings.seed, Purpose.EXPERT_TRAINING, number, self.games))
        running = np.ones(self.games, bool)
        for step in range(self.game.horizon):
            actions = np.array(_act(actors, list(observations), self.next_key() if random_share is None else None))
            if random_share is not None:
                others = self.random.integers(0, self.sizes.actions, actions.shape)
                actions = np.where(self.random.random(actions.shape) < random_share, others, actions)
            following, rewards, done = self.game.step(actions)
            over = done & (step + 1 < self.game.horizon)  # at the horizon the game is cut off, not over
            batch = _Batch(list(observations), actions, self.share(rewards), ~over, list(following))
            self.replay.add(batch, running)
            observations, running = following, running & ~done
            if not running.any():
                break

    def share(self, rewards: np.ndarray) -> np.ndarray:
        """Pay every member the team's mean, [B, N]."""
        if not self.settings.share_team_reward:
            return rewards
        shared = np.array(rewards)
        for group in self.sizes.groups:
            shared[:, group] = rewards[:, group].mean(1, keepdims=True)
        return shared

    def validate(self, actors: list[Network]) -> np.ndarray:
        """Returns [E, N] of greedy play on seeds that are the same for every run and every checkpoint."""
        policy = from_arrays(_arrays(actors, actors), {})
        seeds = rollout_seeds(0, Purpose.EXPERT_VALIDATION, 0, self.settings.evaluation_episodes)
        return play(self.game, policy, seeds).returns

    def next_key(self) -> jax.Array:
        """A fresh source of randomness for JAX."""
        self.key, key = jax.random.split(self.key)
        return key


class _Sizes(NamedTuple):
    """What the networks need to know about a game."""

    features: tuple[int, ...]
    actions: tuple[int, ...]
    groups: tuple[Team, ...]  # who shares an interest: the teams, and everybody else alone

    @staticmethod
    def of(game: Game) -> _Sizes:
        members = {i for team in game.teams for i in team}
        alone = tuple((i,) for i in range(len(game.agents)) if i not in members)
        features, actions = zip(*((len(agent.features), len(agent.actions)) for agent in game.agents), strict=True)
        return _Sizes(features, actions, (*game.teams, *alone))

    def joint_input(self, observations: Sequence[jax.Array], actions: jax.Array) -> jax.Array:
        """What a critic sees: all observations, then all actions [S, N] as one-hot, in the order of the agents."""
        one_hot = [jax.nn.one_hot(actions[:, i], count) for i, count in enumerate(self.actions)]
        return jnp.concatenate([*observations, *one_hot], axis=1)

    def mates(self, agent: int) -> list[bool]:
        """Who shares the agent's interest, [N]."""
        group = next(group for group in self.groups if agent in group)
        return [i in group for i in range(len(self.actions))]


class _Batch(NamedTuple):
    """Samples of the replay; JAX takes it apart and puts it together again."""

    observations: list[Any]  # per agent [S, F_i]
    actions: Any  # [S, N]
    rewards: Any  # [S, N]
    continues: Any  # [S] 0 where the game was over before its horizon
    next_observations: list[Any]  # per agent [S, F_i]


class _Replay:
    """The last samples, in a ring."""

    def __init__(self, sizes: _Sizes, capacity: int) -> None:
        agents = len(sizes.features)
        before, after = ([np.empty((capacity, size), np.float32) for size in sizes.features] for _ in range(2))
        actions, rewards = np.empty((capacity, agents), np.int32), np.empty((capacity, agents), np.float32)
        self._rows = _Batch(before, actions, rewards, np.empty(capacity, np.float32), after)
        self.capacity = capacity
        self.count = 0  # ever added

    def add(self, batch: _Batch, kept: np.ndarray) -> None:
        """Remember the samples that are kept (bool [S]), forgetting the oldest."""
        where = (self.count + np.arange(kept.sum())) % self.capacity
        for rows, new in zip(jax.tree.leaves(self._rows), jax.tree.leaves(batch), strict=True):
            rows[where] = new[kept]
        self.count += len(where)

    def draw(self, random: np.random.Generator, updates: int, batch: int) -> _Batch:
        """Samples for several updates, with a leading axis for the updates."""
        chosen = random.integers(0, min(self.count, self.capacity), (updates, batch))
        return jax.tree.map(lambda rows: rows[chosen], self._rows)


class _Learner(NamedTuple):
    """Everything that learning changes; each field holds one entry per agent."""

    actors: list[Network]
    critics: list[Network]
    target_actors: list[Network]
    target_critics: list[Network]
    actor_memory: list[Any]  # the optimizer's
    critic_memory: list[Any]


@dataclass(frozen=True)
class _Rule:
    """How a learner changes: pure functions of it and a batch, compiled into one call per round."""

    sizes: _Sizes
    settings: MaddpgSettings
    rate: float  # of learning, at the start
    updates: int  # until the rate has fallen

    @property
    def optimizer(self) -> optax.GradientTransformation:
        """Adam with a falling rate on clipped gradients."""
        schedule = optax.cosine_decay_schedule(self.rate, self.updates, self.settings.final_learning_rate / self.rate)
        return optax.chain(optax.clip_by_global_norm(self.settings.gradient_clip), optax.adam(schedule))

    def start(self, key: jax.Array) -> _Learner:
        """Fresh networks."""
        agents, hidden = len(self.sizes.features), self.settings.hidden
        inputs = sum(self.sizes.features) + sum(self.sizes.actions)
        keys = jax.random.split(key, 2 * agents)
        pairs = zip(keys, self.sizes.features, self.sizes.actions, strict=False)
        actors = [_network(own, features, hidden, hidden, actions) for own, features, actions in pairs]
        critics = [_network(own, inputs, hidden, hidden, 1) for own in keys[agents:]]
        return _Learner(actors, critics, actors, critics, self.forget(actors), self.forget(critics))

    def forget(self, networks: list[Network]) -> list[Any]:
        """A fresh memory of the optimizer for each network."""
        return [self.optimizer.init(network) for network in networks]

    def update(self, learner: _Learner, batch: _Batch, key: jax.Array) -> tuple[_Learner, jax.Array]:
        """One step of every critic, then of every actor."""
        keys = jax.random.split(key)
        next_actions = _act(learner.target_actors, batch.next_observations, keys[0])
        learner, errors = self.step_critics(learner, batch, next_actions)
        return self.step_actors(learner, batch, _act(learner.actors, batch.observations, keys[1])), errors

    def update_critics(self, learner: _Learner, batch: _Batch, key: jax.Array) -> tuple[_Learner, jax.Array]:
        """One step of every critic towards the value of the greedy actors, which stay as they are."""
        del key  # greedy actions need none
        return self.step_critics(learner, batch, _act(learner.actors, batch.next_observations, None))

    def step_critics(self, learner: _Learner, batch: _Batch, next_actions: jax.Array) -> tuple[_Learner, jax.Array]:
        """Move the critics towards reward + discounted value of the next actions; also their mean square errors [N]."""
        joint = self.sizes.joint_input(batch.observations, batch.actions)
        next_joint = self.sizes.joint_input(batch.next_observations, next_actions)

        def loss(critic: Network, i: int) -> jax.Array:
            future = self.settings.discount * batch.continues * _forward(learner.target_critics[i], next_joint)[:, 0]
            return jnp.mean((_forward(critic, joint)[:, 0] - batch.rewards[:, i] - future) ** 2)

        critics, memory, errors = self.descend(loss, learner.critics, learner.critic_memory)
        targets = self.follow(learner.target_critics, critics)
        return learner._replace(critics=critics, target_critics=targets, critic_memory=memory), errors

    def step_actors(self, learner: _Learner, batch: _Batch, present: jax.Array) -> _Learner:
        """Move the actors towards what their critics value; mates act as at `present` [S, N], opponents as they did."""
        ends = np.cumsum(self.sizes.actions) + sum(self.sizes.features)

        def loss(actor: Network, i: int) -> jax.Array:
            actions = jnp.where(jnp.array(self.sizes.mates(i)), present, batch.actions)
            joint = self.sizes.joint_input(batch.observations, actions)
            values = _value_of_each_action(learner.critics[i], joint, slice(ends[i] - self.sizes.actions[i], ends[i]))
            logits = _forward(actor, batch.observations[i])
            expected = jnp.mean(jnp.sum(jax.nn.softmax(logits) * values, axis=1))
            return self.settings.logit_penalty * jnp.mean(logits**2) - expected

        actors, memory, _ = self.descend(loss, learner.actors, learner.actor_memory)
        targets = self.follow(learner.target_actors, actors)
        return learner._replace(actors=actors, target_actors=targets, actor_memory=memory)

    def descend(
        self, loss: Callable[[Network, int], jax.Array], networks: list[Network], memories: list[Any]
    ) -> tuple[list[Network], list[Any], jax.Array]:
        """One step of the optimizer for each agent's network: networks, memories, losses [N]."""
        moved, remembered, losses = [], [], []
        for i, (network, memory) in enumerate(zip(networks, memories, strict=True)):
            value, gradient = jax.value_and_grad(loss)(network, i)
            change, memory = self.optimizer.update(gradient, memory, network)
            moved.append(optax.apply_updates(network, change))
            remembered.append(memory)
            losses.append(value)
        return moved, remembered, jnp.stack(losses)

    def follow(self, targets: list[Network], networks: list[Network]) -> list[Network]:
        """Move the target networks a little towards the networks."""
        rate = self.settings.target_rate
        return jax.tree.map(lambda target, network: (1 - rate) * target + rate * network, targets, networks)


def _in_one_call(update: Callable) -> Callable[[_Learner, _Batch, jax.Array], tuple[_Learner, jax.Array]]:
    """Run an update over the leading axis of the batches inside one compiled call."""

    @jax.jit
    def run(learner: _Learner, batches: _Batch, key: jax.Array) -> tuple[_Learner, jax.Array]:
        keys = jax.random.split(key, len(batches.actions))
        learner, errors = jax.lax.scan(lambda carry, drawn: update(carry, *drawn), learner, (batches, keys))
        return learner, jnp.sqrt(errors.mean(0))

    return run


def _network(key: jax.Array, *widths: int) -> Network:
    """Glorot's uniform weights, no bias."""
    network = []
    for own, (inputs, outputs) in zip(jax.random.split(key, len(widths) - 1), pairwise(widths), strict=True):
        bound = np.sqrt(6 / (inputs + outputs))
        network.append((jax.random.uniform(own, (inputs, outputs), minval=-bound, maxval=bound), jnp.zeros(outputs)))
    return network


def _forward(network: Network, x: jax.Array) -> jax.Array:
    for weight, bias in network[:-1]:
        x = jax.nn.relu(x @ weight + bias)
    weight, bias = network[-1]
    return x @ weight + bias


def _value_of_each_action(critic: Network, joint: jax.Array, own: slice) -> jax.Array:
    """Q [S, A_i] of every action of one agent; `joint` is the critic's input, whose columns `own` do not count."""
    (weight, bias), *rest = critic
    others = joint.at[:, own].set(0) @ weight + bias
    hidden = jax.nn.relu(others[:, None] + weight[own])  # an action only adds a row of the first layer
    return _forward(rest, hidden.reshape(-1, hidden.shape[-1])).reshape(hidden.shape[:2])


@jax.jit
def _act(actors: list[Network], observations: list[jax.Array], key: jax.Array | None) -> jax.Array:
    """Everybody's action [S, N]: the greedy ones, or with a key drawn from the softmax (the Gumbel-max trick)."""
    logits = [_forward(actor, seen) for actor, seen in zip(actors, observations, strict=True)]
    if key is not None:
        keys = jax.random.split(key, len(actors))
        logits = [own + jax.random.gumbel(noise, own.shape) for own, noise in zip(logits, keys, strict=True)]
    return jnp.stack([jnp.argmax(own, axis=1) for own in logits], axis=1)


def _arrays(actors: list[Network], critics: list[Network]) -> dict[str, np.ndarray]:
    """The networks under the names of the store."""
    return {
        f"{role}.{i}.{kind}.{layer}": np.asarray(array)
        for role, networks in (("actor", actors), ("critic", critics))
        for i, network in enumerate(networks)
        for layer, pair in enumerate(network)
        for kind, array in zip(("weight", "bias"), pair, strict=True)
    }
