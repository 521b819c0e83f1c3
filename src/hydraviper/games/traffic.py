"""Traffic signals in SUMO: one signal is one agent, its actions are its green phases.

An engineer can count everything a signal sees: which phase is green, the stopped vehicles per lane group ("queue
from west, left"), those that still roll there ("moving from west, left"), and the stopped ones less those stopped
where the group leads to ("pressure from west, left").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from hydraviper.data import Agent, Derived, InputError, Observations, Recommended, Score, Team, Term
from hydraviper.games import (
    demand,
    road_map,
    road_network,
    simulation,
    traffic_facts,
    traffic_options,
    traffic_rules,
)
from hydraviper.games.delays import Delays
from hydraviper.games.road_network import RoadNetwork, Signal
from hydraviper.games.scenario import Scenario
from hydraviper.games.traffic_options import Options
from hydraviper.games.traffic_rules import LEAVE
from hydraviper.geometry import GREEN, Intersection, RoadMap
from hydraviper.protocols import Drawing, Graph, Offers, Policy, Scoring, Search

RECOMMENDED = Recommended(
    low=(100, 100), high=(1000, 1000), rollouts_per_iteration=10, ucb_scale=4.0, evaluation_episodes=30
)
JAM_MULTIPLE = 3.0  # an episode is jammed if its score is above this many times the best yardstick's median


class Traffic:
    """A SUMO scenario; every signal with two or more green phases chooses one of them every few seconds.

    A process holds one simulation, so a game plays one episode at a time. Instead of a phase, the action LEAVE (-1)
    leaves a signal to its own program. With `reach` 0, a queue is what stands on the lanes that end at the signal;
    where a map cuts roads into short pieces, a reach of some metres counts the pieces before them as well. With
    `moving` 0, a signal sees stopped vehicles only.
    """

    width = 1

    def __init__(
        self,
        name: str,
        scenario: Scenario,
        subject: Mapping[str, Any],
        options: Options,
        recommended: Recommended = RECOMMENDED,
    ) -> None:
        """`subject` is what a user names, a map or a file, under its parameter."""
        self.name, self.scenario, self.options, self.recommended = name, scenario, options, recommended
        self.parameters: Mapping[str, Any] = {**subject, **options.to_json()}
        self.horizon = options.steps
        self._sumo = self._load(0)
        with simulation.complaints(f"SUMO cannot tell the signals of {scenario.file}"):
            self.network = road_network.read(self._sumo, options.reach)
        signals = self.network.signals
        if not signals:
            what = "only signals with one green phase" if self.network.alone else "no traffic signals"
            raise InputError(f"{scenario.file} has {what}: pass a network with a signal that can choose.")
        self.agents = tuple(_agent(i, signal, bool(options.moving)) for i, signal in enumerate(signals))
        self.teams: tuple[Team, ...] = (tuple(range(len(signals))),)
        self._lanes, self._sees_moving = _lanes(signals), bool(options.moving)
        self._own, self._ahead, self._queues = _counting(signals, self._lanes)
        self._turns = road_network.turns(self._sumo, signals)
        begin = self._sumo.simulation.getTime()
        end = begin + options.steps * options.seconds_per_step
        self._nominal = demand.vehicles_due(scenario, begin, end, options.demand * scenario.scale) or 1.0
        self.score = self._scored()
        served = tuple(_served(signal) for signal in signals)
        self.offers = Offers(
            Scoring(self._yardsticks(), jam_multiple=JAM_MULTIPLE, step_minutes=options.seconds_per_step / 60),
            Search(derived=tuple(_differences(of_signal) for of_signal in served)),
            Graph(self.network.neighbours, served),
            Drawing(self._road_map, _intersections(self.agents, signals)),
            knowledge=traffic_facts.knowledge(self.agents),
            notes=(*_notes(self.network), *_left_out(scenario)),
            content=scenario.content,
            before=traffic_options.BEFORE,
        )

    def _scored(self) -> Score:
        """The score and its weights: times the rewards of an episode, they add up to it."""
        signals, options = len(self.agents), self.options
        if options.score == "stopped":
            return Score("stopped vehicles", "vehicles", True, (-1.0 / options.steps,) * signals)
        # a reward is minus the vehicles that are being delayed, on average over the step
        return Score("delay", "s per vehicle", True, (-options.seconds_per_step / self._nominal,) * signals)

    def _load(self, seed: int) -> Any:
        options = self.options
        return simulation.load(self.scenario, seed, self, options.demand, options.seconds_per_step + 1)

    def _yardsticks(self) -> Mapping[str, Policy]:
        """What runs today, and two rules that need no training."""
        signals = self.network.signals
        return {
            "fixed time": traffic_rules.OwnPlan(len(signals)),
            "longest queue": traffic_rules.longest_queue(signals, self._sees_moving),
            "max-pressure": traffic_rules.max_pressure(signals, self._sees_moving),
        }

    def _road_map(self) -> RoadMap:
        """Where roads and signals lie; an episode under way is lost."""
        library = simulation.load(self.scenario, 0, None)  # held by nobody: the next step of any game says so
        return road_map.read(library, self.network)

    def reset(self, seeds: np.ndarray) -> Observations:
        """Load the scenario afresh; the seed is SUMO's own."""
        if len(seeds) != 1:
            raise InputError(f"{self.name} plays one episode at a time, not {len(seeds)}.")
        self._sumo = library = self._load(int(seeds[0]))
        lights = library.trafficlight
        self._states = [lights.getRedYellowGreenState(signal.identifier) for signal in self.network.signals]
        self._programs = [lights.getProgram(signal.identifier) for signal in self.network.signals]
        self._held = [False] * len(self._states)  # which signals have been taken from their own program
        self._begin = self._time = library.simulation.getTime()
        self._clock = 0
        self._delays = Delays(library, self._turns, len(self.agents))
        self._paid = np.zeros(len(self.agents))
        return self._observe(self._count())

    def step(self, actions: np.ndarray) -> tuple[Observations, np.ndarray, np.ndarray]:
        """Show the chosen phases [1, N], after yellow where they change, until the next decision is due."""
        simulation.check_held(self)
        with simulation.complaints(f"SUMO stopped {self.scenario.file}"):
            self._show(actions[0].tolist())
            self._clock += 1
            counts = self._count()
            arisen = self._delays.look()
        done = self._clock >= self.horizon
        if done:
            self._check_demand()
        stopped = self.options.score == "stopped"
        rewards = -(self._queues @ counts).astype(np.float64) if stopped else self._relief(arisen, done)
        return self._observe(counts), rewards[None], np.array([done])

    def _relief(self, arisen: np.ndarray, done: bool) -> np.ndarray:
        """Rewards [N]: minus the vehicles that each signal delayed, on average over the step.

        Weights count on a nominal number of vehicles. At the end of an episode it is known how many were due, and the
        last rewards make up for the difference.
        """
        rewards = -arisen / self.options.seconds_per_step
        self._paid += rewards
        if done:
            rewards += self._paid * (self._nominal / max(self._delays.due, 1) - 1)
        return rewards

    def measures(self) -> Mapping[str, np.ndarray]:
        """What drivers feel: times lost and travelled over all vehicles that entered, delays over all that were due.

        The longest wait is how long any vehicle stood without moving or waited to enter, looked at once per step.
        """
        numbers = _trips(self._sumo) | self._delays.measures()
        return {name: np.array([value]) for name, value in numbers.items()}

    def lane_counts(self) -> dict[str, int]:
        """Stopped vehicles (slower than 0.1 m/s) on every lane that the game reads, now."""
        return dict(zip(self._lanes, self._count().astype(int).tolist(), strict=True))

    def _show(self, actions: Sequence[int]) -> None:
        lights = self._sumo.trafficlight
        later: list[tuple[str, str]] = []
        for i, (signal, action) in enumerate(zip(self.network.signals, actions, strict=True)):
            if action == LEAVE:
                if self._held[i]:
                    lights.setProgram(signal.identifier, self._programs[i])
                    self._held[i] = False
                continue
            green = signal.greens[action]
            if self._states[i] != green:
                if self.options.yellow > 0:
                    lights.setRedYellowGreenState(signal.identifier, _between(self._states[i], green))
                later.append((signal.identifier, green))
                self._states[i] = green
            elif not self._held[i]:
                lights.setRedYellowGreenState(signal.identifier, green)
            self._held[i] = True
        if later and self.options.yellow > 0:
            self._advance(self._time + self.options.yellow)
        for identifier, green in later:
            lights.setRedYellowGreenState(identifier, green)
        self._time += self.options.seconds_per_step
        self._advance(self._time)
        for i, held in enumerate(self._held):
            if not held:
                self._states[i] = lights.getRedYellowGreenState(self.network.signals[i].identifier)

    def _advance(self, time: float) -> None:
        self._sumo.simulationStep(time)
        self._delays.note_arrivals(self._sumo.simulation.getArrivedIDList())

    def _count(self) -> np.ndarray:
        stopped = self._sumo.lane.getLastStepHaltingNumber
        return np.array([stopped(lane) for lane in self._lanes], np.float32)

    def _observe(self, stopped: np.ndarray) -> Observations:
        moving = []
        if self._sees_moving:
            vehicles = self._sumo.lane.getLastStepVehicleNumber
            rolling = np.array([vehicles(lane) for lane in self._lanes], np.float32) - stopped
            moving = [own @ rolling for own in self._own]
        observations = []
        for i, (signal, state) in enumerate(zip(self.network.signals, self._states, strict=True)):
            phases = np.array([state == green for green in signal.greens], np.float32)
            queues = self._own[i] @ stopped
            parts = (phases, queues, *moving[i : i + 1], queues - self._ahead[i] @ stopped)
            observations.append(np.concatenate(parts)[None])
        return observations

    def _check_demand(self) -> None:
        if int(self._sumo.simulation.getParameter("", "stats.vehicles.inserted")) == 0:
            raise InputError(
                f"no vehicle enters {self.scenario.file} in the {self._time - self._begin:.0f} seconds from second "
                f"{self._begin:.0f}: check its routes and its begin."
            )


