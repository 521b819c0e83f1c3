"""Particle worlds, compiled: cooperative navigation and physical deception for any number of episodes at once.

Two orders of physics. `original` moves the velocity, then the position, as the world of the paper does;
`mpe2` moves the position first and rewards as the maintained package does, step for step.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, permutations
from typing import Any

import numba as nb
import numpy as np

from hydraviper.data import Agent, Derived, InputError, Knowledge, Observations, Recommended, Score, Team, Term
from hydraviper.games import particle_facts, scripts
from hydraviper.protocols import Policy, Student
from hydraviper.settings import Range

ACTIONS = ("stay", "left", "right", "down", "up")
PHYSICS = ("original", "mpe2")
AGENTS = Range(1, 20, "somebody has to move", "the features of more fill the memory")
HORIZON = Range(1, 10_000, "an episode has a step", "nobody waits for longer episodes")
TIME_STEP, DAMPING, FORCE = 0.1, 0.25, 5.0
COASTING = (3, 5, 8)  # how many times the way to a landmark is set against an agent's speed, in derived features
AGENT_SIZE, CONTACT_FORCE, CONTACT_MARGIN = 0.15, 100.0, 1e-3


@nb.njit(cache=True, nogil=True, inline="always")
def draw(seeds, positions, landmarks, goals):
    """Fill positions and landmarks uniformly in [-1, 1]^2 and pick a goal, by splitmix64 from each episode's seed."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    for b in range(seeds.shape[0]):
        state = seeds[b]
        for group in range(3):
            count = positions.shape[1] if group == 0 else landmarks.shape[1] if group == 1 else 1
            for k in range(count):
                for d in range(2):
                    state += golden
                    z = state
                    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                    z = z ^ (z >> np.uint64(31))
                    unit = np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)
                    if group == 0:
                        positions[b, k, d] = 2.0 * unit - 1.0
                    elif group == 1:
                        landmarks[b, k, d] = 2.0 * unit - 1.0
                    elif d == 0:
                        goals[b] = np.int64(unit * landmarks.shape[1])


@nb.njit(cache=True, nogil=True, inline="always")
def move(positions, velocities, actions, collide, position_first, force):
    """Forces, then velocity and position in the chosen order, for every episode; force [N, 2] is room to work in."""
    agents = positions.shape[1]
    for b in range(positions.shape[0]):
        for i in range(agents):
            action = actions[b, i]
            force[i, 0] = FORCE * ((action == 2) - (action == 1))
            force[i, 1] = FORCE * ((action == 4) - (action == 3))
        if collide:
            for i in range(agents):
                for j in range(i + 1, agents):
                    dx = positions[b, i, 0] - positions[b, j, 0]
                    dy = positions[b, i, 1] - positions[b, j, 1]
                    distance = np.sqrt(dx * dx + dy * dy)
                    depth = -(distance - 2.0 * AGENT_SIZE) / CONTACT_MARGIN
                    # softplus; below -40 it is smaller than any force that could change a bit of the result
                    if depth > -40.0:
                        penetration = (depth if depth > 40.0 else np.log1p(np.exp(depth))) * CONTACT_MARGIN
                        push = CONTACT_FORCE * penetration / distance
                        force[i, 0] += push * dx
                        force[i, 1] += push * dy
                        force[j, 0] -= push * dx
                        force[j, 1] -= push * dy
        for i in range(agents):
            for d in range(2):
                old = velocities[b, i, d]
                new = old * (1.0 - DAMPING) + force[i, d] * TIME_STEP
                velocities[b, i, d] = new
                positions[b, i, d] += (old if position_first else new) * TIME_STEP


@nb.njit(cache=True, nogil=True, inline="always")
def observe_navigation(positions, velocities, landmarks, out):
    """Write [N, B, F]: velocity, position, landmarks relative, others relative; communication stays 0."""
    episodes, agents = positions.shape[0], positions.shape[1]
    for i in range(agents):
        for b in range(episodes):
            x, y = positions[b, i, 0], positions[b, i, 1]
            row = out[i, b]
            row[0], row[1] = velocities[b, i, 0], velocities[b, i, 1]
            row[2], row[3] = x, y
            column = 4
            for k in range(agents):
                row[column] = landmarks[b, k, 0] - x
                row[column + 1] = landmarks[b, k, 1] - y
                column += 2
            for j in range(agents):
                if j != i:
                    row[column] = positions[b, j, 0] - x
                    row[column + 1] = positions[b, j, 1] - y
                    column += 2
            for c in range(column, out.shape[2]):
                row[c] = 0.0


