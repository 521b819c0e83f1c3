"""Double DQN on any game: one small network per agent (IDQN), or whatever else a model says (see mplight.py).

Every agent learns alone from its own reward. Episodes that go wrong for good (a jammed road network) are rare and
decide the mean, so the checkpoint that is kept must do well in the mean and on its worst validation seed, and the best
few prove it again on more seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import optax

from hydraviper.data import InputError, Observations
from hydraviper.experts import networks
from hydraviper.experts.layers import Network, forward, fresh_network
from hydraviper.experts.local_q import LocalQ, LocalQExpert, NetworkQ
from hydraviper.experts.replay import Replay, Samples
from hydraviper.protocols import Engine, Game, offers
from hydraviper.rollout import play
from hydraviper.seeding import Purpose, generator, rollout_seeds


@dataclass(frozen=True)
class DqnSettings:
    """How an expert is trained; the defaults suit traffic signals."""

    seed: int = 0  # decides everything
    episodes: int = 110  # played for training
    hidden: int = 64  # units of each of the two hidden layers
    discount: float = 0.9  # worth of a reward one step later
    reward_scale: float = 0.1  # times every reward, so that values stay near 1
    dread: float = 0.1  # how much worse than in proportion large losses are: r - dread * r^2 where r < 0, scaled
    guided: float = 0.7  # share of the exploring actions that follow a yardstick, where the game has one that acts
    updates_per_step: int = 4  # of the networks, per game step
    batch: int = 128  # samples per update
    warmup: int = 500  # game steps before the first update; a tenth of all at most
    replay: int = 30_000  # samples remembered
    learning_rate: float = 1e-3  # of Adam, at the start
    final_learning_rate: float = 1e-4  # at the end, along a line
    target_rate: float = 0.005  # how fast the target networks follow; 1 copies them
    target_every: int = 1  # updates between two such moves
    first_epsilon: float = 1.0  # share of random actions at the start
    last_epsilon: float = 0.05  # reached after `explore`, kept until `settle`
    explore: float = 0.5  # share of the episodes
    settle: float = 0.75  # from here on (share of the episodes) no random actions
    evaluate_every: int = 10  # episodes between checkpoints
    evaluate_from: float = 0.7  # share of the episodes before the first checkpoint
    evaluation_episodes: int = 8  # greedy, on validation seeds, for every checkpoint
    finalists: int = 2  # checkpoints that play on more validation seeds
    final_episodes: int = 16  # how many more, each
    fear: float = 0.5  # how much the worst validation episode counts, against the mean

    def __post_init__(self) -> None:
        counts = ("episodes", "hidden", "updates_per_step", "batch", "replay", "target_every", "evaluate_every")
        for name in (*counts, "evaluation_episodes", "finalists", "final_episodes"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, not {getattr(self, name)}.")

    def epsilon(self, episode: int) -> float:
        """The share of random actions in an episode (counted from 0)."""
        done = episode / self.episodes
        if done >= self.settle:
            return 0.0
        return self.first_epsilon + (self.last_epsilon - self.first_epsilon) * min(1.0, done / self.explore)


class Model(Protocol):
    """What is learned: parameters, and how agents value their actions by them. Must be hashable."""

    @property
    def name(self) -> str:
        """The algorithm's."""
        ...

    def fresh(self, random: np.random.Generator) -> Any:
        """Parameters to start from."""
        ...

    def units(self, observations: list[np.ndarray]) -> list[np.ndarray]:
        """What to divide features by, per agent [F_i], from some observations [S, F_i]."""
        ...

    def rewards(self, rewards: np.ndarray, following: Observations) -> np.ndarray:
        """What agents learn from, [B, N], by the game's rewards and what was seen next."""
        ...

    def values(self, parameters: Any, agent: int, observations: jax.Array) -> jax.Array:
        """One agent's values, [S, F_i] in units -> [S, A_i]."""
        ...

    def tables(self, parameters: Any, units: list[np.ndarray]) -> tuple[LocalQ, ...]:
        """The same, to play without JAX and without units."""
        ...


