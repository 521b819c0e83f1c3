"""Double DQN on any game: one small network per agent (IDQN), or another model (MPLight: see mplight.py).

Every agent learns from its own reward. Rare episodes that go wrong for good (a jammed road network) decide the mean
score, so checkpoints are ranked by their mean and their worst validation episode, and the best few are compared again
on more seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import optax

from hydraviper.data import InputError, Observations
from hydraviper.experts import networks
from hydraviper.experts.layers import Network, forward, fresh_network
from hydraviper.experts.learner import Learned, Optimizer, learn
from hydraviper.experts.local_q import LocalQ, LocalQExpert, NetworkQ
from hydraviper.experts.replay import Samples
from hydraviper.experts.training import Checkpoint, Trainer, Training, TrainingStatus
from hydraviper.protocols import Engine, Game, offers
from hydraviper.seeding import Purpose, rollout_seeds


@dataclass(frozen=True)
class DqnSettings:
    """How DQN trains; the defaults suit traffic signals."""

    seed: int = 0  # of every random choice
    episodes: int = 110  # played for training
    hidden: int = 64  # units of each of the two hidden layers
    gamma: float = 0.9  # discount
    reward_scale: float = 0.1  # multiplies every reward, so that values stay near 1
    dread: float = 0.1  # extra weight of large losses: r becomes r - dread * r^2 where r < 0, after scaling
    guided: float = 0.7  # share of exploring actions taken from a yardstick, where the game has one for every agent
    updates_per_step: int = 4  # updates of the networks per game step
    batch: int = 128  # samples per update
    warmup: int = 500  # game steps before the first update; at most a tenth of all
    replay: int = 30_000  # samples kept
    learning_rate: float = 1e-3  # of Adam, at the start
    final_learning_rate: float = 1e-4  # at the end; linear in between
    tau: float = 0.005  # how fast the target networks follow; 1 copies the networks
    target_every: int = 1  # updates between two moves of the target networks
    first_epsilon: float = 1.0  # share of exploring actions at the start
    last_epsilon: float = 0.05  # reached after `explore`, kept until `settle`, then 0
    explore: float = 0.5  # share of the episodes until epsilon has fallen
    settle: float = 0.75  # share of the episodes after which nobody explores
    evaluate_every: int = 10  # episodes between checkpoints
    evaluate_from: float = 0.7  # share of the episodes before the first checkpoint
    evaluation_episodes: int = 8  # validation episodes of every checkpoint, greedy
    finalists: int = 2  # checkpoints that play more validation episodes
    final_episodes: int = 16  # how many more, each
    fear: float = 0.5  # weight of the worst validation episode against the mean

    def __post_init__(self) -> None:
        counts = ("episodes", "hidden", "updates_per_step", "batch", "replay", "target_every", "evaluate_every")
        for name in (*counts, "evaluation_episodes", "finalists", "final_episodes"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, not {getattr(self, name)}.")

    def epsilon(self, episode: int) -> float:
        """The share of exploring actions in an episode (counted from 0)."""
        done = episode / self.episodes
        if done >= self.settle:
            return 0.0
        return self.first_epsilon + (self.last_epsilon - self.first_epsilon) * min(1.0, done / self.explore)


class Model(Protocol):
    """The Q-functions to learn, one per agent, by parameters of any kind. Must be hashable."""

    @property
    def name(self) -> str:
        """The algorithm's name."""
        ...

    def fresh(self, random: np.random.Generator) -> Any:
        """Parameters to start from."""
        ...

    def scales(self, observations: list[np.ndarray]) -> list[np.ndarray]:
        """What to divide features by, per agent [F_i], from some observations [S, F_i]."""
        ...

    def rewards(self, rewards: np.ndarray, following: Observations) -> np.ndarray:
        """The rewards to learn from, [B, N], given the game's own and the next observations."""
        ...

    def values(self, parameters: Any, agent: int, observations: jax.Array) -> jax.Array:
        """One agent's Q-values, scaled observations [S, F_i] -> [S, A_i]."""
        ...

    def q_functions(self, parameters: Any, scales: list[np.ndarray]) -> tuple[LocalQ, ...]:
        """JAX parameters as NumPy Q-functions of plain observations."""
        ...


