"""Particle worlds, compiled: cooperative navigation and physical deception for any number of episodes at once.

Two orders of physics. `original` moves the velocity, then the position, as the world of the paper does;
`mpe2` moves the position first and rewards as the maintained package does, step for step.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, permutations
from typing import Any

import numpy as np

from hydraviper.data import Agent, Derived, InputError, Knowledge, Observations, Recommended, Score, Team, Term
from hydraviper.games import particle_facts, scripts
from hydraviper.games.particle_arena import Arena, World
from hydraviper.kernels.particles import (
    AGENT_SIZE,
    CONTACT_FORCE,
    CONTACT_MARGIN,
    DAMPING,
    FORCE,
    TIME_STEP,
    draw,
    move,
    observe_deception,
    observe_navigation,
    reward_deception,
    reward_navigation,
)
from hydraviper.protocols import Offers, Scoring, Search
from hydraviper.settings import Range

ACTIONS = ("stay", "left", "right", "down", "up")
PHYSICS = ("original", "mpe2")
AGENTS = Range(1, 20, "somebody has to move", "the features of more fill the memory")
HORIZON = Range(1, 10_000, "an episode has a step", "nobody waits for longer episodes")
COASTING = (3, 5, 8)  # how many times the way to a landmark is set against an agent's speed, in derived features


class ParticleWorld:
    """What both worlds share: the state, the clock and the order of physics."""

    width = None
    agents: tuple[Agent, ...]
    teams: tuple[Team, ...]
    recommended = Recommended()

    def __init__(self, agents: int, landmarks: int, collide: bool, physics: str, horizon: int) -> None:
        if physics not in PHYSICS:
            raise InputError(f"physics {physics!r} is unknown: choose one of {', '.join(PHYSICS)}.")
        HORIZON.check("horizon", horizon)
        self.horizon = horizon
        self.sizes = (agents, landmarks)
        self.collide = collide
        self.mpe2 = physics == "mpe2"
        self._clock = 0

    def reset(self, seeds: np.ndarray) -> Observations:
        """Start one episode per seed."""
        episodes = len(seeds)
        agents, landmarks = self.sizes
        self.positions = np.empty((episodes, agents, 2))
        self.landmarks = np.empty((episodes, landmarks, 2))
        self.goals = np.empty(episodes, np.int64)
        draw(np.asarray(seeds, np.uint64), self.positions, self.landmarks, self.goals)
        return self.place(self.positions, self.landmarks, self.goals)

    def place(self, positions: np.ndarray, landmarks: np.ndarray, goals: np.ndarray) -> Observations:
        """Start episodes from given positions [B, N, 2], landmarks [B, L, 2] and goals [B], at rest."""
        self.positions, self.landmarks = np.array(positions, float), np.array(landmarks, float)
        self.goals = np.array(goals, np.int64)
        self.velocities = np.zeros_like(self.positions)
        self._clock = 0
        self._begin()
        return self._observe()

    def step(self, actions: np.ndarray) -> tuple[Observations, np.ndarray, np.ndarray]:
        """Play actions [B, N]."""
        move(self.positions, self.velocities, actions, self.collide, self.mpe2, np.empty((self.sizes[0], 2)))
        self._clock += 1
        rewards = np.empty(self.positions.shape[:2])
        self._reward(rewards)
        return self._observe(), rewards, np.full(len(rewards), self._clock >= self.horizon)

    def measures(self) -> Mapping[str, np.ndarray]:
        """Nothing beside the score."""
        return {}

    def arena(self, expert: Any, vocabulary: Any, trees: Any, seeds: np.ndarray, weights: np.ndarray) -> Any:
        """Whole episodes in one kernel; only for trees of all distilled agents and, if need be, one network."""
        team = [i for own in self.teams for i in own]
        others = [i for i in range(self.sizes[0]) if i not in team]
        networks: Any = getattr(expert, "actors", ())
        if len(vocabulary.plain) != len(team) or len(others) > len(networks) or others not in ([], [0]):
            return None
        world = World(*self.sizes, self.horizon, self.collide, self.mpe2)
        return Arena(world, networks[0].layers if others else None, vocabulary, trees, seeds, weights)

    def farthest(self) -> tuple[float, float]:
        """How far from the middle and how fast an agent can be at most within an episode."""
        # two agents on the same spot push each other hardest
        touching = CONTACT_FORCE * (2 * AGENT_SIZE + CONTACT_MARGIN) * (self.sizes[0] - 1) if self.collide else 0.0
        return particle_facts.farthest(self.horizon, FORCE + touching, TIME_STEP, DAMPING)

    def alike(self, source: int, target: int) -> list[np.ndarray]:
        """Agents that change places with each other, and landmarks with one another (all orders, or pairs if many)."""
        one, other = (self.agents[i].name.replace("-", " ") for i in (source, target))
        place = {name: k for k, name in enumerate(self.agents[target].features)}
        ways = []
        for order in _orders(self.sizes[1]):
            landmarks = {f"landmark {k}": f"landmark {to}" for k, to in enumerate(order)}
            new = {other: one} | landmarks
            words = [name.split(" ") for name in self.agents[source].features]
            renamed = [" ".join((new.get(" ".join(word[:2]), " ".join(word[:2])), *word[2:])) for word in words]
            ways.append([place.get(name) for name in renamed])
        return [np.array(way) for way in ways if None not in way and len(way) == len(place)]

    def _offers(
        self,
        derived: tuple[tuple[Derived, ...], ...],
        knowledge: Knowledge,
        scoring: Scoring,
        secrets: tuple[str, ...] = (),
    ) -> Offers:
        search = Search(derived, self.arena, self.alike)
        return Offers(scoring, search, knowledge=knowledge, secrets=secrets, compiled=True)

    def _begin(self) -> None: ...

    def _observe(self) -> Observations:
        raise NotImplementedError

    def _reward(self, rewards: np.ndarray) -> None:
        raise NotImplementedError


class CooperativeNavigation(ParticleWorld):
    """Agents split up to cover as many landmarks, without bumping into each other (`simple_spread`)."""

    name = "cooperative-navigation"

    def __init__(self, agents: int = 3, physics: str = "original", horizon: int = 25) -> None:
        AGENTS.check("cooperative-navigation's agents", agents)
        super().__init__(agents, agents, collide=True, physics=physics, horizon=horizon)
        self.parameters: Mapping[str, Any] = {"agents": agents, "physics": physics, "horizon": horizon}
        self.agents = tuple(_navigator(i, agents) for i in range(agents))
        self.teams: tuple[Team, ...] = (tuple(range(agents)),)
        marks = {k: 4 + 2 * k for k in range(agents)}
        derived = tuple(
            _to_landmarks(marks, _others([f"agent {j}" for j in range(agents) if j != i], 4 + 2 * agents))
            + _coasting(marks)
            for i in range(agents)
        )
        # mpe2 pays half and leaves out the collision with itself, which the paper's penalty counts every step
        self.score = Score(
            "total penalty",
            "",
            lower_is_better=True,
            weights=(-2.0 if self.mpe2 else -1.0,) * agents,
            offset=float(agents * horizon) if self.mpe2 else 0.0,
        )
        self.offers = self._offers(
            derived,
            particle_facts.navigation(agents, *self.farthest()),
            Scoring(yardsticks=scripts.navigators(agents)),
        )

    def _observe(self) -> Observations:
        agents = self.sizes[0]
        out = np.empty((agents, len(self.positions), len(self.agents[0].features)), np.float32)
        observe_navigation(self.positions, self.velocities, self.landmarks, out)
        return list(out)

    def _reward(self, rewards: np.ndarray) -> None:
        reward_navigation(self.positions, self.landmarks, self.mpe2, rewards)


class PhysicalDeception(ParticleWorld):
    """Defenders cover the goal without giving it away to an adversary that does not know it (`simple_adversary`)."""

    name = "physical-deception"
    recommended = Recommended(ucb_scale=2.0)

    def __init__(self, defenders: int = 2, physics: str = "original", horizon: int = 25) -> None:
        AGENTS.check("physical-deception's defenders", defenders)
        super().__init__(defenders + 1, defenders, collide=False, physics=physics, horizon=horizon)
        self.parameters: Mapping[str, Any] = {"defenders": defenders, "physics": physics, "horizon": horizon}
        names = ["adversary", *(f"defender-{k}" for k in range(1, defenders + 1))]
        self.agents = tuple(_deceiver(i, names, defenders) for i in range(defenders + 1))
        self.teams: tuple[Team, ...] = (tuple(range(1, defenders + 1)),)
        words = [name.replace("-", " ") for name in names]
        first = [0, *(2,) * defenders]  # defenders see the goal before the landmarks
        derived = tuple(
            _to_landmarks(
                {k: first[i] + 2 * k for k in range(defenders)},
                _others([word for j, word in enumerate(words) if j != i], first[i] + 2 * defenders),
            )
            for i in range(defenders + 1)
        )
        weights = (0.0, *(1.0 / defenders,) * defenders)
        self.score = Score("defender reward", "", lower_is_better=False, weights=weights)
        self.offers = self._offers(
            derived,
            particle_facts.deception(range(1, defenders + 1), defenders, self.farthest()[0]),
            Scoring(team_rules=scripts.defenders(defenders), opponents=scripts.adversaries(defenders)),
            secrets=("goal dx", "goal dy"),
        )

    def measures(self) -> Mapping[str, np.ndarray]:
        """How far the adversary stayed from the goal: a weak adversary flatters the defenders."""
        return {"adversary's distance to the goal": self._adversary_distance / max(self._clock, 1)}

    def _begin(self) -> None:
        self._adversary_distance = np.zeros(len(self.positions))

    def _observe(self) -> Observations:
        agents, landmarks = self.sizes
        size = 2 * (landmarks + agents - 1)
        adversary = np.empty((len(self.positions), size), np.float32)
        defenders = np.empty((agents - 1, len(self.positions), size + 2), np.float32)
        observe_deception(self.positions, self.landmarks, self.goals, adversary, defenders)
        return [adversary, *defenders]

    def _reward(self, rewards: np.ndarray) -> None:
        reward_deception(self.positions, self.landmarks, self.goals, self.mpe2, rewards, self._adversary_distance)


def _lengths(*columns: int) -> tuple[Term, Term]:
    """The distances of two points given by their first columns, the second one taken away."""
    first, second = columns
    return Term("distance", (first, first + 1)), Term("distance", (second, second + 1), -1)


def _swap(first: int, second: int, other: int) -> tuple[Term, ...]:
    """How much longer two ways are, the own to one landmark and the other's to the other, than the other way round."""
    there = other, other + 1
    return (
        Term("distance", (first, first + 1)),
        Term("distance", (second, second + 1, *there)),
        Term("distance", (second, second + 1), -1),
        Term("distance", (first, first + 1, *there), -1),
    )


