"""The loop that DQN and MADDPG share: play into the replay, learn from it, validate, keep the best checkpoint."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hydraviper.data import Observations
from hydraviper.experts.local_q import LocalQExpert
from hydraviper.experts.networks import NetworkExpert
from hydraviper.experts.replay import Replay, Samples
from hydraviper.protocols import Engine, Game, Policy, offers
from hydraviper.rollout import play
from hydraviper.seeding import Purpose, generator, rollout_seeds


@dataclass(frozen=True)
class TrainingStatus:
    """A point of the learning curve; each algorithm adds what it measures."""

    episodes: int  # played so far


@dataclass(frozen=True)
class Training:
    """A trained expert and its learning curve."""

    expert: NetworkExpert | LocalQExpert
    curve: tuple[Any, ...]  # the algorithm's TrainingStatus
    score: float  # the expert's mean on the validation seeds


class Checkpoint(NamedTuple):
    """A state of training that may become the expert."""

    episodes: int  # played so far
    snapshot: Any  # DQN: an expert; MADDPG: the actors
    scores: np.ndarray  # [E] on validation seeds


class Trainer(ABC):
    """Plays rounds of episodes, updates the networks after each, and validates now and then."""

    algorithm: str

    def __init__(self, game: Game, settings: Any, games: int, rewards: int, engine: Engine | None = None) -> None:
        """`games` are played at once; `rewards` are learned from, one column per critic."""
        self.game, self.settings, self.games, self.engine = game, settings, games, engine
        self.rounds = max(1, settings.episodes // games)
        self.features = tuple(len(agent.features) for agent in game.agents)
        self.actions = tuple(len(agent.actions) for agent in game.agents)
        steps = settings.episodes * game.horizon
        self.replay = Replay(self.features, rewards, min(settings.replay, steps))
        self.warmup = min(settings.warmup, steps // 10)
        self.random = generator(settings.seed, Purpose.EXPERT_TRAINING, 0)

    @abstractmethod
    def play(self, number: int) -> None:
        """Play round `number` (from 1) into the replay."""

    @abstractmethod
    def update(self) -> None:
        """Learn from the replay, after a round."""

    @abstractmethod
    def report(self, number: int) -> tuple[TrainingStatus, Checkpoint | None] | None:
        """The status after a round, with a checkpoint if it was validated; None to say nothing."""

    @abstractmethod
    def choose(self, checkpoints: list[Checkpoint]) -> tuple[NetworkExpert | LocalQExpert, float, Mapping[str, object]]:
        """The expert to keep, its mean score on validation seeds, and what else its file says about the validation."""

    def run(self) -> Iterator[tuple[Any, Checkpoint | None]]:
        """All rounds, as reported."""
        for number in range(1, self.rounds + 1):
            self.play(number)
            if self.replay.count >= self.warmup:
                self.update()
            reported = self.report(number)
            if reported is not None:
                yield reported

    def train(self, on_status: Callable[[Any], None] | None = None) -> Training:
        """Run, and keep the best checkpoint."""
        curve, checkpoints = [], []
        for status, checkpoint in self.run():
            curve.append(status)
            if checkpoint is not None:
                checkpoints.append(checkpoint)
            if on_status:
                on_status(status)
        expert, score, more = self.choose(checkpoints)
        about = head(self.game, self.algorithm, self.settings) | {"validation": {"score": score, **more}}
        return Training(replace(expert, about=about), tuple(curve), score)

    def fill_replay(
        self,
        iteration: int,
        act: Callable[[Observations], np.ndarray],
        learned_rewards: Callable[[np.ndarray, Observations], np.ndarray],
    ) -> np.ndarray:
        """Play `games` episodes into the replay; their returns [B, N].

        `act` chooses the actions [B, N]; `learned_rewards` makes of the game's rewards [B, N] and the next
        observations what the critics learn from [B, R].
        """
        game, standing = self.game, offers(self.game).standing
        observations = game.reset(rollout_seeds(self.settings.seed, Purpose.EXPERT_TRAINING, iteration, self.games))
        running, returns = np.ones(self.games, bool), np.zeros((self.games, len(game.agents)))
        for step in range(game.horizon):
            actions = act(observations)
            following, rewards, done = game.step(actions)
            cut = step + 1 >= game.horizon if standing is None else standing().cut
            over = done & ~np.asarray(cut)  # at a time limit the game is cut off, not over
            paid = learned_rewards(rewards, following)
            self.replay.add(Samples(list(observations), actions, paid, ~over, list(following)), running)
            returns[running] += rewards[running]
            observations, running = following, running & ~done
            if not running.any():
                break
        return returns

    def validate(self, policy: Policy, count: int, start: int = 0) -> np.ndarray:
        """Returns [E, N] on validation seeds, which are the same for every run and every checkpoint."""
        seeds = rollout_seeds(0, Purpose.EXPERT_VALIDATION, 0, count, start)
        played = play(self.game, policy, seeds) if self.engine is None else self.engine.play(policy, seeds)
        return played.returns


def head(game: Game, algorithm: str, settings: Any) -> dict[str, object]:
    """What an expert's file says first: for which game it was made, and how."""
    return {
        "game": game.name,
        "parameters": dict(game.parameters),
        "algorithm": algorithm,
        "settings": asdict(settings),
    }
