"""Particle worlds, compiled: cooperative navigation and physical deception for any number of episodes at once.

There are two kinds of physics. `original` updates the velocity and then the position, as the paper's world does.
`mpe2` updates the position first, and rewards as the package mpe2 does, step for step.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, permutations
from typing import Any

import numpy as np

from hydraviper.data import Agent, InputError, Knowledge, Observations, Recommended, Score, Team
from hydraviper.games import particle_facts, particle_scenes, scripts
from hydraviper.games import particle_features as features
from hydraviper.games.particle_arena import Arena, World
from hydraviper.games.particle_scenes import LANDMARK_SIZE
from hydraviper.geometry import Mark, Scene, Seen
from hydraviper.kernels import particles as kernels
from hydraviper.protocols import Drawing, Offers, Scoring, Search
from hydraviper.settings import Range

PHYSICS = ("original", "mpe2")
AGENTS = Range(1, 30, "somebody has to move", "the features of more fill the memory")
HORIZON = Range(1, 10_000, "an episode has a step", "nobody waits for longer episodes")


class ParticleWorld:
    """What both worlds share: the state, the clock and the physics."""

    width = None
    _has_goal = False
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
        kernels.draw(np.asarray(seeds, np.uint64), self.positions, self.landmarks, self.goals)
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
        kernels.move(self.positions, self.velocities, actions, self.collide, self.mpe2, np.empty((self.sizes[0], 2)))
        self._clock += 1
        rewards = np.empty(self.positions.shape[:2])
        self._reward(rewards)
        return self._observe(), rewards, np.full(len(rewards), self._clock >= self.horizon)

    def measures(self) -> Mapping[str, np.ndarray]:
        """Nothing beside the score."""
        return {}

    def arena(self, expert: Any, vocabulary: Any, trees: Any, seeds: np.ndarray, weights: np.ndarray) -> Any:
        """Play whole episodes in one kernel; None unless all distilled agents have trees, and agent 0 at most has none.

        An agent without a tree plays its network, an actor of the expert.
        """
        team = [i for members in self.teams for i in members]
        others = [i for i in range(self.sizes[0]) if i not in team]
        networks: Any = getattr(expert, "actors", ())
        if len(vocabulary.plain) != len(team) or len(others) > len(networks) or others not in ([], [0]):
            return None
        world = World(*self.sizes, self.horizon, self.collide, self.mpe2)
        return Arena(world, networks[0].layers if others else None, vocabulary, trees, seeds, weights)

    def farthest(self) -> tuple[float, float]:
        """The largest coordinate and the largest speed that an agent can reach within an episode."""
        # two agents at the same point push each other hardest
        push = kernels.CONTACT_FORCE * (2 * kernels.AGENT_SIZE + kernels.CONTACT_MARGIN)
        force = kernels.FORCE + (push * (self.sizes[0] - 1) if self.collide else 0.0)
        return particle_facts.farthest(self.horizon, force, kernels.TIME_STEP, kernels.DAMPING)

    def alike(self, source: int, target: int) -> list[np.ndarray]:
        """Ways to read one agent's features as another's: the two swap, and landmarks swap (see `Search.alike`)."""
        one, other = (self.agents[i].name.replace("-", " ") for i in (source, target))
        column = {name: k for k, name in enumerate(self.agents[target].features)}
        ways = []
        for order in _orders(self.sizes[1]):
            landmarks = {f"landmark {k}": f"landmark {to}" for k, to in enumerate(order)}
            new = {other: one} | landmarks
            words = [name.split(" ") for name in self.agents[source].features]
            renamed = [" ".join((new.get(" ".join(word[:2]), " ".join(word[:2])), *word[2:])) for word in words]
            ways.append([column.get(name) for name in renamed])
        return [np.array(way) for way in ways if None not in way and len(way) == len(column)]

    def _offers(self, knowledge: Knowledge, scoring: Scoring, lines: str, secrets: tuple[str, ...] = ()) -> Offers:
        derived = tuple(features.derived(agent, self.sizes[1]) for agent in self.agents)
        search = Search(derived, self.arena, self.alike, lines=lines)
        look = Drawing(scene=self.scene, scene_of=self.scene_of)
        return Offers(scoring, search, drawing=look, knowledge=knowledge, secrets=secrets, compiled=True)

    def scene(self) -> Scene:
        """Where agents and landmarks are in the first episode of the batch."""
        agents, landmarks = self.positions[0].tolist(), self.landmarks[0].tolist()
        goal = int(self.goals[0]) if self._has_goal else None
        marks = [
            Mark(f"landmark {k}", "goal" if k == goal else "landmark", (x, y), LANDMARK_SIZE)
            for k, (x, y) in enumerate(landmarks)
        ]
        marks += [
            Mark(agent.name, "agent", (x, y), self._agent_size)
            for agent, (x, y) in zip(self.agents, agents, strict=True)
        ]
        return Scene(tuple(marks))

    def scene_of(self, seen: Seen) -> Scene:
        """Where agents and landmarks are, as some agents see it."""
        return particle_scenes.scene_of(self.agents, self.sizes[1], self._agent_size, seen)

    @property
    def _agent_size(self) -> float:
        return kernels.AGENT_SIZE if self.collide else LANDMARK_SIZE

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
        self.parameters: Mapping[str, object] = {"agents": agents, "physics": physics, "horizon": horizon}
        self.agents = tuple(features.navigator(i, agents) for i in range(agents))
        self.teams: tuple[Team, ...] = (tuple(range(agents)),)
        # mpe2 pays half, and does not count an agent's collision with itself, which the paper does in every step
        self.score = Score(
            "total penalty",
            "",
            lower_is_better=True,
            weights=(-2.0 if self.mpe2 else -1.0,) * agents,
            offset=float(agents * horizon) if self.mpe2 else 0.0,
        )
        self.offers = self._offers(
            particle_facts.navigation(agents, *self.farthest()),
            Scoring(yardsticks=scripts.navigators(agents)),
            features.navigation_lines(agents),
        )

    def _observe(self) -> Observations:
        agents = self.sizes[0]
        out = np.empty((agents, len(self.positions), len(self.agents[0].features)), np.float32)
        kernels.observe_navigation(self.positions, self.velocities, self.landmarks, out)
        return list(out)

    def _reward(self, rewards: np.ndarray) -> None:
        kernels.reward_navigation(self.positions, self.landmarks, self.mpe2, rewards)


class PhysicalDeception(ParticleWorld):
    """Defenders cover the goal without giving it away to an adversary that does not know it (`simple_adversary`)."""

    name = "physical-deception"
    _has_goal = True
    recommended = Recommended(ucb_scale=2.0)

    def __init__(self, defenders: int = 2, physics: str = "original", horizon: int = 25) -> None:
        AGENTS.check("physical-deception's defenders", defenders)
        super().__init__(defenders + 1, defenders, collide=False, physics=physics, horizon=horizon)
        self.parameters: Mapping[str, object] = {"defenders": defenders, "physics": physics, "horizon": horizon}
        names = ["adversary", *(f"defender-{k}" for k in range(1, defenders + 1))]
        self.agents = tuple(features.deceiver(i, names, defenders) for i in range(defenders + 1))
        self.teams: tuple[Team, ...] = (tuple(range(1, defenders + 1)),)
        weights = (0.0, *(1.0 / defenders,) * defenders)
        self.score = Score("defender reward", "", lower_is_better=False, weights=weights)
        self.offers = self._offers(
            particle_facts.deception(range(1, defenders + 1), defenders, self.farthest()[0]),
            Scoring(team_rules=scripts.defenders(defenders), opponents=scripts.adversaries(defenders)),
            features.deception_lines(defenders),
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
        kernels.observe_deception(self.positions, self.landmarks, self.goals, adversary, defenders)
        return [adversary, *defenders]

    def _reward(self, rewards: np.ndarray) -> None:
        places = self.positions, self.landmarks, self.goals
        kernels.reward_deception(*places, self.mpe2, rewards, self._adversary_distance)


def _orders(count: int) -> list[tuple[int, ...]]:
    """Orders of so many landmarks, the usual one first: all of them if they are few, else those that swap two."""
    if count <= 3:
        return list(permutations(range(count)))
    usual, orders = list(range(count)), [tuple(range(count))]
    for a, b in combinations(range(count), 2):
        swapped = usual.copy()
        swapped[a], swapped[b] = b, a
        orders.append(tuple(swapped))
    return orders
