"""The four interfaces, and what a game may offer beside. Whoever fits one can take part; nothing is inherited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from hydraviper.data import (
    Agent,
    Derived,
    Icons,
    InputError,
    Knowledge,
    Observations,
    Recommended,
    Rollouts,
    Score,
    Team,
)


@runtime_checkable
class Game(Protocol):
    """Steps a batch of independent episodes."""

    @property
    def name(self) -> str:
        """The name under which the catalogue makes this game."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What it was made with."""
        ...

    @property
    def agents(self) -> tuple[Agent, ...]:
        """Who plays."""
        ...

    @property
    def teams(self) -> tuple[Team, ...]:
        """Who is distilled, and with whom; everybody else plays their expert."""
        ...

    @property
    def horizon(self) -> int:
        """The most steps an episode takes."""
        ...

    @property
    def width(self) -> int | None:
        """How many episodes one instance can step at once; None if any number."""
        ...

    @property
    def score(self) -> Score:
        """What people read."""
        ...

    @property
    def recommended(self) -> Recommended:
        """The budgets that suit it."""
        ...

    def reset(self, seeds: np.ndarray) -> Observations:
        """Start one episode per seed (uint64 [B]); the seed alone decides how it starts and goes on."""
        ...

    def step(self, actions: np.ndarray) -> tuple[Observations, np.ndarray, np.ndarray]:
        """Play actions [B, N]: the next observations, rewards [B, N], done [B]."""
        ...

    def measures(self) -> Mapping[str, np.ndarray]:
        """What else to tell about the episodes just played, name -> [B]; may be empty."""
        ...


@runtime_checkable
class HasYardsticks(Protocol):
    """A game that knows simple policies for everybody, to see what a score is worth."""

    def yardsticks(self) -> Mapping[str, Policy]:
        """Name -> policy."""
        ...


@runtime_checkable
class HasOpponents(Protocol):
    """A game that knows scripted players for the agents that are not distilled."""

    def opponents(self) -> Mapping[str, Mapping[int, Student]]:
        """Name -> their rules by agent."""
        ...


@runtime_checkable
class HasRules(Protocol):
    """A game that knows scripted rules for its teams, while everybody else plays the expert."""

    def rules(self) -> Mapping[str, Mapping[int, Student]]:
        """Name -> their rules by agent."""
        ...


@runtime_checkable
class CanJam(HasYardsticks, Protocol):
    """A game whose episodes can go wrong for good, so that a mean hides what matters."""

    @property
    def jam_multiple(self) -> float:
        """An episode is jammed when its score is this many times worse than the best yardstick's median."""
        ...


@runtime_checkable
class HasNotes(Protocol):
    """A game with something to say about how it was read."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that a run repeats."""
        ...


@runtime_checkable
class HasContent(Protocol):
    """A game made from files: rollouts and runs belong to what is in them, not to their names."""

    @property
    def content(self) -> str:
        """A hash of everything in the files that an episode depends on."""
        ...


@runtime_checkable
class HasDerived(Protocol):
    """A game that can name numbers worth asking for beside the plain features."""

    @property
    def derived(self) -> tuple[tuple[Derived, ...], ...]:
        """Per agent, what can be computed from its features."""
        ...


@runtime_checkable
class HasKnowledge(Protocol):
    """A game that knows which values its features take, as it was made, so that proofs can rely on it."""

    @property
    def knowledge(self) -> Knowledge:
        """Domains and facts that are true of every observation."""
        ...


@runtime_checkable
class HasArena(Protocol):
    """A compiled game that plays whole episodes with trees inside, for a search that tries very many of them."""

    def arena(self, expert: Any, vocabulary: Any, trees: Any, seeds: np.ndarray, weights: np.ndarray) -> Any:
        """Trees (`packed.Packed`) and the episodes that they play on these seeds; None for an expert of another kind.

        The result has `scores` [E] (returns times weights), `views`, `compare` and `adopt`, as
        `games.particle_arena.Arena` has.
        """
        ...


@runtime_checkable
class HasAlikeAgents(Protocol):
    """A game in which some agents can change places, so that one's tree may serve another."""

    def alike(self, source: int, target: int) -> list[np.ndarray]:
        """Ways to read the source's tree as the target's: per feature of the source, that of the target [F].

        Nothing if they are not alike. For source == target, the first one leaves everything as it is.
        """
        ...