@dataclass(frozen=True)
class Idqn:
    """One network per agent, which learns from the agent's own reward."""

    widths: tuple[tuple[int, ...], ...]  # per agent: features, hidden, hidden, actions
    name: str = "idqn"

    @staticmethod
    def of(game: Game, hidden: int) -> Idqn:
        """Networks that fit a game."""
        return Idqn(tuple((len(agent.features), hidden, hidden, len(agent.actions)) for agent in game.agents))

    def fresh(self, random: np.random.Generator) -> list[Network]:
        """Parameters to start from."""
        return [fresh_network(random, *widths) for widths in self.widths]

    def units(self, observations: list[np.ndarray]) -> list[np.ndarray]:
        """The spread of every feature, between 1 and 5."""
        return [np.clip(seen.std(axis=0), 1.0, 5.0).astype(np.float32) for seen in observations]

    def rewards(self, rewards: np.ndarray, following: Observations) -> np.ndarray:
        """The game's own."""
        del following
        return rewards

    def values(self, parameters: list[Network], agent: int, observations: jax.Array) -> jax.Array:
        """One agent's values, [S, F_i] in units -> [S, A_i]."""
        return forward(parameters[agent], observations)

    def tables(self, parameters: list[Network], units: list[np.ndarray]) -> tuple[NetworkQ, ...]:
        """What plays: the units are folded into the first layers."""
        made = []
        for network, unit in zip(parameters, units, strict=True):
            w0, b0, w1, b1, w2, b2 = (np.array(array, np.float32) for pair in network for array in pair)
            made.append(NetworkQ(networks.Network((w0 / unit[:, None], b0, w1, b1, w2, b2))))
        return tuple(made)


@dataclass(frozen=True)
class Progress:
    """One episode of training; every so often also a checkpoint."""

    episodes: int  # played so far
    training_score: float  # of the episode just played, random actions included
    epsilon: float  # their share
    error: float  # mean loss of the updates after it
    mean: float | None = None  # the checkpoint's score on the validation seeds
    worst: float | None = None


@dataclass(frozen=True)
class Training:
    """A trained expert and how it got there."""

    expert: LocalQExpert
    curve: tuple[Progress, ...]
    score: float  # the expert's mean on all validation seeds
    worst: float  # and its worst
    chosen_from: int  # episodes after which it was taken


def train(
    game: Game,
    settings: DqnSettings | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    engine: Engine | None = None,
    model: Model | None = None,
) -> Training:
    """Train a model (default: one network per agent); the engine, if there is one, plays the validation episodes."""
    settings = settings or DqnSettings()
    model = model or Idqn.of(game, settings.hidden)
    trainer = _Trainer(game, model, settings, engine)
    curve: list[Progress] = []
    checkpoints: list[_Checkpoint] = []
    for progress, checkpoint in trainer.run():
        curve.append(progress)
        if checkpoint is not None:
            checkpoints.append(checkpoint)
        if on_progress:
            on_progress(progress)
    best = trainer.choose(checkpoints)
    mean, worst = trainer.mean_and_worst(best.scores)
    about = {
        "game": game.name,
        "parameters": dict(game.parameters),
        "algorithm": model.name,
        "settings": asdict(settings),
        "validation": {"score": mean, "worst": worst, "episodes": len(best.scores), "trained_for": best.episodes},
    }
    return Training(LocalQExpert(best.expert.tables, about), tuple(curve), mean, worst, best.episodes)


class _Checkpoint(NamedTuple):
    episodes: int
    expert: LocalQExpert
    scores: np.ndarray  # [E] on validation seeds