@dataclass(frozen=True)
class Idqn:
    """One network per agent."""

    widths: tuple[tuple[int, ...], ...]  # per agent: features, hidden, hidden, actions
    name: str = "idqn"
    costs: tuple[tuple[int, ...], ...] = ()  # per agent, features to keep small; empty: the game's rewards count

    @staticmethod
    def of(game: Game, hidden: int) -> Idqn:
        """Networks that fit a game."""
        widths = tuple((len(agent.features), hidden, hidden, len(agent.actions)) for agent in game.agents)
        return Idqn(widths, costs=offers(game).search.costs)

    def fresh(self, random: np.random.Generator) -> list[Network]:
        """Parameters to start from."""
        return [fresh_network(random, *widths) for widths in self.widths]

    def scales(self, observations: list[np.ndarray]) -> list[np.ndarray]:
        """The standard deviation of every feature; for counts, which deviate by less than 20, clipped to 1..5."""
        deviations = [seen.std(axis=0) for seen in observations]
        return [np.where(own > 20, own, np.clip(own, 1.0, 5.0)).astype(np.float32) for own in deviations]

    def rewards(self, rewards: np.ndarray, following: Observations) -> np.ndarray:
        """The game's own rewards, or minus the costs that the next observations show."""
        if not self.costs:
            return rewards
        left = [seen[:, list(own)].sum(axis=1) for seen, own in zip(following, self.costs, strict=True)]
        return -np.stack(left, axis=1).astype(np.float64)

    def values(self, parameters: list[Network], agent: int, observations: jax.Array) -> jax.Array:
        """One agent's Q-values, scaled observations [S, F_i] -> [S, A_i]."""
        return forward(parameters[agent], observations)

    def q_functions(self, parameters: list[Network], scales: list[np.ndarray]) -> tuple[NetworkQ, ...]:
        """JAX parameters as NumPy Q-functions; the scales are folded into the first layers."""
        functions = []
        for network, scale in zip(parameters, scales, strict=True):
            w0, b0, w1, b1, w2, b2 = (np.array(array, np.float32) for pair in network for array in pair)
            functions.append(NetworkQ(networks.Network((w0 / scale[:, None], b0, w1, b1, w2, b2))))
        return tuple(functions)


@dataclass(frozen=True)
class DqnStatus(TrainingStatus):
    """One episode of training; every so often also a checkpoint."""

    training_score: float  # of the episode just played, with exploration
    epsilon: float  # share of exploring actions
    error: float  # mean loss of the updates after it
    mean: float | None = None  # the checkpoint's score on the validation seeds
    worst: float | None = None  # and its worst episode's


def train(
    game: Game,
    settings: DqnSettings | None = None,
    on_status: Callable[[DqnStatus], None] | None = None,
    engine: Engine | None = None,
    model: Model | None = None,
) -> Training:
    """Train a model (default: one network per agent); the engine, if there is one, plays the validation episodes."""
    settings = settings or DqnSettings()
    return DqnTrainer(game, model or Idqn.of(game, settings.hidden), settings, engine).train(on_status)


