"""MADDPG: actors that see their own observation, critics that see everybody's, trained on any game.

Differs from the original (Lowe et al., 2017) where that learned better: an actor's gradient is the exact expectation
over its own discrete actions, not a Gumbel-softmax sample; mates' actions in it come from their present actors, not
from the replay; a team that shares its reward shares one critic; more fresh games, smaller batches, a falling rate. A
last phase fits the critics that are kept to the greedy actors, because their values weigh samples later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from hydraviper.data import InputError
from hydraviper.experts.layers import Network, Sizes, act, forward, fresh_network, named_arrays, value_of_each_action
from hydraviper.experts.networks import NetworkExpert
from hydraviper.experts.replay import Replay, Samples
from hydraviper.experts.store import from_arrays
from hydraviper.protocols import Game
from hydraviper.rollout import play
from hydraviper.seeding import Purpose, generator, rollout_seeds


@dataclass(frozen=True)
class MaddpgSettings:
    """How an expert is trained; the defaults suit a game of one team, see `recommended` for others."""

    seed: int = 0  # decides everything
    episodes: int = 320_000  # played for training
    games: int = 200  # episodes played at once, between two rounds of updates
    steps_per_update: int = 200  # game steps (over all games) for every update of the networks
    warmup: int = 25_000  # game steps before the first update; a tenth of all at most
    hidden: int = 64  # units of each of the two hidden layers
    training_critic_hidden: int = 256  # the same for the critics that teach the actors; only those fitted last are kept
    batch: int = 256  # samples per update; four updates of 256 taught more than one of 1024
    replay: int = 1_000_000  # samples remembered
    discount: float = 0.95  # worth of a reward one step later
    target_rate: float = 0.01  # how fast the target networks follow
    gradient_clip: float = 0.5  # longest gradient of one network
    logit_penalty: float = 1e-4  # keeps actors from becoming certain, so that they go on exploring
    learning_rate: float = 3e-3  # of Adam for critics, at the start
    final_learning_rate: float = 2e-4  # at the end, along a cosine
    actor_pace: float = 1.0  # learning rate of the teams' actors, as a multiple
    opponent_pace: float = 1.0  # and of actors outside all teams
    share_team_reward: bool = True  # every member of a team is paid the team's mean reward
    secrecy: float = 0.05  # what an actor pays per nat by which its actions depend on the game's secrets
    evaluation_episodes: int = 1_000  # greedy, on fixed validation seeds
    evaluations: int = 20  # points of the curve
    critic_updates: int = 20_000  # at the end, for the critics alone: the value of the greedy actors
    critic_learning_rate: float = 3e-3  # at the start of that phase

    def __post_init__(self) -> None:
        for name in ("episodes", "games", "steps_per_update", "hidden", "batch", "replay", "evaluations"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if self.secrecy < 0:
            raise InputError(f"secrecy must be at least 0, not {self.secrecy:g}.")


def recommended(game: Game) -> MaddpgSettings:
    """The settings that make the experts of the package; `dataclasses.replace` changes one of them.

    Where teams have opponents, the teams learn three times slower, so that they always meet a good answer to what
    they do; the replay forgets nothing, so that nobody unlearns the answer to an earlier way of playing; and the rate
    falls further, so that the two sides come to rest.
    """
    if not Sizes.of(game, share_team_reward=True).opponents:
        return MaddpgSettings()
    often = MaddpgSettings(episodes=80_000, games=100, steps_per_update=50, replay=4_000_000)
    return replace(often, training_critic_hidden=128, logit_penalty=3e-4, final_learning_rate=3e-5, actor_pace=1 / 3)


@dataclass(frozen=True)
class Progress:
    """One point of the learning curve."""

    episodes: int  # played so far
    score: float  # mean on the validation seeds, greedy actions
    returns: tuple[float, ...]  # [N] mean per agent, same episodes
    critic_error: tuple[float, ...]  # per critic, root mean square of the temporal difference


@dataclass(frozen=True)
class Training:
    """A trained expert and how it got there."""

    expert: NetworkExpert
    curve: tuple[Progress, ...]
    score: float  # the expert's on the validation seeds
    teams_from: int  # episodes after which the teams' actors were taken
    opponents_from: int  # and those of the agents outside all teams
    critic_error: tuple[float, ...]  # per critic, after the last phase


def train(
    game: Game, settings: MaddpgSettings | None = None, on_progress: Callable[[Progress], None] | None = None
) -> Training:
    """Train one actor and one joint critic per agent.

    Which checkpoint is kept: the best one on the validation seeds, in a game of one team. With opponents in the game
    that rule would pick the moment of the weakest opponent. There, every late checkpoint of the teams plays every
    late checkpoint of the opponents; the teams that do best against their worst opponent are kept, and with them
    the opponents that leave least to their best rival.
    """
    settings = settings or recommended(game)
    trainer = _Trainer(game, Sizes.of(game, settings.share_team_reward), settings)
    checkpoints: list[tuple[Progress, list[Network]]] = []
    for progress, actors in trainer.run():
        checkpoints.append((progress, actors))
        if on_progress:
            on_progress(progress)
    actors, score, teams_from, opponents_from = trainer.choose(checkpoints[len(checkpoints) // 2 :])
    critics, critic_error = trainer.evaluate_policy(actors)
    about = {
        "game": game.name,
        "parameters": dict(game.parameters),
        "algorithm": "maddpg",
        "settings": asdict(settings),
        "validation": {"score": score, "episodes": settings.evaluation_episodes},
    }
    expert = from_arrays(named_arrays(actors, critics), about)
    curve, _ = zip(*checkpoints, strict=True)
    return Training(expert, curve, score, teams_from, opponents_from, critic_error)


class _Trainer:
    """Plays rounds of games and updates the networks between them."""

    def __init__(self, game: Game, sizes: Sizes, settings: MaddpgSettings) -> None:
        self.game, self.sizes, self.settings = game, sizes, settings
        self.games = min(settings.games, game.width or settings.games)
        self.rounds = max(1, settings.episodes // self.games)
        self.updates = max(1, self.games * game.horizon // settings.steps_per_update)  # per round
        self.replay = Replay(sizes.features, len(sizes.groups), min(settings.replay, settings.episodes * game.horizon))
        self.random = generator(settings.seed, Purpose.EXPERT_TRAINING, 0)
        self.key = jax.random.key(settings.seed, impl="rbg")  # compiles and draws faster than the default

    def run(self) -> Iterator[tuple[Progress, list[Network]]]:
        """Yield (progress, actors) at each evaluation; the last one comes at the end."""
        rule = _Rule(self.sizes, self.settings, self.settings.learning_rate, self.rounds * self.updates)
        learner, error = self.start(rule), np.full(len(self.sizes.groups), np.nan)
        marks = {self.rounds * (k + 1) // self.settings.evaluations for k in range(self.settings.evaluations)}
        warmup = min(self.settings.warmup, self.settings.episodes * self.game.horizon // 10)
        for number in range(1, self.rounds + 1):
            self.play(learner.actors, number)
            if self.replay.count >= warmup:
                batches = self.replay.draw(self.random, self.updates, self.settings.batch)
                learner, error = _learn(rule, _Rule.update, learner, batches, self.next_key())
            if number in marks:
                returns = self.validate(learner.actors)
                score = float(self.game.score.of(returns).mean())
                means = tuple(float(mean) for mean in returns.mean(0))
                yield Progress(number * self.games, score, means, tuple(float(e) for e in error)), learner.actors

    def start(self, rule: _Rule) -> _Learner:
        """Where learning begins."""
        return rule.start(self.random)

    def choose(self, late: list[tuple[Progress, list[Network]]]) -> tuple[list[Network], float, int, int]:
        """The actors to keep (see `train`), their score, and after how many episodes each side was taken."""
        rivals = late if self.sizes.opponents else late[:1]

        def pair(teams: list[Network], opponents: list[Network]) -> list[Network]:
            return [(opponents if i in self.sizes.opponents else teams)[i] for i in range(len(teams))]

        scores = np.array([[self.score(pair(own, other)) for _, other in rivals] for _, own in late])
        worth = -scores if self.game.score.lower_is_better else scores
        best, rival = int(worth.min(1).argmax()), int(worth.max(0).argmin())
        (own, teams), (other, opponents) = late[best], rivals[rival]
        opponents_from = other.episodes if self.sizes.opponents else own.episodes
        return pair(teams, opponents), float(scores[best, rival]), own.episodes, opponents_from

    def evaluate_policy(self, actors: list[Network]) -> tuple[list[Network], tuple[float, ...]]:
        """Fit new critics to the greedy actors, which no longer change: one per agent, and their last errors.

        Games are played with a share of random actions that differs from game to game (none to all), so that the
        values also hold for the bad actions and odd places that students will try.
        """
        rounds = max(1, self.settings.critic_updates // self.updates)
        rule = _Rule(self.sizes, self.settings, self.settings.critic_learning_rate, rounds * self.updates)
        critics = rule.fresh_critics(self.random, self.settings.hidden)
        learner = _Learner(actors, critics, actors, critics, [], rule.forget(critics))
        self.replay = Replay(self.sizes.features, len(self.sizes.groups), self.replay.capacity)
        random_share = np.linspace(0, 1, self.games)[:, None] if self.games > 1 else np.full((1, 1), 0.5)
        error = np.full(len(self.sizes.groups), np.nan)
        for number in range(rounds):
            self.play(actors, self.rounds + number + 1, random_share)
            batches = self.replay.draw(self.random, self.updates, self.settings.batch)
            learner, error = _learn(rule, _Rule.update_critics, learner, batches, self.next_key())
        return [learner.critics[group] for group in self.sizes.group_of], tuple(float(one) for one in error)

    def play(self, actors: list[Network], number: int, random_share: np.ndarray | None = None) -> None:
        """Play one round into the replay: sampled actions, or greedy ones with a share [B, 1] of random ones."""
        observations = self.game.reset(rollout_seeds(self.settings.seed, Purpose.EXPERT_TRAINING, number, self.games))
        running = np.ones(self.games, bool)
        for step in range(self.game.horizon):
            actions = np.array(act(actors, list(observations), self.next_key() if random_share is None else None))
            if random_share is not None:
                others = self.random.integers(0, self.sizes.actions, actions.shape)
                actions = np.where(self.random.random(actions.shape) < random_share, others, actions)
            following, rewards, done = self.game.step(actions)
            shared = np.stack([rewards[:, group].mean(1) for group in self.sizes.groups], axis=1)
            over = done & (step + 1 < self.game.horizon)  # at the horizon the game is cut off, not over
            self.replay.add(Samples(list(observations), actions, shared, ~over, list(following)), running)
            observations, running = following, running & ~done
            if not running.any():
                break

    def validate(self, actors: list[Network]) -> np.ndarray:
        """Returns [E, N] of greedy play on seeds that are the same for every run and every checkpoint."""
        policy = from_arrays(named_arrays(actors, actors), {})  # nobody asks for values here
        seeds = rollout_seeds(0, Purpose.EXPERT_VALIDATION, 0, self.settings.evaluation_episodes)
        return play(self.game, policy, seeds).returns

    def score(self, actors: list[Network]) -> float:
        """The mean score of greedy play on those seeds."""
        return float(self.game.score.of(self.validate(actors)).mean())

    def next_key(self) -> jax.Array:
        """A fresh source of randomness for JAX."""
        self.key, key = jax.random.split(self.key)
        return key


class _Learner(NamedTuple):
    """Everything that learning changes."""

    actors: list[Network]  # one per agent
    critics: list[Network]  # one per group
    target_actors: list[Network]
    target_critics: list[Network]
    actor_memory: list[Any]  # the optimizer's
    critic_memory: list[Any]


@dataclass(frozen=True)
class _Rule:
    """How a learner changes: pure functions of it and a batch, compiled into one call per round."""

    sizes: Sizes
    settings: MaddpgSettings
    rate: float  # of learning, at the start
    updates: int  # until the rate has fallen

    @property
    def optimizer(self) -> optax.GradientTransformation:
        """Adam with a falling rate on clipped gradients."""
        schedule = optax.cosine_decay_schedule(self.rate, self.updates, self.settings.final_learning_rate / self.rate)
        return optax.chain(optax.clip_by_global_norm(self.settings.gradient_clip), optax.adam(schedule))

    @property
    def paces(self) -> list[float]:
        """How fast each actor learns, as a multiple of the critics' rate."""
        own, other = self.settings.actor_pace, self.settings.opponent_pace
        return [other if i in self.sizes.opponents else own for i in range(len(self.sizes.actions))]

    def start(self, random: np.random.Generator) -> _Learner:
        """Fresh networks."""
        hidden, pairs = self.settings.hidden, zip(self.sizes.features, self.sizes.actions, strict=True)
        actors = [fresh_network(random, features, hidden, hidden, actions) for features, actions in pairs]
        critics = self.fresh_critics(random, self.settings.training_critic_hidden)
        return _Learner(actors, critics, actors, critics, self.forget(actors), self.forget(critics))

    def fresh_critics(self, random: np.random.Generator, hidden: int) -> list[Network]:
        """One critic per group."""
        return [fresh_network(random, self.sizes.joint_size, hidden, hidden, 1) for _ in self.sizes.groups]

    def forget(self, networks: list[Network]) -> list[Any]:
        """A fresh memory of the optimizer for each network."""
        return [self.optimizer.init(network) for network in networks]

    def update(self, learner: _Learner, batch: Samples, key: jax.Array) -> tuple[_Learner, jax.Array]:
        """One step of every critic, then of every actor."""
        keys = jax.random.split(key)
        next_actions = act(learner.target_actors, batch.next_observations, keys[0])
        learner, errors = self.step_critics(learner, batch, next_actions)
        return self.step_actors(learner, batch, act(learner.actors, batch.observations, keys[1])), errors

    def update_critics(self, learner: _Learner, batch: Samples, key: jax.Array) -> tuple[_Learner, jax.Array]:
        """One step of every critic towards the value of the greedy actors, which stay as they are."""
        del key  # greedy actions need none
        return self.step_critics(learner, batch, act(learner.actors, batch.next_observations, None))

    def step_critics(self, learner: _Learner, batch: Samples, next_actions: jax.Array) -> tuple[_Learner, jax.Array]:
        """Move the critics towards reward + discounted value of the next actions; also their mean square errors [G]."""
        joint = self.sizes.joint_input(batch.observations, batch.actions)
        next_joint = self.sizes.joint_input(batch.next_observations, next_actions)

        def loss(critic: Network, i: int) -> jax.Array:
            future = self.settings.discount * batch.continues * forward(learner.target_critics[i], next_joint)[:, 0]
            return jnp.mean((forward(critic, joint)[:, 0] - batch.rewards[:, i] - future) ** 2)

        paces = [1.0] * len(learner.critics)
        critics, memory, errors = self.descend(loss, learner.critics, learner.critic_memory, paces)
        targets = self.follow(learner.target_critics, critics)
        return learner._replace(critics=critics, target_critics=targets, critic_memory=memory), errors

    def step_actors(self, learner: _Learner, batch: Samples, present: jax.Array) -> _Learner:
        """Move the actors towards what their critics value; mates act as at `present` [S, N], opponents as they did."""
        ends = np.cumsum(self.sizes.actions) + sum(self.sizes.features)

        def loss(actor: Network, i: int) -> jax.Array:
            group = self.sizes.group_of[i]
            mates = np.isin(np.arange(len(ends)), self.sizes.groups[group])
            joint = self.sizes.joint_input(batch.observations, jnp.where(mates, present, batch.actions))
            own = slice(ends[i] - self.sizes.actions[i], ends[i])
            values = value_of_each_action(learner.critics[group], joint, own)
            logits = forward(actor, batch.observations[i])
            expected = jnp.mean(jnp.sum(jax.nn.softmax(logits) * values, axis=1))
            cost = self.settings.logit_penalty * jnp.mean(logits**2)
            public = np.array(self.sizes.public[i])
            if not public.all():
                cost += self.settings.secrecy * _told(logits, forward(actor, batch.observations[i] * public))
            return cost - expected

        actors, memory, _ = self.descend(loss, learner.actors, learner.actor_memory, self.paces)
        targets = self.follow(learner.target_actors, actors)
        return learner._replace(actors=actors, target_actors=targets, actor_memory=memory)

    def descend(
        self,
        loss: Callable[[Network, int], jax.Array],
        networks: list[Network],
        memories: list[Any],
        paces: list[float],
    ) -> tuple[list[Network], list[Any], jax.Array]:
        """One step of the optimizer for each network, at its own pace: networks, memories, losses."""
        moved, remembered, losses = [], [], []
        for i, (network, memory, pace) in enumerate(zip(networks, memories, paces, strict=True)):
            value, gradient = jax.value_and_grad(loss)(network, i)
            change, memory = self.optimizer.update(gradient, memory, network)
            moved.append(jax.tree.map(lambda old, step, pace=pace: old + pace * step, network, change))
            remembered.append(memory)
            losses.append(value)
        return moved, remembered, jnp.stack(losses)

    def follow(self, targets: list[Network], networks: list[Network]) -> list[Network]:
        """Move the target networks a little towards the networks."""
        rate = self.settings.target_rate
        return jax.tree.map(lambda target, network: (1 - rate) * target + rate * network, targets, networks)


def _told(logits: jax.Array, blind: jax.Array) -> jax.Array:
    """How much actions tell of secrets: mean divergence, in nats, from the choice of an actor that cannot see them."""
    choice, other = jax.nn.log_softmax(logits), jax.nn.log_softmax(blind)
    return jnp.mean(jnp.sum(jnp.exp(choice) * (choice - other), axis=1))


@partial(jax.jit, static_argnames=("rule", "update"))
def _learn(
    rule: _Rule, update: Callable, learner: _Learner, batches: Samples, key: jax.Array
) -> tuple[_Learner, jax.Array]:
    """Run an update of the rule over the leading axis of the batches; also the critics' root mean square errors."""

    def one(learner: _Learner, drawn: tuple[Samples, jax.Array]) -> tuple[_Learner, jax.Array]:
        return update(rule, learner, *drawn)

    learner, errors = jax.lax.scan(one, learner, (batches, jax.random.split(key, len(batches.actions))))
    return learner, jnp.sqrt(errors.mean(0))