class _Trainer:
    """Plays episodes and updates the networks between them."""

    def __init__(self, game: Game, model: Model, settings: DqnSettings, engine: Engine | None) -> None:
        self.game, self.model, self.settings, self.engine = game, model, settings, engine
        self.features = tuple(len(agent.features) for agent in game.agents)
        self.actions = tuple(len(agent.actions) for agent in game.agents)
        steps = settings.episodes * game.horizon
        self.replay = Replay(self.features, len(game.agents), min(settings.replay, steps))
        self.warmup = min(settings.warmup, steps // 10)
        self.random = generator(settings.seed, Purpose.EXPERT_TRAINING, 0)
        rules = offers(game).scoring.yardsticks
        start = game.reset(rollout_seeds(settings.seed, Purpose.EXPERT_TRAINING, 0, 1)) if rules else []
        # a rule that leaves signals to themselves names no action to learn about
        self.guides = [rule for rule in rules.values() if (rule.act(start) >= 0).all()]
        # what features are divided by; known after the first episodes
        self.units = [np.ones(size, np.float32) for size in self.features]

    def run(self) -> Iterator[tuple[Progress, _Checkpoint | None]]:
        """Yield the progress of every episode, and checkpoints; the last episode always makes one."""
        settings = self.settings
        updates = self.game.horizon * settings.updates_per_step
        rule = _Rule(self.model, settings, settings.episodes * updates)
        learner: _Learner | None = None
        for episode in range(settings.episodes):
            epsilon = settings.epsilon(episode)
            expert = None if learner is None else self.expert(learner.parameters)
            returns = self.play(expert, episode, epsilon)
            error = float("nan")
            if self.replay.count >= self.warmup:
                if learner is None:
                    seen = self.replay.draw(self.random, 1, 5_000).observations
                    self.units = self.model.units([values[0] for values in seen])
                    learner = rule.start(self.random)
                batches = self.scaled(self.replay.draw(self.random, updates, settings.batch))
                learner, errors = _learn(rule, learner, batches)
                error = float(errors)
            done = episode + 1
            progress = Progress(done, float(self.game.score.of(returns[None])[0]), epsilon, error)
            due = done % settings.evaluate_every == 0 and done >= settings.evaluate_from * settings.episodes
            if learner is not None and (due or done == settings.episodes):
                # targets that follow slowly are an average over many updates, and the steadier player
                expert = self.expert(learner.parameters if settings.target_rate == 1 else learner.targets)
                scores = self.validate(expert, 0, settings.evaluation_episodes)
                mean, worst = self.mean_and_worst(scores)
                point = Progress(done, progress.training_score, epsilon, error, mean, worst)
                yield point, _Checkpoint(done, expert, scores)
            else:
                yield progress, None

    def play(self, expert: LocalQExpert | None, episode: int, epsilon: float) -> np.ndarray:
        """Play one episode into the replay and return its returns [N]; without an expert, everybody explores.

        Whoever explores takes a random action or a yardstick's: at random only, a road network is jammed most of the
        time and shows little else.
        """
        game, agents = self.game, len(self.game.agents)
        observations = game.reset(rollout_seeds(self.settings.seed, Purpose.EXPERT_TRAINING, episode, 1))
        returns = np.zeros(agents)
        guide = self.guides[episode % len(self.guides)] if self.guides else None
        for step in range(game.horizon):
            actions = self.random.integers(0, self.actions, (1, agents))
            if guide is not None:
                follows = self.random.random((1, agents)) < self.settings.guided
                actions = np.where(follows, guide.act(observations), actions)
            if expert is not None:
                explores = self.random.random((1, agents)) < epsilon
                actions = np.where(explores, actions, expert.act(observations))
            following, rewards, done = game.step(actions)
            over = done & (step + 1 < game.horizon)  # at the horizon the game is cut off, not over
            paid = self.model.rewards(rewards, following) * self.settings.reward_scale
            paid -= self.settings.dread * np.minimum(paid, 0.0) ** 2
            self.replay.add(Samples(list(observations), actions, paid, ~over, list(following)), np.ones(1, bool))
            returns += rewards[0]
            observations = following
            if done.all():
                break
        return returns

    def scaled(self, batches: Samples) -> Samples:
        """Samples with every feature in its unit."""
        before, after = (
            [seen / unit for seen, unit in zip(observations, self.units, strict=True)]
            for observations in (batches.observations, batches.next_observations)
        )
        return batches._replace(observations=before, next_observations=after)

    def expert(self, parameters: Any) -> LocalQExpert:
        """Who plays by these parameters."""
        return LocalQExpert(self.model.tables(parameters, self.units))

    def validate(self, expert: LocalQExpert, start: int, count: int) -> np.ndarray:
        """Scores [E] on validation seeds, which are the same for every run and every checkpoint."""
        seeds = rollout_seeds(0, Purpose.EXPERT_VALIDATION, 0, count, start)
        played = play(self.game, expert, seeds) if self.engine is None else self.engine.play(expert, seeds)
        return self.game.score.of(played.returns)

    def mean_and_worst(self, scores: np.ndarray) -> tuple[float, float]:
        """The two numbers that a checkpoint is judged by."""
        worst = scores.max() if self.game.score.lower_is_better else scores.min()
        return float(scores.mean()), float(worst)

    def cost(self, checkpoint: _Checkpoint) -> float:
        """What a checkpoint is judged by: between its mean and its worst score, lower is better."""
        mean, worst = self.mean_and_worst(checkpoint.scores)
        blend = (1 - self.settings.fear) * mean + self.settings.fear * worst
        return blend if self.game.score.lower_is_better else -blend

    def choose(self, checkpoints: list[_Checkpoint]) -> _Checkpoint:
        """The best of the finalists, on all validation seeds that they played; of equals the later one."""
        latest_first = checkpoints[::-1]
        finalists = sorted(latest_first, key=self.cost)[: self.settings.finalists]
        start, more = self.settings.evaluation_episodes, self.settings.final_episodes
        if len(finalists) > 1:
            finalists = [
                own._replace(scores=np.concatenate([own.scores, self.validate(own.expert, start, more)]))
                for own in finalists
            ]
        return min(finalists, key=self.cost)


class _Learner(NamedTuple):
    """Everything that learning changes."""

    parameters: Any  # the model's
    targets: Any  # slow copies of them
    memory: Any  # the optimizer's
    updates: jax.Array  # how many there were


@dataclass(frozen=True)
class _Rule:
    """How a learner changes: pure functions of it and a batch, compiled into one call per episode."""

    model: Model
    settings: DqnSettings
    updates: int  # until the rate has fallen

    @property
    def optimizer(self) -> optax.GradientTransformation:
        """Adam with a falling rate."""
        settings = self.settings
        return optax.adam(optax.linear_schedule(settings.learning_rate, settings.final_learning_rate, self.updates))

    def start(self, random: np.random.Generator) -> _Learner:
        """Fresh parameters."""
        fresh = self.model.fresh(random)
        return _Learner(fresh, fresh, self.optimizer.init(fresh), jnp.zeros((), jnp.int32))

    def update(self, learner: _Learner, batch: Samples) -> tuple[_Learner, jax.Array]:
        """One step towards reward + discounted value of everybody's next action; also the mean loss per agent.

        Double DQN: the parameters choose the next action, their targets value it.
        """
        values, agents = self.model.values, range(len(batch.observations))

        def loss(parameters: Any) -> jax.Array:
            total = jnp.zeros(())
            for i in agents:
                following = batch.next_observations[i]
                choice = jnp.argmax(values(learner.parameters, i, following), axis=1)
                future = _taken(values(learner.targets, i, following), choice)
                goal = batch.rewards[:, i] + self.settings.discount * batch.continues * future
                value = _taken(values(parameters, i, batch.observations[i]), batch.actions[:, i])
                total += optax.huber_loss(value, goal).mean()
            return total

        error, gradient = jax.value_and_grad(loss)(learner.parameters)
        change, memory = self.optimizer.update(gradient, learner.memory, learner.parameters)
        moved = jax.tree.map(jnp.add, learner.parameters, change)
        count = learner.updates + 1
        rate = jnp.where(count % self.settings.target_every == 0, self.settings.target_rate, 0.0)
        targets = jax.tree.map(lambda target, new: (1 - rate) * target + rate * new, learner.targets, moved)
        return _Learner(moved, targets, memory, count), error / len(agents)


def _taken(values: jax.Array, actions: jax.Array) -> jax.Array:
    """The values [S] of the actions [S] among [S, A]."""
    return jnp.take_along_axis(values, actions[:, None].astype(jnp.int32), axis=1)[:, 0]


@partial(jax.jit, static_argnames="rule")
def _learn(rule: _Rule, learner: _Learner, batches: Samples) -> tuple[_Learner, jax.Array]:
    """Run an update per batch along the leading axis; also the mean loss."""
    learner, errors = jax.lax.scan(rule.update, learner, batches)
    return learner, errors.mean()