class DqnTrainer(Trainer):
    """Plays one episode at a time, epsilon-greedy."""

    def __init__(self, game: Game, model: Model, settings: DqnSettings, engine: Engine | None = None) -> None:
        super().__init__(game, settings, games=1, rewards=len(game.agents), engine=engine)
        self.model, self.algorithm = model, model.name
        self.updates = game.horizon * settings.updates_per_step  # per episode
        self.rule = _Rule(model, settings, settings.episodes * self.updates)
        rules = offers(game).scoring.yardsticks
        start = game.reset(rollout_seeds(settings.seed, Purpose.EXPERT_TRAINING, 0, 1)) if rules else []
        # a rule that leaves signals to themselves names no action to learn about
        self.guides = [rule for rule in rules.values() if (rule.act(start) >= 0).all()]
        self.learned: Learned | None = None  # until the warm-up is over
        self.scales: list[np.ndarray] = []
        self.training_score, self.error = float("nan"), float("nan")

    def play(self, number: int) -> None:
        """Play one episode into the replay; before the first update, everybody explores.

        Who explores takes a random action or a yardstick's: with random actions alone, a road network is jammed most
        of the time and shows little else.
        """
        settings, agents, episode = self.settings, len(self.game.agents), number - 1
        epsilon = settings.epsilon(episode)
        guide = self.guides[episode % len(self.guides)] if self.guides else None
        expert = None if self.learned is None else self.expert(self.learned.parameters)

        def act(observations: Observations) -> np.ndarray:
            actions = self.random.integers(0, self.actions, (1, agents))
            if guide is not None:
                guided = self.random.random((1, agents)) < settings.guided
                actions = np.where(guided, guide.act(observations), actions)
            if expert is None:
                return actions
            explores = self.random.random((1, agents)) < epsilon
            return np.where(explores, actions, expert.act(observations))

        def learned_rewards(rewards: np.ndarray, following: Observations) -> np.ndarray:
            paid = self.model.rewards(rewards, following) * settings.reward_scale
            return paid - settings.dread * np.minimum(paid, 0.0) ** 2

        returns = self.fill_replay(episode, act, learned_rewards)
        self.training_score = float(self.game.score.of(returns)[0])

    def update(self) -> None:
        """Learn from the replay, after an episode; the first time, also set the features' scales."""
        if self.learned is None:
            seen = self.replay.draw(self.random, 1, 5_000).observations
            self.scales = self.model.scales([values[0] for values in seen])
            self.learned = self.rule.optimizer.start(self.model.fresh(self.random))
        batches = self.replay.draw(self.random, self.updates, self.settings.batch)
        self.learned, error = learn(self.rule, self.learned, self.scaled(batches))
        self.error = float(error)

    def report(self, number: int) -> tuple[DqnStatus, Checkpoint | None]:
        """Every episode; a checkpoint every so often in the last part, and after the last episode."""
        settings, epsilon = self.settings, self.settings.epsilon(number - 1)
        status = DqnStatus(number, self.training_score, epsilon, self.error)
        due = number % settings.evaluate_every == 0 and number >= settings.evaluate_from * settings.episodes
        if self.learned is None or not (due or number == settings.episodes):
            return status, None
        # targets that follow slowly are an average over many updates, and the steadier player
        expert = self.expert(self.learned.parameters if settings.tau == 1 else self.learned.targets)
        scores = self.scores(expert, settings.evaluation_episodes)
        mean, worst = self.mean_and_worst(scores)
        return replace(status, mean=mean, worst=worst), Checkpoint(number, expert, scores)

    def choose(self, checkpoints: list[Checkpoint]) -> tuple[LocalQExpert, float, Mapping[str, object]]:
        """The best of the finalists, on all validation seeds that they played; of equals the later one."""
        if not checkpoints:
            raise InputError("too few steps were played to learn from: raise --episodes.")
        latest_first = checkpoints[::-1]
        finalists = sorted(latest_first, key=self.cost)[: self.settings.finalists]
        start, more = self.settings.evaluation_episodes, self.settings.final_episodes
        if len(finalists) > 1:
            finalists = [
                finalist._replace(scores=np.append(finalist.scores, self.scores(finalist.snapshot, more, start)))
                for finalist in finalists
            ]
        best = min(finalists, key=self.cost)
        mean, worst = self.mean_and_worst(best.scores)
        return best.snapshot, mean, {"worst": worst, "episodes": len(best.scores), "trained_for": best.episodes}

    def cost(self, checkpoint: Checkpoint) -> float:
        """What a checkpoint is ranked by: between its mean and its worst score, lower is better."""
        mean, worst = self.mean_and_worst(checkpoint.scores)
        blend = (1 - self.settings.fear) * mean + self.settings.fear * worst
        return blend if self.game.score.lower_is_better else -blend

    def mean_and_worst(self, scores: np.ndarray) -> tuple[float, float]:
        """The mean of the scores [E], and the worst of them."""
        worst = scores.max() if self.game.score.lower_is_better else scores.min()
        return float(scores.mean()), float(worst)

    def scores(self, expert: LocalQExpert, count: int, start: int = 0) -> np.ndarray:
        """Scores [E] on validation seeds."""
        return self.game.score.of(self.validate(expert, count, start))

    def scaled(self, batches: Samples) -> Samples:
        """Samples with every feature divided by its scale."""
        before, after = (
            [seen / scale for seen, scale in zip(observations, self.scales, strict=True)]
            for observations in (batches.observations, batches.next_observations)
        )
        return batches._replace(observations=before, next_observations=after)

    def expert(self, parameters: Any) -> LocalQExpert:
        """The expert that acts greedily by these parameters."""
        return LocalQExpert(self.model.q_functions(parameters, self.scales))


@dataclass(frozen=True)
class _Rule:
    """Double DQN's update."""

    model: Model
    settings: DqnSettings
    updates: int  # until the learning rate has fallen

    @property
    def optimizer(self) -> Optimizer:
        """Adam with a learning rate that falls along a line."""
        settings = self.settings
        rates = settings.learning_rate, settings.final_learning_rate
        return Optimizer(*rates, self.updates, "linear", settings.tau, settings.target_every)

    def update(self, learned: Learned, batch: Samples) -> tuple[Learned, jax.Array]:
        """One step towards reward + gamma * value of the next action; also the mean loss per agent.

        The parameters choose the next action, the targets value it.
        """
        values, agents = self.model.values, range(len(batch.observations))

        def loss(parameters: Any) -> jax.Array:
            total = jnp.zeros(())
            for i in agents:
                following = batch.next_observations[i]
                choice = jnp.argmax(values(learned.parameters, i, following), axis=1)
                future = _taken(values(learned.targets, i, following), choice)
                goal = batch.rewards[:, i] + self.settings.gamma * batch.continues * future
                value = _taken(values(parameters, i, batch.observations[i]), batch.actions[:, i])
                total += optax.huber_loss(value, goal).mean()
            return total

        learned, error = self.optimizer.step(learned, loss)
        return learned, error / len(agents)


def _taken(values: jax.Array, actions: jax.Array) -> jax.Array:
    """The values [S] of the actions [S] among [S, A]."""
    return jnp.take_along_axis(values, actions[:, None].astype(jnp.int32), axis=1)[:, 0]
