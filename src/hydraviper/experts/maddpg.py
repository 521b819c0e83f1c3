"""MADDPG on any game: actors see their own observation, critics see everybody's.

It differs from the original (Lowe et al., 2017) where that learned better: an actor's gradient is the exact
expectation over its own discrete actions, not a Gumbel-softmax sample; team mates' actions in it come from their
present actors, not from the replay; a team that shares its reward shares one critic; more fresh games, smaller
batches, a falling learning rate. At the end, new critics are fitted to the greedy actors, because those values weigh
samples later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hydraviper.data import InputError, Observations
from hydraviper.experts.layers import Network, Sizes, act, forward, fresh_network, named_arrays, value_of_each_action
from hydraviper.experts.learner import Learned, Optimizer, learn
from hydraviper.experts.networks import NetworkExpert
from hydraviper.experts.replay import Replay, Samples
from hydraviper.experts.store import from_arrays
from hydraviper.experts.training import Checkpoint, Trainer, Training, TrainingStatus
from hydraviper.protocols import Game


@dataclass(frozen=True)
class MaddpgSettings:
    """How MADDPG trains; the defaults suit a game of one team, see `recommended` for others."""

    seed: int = 0  # of every random choice
    episodes: int = 320_000  # played for training
    games: int = 200  # episodes played at once, between two rounds of updates
    steps_per_update: int = 200  # game steps (over all games) per update of the networks
    warmup: int = 25_000  # game steps before the first update; at most a tenth of all
    hidden: int = 64  # units of each of the two hidden layers
    training_critic_hidden: int = 256  # the same for the critics that teach the actors and are not kept
    batch: int = 256  # samples per update; four updates of 256 taught more than one of 1024
    replay: int = 1_000_000  # samples kept
    gamma: float = 0.95  # discount
    tau: float = 0.01  # how fast the target networks follow
    gradient_clip: float = 0.5  # largest norm of one network's gradient
    logit_penalty: float = 1e-4  # keeps actors from becoming certain, so that they go on exploring
    learning_rate: float = 3e-3  # of Adam for critics, at the start
    final_learning_rate: float = 2e-4  # at the end; a cosine in between
    actor_pace: float = 1.0  # learning rate of the teams' actors, as a multiple of the critics'
    opponent_pace: float = 1.0  # the same for actors outside all teams
    share_team_reward: bool = True  # every member of a team is paid the team's mean reward
    secrecy: float = 0.05  # what an actor pays per nat by which its actions depend on the game's secrets
    evaluation_episodes: int = 1_000  # validation episodes of every checkpoint, greedy
    evaluations: int = 20  # points of the curve
    critic_updates: int = 20_000  # of the critics that are kept, fitted to the greedy actors
    critic_learning_rate: float = 3e-3  # at the start of that fit

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
class MaddpgStatus(TrainingStatus):
    """One validation."""

    score: float  # mean on the validation seeds, greedy actions
    returns: tuple[float, ...]  # [N] mean per agent, same episodes
    critic_error: tuple[float, ...]  # per critic, root mean square of the temporal difference


def train(
    game: Game, settings: MaddpgSettings | None = None, on_status: Callable[[MaddpgStatus], None] | None = None
) -> Training:
    """Train one actor and one joint critic per agent.

    In a game of one team, the checkpoint that is kept is the best one on the validation seeds. With opponents, that
    would be the moment of the weakest opponent. There, every late checkpoint of the teams plays every late checkpoint
    of the opponents; the teams that do best against their worst opponent are kept, and with them the opponents that
    leave least to their best rival.
    """
    return MaddpgTrainer(game, settings or recommended(game)).train(on_status)


class MaddpgTrainer(Trainer):
    """Plays many games at once, with actions sampled from the actors."""

    algorithm = "maddpg"

    def __init__(self, game: Game, settings: MaddpgSettings) -> None:
        self.sizes = Sizes.of(game, settings.share_team_reward)
        games = min(settings.games, game.width or settings.games)
        super().__init__(game, settings, games, rewards=len(self.sizes.groups))
        self.updates = max(1, games * game.horizon // settings.steps_per_update)  # per round
        self.key = jax.random.key(settings.seed, impl="rbg")  # compiles and draws faster than the default
        self.rule = self.rule_for(settings.learning_rate, self.rounds * self.updates)
        self.networks = self.start()
        self.error = (float("nan"),) * len(self.sizes.groups)
        count = settings.evaluations
        self.validated_after = {self.rounds * (k + 1) // count for k in range(count)}  # rounds

    def start(self) -> Networks:
        """Fresh networks."""
        hidden, pairs = self.settings.hidden, zip(self.features, self.actions, strict=True)
        actors = [fresh_network(self.random, features, hidden, hidden, actions) for features, actions in pairs]
        critics = self.fresh_critics(self.settings.training_critic_hidden)
        start = self.rule.optimizer.start
        return Networks([start(actor) for actor in actors], [start(critic) for critic in critics])

    def play(self, number: int) -> None:
        """Play one round with sampled actions."""
        actors = _parameters(self.networks.actors)
        self.fill_replay(number, lambda seen: np.array(act(actors, list(seen), self.next_key())), self.shared)

    def update(self) -> None:
        """Update all networks, after a round."""
        self.networks, self.error = self.learn(self.rule, self.networks)

    def report(self, number: int) -> tuple[MaddpgStatus, Checkpoint] | None:
        """`evaluations` times, evenly; the last one comes at the end."""
        if number not in self.validated_after:
            return None
        actors = _parameters(self.networks.actors)
        returns = self.validate_actors(actors)
        scores, means = self.game.score.of(returns), tuple(float(mean) for mean in returns.mean(0))
        status = MaddpgStatus(number * self.games, float(scores.mean()), means, self.error)
        return status, Checkpoint(status.episodes, actors, scores)

    def choose(self, checkpoints: list[Checkpoint]) -> tuple[NetworkExpert, float, Mapping[str, object]]:
        """The expert with the actors to keep (see `train`), and critics fitted to them."""
        actors, score, trained_for = self.best_actors(checkpoints[len(checkpoints) // 2 :])
        critics, error = self.fit_critics(actors)
        more = {"episodes": self.settings.evaluation_episodes, **trained_for, "critic_error": error}
        return from_arrays(named_arrays(actors, critics), {}), score, more

    def best_actors(self, late: list[Checkpoint]) -> tuple[list[Network], float, dict[str, int]]:
        """The actors to keep, their score, and after how many episodes each side was taken."""
        rivals = late if self.sizes.opponents else late[:1]

        def pair(teams: list[Network], opponents: list[Network]) -> list[Network]:
            return [(opponents if i in self.sizes.opponents else teams)[i] for i in range(len(teams))]

        scores = np.array([[self.score(pair(one.snapshot, rival.snapshot)) for rival in rivals] for one in late])
        worth = -scores if self.game.score.lower_is_better else scores
        row, column = int(worth.min(1).argmax()), int(worth.max(0).argmin())
        best, rival = late[row], rivals[column]
        trained_for = {"trained_for": best.episodes}
        if self.sizes.opponents:
            trained_for["opponents_trained_for"] = rival.episodes
        return pair(best.snapshot, rival.snapshot), float(scores[row, column]), trained_for

    def fit_critics(self, actors: list[Network]) -> tuple[list[Network], tuple[float, ...]]:
        """New critics of the greedy actors, one per agent, and their last errors, one per group.

        Games are played with a share of random actions that differs from game to game (none to all), so that the
        values also hold for the bad actions and unusual states that students will try.
        """
        rounds = max(1, self.settings.critic_updates // self.updates)
        rule = self.rule_for(self.settings.critic_learning_rate, rounds * self.updates, actors_learn=False)
        start = rule.optimizer.start
        critics = [start(critic) for critic in self.fresh_critics(self.settings.hidden)]
        networks, error = Networks([start(actor) for actor in actors], critics), self.error
        self.replay = Replay(self.features, len(self.sizes.groups), self.replay.capacity)
        random_share = np.linspace(0, 1, self.games)[:, None] if self.games > 1 else np.full((1, 1), 0.5)

        def explore(observations: Observations) -> np.ndarray:
            actions = np.array(act(actors, list(observations), None))
            others = self.random.integers(0, self.actions, actions.shape)
            return np.where(self.random.random(actions.shape) < random_share, others, actions)

        for number in range(rounds):
            self.fill_replay(self.rounds + number + 1, explore, self.shared)
            networks, error = self.learn(rule, networks)
        critics = _parameters(networks.critics)
        return [critics[group] for group in self.sizes.group_of], error

    def learn(self, rule: MaddpgRule, networks: Networks) -> tuple[Networks, tuple[float, ...]]:
        """The networks after the updates of one round, and each critic's root mean square error."""
        batches = self.replay.draw(self.random, self.updates, self.settings.batch)
        networks, squares = learn(rule, networks, (batches, jax.random.split(self.next_key(), self.updates)))
        return networks, tuple(float(error) for error in np.sqrt(squares))

    def rule_for(self, rate: float, updates: int, actors_learn: bool = True) -> MaddpgRule:
        """Updates whose learning rate starts at `rate` and has fallen after `updates`."""
        settings = self.settings
        optimizer = Optimizer(
            rate, settings.final_learning_rate, updates, "cosine", settings.tau, clip_norm=settings.gradient_clip
        )
        return MaddpgRule(self.sizes, settings, optimizer, actors_learn)

    def fresh_critics(self, hidden: int) -> list[Network]:
        """One critic per group."""
        return [fresh_network(self.random, self.sizes.joint_size, hidden, hidden, 1) for _ in self.sizes.groups]

    def shared(self, rewards: np.ndarray, following: Observations) -> np.ndarray:
        """The mean reward of each group, [B, G]."""
        del following
        return np.stack([rewards[:, group].mean(1) for group in self.sizes.groups], axis=1)

    def validate_actors(self, actors: list[Network]) -> np.ndarray:
        """Returns [E, N] of greedy play on the validation seeds."""
        policy = from_arrays(named_arrays(actors, actors), {})  # nobody asks for values here
        return self.validate(policy, self.settings.evaluation_episodes)

    def score(self, actors: list[Network]) -> float:
        """The mean score of greedy play on the validation seeds."""
        return float(self.game.score.of(self.validate_actors(actors)).mean())

    def next_key(self) -> jax.Array:
        """A fresh source of randomness for JAX."""
        self.key, key = jax.random.split(self.key)
        return key


