"""The interfaces of games, policies, experts and engines, and the records of what a game may offer beside.

Nothing is inherited: any object that has the members of a protocol can take its place.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from hydraviper.controllers import Controller
from hydraviper.data import (
    Agent,
    Derived,
    InputError,
    Knowledge,
    Observations,
    Recommended,
    Rollouts,
    Score,
    StreetRecord,
    Team,
)
from hydraviper.geometry import Frame, Intersection, RoadMap, Scene, Seen


@runtime_checkable
class Game(Protocol):
    """Steps a batch of independent episodes.

    A game may also have an attribute `offers` (see `Offers`).
    """

    @property
    def name(self) -> str:
        """The name under which the catalogue makes this game."""
        ...

    @property
    def parameters(self) -> Mapping[str, object]:
        """The arguments that it was made with; together with the name they make the same game again."""
        ...

    @property
    def agents(self) -> tuple[Agent, ...]:
        """The agents, in the order of observations, actions and rewards."""
        ...

    @property
    def teams(self) -> tuple[Team, ...]:
        """The agents that are distilled, in teams; all others play the expert."""
        ...

    @property
    def horizon(self) -> int:
        """The most steps an episode takes."""
        ...

    @property
    def width(self) -> int | None:
        """How many episodes one instance can step at once; None for any number."""
        ...

    @property
    def score(self) -> Score:
        """The number that people read."""
        ...

    @property
    def recommended(self) -> Recommended:
        """The budgets that suit this game."""
        ...

    def reset(self, seeds: np.ndarray) -> Observations:
        """Start one episode per seed (uint64 [B]); the seed alone decides how it starts and goes on."""
        ...

    def step(self, actions: np.ndarray) -> tuple[Observations, np.ndarray, np.ndarray]:
        """Play actions [B, N]: the next observations, rewards [B, N], done [B]."""
        ...

    def measures(self) -> Mapping[str, np.ndarray]:
        """Numbers beside the score about the episodes just played, name -> [B]; may be empty."""
        ...


class Policy(Protocol):
    """Chooses the actions of all agents."""

    def act(self, observations: Observations) -> np.ndarray:
        """One action per episode and agent, [B, N]; a row never depends on the other rows."""
        ...


@runtime_checkable
class SeededPolicy(Protocol):
    """A policy that depends on the episode's seed: one that explores, for example."""

    def begin(self, seeds: np.ndarray) -> Policy:
        """The policy for the episodes of these seeds (uint64 [B]); the seeds alone decide how it plays."""
        ...


class Expert(Protocol):
    """A policy that also values actions."""

    def act(self, observations: Observations, agents: Team | None = None) -> np.ndarray:
        """One action per episode and agent, [B, N]; with `agents`, the actions of all others may be anything."""
        ...

    def q(self, observations: Observations, actions: np.ndarray) -> np.ndarray:
        """Every agent's value of the joint actions [B, N], as [B, N]."""
        ...

    def worst_team_q(
        self, observations: Observations, actions: np.ndarray, team: Team, judges: Team | None = None
    ) -> np.ndarray:
        """The least mean value to the judges (default: the team) over the team's joint actions, [B].

        All other agents keep their actions of `actions` [B, N].
        """
        ...


@runtime_checkable
class ValuesJointly(Protocol):
    """An expert that may have to value every joint action of a team one by one, so that large teams take very long."""

    @property
    def joint(self) -> bool:
        """Whether `worst_team_q` tries all joint actions; teams with too many are refused before anything is played."""
        ...


@runtime_checkable
class SearchesWorst(Protocol):
    """An expert with joint values that can search for a large team's worst joint action instead of trying all."""

    def search_worst_team_q(
        self, observations: Observations, actions: np.ndarray, team: Team
    ) -> tuple[np.ndarray, np.ndarray]:
        """The least mean value to a team that was found, [B], and how much lower one may be at most, [B]."""
        ...


