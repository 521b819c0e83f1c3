"""An expert for a game that has none at hand: trained for some minutes, or the best rule with fitted values.

The rules that name actions are played first. What is trained must beat the best of them on the same validation seeds,
which its training has not seen, or the rule is taken. Where only a few episodes fit, training is not worth its time.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from hydraviper.data import InputError, Observations, Progress
from hydraviper.engines.remembered import PiecewiseEngine, RememberedEngine
from hydraviper.experts import algorithms, store
from hydraviper.experts.exploring import Yardstick
from hydraviper.experts.store import StoredExpert
from hydraviper.games import catalogue
from hydraviper.protocols import Engine, Game, Policy, offers, spec_of
from hydraviper.rollout import play
from hydraviper.runs.folder import check_file
from hydraviper.runs.opening import Tell, playing
from hydraviper.runs.recipe import subject
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.settings import EXPERT_MINUTES

MINUTES = 6.0  # to make one, unless somebody asks for another time
LEAST, MOST = 20, 1000  # episodes of a network's training: fewer are not worth their time, more add nothing
TRIED = 3  # episodes of a trial that tells how long one takes: the first compiles, the last is validated
# Where signals count queues, weights of a linear rule are tuned instead: an hour of traffic is told apart by few
# episodes, all of them are rollouts that any engine plays at once, and on a grid of nine signals ten minutes of
# training a network gave worse experts.
TUNED = {"episodes_each": 3, "validation": 12}
LEAST_TUNED = 120  # episodes: rounds in which every candidate plays once
WORKING = 0.85  # of the minutes; in the rest, the candidates are validated
VALIDATED = 10  # episodes of everybody who may become the expert
FITTED = 40  # rollouts that a rule's values are fitted to


def make_expert(
    game: Game,
    out: Path | str,
    *,
    minutes: float = MINUTES,
    episodes: int | None = None,
    seed: int = 0,
    engine: Engine | None = None,
    workers: int = 1,
    tell: Tell = lambda sentence: None,
    progress: Progress = lambda step, done, of: None,
) -> StoredExpert:
    """Make an expert for a game that has none: trained for some minutes, or the game's best rule with fitted values.

    It goes to the file `out`; one that is there already is read instead. Without training (minutes=0) it is the rule.
    How many episodes fit into the minutes depends on the machine; the same `episodes` make the same expert.
    """
    path = Path(out)
    if path.exists():
        return store.load(path, game)
    check_makeable(game)
    check_file(path)
    journal = path.with_name(path.name + ".rollouts")
    with playing(game, engine, workers) as engine:
        if isinstance(engine, PiecewiseEngine) and not offers(game).compiled:
            engine = RememberedEngine(engine, journal, subject(game), store.policy_digest)
        expert = Maker(game, engine, minutes, seed, tell, progress).make(path, episodes)
    journal.unlink(missing_ok=True)
    return expert


def check_makeable(game: Game) -> None:
    """Refuse a game whose experts some minutes of training do not make, with a sentence that says what does."""
    if offers(game).foreign is not None:
        spec = spec_of(game.name, game.parameters)
        raise InputError(
            f"no expert is at hand for {spec}: pass one with --expert, e.g. sb3:FILE, onnx:FILE or python:MODULE:NAME "
            f"(docs/experts.md), or train one with `hydraviper train {spec}`."
        )
    if game.width is None:
        store.shipped(game)
    if find_spec("jax") is None:  # a rule that wins in the end needs values
        raise InputError("making an expert needs the package jax: install hydraviper[train].")


def how_made(game: Game, expert: StoredExpert) -> str:
    """A sentence about an expert that was made on the way."""
    made = expert.about["made"]
    assert isinstance(made, dict)
    scores = ", ".join(f"{name} {score:.1f}" for name, score in made["scores"].items())
    learned = f"{made['episodes']} episodes of training" if made["episodes"] else "no training"
    return (
        f"No expert was at hand, so one was made ({learned}): {made['chosen']}, by {game.score.name} on {VALIDATED} "
        f"validation episodes ({scores})."
    )


def _minutes(count: float) -> str:
    return f"{count:g} minute{'' if count == 1 else 's'}"


@dataclass(frozen=True)
class Maker:
    """Makes an expert."""

    game: Game
    engine: Engine
    minutes: float
    seed: int
    tell: Tell
    progress: Progress
    following: int = 0  # rollouts that will be played with it, to tell how long they take

    def __post_init__(self) -> None:
        EXPERT_MINUTES.check("--expert-minutes", self.minutes)

    def make(
        self, path: Path, episodes: int | None = None, decided: Callable[[int], None] = lambda episodes: None
    ) -> StoredExpert:
        """Make the expert and save it; `decided` is told for how many episodes it is trained, unless they are given."""
        if not self.minutes and not self._rules:
            raise InputError(f"no rule of {self.game.name} can stand in for an expert: give --expert-minutes to train.")
        seconds = self._first_rollout()
        if episodes is None:
            episodes = self._fitting(seconds)
            decided(episodes)
        self.tell(self._announced(path, seconds, bool(episodes)))
        scores = {}
        for done, (name, rule) in enumerate(self._rules.items(), start=1):
            scores[name] = self._score(rule)
            self.progress("rules", done, len(self._rules))
        trained = self._train(episodes, self.progress) if episodes else None
        if trained is not None:
            scores[self._algorithm] = self._score(trained)
        chosen = min(scores, key=lambda name: scores[name] if self.game.score.lower_is_better else -scores[name])
        expert = trained if trained is not None and chosen == self._algorithm else self._valued(self._rules[chosen])
        made = {"chosen": chosen, "episodes": episodes, "minutes": self.minutes, "scores": scores}
        expert = replace(expert, about={**expert.about, "made": made})
        store.save(expert, path)
        return expert

    @cached_property
    def _algorithm(self) -> str:
        """Linear rules for signals that count queues; else whatever suits the game."""
        counts = [any(name.startswith("queue from ") for name in agent.features) for agent in self.game.agents]
        return "linear" if offers(self.game).graph.served is not None and all(counts) else algorithms.choose(self.game)

    @property
    def _seeds(self) -> np.ndarray:
        return rollout_seeds(0, Purpose.EXPERT_VALIDATION, 2, VALIDATED)  # others than those of training and critics

    @cached_property
    def _rules(self) -> dict[str, Yardstick]:
        """The game's yardsticks that choose an action for every agent."""
        start, rules = self.game.reset(self._seeds[:1]), offers(self.game).scoring.yardsticks
        return {name: Yardstick(name, rule) for name, rule in rules.items() if (rule.act(start) >= 0).all()}

    def _first_rollout(self) -> float:
        """Seconds that a rollout takes."""
        policy = next(iter(offers(self.game).scoring.yardsticks.values()), _First(len(self.game.agents)))
        begun = time.perf_counter()
        play(self.game, policy, self._seeds[:1])
        return time.perf_counter() - begun

    def _announced(self, path: Path, seconds: float, learns: bool) -> str:
        """What will be done and how long it takes, judged by a first rollout."""
        learner = [f"{self._algorithm} ({_minutes(self.minutes)} of training)"] if learns else []
        count = VALIDATED * (len(self._rules) + 1) + self.following + (0 if learns else FITTED)
        minutes = (self.minutes if learns else 0) + count * seconds / self._workers / 60
        candidates = [*self._rules, *learner]
        best = f"the best of {', '.join(candidates)}" if len(candidates) > 1 else candidates[0]
        name = catalogue.without_options(self.game.name, self.game.parameters)
        return (
            f"No expert is at hand for {name}: {best} becomes {path}. "
            f"A rollout takes {seconds:.1f} s here, everything about {_minutes(max(1, round(minutes)))}."
        )

    def _fitting(self, seconds: float) -> int:
        """How many episodes of training fit; none if that is not worth its time."""
        if not self.minutes:
            return 0
        tuned = self._algorithm == "linear"
        pace, least = (seconds / self._workers, LEAST_TUNED) if tuned else (self._trial(seconds), LEAST)
        episodes = int(WORKING * 60 * self.minutes / pace)
        if episodes >= least:
            return min(episodes, MOST)
        few = f"only {episodes} episodes of training would fit into {_minutes(self.minutes)}, and {least} are the least"
        if not self._rules:
            self.tell(f"Note: {few}: so many are trained, since no rule can stand in.")
            return least
        self.tell(f"Note: {few}: the best rule becomes the expert instead (for more: --expert-minutes).")
        return 0

    def _trial(self, seconds: float) -> float:
        """Seconds that an episode of training takes, with its share of the rollouts that validate."""
        times: list[float] = []

        def note(step: str, done: int, of: int) -> None:
            times.append(time.perf_counter())
            self.progress("trial", done, of)

        settings = self._train(TRIED, note).about["settings"]
        assert isinstance(settings, dict)
        validated = settings["evaluation_episodes"] * (1 - settings["evaluate_from"]) / settings["evaluate_every"]
        return times[1] - times[0] + validated * seconds / self._workers

    @property
    def _workers(self) -> int:
        return getattr(self.engine, "workers", 1)

    def _score(self, policy: Policy) -> float:
        return float(self.game.score.of(self.engine.play(policy, self._seeds).returns).mean())

    def _train(self, episodes: int, progress: Progress) -> StoredExpert:
        changes = {"episodes": episodes, "seed": self.seed, **(TUNED if self._algorithm == "linear" else {})}
        return algorithms.train(self.game, self._algorithm, changes, self.engine, progress).expert

    def _valued(self, rule: Yardstick) -> StoredExpert:
        """A rule with values fitted to it."""
        try:
            from hydraviper.experts import critics, local_critics
        except ImportError as error:
            raise InputError(f"fitting values needs the package {error.name}: install hydraviper[train].") from None
        settings = critics.CriticSettings(seed=self.seed, rollouts=FITTED)
        return local_critics.fit(self.game, rule, settings, self.engine, self.progress).expert


@dataclass(frozen=True)
class _First:
    """Everybody's first action: stands in where a game has no rule at all."""

    agents: int

    def act(self, observations: Observations) -> np.ndarray:
        return np.zeros((len(observations[0]), self.agents), np.int64)