@nb.njit(cache=True, nogil=True, inline="always")
def reward_navigation(positions, landmarks, of_package, rewards):
    """Minus the landmarks' distances to their nearest agent, minus collisions (original: itself included)."""
    agents = positions.shape[1]
    for b in range(positions.shape[0]):
        distances = 0.0
        for k in range(agents):
            nearest = np.inf
            for i in range(agents):
                dx = positions[b, i, 0] - landmarks[b, k, 0]
                dy = positions[b, i, 1] - landmarks[b, k, 1]
                nearest = min(nearest, dx * dx + dy * dy)
            distances += np.sqrt(nearest)
        for i in range(agents):
            collisions = 0.0
            for j in range(agents):
                dx = positions[b, i, 0] - positions[b, j, 0]
                dy = positions[b, i, 1] - positions[b, j, 1]
                if np.sqrt(dx * dx + dy * dy) < 2.0 * AGENT_SIZE:
                    collisions += 1.0
            rewards[b, i] = -0.5 * (distances + collisions - 1.0) if of_package else -distances - collisions


@nb.njit(cache=True, nogil=True, inline="always")
def observe_deception(positions, landmarks, goals, adversary, defenders):
    """Write the adversary's [B, F] and the defenders' [N - 1, B, F + 2] views; only defenders see the goal."""
    agents = positions.shape[1]
    for b in range(positions.shape[0]):
        for i in range(agents):
            x, y = positions[b, i, 0], positions[b, i, 1]
            row = adversary[b] if i == 0 else defenders[i - 1, b]
            column = 0
            if i > 0:
                row[0] = landmarks[b, goals[b], 0] - x
                row[1] = landmarks[b, goals[b], 1] - y
                column = 2
            for k in range(landmarks.shape[1]):
                row[column] = landmarks[b, k, 0] - x
                row[column + 1] = landmarks[b, k, 1] - y
                column += 2
            for j in range(agents):
                if j != i:
                    row[column] = positions[b, j, 0] - x
                    row[column + 1] = positions[b, j, 1] - y
                    column += 2


@nb.njit(cache=True, nogil=True, inline="always")
def reward_deception(positions, landmarks, goals, of_package, rewards, adversary_distance):
    """Defenders: the adversary's distance to the goal minus their nearest one's. Adversary: minus its own."""
    for b in range(positions.shape[0]):
        goal = landmarks[b, goals[b]]
        nearest, own = np.inf, 0.0
        for i in range(positions.shape[1]):
            dx, dy = positions[b, i, 0] - goal[0], positions[b, i, 1] - goal[1]
            distance = np.sqrt(dx * dx + dy * dy)
            if i == 0:
                own = distance
            else:
                nearest = min(nearest, distance)
        rewards[b, 0] = -own if of_package else -own * own
        for i in range(1, positions.shape[1]):
            rewards[b, i] = own - nearest
        adversary_distance[b] += own


class ParticleWorld:
    """What both worlds share: the state, the clock and the order of physics."""

    width = None
    agents: tuple[Agent, ...]
    teams: tuple[Team, ...]
    recommended = Recommended()
    compiled = True  # its kernels let go of the interpreter, so threads are enough to play in parallel

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
        from hydraviper.games.particle_arena import Arena

        team = [i for own in self.teams for i in own]
        others = [i for i in range(self.sizes[0]) if i not in team]
        networks: Any = getattr(expert, "actors", ())
        if len(vocabulary.plain) != len(team) or len(others) > len(networks) or others not in ([], [0]):
            return None
        return Arena(self, networks[0].layers if others else None, vocabulary, trees, seeds, weights)

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
        self.derived = tuple(
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

    @property
    def knowledge(self) -> Knowledge:
        """What is true of every observation."""
        return particle_facts.navigation(self.sizes[0], *self.farthest())

    def yardsticks(self) -> Mapping[str, Policy]:
        """Simple rules for every agent."""
        return scripts.navigators(len(self.agents))

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
    secrets = ("goal dx", "goal dy")  # whoever acts on them gives the goal away to the adversary
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
        self.derived = tuple(
            _to_landmarks(
                {k: first[i] + 2 * k for k in range(defenders)},
                _others([word for j, word in enumerate(words) if j != i], first[i] + 2 * defenders),
            )
            for i in range(defenders + 1)
        )
        weights = (0.0, *(1.0 / defenders,) * defenders)
        self.score = Score("defender reward", "", lower_is_better=False, weights=weights)

    @property
    def knowledge(self) -> Knowledge:
        """What is true of every observation of a defender."""
        agents, landmarks = self.sizes
        return particle_facts.deception(range(1, agents), landmarks, self.farthest()[0])

    def rules(self) -> Mapping[str, Mapping[int, Student]]:
        """Defenders that guard the landmarks without looking at the goal."""
        return scripts.defenders(len(self.agents) - 1)

    def opponents(self) -> Mapping[str, Mapping[int, Student]]:
        """Adversaries that do not learn."""
        return scripts.adversaries(len(self.agents) - 1)

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