def _agent(i: int, signal: Signal, moving: bool) -> Agent:
    greens = range(1, len(signal.greens) + 1)
    counts = ("queue", "moving", "pressure") if moving else ("queue", "pressure")
    queues = [f"{what} from {group.name}" for what in counts for group in signal.groups]
    return Agent(
        f"signal-{i + 1}",
        (*(f"phase {k} is green" for k in greens), *queues),
        tuple(f"phase {k}: {name}" for k, name in zip(greens, signal.phases, strict=True)),
    )


def _intersections(agents: Sequence[Agent], signals: Sequence[Signal]) -> dict[str, Intersection]:
    return {
        agent.name: Intersection(len(signal.greens), signal.movements, signal.keeps_left)
        for agent, signal in zip(agents, signals, strict=True)
    }


def _served(signal: Signal) -> np.ndarray:
    """The lane groups that each phase lets go, bool [phases, groups]."""
    return np.array([[phase in group.phases for group in signal.groups] for phase in range(len(signal.greens))])


def _differences(served: np.ndarray) -> tuple[Derived, ...]:
    """Per two phases, how many more vehicles stand where the first lets them go; what both let go cancels out."""
    phases, made = len(served), []
    for a, b in combinations(range(phases), 2):
        only = [(g, 1) for g in np.flatnonzero(served[a] & ~served[b])]
        only += [(g, -1) for g in np.flatnonzero(served[b] & ~served[a])]
        terms = tuple(Term("value", (phases + int(g),), sign) for g, sign in only)
        if terms:
            made.append(Derived(f"queue of phase {a + 1} less phase {b + 1}", terms))
    return tuple(made)