@runtime_checkable
class HasPhases(Protocol):
    """A game of signals: the first features of an agent say which phase is green, the last are movements' pressures."""

    @property
    def served(self) -> tuple[np.ndarray, ...]:
        """Per agent, bool [A, G]: the movements that each phase lets go, in the order of the pressures."""
        ...


@runtime_checkable
class HasClock(Protocol):
    """A game whose score of a single step means something, so that rollouts keep it and reports draw it over time."""

    @property
    def step_minutes(self) -> float:
        """How long a step takes in the world."""
        ...


@runtime_checkable
class HasPictures(Protocol):
    """A game that can be drawn."""

    def map_svg(self, teams: Sequence[Team]) -> str:
        """Where the agents are, numbered, in the colours of their teams, as an SVG document."""
        ...

    def action_icons(self, agent: int) -> Icons:
        """A small drawing of each action of an agent."""
        ...


class Policy(Protocol):
    """Chooses everybody's actions."""

    def act(self, observations: Observations) -> np.ndarray:
        """One action per episode and agent, [B, N]; a row never depends on the other rows."""
        ...


@runtime_checkable
class KnowsEpisodes(Protocol):
    """A policy that plays one way or another by the episode: some actions at random, say."""

    def begin(self, seeds: np.ndarray) -> Policy:
        """Who plays the episodes of these seeds (uint64 [B]), step after step; the seeds alone decide how."""
        ...


class Expert(Protocol):
    """A policy that also knows what actions are worth."""

    def act(self, observations: Observations, agents: Team | None = None) -> np.ndarray:
        """One action per episode and agent, [B, N]; with `agents`, only theirs matter and the rest may be anything."""
        ...

    def q(self, observations: Observations, actions: np.ndarray) -> np.ndarray:
        """Every agent's value of the joint actions [B, N], as [B, N]."""
        ...

    def worst_team_q(
        self, observations: Observations, actions: np.ndarray, team: Team, judges: Team | None = None
    ) -> np.ndarray:
        """The least mean value to the judges (default: the team) over the team's joint actions, [B].

        Everybody else keeps their action of `actions` [B, N].
        """
        ...


@runtime_checkable
class ValuesJointly(Protocol):
    """An expert whose values of a team's joint actions have nothing in common, so that it looks at each of them."""

    @property
    def joint(self) -> bool:
        """Whether it is so."""
        ...


class Student(Protocol):
    """One agent's part of a profile: a tree, or any classifier with `predict`."""

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Actions [B] for observations [B, F]."""
        ...


class Engine(Protocol):
    """Plays rollouts somewhere; the same seeds give the same rollouts wherever that is."""

    def play(self, policy: Policy, seeds: np.ndarray, record: bool = False) -> Rollouts:
        """Play one episode per seed; with `record`, keep the observations."""
        ...

    def play_many(self, policies: Sequence[Policy], seeds: Sequence[np.ndarray]) -> list[Rollouts]:
        """Play several policies, each on its own seeds, as one piece of work."""
        ...


def check_game(game: Game) -> None:
    """Refuse a game whose agents, teams or score do not fit each other."""
    names = [agent.name for agent in game.agents]
    if twins := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"{game.name} has two agents called {twins[0]!r}: give every agent a name of its own.")
    members = [i for team in game.teams for i in team]
    if not members or not all(game.teams):
        raise InputError(f"{game.name} has {'an empty team' if game.teams else 'no teams'}: name who is distilled.")
    if strangers := [i for i in members if not 0 <= i < len(names)]:
        raise InputError(f"{game.name} has a team with agent {strangers[0]}, but its agents are 0 to {len(names) - 1}.")
    if twice := [i for i in members if members.count(i) > 1]:
        raise InputError(f"{game.name} has {names[twice[0]]} in two teams or twice in one: an agent has one tree.")
    if len(game.score.weights) != len(names):
        raise InputError(f"{game.name} scores {len(game.score.weights)} agents, but has {len(names)}.")
    if game.horizon < 1:
        raise InputError(f"{game.name} has episodes of {game.horizon} steps: at least one is needed.")