def _coasting(landmarks: Mapping[int, int]) -> tuple[Derived, ...]:
    """Where a landmark will lie as seen from where an agent's speed carries it, some of it braked away.

    An agent that does nothing coasts 0.3 seconds of its speed: 3 times the way less the speed is 0 where it would stop
    just there. Larger multiples leave room for braking.
    """
    return tuple(
        Derived(
            f"{n} times landmark {k} d{axis} less velocity {axis}",
            (*(Term("value", (at + d,)),) * n, Term("value", (d,), -1)),
        )
        for k, at in landmarks.items()
        for d, axis in enumerate("xy")
        for n in COASTING
    )


def _to_landmarks(landmarks: Mapping[int, int], others: Mapping[str, int]) -> tuple[Derived, ...]:
    """What helps to divide landmarks among agents, by the first columns of landmarks and of other agents.

    Per landmark: its distance, how much farther each other agent is from it, in which direction it lies more; per two
    landmarks: how much farther the first is.
    """
    made = []
    for k, at in landmarks.items():
        own = Term("distance", (at, at + 1))
        made.append(Derived(f"distance to landmark {k}", (own,)))
        for name, other in others.items():
            theirs = Term("distance", (at, at + 1, other, other + 1))
            made.append(
                Derived(f"{name}'s distance to landmark {k} less own", (theirs, Term("distance", (at, at + 1), -1)))
            )
        sizes = Term("size", (at,)), Term("size", (at + 1,), -1)
        made.append(Derived(f"landmark {k} |dx| less |dy|", sizes))
    for k, m in combinations(landmarks, 2):
        name = f"distance to landmark {k} less to landmark {m}"
        made.append(Derived(name, _lengths(landmarks[k], landmarks[m])))
        for other, at in others.items():
            made.append(
                Derived(f"landmark {k} here and {m} for {other} less swapped", _swap(landmarks[k], landmarks[m], at))
            )
    return tuple(made)


