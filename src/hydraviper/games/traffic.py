"""Traffic signals in SUMO: one signal is one agent, its actions are its green phases.

An engineer can count everything a signal sees: which phase is green, the stopped vehicles per lane group ("queue
from west, left"), those that still roll there ("moving from west, left"; further back, if asked for, "coming from
west, left"), and the stopped ones less those stopped where the group leads to ("pressure from west, left").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from hydraviper.controllers import Controller, Timing, designated, longest_red
from hydraviper.data import Agent, InputError, Observations, Recommended, Score, Team
from hydraviper.games import (
    demand,
    phase_differences,
    programs,
    queues,
    road_map,
    road_network,
    sight,
    simulation,
    streets,
    traffic_facts,
    traffic_features,
    traffic_options,
    traffic_rules,
    window,
)
from hydraviper.games.delays import LONG_WAITS, Delays
from hydraviper.games.filming import Camera
from hydraviper.games.loops import LoopSight
from hydraviper.games.road_network import RoadNetwork, Signal
from hydraviper.games.scenario import Extras, Scenario
from hydraviper.games.sight import FullSight
from hydraviper.games.signal_control import SignalControl, yellow_for
from hydraviper.games.streets import StreetDelays
from hydraviper.games.sumo import Sumo
from hydraviper.games.traffic_options import AUTO, Options
from hydraviper.geometry import GREEN, Frame, Intersection, RoadMap
from hydraviper.protocols import Closely, Drawing, Graph, Offers, Policy, Scoring, Search
from hydraviper.seeding import fraction, is_practice

RECOMMENDED = Recommended(
    low=(100, 100),
    high=(1000, 1000),
    rollouts_per_iteration=10,
    ucb_scale=4.0,
    evaluation_episodes=30,
    features="derived",
)
SLOW = 5.0  # m/s; whoever is slower inside a junction may get in the way of those who have green next
FOREMOST = (
    *("vehicles that could not enter", "longest wait, s", LONG_WAITS, "phases forced by max_red"),
    *("changes put off by min_green", "changes put off by clearance"),
)
FEW = 20.0  # vehicles; where so many are due by chance, an episode without any is no chance
AROUND = 100.0  # metres that a window shows around the signals
JAM_MULTIPLE = 3.0  # an episode is jammed if its score is above this many times the best yardstick's median


class Traffic:
    """A SUMO scenario; every signal with two or more green phases chooses one of them every few seconds.

    A process holds one simulation, so a game plays one episode at a time. Instead of a phase, an action below 0 leaves
    a signal to a program, -1 to its own (see `programs`). `traffic_options` tells of the parameters.
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
        self._subject = subject
        self.parameters: Mapping[str, Any] = {**subject, **options.to_json()}
        self.horizon = options.steps
        self._extras = Extras(options.demand, options.seconds_per_step + 1)
        self._sumo = simulation.load(scenario, 0, self, self._extras)
        with simulation.complaints(f"SUMO cannot tell the signals of {scenario.file}"):
            self.network = road_network.read(self._sumo, options.reach, options.near)
        signals = self.network.signals
        if not signals:
            raise InputError(f"{scenario.file} has {_nobody_chooses(self.network)}.")
        self._full = FullSight(signals, bool(options.moving), bool(options.memory))
        self._loops = None
        if options.detectors == "loops":
            self._loops = LoopSight(self._sumo, signals, road_network.continued(self._sumo, signals))
            self._extras = replace(self._extras, files=(self._loops.file,))
            self.recommended = replace(recommended, features="plain")  # loops count no queues
        self._sight = self._loops or self._full
        self.agents = tuple(self._agent(i, signal) for i, signal in enumerate(signals))
        self.teams: tuple[Team, ...] = (tuple(range(len(signals))),)
        self._streets, self._turns = streets.read(self._sumo, signals)
        self._owner = np.array([street.signal for street in self._streets])
        self._watched = False  # whether the next episode is to be followed street by street
        self._camera: Camera | None = None  # what films the next episode, or the present one
        self._controllers = tuple(map(self._controller, signals))
        slowest = max(self._controllers, key=lambda one: longest_red(one.phase_of, one.timing))
        SignalControl(slowest.greens, slowest.served, slowest.timing)  # refuses what cannot be kept
        begin, length = self._sumo.simulation.getTime(), options.steps * options.seconds_per_step
        self._asked_for = demand.read(scenario, begin, begin + length, options.demand * scenario.scale)
        self._nominal = self._asked_for.due or 1.0
        self._plans = self._webster(self._asked_for, length / 3600)
        self.score = self._scored()
        self.offers = self._offered()

    def _offered(self) -> Offers:
        """What the game offers beside the protocol."""
        options, signals = self.options, self.network.signals
        return Offers(
            Scoring(
                self._yardsticks(),
                jam_multiple=JAM_MULTIPLE,
                step_minutes=options.seconds_per_step / 60,
                with_demand=self._with_demand,
                closely=Closely(
                    self._watch,
                    partial(streets.table, self._streets, self.agents),
                    partial(streets.shown, self.agents),
                    ("fixed time", "actuated"),
                ),
                foremost=FOREMOST,
            ),
            Search(
                tuple(map(phase_differences.between, self.agents, signals)),
                costs=self._costs(),
                varied=("variation",) if options.variation else (),
                lines=traffic_features.lines(self.agents, signals),
            ),
            Graph(self.network.neighbours, tuple(map(_served, signals))),
            Drawing(
                self._road_map,
                _intersections(self.agents, signals),
                self._film,
                self._window,
                frame_of=partial(queues.frame_of, self.agents, signals),
            ),
            controllers=self._controllers,
            knowledge=traffic_facts.knowledge(self.agents),
            notes=(*_notes(self.network), *self._plan_notes(), *self._asked_for.notes(), *_left_out(self.scenario)),
            content=self.scenario.content,
            before=traffic_options.BEFORE,
            decisive=("score", "reach", "near", "moving", "memory", "detectors", "seconds_per_step"),
            programs=len(programs.NAMES) + 1,
        )

    def _webster(self, asked_for: demand.Demand, hours: float) -> list[list[float]]:
        """Per signal, Webster's plan for the scenario's own demand."""
        counts = asked_for.turns(self._sumo)
        return [
            programs.webster(
                road_network.lane_demands(self._sumo, signal, counts), hours, _served(signal), controller.timing
            )
            for signal, controller in zip(self.network.signals, self._controllers, strict=True)
        ]

    def _plan_notes(self) -> tuple[str, ...]:
        """A word about plans that are not fixed."""
        fixed, program = self._sumo.TRAFFICLIGHT_TYPE_STATIC, partial(simulation.active_program, self._sumo)
        names = [signal.identifier for signal in self.network.signals if program(signal.identifier).type != fixed]
        note = f"The network's own program, called fixed time, is not fixed but adapts to traffic at {_few(names)}."
        return (note,) if names else ()

    def _agent(self, i: int, signal: Signal) -> Agent:
        greens = range(1, len(signal.greens) + 1)
        memory = [f"phase {k} has been red for, s" for k in greens] if self.options.memory else []
        features = (*(f"phase {k} is green" for k in greens), *memory, *self._sight.features(signal))
        actions = tuple(f"phase {k}: {name}" for k, name in zip(greens, signal.phases, strict=True))
        return Agent(f"signal-{i + 1}", features, actions, traffic_facts.values(features))

    def _scored(self) -> Score:
        """The score and its weights: times the rewards of an episode, they add up to it."""
        signals, options = len(self.agents), self.options
        if options.score == "stopped":
            return Score("stopped vehicles", "vehicles", True, (-1.0 / options.steps,) * signals)
        # a reward is minus the vehicles that are being delayed, on average over the step
        return Score("delay", "s per vehicle", True, (-options.seconds_per_step / self._nominal,) * signals)

    def _costs(self) -> tuple[tuple[int, ...], ...]:
        """Per signal, its queues: they show at once what a phase did, while its delay arises over several steps."""
        if self._loops:
            return ()
        queues = ([name.startswith("queue from ") for name in agent.features] for agent in self.agents)
        return tuple(tuple(np.flatnonzero(own).tolist()) for own in queues)

    def _day(self, seed: int) -> Extras:
        """An episode's demand: in practice that of a quiet or a busy day, whose trips nobody asks for."""
        if not is_practice(seed):
            return self._extras
        variation = self.options.variation * (2 * fraction(seed) - 1)
        return replace(self._extras, demand=self._extras.demand * (1 + variation), trips=False)

    def _with_demand(self, factor: float) -> Traffic:
        """The same game with so many times the traffic."""
        options = replace(self.options, demand=self.options.demand * factor)
        return Traffic(self.name, self.scenario, self._subject, options, self.recommended)

    def _yardsticks(self) -> Mapping[str, Policy]:
        """What runs today, and two rules that need no training."""
        signals = self.network.signals
        left_to = partial(traffic_rules.LeaveTo, len(signals))
        rules: dict[str, Policy] = {"fixed time": left_to(programs.OWN)}
        if not self._loops:  # loops count no queues
            rules["longest queue"] = traffic_rules.longest_queue(self.agents, signals)
            rules["max-pressure"] = traffic_rules.max_pressure(self.agents, signals)
        rules["actuated"] = left_to(programs.ACTUATED)
        rules["delay-based"] = left_to(programs.DELAY_BASED)
        rules["Webster's plan"] = left_to(programs.WEBSTER)
        return rules

    def _road_map(self) -> RoadMap:
        """Where roads and signals lie; an episode under way is lost."""
        library = simulation.load(self.scenario, 0, None)  # held by nobody: the next step of any game says so
        return road_map.read(library, self.network)

    def reset(self, seeds: np.ndarray) -> Observations:
        """Load the scenario afresh; the seed is SUMO's own."""
        if len(seeds) != 1:
            raise InputError(f"{self.name} plays one episode at a time, not {len(seeds)}.")
        day = self._day(int(seeds[0]))
        self._sumo = library = simulation.load(self.scenario, int(seeds[0]), self, day)
        lights = library.trafficlight
        self._controls = self._controlled()
        for control, signal in zip(self._controls, self.network.signals, strict=True):
            control.take_over(lights.getRedYellowGreenState(signal.identifier))
        self._programs = [lights.getProgram(signal.identifier) for signal in self.network.signals]
        self._runs = [programs.OWN] * len(self._controls)  # the program that each signal is left to; 0: none
        self._begin = self._time = library.simulation.getTime()
        self._clock = 0
        self._delays = self._followed(library, day.trips)
        self._paid = np.zeros(len(self.agents))
        if self._loops:
            self._loops.start()
        self._seen = self._sight.look(library)
        if self._camera is not None:
            self._camera.begin(library)
        return self._observe()

    def _followed(self, library: Sumo, trips: bool) -> Delays:
        """What follows the vehicles of an episode, as closely as somebody asked for."""
        if self._watched:
            self._watched = False
            phases = [len(agent.actions) for agent in self.agents]
            return StreetDelays(library, self._turns, len(self._streets), phases, trips)
        return Delays(library, self._turns, len(self._streets), trips)

    def _watch(self) -> None:
        self._watched = True

    def step(self, actions: np.ndarray) -> tuple[Observations, np.ndarray, np.ndarray]:
        """Show the chosen phases [1, N], after yellow where they change, until the next decision is due."""
        simulation.check_held(self)
        with simulation.complaints(f"SUMO stopped {self.scenario.file}"):
            self._show(actions[0].tolist())
            self._clock += 1
            self._seen = self._sight.look(self._sumo)
            arisen = self._delays.look()
            if isinstance(self._delays, StreetDelays):
                self._delays.look_at(self._controls)
        done = self._clock >= self.horizon
        if done:
            self._check_demand()
            self._camera = None
        by_delay = self.options.score == "delay"
        rewards = self._relief(self._by_signal(arisen), done) if by_delay else -self._by_signal(self._delays.stopped)
        return self._observe(), rewards[None], np.array([done])

    def _by_signal(self, by_street: np.ndarray) -> np.ndarray:
        """What belongs to streets [S + 1] by the signals that they lead into [N]; nobody's is shared by all."""
        signals = len(self.agents)
        return np.bincount(self._owner, by_street[:-1], signals) + by_street[-1] / signals

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
        Of practice there is only what costs nothing.
        """
        trips = _trips(self._sumo) if self._delays.trips else {}
        numbers = trips | self._delays.measures() | self._steps_in()
        if self.options.score == "delay":
            del numbers["delay, s"]  # the score itself
        else:
            del numbers["stopped vehicles, whole network"]
        return {name: np.array([value]) for name, value in numbers.items()}

    def _steps_in(self) -> dict[str, float]:
        """How often the rules of safety had another way than the policy."""
        rules = (
            ("changes put off by min_green", self.options.min_green, "held"),
            ("phases forced by max_red", self.options.max_red, "forced"),
            ("changes put off by clearance", self.options.clearance, "cleared"),
        )
        return {
            name: float(sum(getattr(control, count) for control in self._controls))
            for name, seconds, count in rules
            if seconds
        }

    def lane_counts(self) -> dict[str, int]:
        """Stopped vehicles (slower than 0.1 m/s) on every lane that the game reads, as far as it is in sight, now."""
        stopped = self._full.stopped(self._full.look(self._sumo)).astype(int).tolist()
        counts: dict[str, int] = {}
        for part, count in zip(self._full.stretches, stopped, strict=True):
            counts[part.lane] = max(count, counts.get(part.lane, 0))  # a lane may be read whole and in part
        return counts

    def _controller(self, signal: Signal) -> Controller:
        """What every policy must keep to at a signal."""
        options, phases = self.options, len(signal.greens)
        yellow = yellow_for(signal.speed) if options.yellow == AUTO else int(options.yellow)
        seconds = options.seconds_per_step, yellow, options.all_red, options.min_green
        timing = Timing(*seconds, clearance=options.clearance)
        movements = [(g, way) for g, group in enumerate(signal.groups) for way in group.ways]
        served = np.array([[phase in way for _, way in movements] for phase in range(phases)])
        max_red = options.max_red
        if isinstance(max_red, str):
            max_red = max(traffic_options.LONGEST_RED, longest_red(designated(served), timing))
        timing = replace(timing, max_red=max_red)
        first = phases * (1 + self.options.memory)  # the first features behind these tell of the lane groups' waiting
        seen_by = tuple(first + g for g, _ in movements)
        return Controller(signal.greens, signal.links, served, seen_by, timing, bool(options.memory))

    def _controlled(self) -> list[SignalControl]:
        """A state machine per signal, fresh."""
        return [SignalControl(one.greens, one.served, one.timing) for one in self._controllers]

    def _waiting(self, i: int) -> list[bool]:
        """Which movements of a signal have waiting vehicles, as it saw last."""
        seen = self._observed[i][0].tolist()
        return [seen[feature] > 0 for feature in self._controllers[i].seen_by]

    def _show(self, actions: Sequence[int]) -> None:
        """Let every signal choose, and show its lights until the next choice is due."""
        show, playing = self._sumo.trafficlight.setRedYellowGreenState, []
        for i, action in enumerate(actions):
            if action < 0:
                self._leave(i, action)
                continue
            control, name = self._controls[i], self.network.signals[i].identifier
            before = control.lights
            control.choose(action, self._waiting(i) if self.options.max_red else ())
            if control.lights != before or self._runs[i]:
                show(name, control.lights)
            playing.append((i, name, control))
            self._runs[i] = 0
        left = self.options.seconds_per_step
        while left > 0:
            seconds = min([left, *(control.until_change for _, _, control in playing if control.until_change)])
            self._time += seconds
            self._advance(self._time)
            left -= seconds
            for i, name, control in playing:
                before = control.lights
                control.tick(seconds, occupied=control.clears_in(seconds) and self._occupied(i, control.lights))
                if control.lights != before:
                    show(name, control.lights)
        for i, program in enumerate(self._runs):
            if program:
                lights = self._sumo.trafficlight.getRedYellowGreenState(self.network.signals[i].identifier)
                self._controls[i].follow(lights, self.options.seconds_per_step)

    def _occupied(self, i: int, lights: str) -> bool:
        """Whether vehicles whose way in is not green any more are slow inside the junction: others are gone in time."""
        speed = simulation.question(self._sumo, "vehicle", "getSpeed")
        vehicles = simulation.question(self._sumo, "lane", "getLastStepVehicleIDs")
        inside = _not_green(lights, self.network.signals[i].across)
        return any(speed(name) < SLOW for way in inside for name in vehicles(way))

    def _leave(self, i: int, program: int) -> None:
        """Leave a signal to a program, at the start to its own."""
        signal, running = self.network.signals[i], self._sumo.trafficlight.getProgram
        # the network's own timetable (a WAUT) may have changed the program since; its own plan is meant to follow it
        if self._runs[i] == program and (
            program == programs.OWN or running(signal.identifier) == programs.NAMES[program]
        ):
            return
        if program == programs.OWN:
            self._sumo.trafficlight.setProgram(signal.identifier, self._programs[i])
        else:
            programs.start(self._sumo, signal, program, self._plans[i], self._controls[i].timing)
        self._runs[i] = program

    def _film(self, take: Callable[[Frame], None], every: int) -> None:
        self._camera = Camera(take, every)

    def _window(self, agent: str | None) -> AbstractContextManager[None]:
        """SUMO's own window, with all signals in it or with one in the middle."""
        places = {own.name: signal.position for own, signal in zip(self.agents, self.network.signals, strict=True)}
        if agent is not None:
            return window.opened(around=places[agent])
        xs, ys = zip(*places.values(), strict=True)
        return window.opened(((min(xs) - AROUND, min(ys) - AROUND), (max(xs) + AROUND, max(ys) + AROUND)))

    def _advance(self, time: float) -> None:
        if self._camera is not None:
            self._camera.advance(self._sumo, time, self._delays.note_arrivals)
            return
        self._sumo.simulationStep(time)
        self._delays.note_arrivals(self._sumo.simulation.getArrivedIDList())

    def _observe(self) -> Observations:
        described = [self._sight.describe(self._sumo, self._seen, i) for i in range(len(self.agents))]
        self._observed = sight.observe(self._controls, bool(self.options.memory), described)
        return self._observed

    def _check_demand(self) -> None:
        entered = int(self._sumo.simulation.getParameter("", "stats.vehicles.inserted"))
        if entered == 0 and not 0 < self._asked_for.due < FEW:  # few vehicles may all stay at home
            raise InputError(
                f"no vehicle enters {self.scenario.file} in the {self._time - self._begin:.0f} seconds from second "
                f"{self._begin:.0f}: check its routes and its begin."
            )