class Student(Protocol):
    """What plays one agent: a tree, or any classifier with `predict`."""

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Actions [B] for observations [B, F]."""
        ...


class Engine(Protocol):
    """Plays rollouts, in this process or elsewhere; the same seeds give the same rollouts everywhere."""

    def play(self, policy: Policy, seeds: np.ndarray, record: bool = False) -> Rollouts:
        """Play one episode per seed; with `record`, keep the observations."""
        ...

    def play_many(self, policies: Sequence[Policy], seeds: Sequence[np.ndarray]) -> list[Rollouts]:
        """Play several policies, each on its own seeds, and return when all are done."""
        ...


@dataclass(frozen=True)
class Closely:
    """What a game can tell of parts of an episode, at a cost, if it is asked to before the episode begins.

    The measures of such an episode then also hold arrays of other shapes, [B, ...], which only the game can read.
    """

    watch: Callable[[], None]  # to be called before `reset`: look closely at the next episode
    streets: Callable[[Mapping[str, np.ndarray]], tuple[StreetRecord, ...]]  # of measures
    shown: Callable[[Mapping[str, np.ndarray]], dict[str, dict[str, float]]]  # agent -> action -> share of steps
    beside: tuple[str, ...] = ()  # yardsticks that are worth a close look as well


@dataclass(frozen=True)
class Scoring:
    """Read by evaluations and reports: what a score is compared with."""

    yardsticks: Mapping[str, Policy] = field(default_factory=dict)  # name -> a simple policy for all agents
    team_rules: Mapping[str, Mapping[int, Student]] = field(default_factory=dict)  # name -> scripts for the distilled
    opponents: Mapping[str, Mapping[int, Student]] = field(default_factory=dict)  # name -> scripts for all others
    # An episode is jammed if its score is this many times worse than the best yardstick's median; None: never.
    jam_multiple: float | None = None
    # How long a step takes in the world, if the score of a single step means something; it is then drawn over time.
    step_minutes: float | None = None
    # The same game with so many times the traffic, where there is traffic.
    with_demand: Callable[[float], Game] | None = None
    closely: Closely | None = None
    foremost: tuple[str, ...] = ()  # measures that belong beside the score, before all others


@dataclass(frozen=True)
class Search:
    """Read by training and `refine`: what helps to find better trees."""

    derived: tuple[tuple[Derived, ...], ...] = ()  # per agent, numbers worth asking for beside the plain features
    # (expert, vocabulary, packed trees, seeds, weights) -> what plays whole episodes of trees in compiled code, as
    # `games.particle_arena.Arena` does; None for an expert that it cannot play.
    arena: Callable[[Expert, Any, Any, np.ndarray, np.ndarray], Any] | None = None
    # (source, target) -> ways to read the source's tree as the target's: the target's feature for each of the source's
    # [F]. Nothing if the two are not alike. For source == target, the first way leaves everything as it is.
    alike: Callable[[int, int], list[np.ndarray]] | None = None
    # Per agent, features whose sum a step had better leave small. Where rewards tell late what an action did, IDQN
    # learns from minus this sum instead.
    costs: tuple[tuple[int, ...], ...] = ()
    # Parameters that change nothing but episodes with marked seeds (`seeding.practice`): those that trees are made by.
    varied: tuple[str, ...] = ()
    lines: str = ""  # what people of the field would ask for, as lines `name = formula` (docs/features.md)


@dataclass(frozen=True)
class Graph:
    """Read by partitions, MPLight, linear rules, refine and properties of signals: how agents are connected."""

    neighbours: tuple[tuple[int, int], ...] | None = None  # pairs of agents
    # Per agent, bool [actions, movements]: the movements that each phase of a signal lets go. The agent's first
    # features say which phase is green, one each; its last are the movements' pressures, in this order.
    served: tuple[np.ndarray, ...] | None = None

    def near(self, count: int) -> np.ndarray:
        """Whether agents are next to each other or the same, bool [N, N]; all are where nothing is told of it."""
        if self.neighbours is None:
            return np.ones((count, count), bool)
        near = np.eye(count, dtype=bool)
        for i, j in self.neighbours:
            near[i, j] = near[j, i] = True
        return near


@dataclass(frozen=True)
class Drawing:
    """Read by maps, by drawings of trees and by reports: where things lie."""

    road_map: Callable[[], RoadMap] | None = None  # may end an episode that is under way
    # Agent's name -> the intersection of its signal, whose phases are the agent's actions.
    intersections: Mapping[str, Intersection] = field(default_factory=dict)
    # Have the next episode filmed: who gets the pictures, and how many seconds lie between two of them.
    film: Callable[[Callable[[Frame], None], int], None] | None = None
    # While it is open, episodes are played in a window: all of it, or the surroundings of an agent, by its name.
    window: Callable[[str | None], AbstractContextManager[None]] | None = None
    # (policy, seed, count) -> pictures of an episode that the policy plays, each with its step: RGB uint8 [H, W, 3].
    pictures: Callable[[Policy, int, int], list[tuple[int, np.ndarray]]] | None = None
    scene: Callable[[], Scene] | None = None  # where everybody is now, in the first episode of the batch under way
    scene_of: Callable[[Seen], Scene] | None = None  # where everybody is, as some agents see it
    frame_of: Callable[[Seen, RoadMap], Frame] | None = None  # the same on the road map


@dataclass(frozen=True)
class Standing:
    """Read by the loop that plays: how the episodes of a batch stand after a step or a reset."""

    acting: np.ndarray  # bool [B, N] whose actions count in the next step: who has not left, or whose turn it is
    cut: np.ndarray  # bool [B] ended by a time limit, not by the game itself


@dataclass(frozen=True)
class Foreign:
    """Read by experts from elsewhere: a game that is another package's environment, in that environment's own terms.

    All of it can be sent to another process, as policies are that hold it.
    """

    agents: tuple[str, ...]  # the environment's own names, in the order of the game's agents
    observation_spaces: tuple[Any, ...]  # per agent, the environment's own (a gymnasium.spaces.Space)
    action_spaces: tuple[Any, ...]  # the same; the game numbers their actions from 0
    masked: tuple[bool, ...]  # per agent, whether the environment says which actions are allowed
    # (agent, features [B, F_i]) -> observations in the environment's own structure, one array [B, ...] per Box,
    # Discrete, MultiDiscrete or MultiBinary space, in dicts and tuples as the space nests them.
    unflatten: Callable[[int, np.ndarray], Any]
    # (agent, features [B, F_i]) -> the actions that are allowed, bool [B, A]; all of them where nothing is masked.
    allowed: Callable[[int, np.ndarray], np.ndarray]
    # (agent, actions of the environment's own action space [B] or [B, K]) -> the game's actions, int64 [B].
    numbers: Callable[[int, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Offers:
    """What a game offers beside the `Game` protocol, grouped by who reads it; all of it is optional."""

    scoring: Scoring = field(default_factory=Scoring)
    search: Search = field(default_factory=Search)
    graph: Graph = field(default_factory=Graph)
    drawing: Drawing = field(default_factory=Drawing)
    knowledge: Knowledge = field(default_factory=Knowledge)  # what proofs may rely on: true of every observation
    # Per agent, the state machine between its choices and the lights of its signal: read by exports and proofs.
    controllers: tuple[Controller, ...] = ()
    secrets: tuple[str, ...] = ()  # features that agents give away to opponents by acting on them
    notes: tuple[str, ...] = ()  # sentences about this game that every run repeats
    content: str | None = None  # for a game made from files: a hash of all in them that an episode depends on
    # Parameters that older records of the game lack, as it was played when these were written.
    before: Mapping[str, object] = field(default_factory=dict)
    decisive: tuple[str, ...] = ()  # parameters that change what is seen or paid: an expert must share them
    programs: int = 1  # actions -1, -2, ... leave an agent to one of so many programs of the game's own
    standing: Callable[[], Standing] | None = None  # None: everybody always acts, and only the horizon is a time limit
    foreign: Foreign | None = None  # for a game that is an environment of another package
    again: Callable[[], Game] | None = None  # makes a game again that has no name; it can be sent to another process
    compiled: bool = False  # its steps release the interpreter lock, so that threads are enough to play in parallel


def offers(game: Game) -> Offers:
    """A game's attribute `offers`, if it has one; else an empty record."""
    return getattr(game, "offers", _NOTHING)