def _others(names: list[str], start: int) -> dict[str, int]:
    """The first columns of other agents, which stand behind each other."""
    return {name: start + 2 * j for j, name in enumerate(names)}


def _orders(count: int) -> list[tuple[int, ...]]:
    """Orders in which things can change places, the usual one first."""
    if count <= 3:
        return list(permutations(range(count)))
    usual, orders = list(range(count)), [tuple(range(count))]
    for a, b in combinations(range(count), 2):
        swapped = usual.copy()
        swapped[a], swapped[b] = b, a
        orders.append(tuple(swapped))
    return orders


def _pairs(*names: str) -> tuple[str, ...]:
    return tuple(f"{name} {axis}" for name in names for axis in ("dx", "dy"))


def _navigator(i: int, agents: int) -> Agent:
    others = [f"agent {j}" for j in range(agents) if j != i]
    features = (
        *("velocity x", "velocity y", "position x", "position y"),
        *_pairs(*(f"landmark {k}" for k in range(agents)), *others),
        *(f"{other} word {w}" for other in others for w in (0, 1)),
    )
    return Agent(f"agent-{i}", features, ACTIONS)


def _deceiver(i: int, names: list[str], landmarks: int) -> Agent:
    goal = ["goal"] if i > 0 else []
    others = [name.replace("-", " ") for j, name in enumerate(names) if j != i]
    return Agent(names[i], _pairs(*goal, *(f"landmark {k}" for k in range(landmarks)), *others), ACTIONS)