@cache
def _not_green(lights: str, across: tuple[tuple[str, ...], ...]) -> frozenset[str]:
    """The ways across a junction whose entrance is not green."""
    return frozenset(way for light, lanes in zip(lights, across, strict=True) if light not in GREEN for way in lanes)


def _intersections(agents: Sequence[Agent], signals: Sequence[Signal]) -> dict[str, Intersection]:
    return {
        agent.name: Intersection(len(signal.greens), signal.movements, signal.keeps_left)
        for agent, signal in zip(agents, signals, strict=True)
    }


def _served(signal: Signal) -> np.ndarray:
    """The lane groups that each phase lets go, bool [phases, groups]."""
    return np.array([[phase in group.phases for group in signal.groups] for phase in range(len(signal.greens))])


def _nobody_chooses(network: RoadNetwork) -> str:
    """Why no signal can choose, and what to do."""
    if network.walked:
        what = "pedestrian crossings, which are not modelled, at every signal that could choose"
        return f"{what}: build the network without them (netconvert without --crossings.guess)"
    what = "only signals with one green phase" if network.alone else "no traffic signals"
    return f"{what}: pass a network with a signal that can choose"


def _notes(network: RoadNetwork) -> tuple[str, ...]:
    """Which signals keep the network's own program, and why."""
    reasons = {"only one green phase": network.alone, "pedestrian crossings, which are not modelled,": network.walked}
    notes = []
    for reason, names in reasons.items():
        what = ("signal has", "keeps its") if len(names) == 1 else ("signals have", "keep their")
        if names:
            notes.append(f"{len(names)} {what[0]} {reason} and {what[1]} own program: {_few(names)}.")
    return tuple(notes)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _left_out(scenario: Scenario) -> tuple[str, ...]:
    names = scenario.inputs.left_out
    if not names:
        return ()
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return (f"{scenario.file.name} is played without {shown}: rollouts write no files and open no ports.",)


def _trips(library: Sumo) -> dict[str, float]:
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
