"""Environments of Gymnasium and PettingZoo as a game: many instances, stepped one after the other.

An instance plays one episode. Those that are over stand still until the next reset. Whatever decides an episode is its
seed and the actions, so neither batches nor workers change a result; `repeats` checks that this is true.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from hydraviper.data import Agent, InputError, JobError, Knowledge, Observations, Recommended, Score, Team
from hydraviper.games.environments.choices import Choices, Interpreter, next_allowed
from hydraviper.games.environments.film import filmed
from hydraviper.games.environments.options import EnvironmentOptions
from hydraviper.games.environments.spaces import Sight
from hydraviper.games.environments.teams import scored, teams_of
from hydraviper.games.environments.words import Words, words_for
from hydraviper.protocols import Drawing, Foreign, Game, Offers, Standing

SEEDS = 2**31  # environments take seeds below this
UNLIMITED = 1000  # steps of an episode whose environment names no limit
RECOMMENDED = Recommended(low=(200, 400), high=(1000, 2000), rollouts_per_iteration=20, evaluation_episodes=500)


@dataclass(frozen=True)
class Source:
    """Where the instances of an environment come from."""

    name: str  # of the game
    parameters: Mapping[str, object]
    make: Callable[[], Any]  # a new instance
    render: Callable[[], Any] | None = None  # a new instance that can be drawn
    again: Callable[[], Game] | None = None  # see `Offers.again`


class Environments(ABC):
    """What both kinds of environments share: agents, masks, the clock, who acts, and what is offered beside."""

    recommended = RECOMMENDED

    def __init__(self, source: Source, options: EnvironmentOptions) -> None:
        self.name, self.parameters, self.width = source.name, dict(source.parameters), options.instances
        self.source, self.options = source, options
        self._instances: list[Any] = [source.make()]
        first = self._instances[0]
        own = self._agents(first)
        whose = [f"{name} of {self.name}" if len(own) > 1 else self.name for name in own]
        self._choices = [Choices.of(of, self._action_space(first, name)) for of, name in zip(whose, own, strict=True)]
        sights = [
            Sight.of(of, self._observation_space(first, name), options.discrete)
            for of, name in zip(whose, own, strict=True)
        ]
        infos = self._first_infos(first)
        self._sights = [
            sight.with_mask(len(choices.own), infos.get(name))
            for sight, choices, name in zip(sights, self._choices, own, strict=True)
        ]
        self._masked = [i for i, sight in enumerate(self._sights) if sight.mask is not None]
        words = words_for(first, self.name, options.names, own)
        self.agents = tuple(self._agent(i, name, words) for i, name in enumerate(own))
        words.check()
        self.teams: tuple[Team, ...] = teams_of(self.name, own, options.distil or words.known.distil or self._usual())
        self.score: Score = scored(options.score, len(own), self.teams)
        limit = options.steps or self._limit(first) or words.known.steps
        self.horizon = limit or UNLIMITED
        self.offers = self._offers(own, words, limit is None)

    # ------------------------------------------------------------------------------------- what a kind must know

    @abstractmethod
    def _agents(self, instance: object) -> list[str]:
        """The environment's own names of all agents that there can be."""

    @abstractmethod
    def _observation_space(self, instance: object, name: str) -> Any: ...

    @abstractmethod
    def _action_space(self, instance: object, name: str) -> Any: ...

    @abstractmethod
    def _first_infos(self, instance: object) -> Mapping[str, object]:
        """Start an episode; the infos of its agents by their names."""

    @abstractmethod
    def _limit(self, instance: object) -> int | None:
        """The environment's own time limit, in steps, if it names one."""

    def _usual(self) -> str | None:
        """Who gets trees in an environment of this kind if nobody says it; None: agents that are called alike."""
        return None

    @abstractmethod
    def _begin(self, k: int, seed: int) -> None:
        """Start an episode in instance k: write what is seen and who acts."""

    @abstractmethod
    def _advance(self, actions: np.ndarray, rewards: np.ndarray) -> None:
        """Step all running instances: write what is seen, who acts, what is paid, what is over, and what was cut."""

    def _end(self, k: int, cut: bool) -> None:
        """Note that the episode in instance k is over."""
        self._over[k], self._cut[k], self._acting[k] = True, cut, False
        self._ended.append(k)

    # ------------------------------------------------------------------------------------- a game

    def _blamed(self, method: str, error: Exception) -> Exception:
        """An error in the environment's own code, with whose it is; our own sentences stay as they are."""
        if isinstance(error, InputError | JobError):
            return error
        what = " ".join(f"{type(error).__name__}: {error}".split())
        return InputError(f"{self.name} fails in its {method} with {what}: check the environment or its parameters.")

    def reset(self, seeds: np.ndarray) -> Observations:
        """Start one episode per seed."""
        count = len(seeds)
        while len(self._instances) < count:
            self._instances.append(self.source.make())
        self._seen = [np.zeros((count, sight.size), np.float32) for sight in self._sights]
        self._acting = np.zeros((count, len(self.agents)), bool)
        self._over, self._cut = np.zeros(count, bool), np.zeros(count, bool)
        self._running, self._clock = list(range(count)), 0
        self._ended: list[int] = []  # in this step
        try:
            for k, seed in enumerate(np.asarray(seeds).tolist()):
                self._begin(k, seed % SEEDS)
        except Exception as error:
            raise self._blamed("reset", error) from error
        return self._seen

    def step(self, actions: np.ndarray) -> tuple[Observations, np.ndarray, np.ndarray]:
        """Play actions [B, N]; those that a mask forbids give way to the next ones that it allows."""
        rewards = np.zeros(self._acting.shape)
        try:
            self._advance(self._permitted(np.asarray(actions)), rewards)
        except Exception as error:
            raise self._blamed("step", error) from error
        self._clock += 1
        if self._clock >= self.horizon:
            for k in set(self._running).difference(self._ended):
                self._end(k, cut=True)
        while self._ended:
            self._running.remove(self._ended.pop())
        return self._seen, rewards, self._over.copy()

    def measures(self) -> Mapping[str, np.ndarray]:
        """How many episodes ended by themselves, and not by a time limit."""
        return {"share of episodes that end before a time limit": (self._over & ~self._cut).astype(float)}

    def standing(self) -> Standing:
        """Who acts next, and which episodes were cut."""
        return Standing(self._acting, self._cut)

    def _permitted(self, actions: np.ndarray) -> np.ndarray:
        """The actions [B, N] without those that masks forbid."""
        for i in self._masked:
            allowed = self._sights[i].allowed(self._seen[i], len(self._choices[i].own))
            actions = np.array(actions)
            actions[:, i] = next_allowed(actions[:, i], allowed)
        return actions

    def _agent(self, i: int, own: str, words: Words) -> Agent:
        sight, actions = self._sights[i], words.actions(own, self._choices[i].names)
        mask = () if sight.mask is None else tuple(f"may {action}" for action in actions)
        return Agent(own, words.features(own, sight.names) + mask, actions)

    def drawn(self) -> Environments:
        """The same game with a single instance, which can be drawn."""
        assert self.source.render is not None
        return type(self)(replace(self.source, make=self.source.render), replace(self.options, instances=1))

    def picture(self) -> Any:
        """What the first instance looks like now."""
        return self._instances[0].render()

    def close(self) -> None:
        """End the instances; the next reset makes new ones."""
        while self._instances:
            self._instances.pop().close()

    def _offers(self, own: Sequence[str], words: Words, unlimited: bool) -> Offers:
        interpreter = Interpreter(tuple(self._sights), tuple(self._choices))
        notes = []
        if others := [self.agents[i].name for i in range(len(own)) if not any(i in team for team in self.teams)]:
            notes.append(f"The expert plays {' and '.join(others)}: distil=NAME+NAME chooses who gets trees.")
        if unlimited:
            notes.append(f"{self.name} names no time limit: episodes are cut after {UNLIMITED} steps; see steps=N.")
        domains = (
            domain
            for sight, agent in zip(self._sights, self.agents, strict=True)
            for domain in sight.domains(agent.features, agent.name)
        )
        modes = (getattr(self._instances[0], "metadata", None) or {}).get("render_modes") or ()
        drawable = self.source.render is not None and "rgb_array" in modes
        return Offers(
            drawing=Drawing(pictures=partial(filmed, self) if drawable else None),
            knowledge=Knowledge(tuple(domains)),
            notes=tuple(notes),
            content=words.digest,
            programs=0,
            standing=self.standing,
            again=self.source.again,
            foreign=Foreign(
                tuple(own),
                tuple(sight.space for sight in self._sights),
                tuple(choices.space for choices in self._choices),
                tuple(sight.mask is not None for sight in self._sights),
                interpreter.unflatten,
                interpreter.allowed,
                interpreter.numbers,
            ),
        )