class Networks(NamedTuple):
    """Everything that learns."""

    actors: list[Learned]  # one per agent
    critics: list[Learned]  # one per group


@dataclass(frozen=True)
class MaddpgRule:
    """One step of every critic, then of every actor."""

    sizes: Sizes
    settings: MaddpgSettings
    optimizer: Optimizer
    actors_learn: bool = True  # else they stay as they are, and critics learn the value of their greedy actions

    def update(self, networks: Networks, drawn: tuple[Samples, jax.Array]) -> tuple[Networks, jax.Array]:
        """The networks after one batch with its random key, and the critics' mean square errors [G]."""
        batch, key = drawn
        actors = _parameters(networks.actors)
        if not self.actors_learn:
            critics, errors = self.step_critics(networks, batch, act(actors, batch.next_observations, None))
            return networks._replace(critics=critics), errors
        keys = jax.random.split(key)
        targets = [actor.targets for actor in networks.actors]
        critics, errors = self.step_critics(networks, batch, act(targets, batch.next_observations, keys[0]))
        networks = networks._replace(critics=critics)
        return self.step_actors(networks, batch, act(actors, batch.observations, keys[1])), errors

    def step_critics(
        self, networks: Networks, batch: Samples, next_actions: jax.Array
    ) -> tuple[list[Learned], jax.Array]:
        """Move the critics towards reward + gamma * value of the next actions; also their mean square errors [G]."""
        joint = self.sizes.joint_input(batch.observations, batch.actions)
        next_joint = self.sizes.joint_input(batch.next_observations, next_actions)

        def loss(critic: Network, i: int) -> jax.Array:
            future = self.settings.gamma * batch.continues * forward(networks.critics[i].targets, next_joint)[:, 0]
            return jnp.mean((forward(critic, joint)[:, 0] - batch.rewards[:, i] - future) ** 2)

        stepped = [self.optimizer.step(critic, partial(loss, i=i)) for i, critic in enumerate(networks.critics)]
        critics, errors = zip(*stepped, strict=True)
        return list(critics), jnp.stack(errors)

    def step_actors(self, networks: Networks, batch: Samples, present: jax.Array) -> Networks:
        """Move the actors towards what their critics value; mates act as at `present` [S, N], opponents as they did."""
        ends = np.cumsum(self.sizes.actions) + sum(self.sizes.features)

        def loss(actor: Network, i: int) -> jax.Array:
            group = self.sizes.group_of[i]
            mates = np.isin(np.arange(len(ends)), self.sizes.groups[group])
            joint = self.sizes.joint_input(batch.observations, jnp.where(mates, present, batch.actions))
            own = slice(ends[i] - self.sizes.actions[i], ends[i])
            values = value_of_each_action(networks.critics[group].parameters, joint, own)
            logits = forward(actor, batch.observations[i])
            expected = jnp.mean(jnp.sum(jax.nn.softmax(logits) * values, axis=1))
            cost = self.settings.logit_penalty * jnp.mean(logits**2)
            public = np.array(self.sizes.public[i])
            if not public.all():
                cost += self.settings.secrecy * disclosure(logits, forward(actor, batch.observations[i] * public))
            return cost - expected

        actors = []
        for i, actor in enumerate(networks.actors):
            outside = i in self.sizes.opponents
            pace = self.settings.opponent_pace if outside else self.settings.actor_pace
            actors.append(self.optimizer.step(actor, partial(loss, i=i), pace)[0])
        return networks._replace(actors=actors)


def disclosure(logits: jax.Array, blind: jax.Array) -> jax.Array:
    """How much actions tell of secrets: mean divergence, in nats, from the choice of an actor that cannot see them."""
    choice, other = jax.nn.log_softmax(logits), jax.nn.log_softmax(blind)
    return jnp.mean(jnp.sum(jnp.exp(choice) * (choice - other), axis=1))


def _parameters(networks: list[Learned]) -> list[Network]:
    return [network.parameters for network in networks]