def _notes(network: RoadNetwork) -> tuple[str, ...]:
    if not network.alone:
        return ()
    count, names = len(network.alone), ", ".join(network.alone[:3]) + (", ..." if len(network.alone) > 3 else "")
    what = ("signal has", "keeps its") if count == 1 else ("signals have", "keep their")
    return (f"{count} {what[0]} only one green phase and {what[1]} own program: {names}.",)


def _left_out(scenario: Scenario) -> tuple[str, ...]:
    names = scenario.inputs.left_out
    if not names:
        return ()
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return (f"{scenario.file.name} is played without {shown}: rollouts write no files and open no ports.",)


def _lanes(signals: Sequence[Signal]) -> list[str]:
    """The lanes to read: those that lead into the signals and those that lead out."""
    groups = [group for signal in signals for group in signal.groups]
    return list(dict.fromkeys(lane for group in groups for lane in (*group.lanes, *group.before, *group.to_lanes)))


def _counting(signals: Sequence[Signal], lanes: Sequence[str]) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """What turns counts per lane into counts per group, own and ahead [G_i, L] each, and into rewards [N, L].

    A lane that leads into two signals is seen by both and counts for the first only, so that the score, the sum
    over all signals, counts nobody twice.
    """
    at = {lane: k for k, lane in enumerate(lanes)}
    own = [np.zeros((len(signal.groups), len(lanes)), np.float32) for signal in signals]
    ahead = [np.zeros_like(matrix) for matrix in own]
    queues = np.zeros((len(signals), len(lanes)), np.float32)
    for i, signal in enumerate(signals):
        for g, group in enumerate(signal.groups):
            leading = [at[lane] for lane in (*group.lanes, *group.before)]
            own[i][g, leading] = 1
            ahead[i][g, [at[lane] for lane in group.to_lanes]] = 1
            queues[i, [lane for lane in leading if not queues[:i, lane].any()]] = 1
    return own, ahead, queues


def _between(state: str, green: str) -> str:
    """Yellow for those who lose their green; everybody else as before."""
    return "".join("y" if old in GREEN and new not in GREEN else old for old, new in zip(state, green, strict=True))


def _trips(library: Any) -> dict[str, float]:
    """SUMO's own sums over the vehicles that arrived, and the running ones added."""
    number, vehicle, now = library.simulation.getParameter, library.vehicle, library.simulation.getTime()
    arrived = int(number("", "device.tripinfo.count"))
    running = vehicle.getIDList()
    loss = float(number("", "device.tripinfo.timeLoss")) * arrived + sum(map(vehicle.getTimeLoss, running))
    travel = float(number("", "device.tripinfo.duration")) * arrived
    travel += sum(now - vehicle.getDeparture(name) for name in running)
    entered = max(arrived + len(running), 1)
    return {
        "mean time loss, s": loss / entered,
        "mean travel time, s": travel / entered,
        "vehicles arrived": float(arrived),
        "vehicles that could not enter": float(number("", "stats.vehicles.waiting")),
    }