_NOTHING = Offers()


def spec_of(name: str, parameters: Mapping[str, object]) -> str:
    """A game's name with its parameters, as people write it: `cooperative-navigation:agents=4`."""
    options = ",".join(f"{key}={value}" for key, value in parameters.items())
    if not options:
        return name
    return f"{name}{',' if ':' in name else ':'}{options}"


def check_game(game: Game) -> None:
    """Refuse a game whose agents, teams, score or offers do not fit each other."""
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
    _check_offers(game)


def _check_offers(game: Game) -> None:
    """Refuse offers that do not fit the game's agents."""
    offered, count = offers(game), len(game.agents)
    phases = ("phases", offered.graph.served or ())
    for what, per_agent in (("derived features", offered.search.derived), phases, ("controllers", offered.controllers)):
        if len(per_agent) not in (0, count):
            raise InputError(f"{game.name} offers {what} for {len(per_agent)} agents, but has {count}.")
    if strangers := [pair for pair in offered.graph.neighbours or () if not all(0 <= i < count for i in pair)]:
        raise InputError(f"{game.name} has the neighbours {strangers[0]}, but its agents are 0 to {count - 1}.")
    for agent, served in zip(game.agents, offered.graph.served or (), strict=False):
        if len(served) != len(agent.actions):
            raise InputError(f"{game.name} says what {len(served)} phases of {agent.name} serve, not one per action.")
    for agent in game.agents:
        intersection = offered.drawing.intersections.get(agent.name)
        if intersection is not None and intersection.phases != len(agent.actions):
            phases, actions = intersection.phases, len(agent.actions)
            raise InputError(f"{game.name} draws {phases} phases of {agent.name}, which has {actions} actions.")
