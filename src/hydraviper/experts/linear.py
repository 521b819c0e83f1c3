"""Linear rules for signals, tuned by the score itself: a phase is worth what waits, and what comes, where it lets go.

A few weights (`KINDS`) are first shared by all signals, then each signal gets its own. Both are found by the
cross-entropy method: candidates are drawn around the best ones so far and play the same seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hydraviper.data import InputError
from hydraviper.experts.local_q import LocalQExpert, NetworkQ
from hydraviper.experts.networks import Network
from hydraviper.experts.training import Training, TrainingStatus, head
from hydraviper.protocols import Engine, Game, offers
from hydraviper.rollout import play
from hydraviper.seeding import Purpose, generator, rollout_seeds

# What a phase is worth, per unit: vehicles that roll towards it, that stand there more than behind it (instead of all
# that stand), being green already, seconds that it has been red, and vehicles that are still coming, where a signal
# tells them apart. With each weight goes where its search begins, and how far around that.
KINDS = {"moving": (0.3, 0.4), "pressure": (0.0, 0.4), "green": (0.5, 1.5), "red": (0.0, 0.03), "coming": (0.0, 0.2)}
WIDE = 6.0  # times which half of the first candidates value being green: crowded streets want long greens
ROUNDS = 12  # that are worth more than many episodes of each candidate


@dataclass(frozen=True)
class LinearSettings:
    """How the weights are found."""

    seed: int = 0  # of every random choice
    episodes: int = 960  # played in all, validation included
    candidates: int = 16  # of each round
    episodes_each: int = 5  # that each of them plays at most; fewer where that leaves fewer than ROUNDS
    elite: float = 0.25  # share of the candidates that the next ones are drawn around
    shared: float = 0.6  # share of the rounds in which all signals have the same weights
    keep: float = 0.3  # how much of the last round's middle and spread stays
    validation: int = 24  # episodes of the two finalists

    def __post_init__(self) -> None:
        least = 2 * (self.candidates + self.validation)
        if self.episodes < least:
            raise InputError(f"a linear rule needs at least {least} episodes, not {self.episodes}.")

    @property
    def searching(self) -> int:
        """Episodes that are left for the search."""
        return self.episodes - 2 * self.validation

    @property
    def played_by_each(self) -> int:
        """Episodes that each candidate of a round plays."""
        return max(1, min(self.episodes_each, self.searching // (ROUNDS * self.candidates)))


@dataclass(frozen=True)
class LinearStatus(TrainingStatus):
    """One round."""

    mean: float  # score of the middle of the candidates
    best: float  # and of the best candidate


def train(
    game: Game,
    settings: LinearSettings | None = None,
    on_status: Callable[[LinearStatus], None] = lambda status: None,
    engine: Engine | None = None,
) -> Training:
    """Tune linear rules for a game of signals; of shared and own weights, those that validate better are kept."""
    search = _Search(game, settings or LinearSettings(), engine, on_status)
    start, spread = np.array([KINDS[kind] for kind in search.kinds]).T
    shared = search.around(start, spread, search.settings.shared)
    own = search.around(np.tile(shared, len(game.agents)), np.tile(spread / 3, len(game.agents)), 1.0)
    seeds = rollout_seeds(0, Purpose.EXPERT_VALIDATION, 0, search.settings.validation)
    finalists = [search.expert(weights) for weights in (shared, own)]
    means = [float(game.score.of(returns).mean()) for returns in search.returns(finalists, seeds)]
    best = int(np.argmin(np.array(means) * search.sign))
    validation = {"score": means[best], "episodes": len(seeds), "own_weights": bool(best)}
    about = head(game, "linear", search.settings) | {"validation": validation}
    return Training(replace(finalists[best], about=about), tuple(search.curve), means[best])


class _Search:
    """Rounds of candidates."""

    def __init__(
        self, game: Game, settings: LinearSettings, engine: Engine | None, on_status: Callable[[LinearStatus], None]
    ) -> None:
        self.game, self.settings, self.engine, self.on_status = game, settings, engine, on_status
        self.sign = 1 if game.score.lower_is_better else -1
        apart = any(name.startswith("coming from ") for agent in game.agents for name in agent.features)
        self.kinds = [kind for kind in KINDS if kind != "coming" or apart]
        self.parts = [_parts(game, i)[: 1 + len(self.kinds)] for i in range(len(game.agents))]
        self.rounds = settings.searching // (settings.candidates * settings.played_by_each)
        self.curve: list[LinearStatus] = []

    def expert(self, weights: np.ndarray) -> LocalQExpert:
        """The expert with these weights, one row of kinds for all signals or one for each."""
        kinds = len(self.kinds)
        rows = np.broadcast_to(weights.reshape(-1, kinds), (len(self.parts), kinds))
        return LocalQExpert(tuple(_linear(self.parts[i], row) for i, row in enumerate(rows)))

    def returns(self, policies: Sequence[LocalQExpert], seeds: np.ndarray) -> list[np.ndarray]:
        """Each policy's returns [E, N] on these seeds; without an engine they are played here."""
        if self.engine is None:
            played = [play(self.game, policy, seeds) for policy in policies]
        else:
            played = self.engine.play_many(policies, [seeds] * len(policies))
        return [rollouts.returns for rollouts in played]

    def around(self, middle: np.ndarray, spread: np.ndarray, until: float) -> np.ndarray:
        """Go on from a middle until a share of all rounds has been played; the last middle."""
        settings, least = self.settings, spread / 20
        while len(self.curve) < max(1, round(until * self.rounds)):
            number = len(self.curve)
            draws = generator(settings.seed, Purpose.EXPERT_TRAINING, number)
            drawn = draws.normal(middle, spread, (settings.candidates - 1, len(middle)))
            if number == 0:
                drawn[::2, self.kinds.index("green")] *= WIDE
            candidates = np.vstack([middle, drawn])
            seeds = rollout_seeds(settings.seed, Purpose.EXPERT_TRAINING, number, settings.played_by_each)
            returns = self.returns([self.expert(one) for one in candidates], seeds)
            elite = self._elite(candidates, returns)
            middle = settings.keep * middle + (1 - settings.keep) * elite.mean(axis=0)
            spread = np.maximum(settings.keep * spread + (1 - settings.keep) * elite.std(axis=0), least)
            scores = [float(self.game.score.of(one).mean()) for one in returns]
            best = self.sign * min(self.sign * score for score in scores)
            episodes = (number + 1) * len(scores) * settings.played_by_each
            self.curve.append(LinearStatus(episodes, scores[0], best))
            self.on_status(self.curve[-1])
        return middle

    def _elite(self, candidates: np.ndarray, returns: Sequence[np.ndarray]) -> np.ndarray:
        """The weights that did best, [elite, weights]: as a whole if they are shared, else signal by signal.

        A signal's own weights are judged by what it and its neighbours earned: so every round tells of all signals at
        once, and what the others earned is chance to it.
        """
        count = max(2, round(self.settings.elite * len(candidates)))
        costs = self.sign * np.array([one.mean(axis=0) for one in returns]) * np.array(self.game.score.weights)
        signals = candidates.shape[1] // len(self.kinds)
        near = offers(self.game).graph.near(len(self.parts)) if signals > 1 else np.ones((len(self.parts), 1), bool)
        best = (costs @ near).argsort(axis=0, kind="stable")[:count]  # [elite, signals]
        rows = candidates.reshape(len(candidates), signals, len(self.kinds))
        return rows[best, np.arange(signals)].reshape(count, -1)


def _parts(game: Game, i: int) -> list[np.ndarray]:
    """What each of KINDS, behind all that stand, adds to the phases of a signal: matrices [F, phases]."""
    served = offers(game).graph.served
    if served is None:
        raise InputError(f"linear rules are for traffic signals, and {game.name} has none: choose another algorithm.")
    names, phases = game.agents[i].features, range(len(served[i]))

    def by_group(what: str) -> np.ndarray:
        columns = [k for k, name in enumerate(names) if name.startswith(f"{what} from ")]
        matrix = np.zeros((len(names), len(phases)))
        if len(columns) != served[i].shape[1] and columns:
            raise InputError(f"linear rules need the {what} of every movement: choose another algorithm.")
        matrix[columns] = served[i].T[: len(columns)]
        return matrix

    def by_phase(ending: str) -> np.ndarray:
        return np.array([[name == f"phase {k + 1} {ending}" for k in phases] for name in names], float)

    queue, pressure = by_group("queue"), by_group("pressure")
    if not queue.any():
        raise InputError("linear rules need queues, which loops do not tell: choose idqn.")
    by_time = by_phase("is green"), by_phase("has been red for, s")
    return [queue, by_group("moving"), pressure - queue, *by_time, by_group("coming")]


def _linear(parts: Sequence[np.ndarray], weights: Sequence[float] | np.ndarray) -> NetworkQ:
    """A linear function as a network: its values, and their negatives, each rectified."""
    matrix = parts[0] + sum(weight * part for weight, part in zip(weights, parts[1:], strict=True))
    phases = matrix.shape[1]
    back = np.vstack([np.eye(phases), -np.eye(phases)])
    both, same, back = (part.astype(np.float32) for part in (np.hstack([matrix, -matrix]), np.eye(2 * phases), back))
    none = np.zeros(2 * phases, np.float32)
    return NetworkQ(Network((both, none, same, none, back, none[:phases])))
