"""A proof that a signal's state machine serves whoever waits within max_red, whatever its tree chooses.

`games/signal_control.py` is followed from one choice to the next, written down again for z3: any state, any choice, any
pattern of waiting vehicles. An invariant holds at the start, and every step keeps it and lets nobody wait too long.

The invariant: were everybody waiting, one phase after the other could still serve all in time from the next choice that
counts, the longest waiting first. What the controller notes as waited is at least what was really waited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hydraviper.controllers import NONE, Controller
from hydraviper.verify.prover.deadline import Deadline
from hydraviper.verify.prover.solver import z3_package


@dataclass(frozen=True)
class State:
    """A controller just before a choice; its numbers are whole, and z3's."""

    goal: int  # the phase that is green or becomes green next; NONE: somebody else's lights are shown
    until_green: Any  # seconds at most, if the junction does not clear before the clearance is over
    green_for: Any
    waited: Sequence[Any]  # per movement, as the controller notes it
    red: Sequence[Any]  # per movement, for how long it may really have waited at red


@dataclass(frozen=True)
class Step:
    """A choice, and the seconds until the next one."""

    possible: Any  # whether the state machine can take it
    safe: Any  # whether nobody waits for longer than max_red meanwhile
    after: State


class Machine:
    """A controller's state machine in z3; movements that no phase serves are left out."""

    def __init__(self, controller: Controller) -> None:
        self.z3, self.timing = z3_package(), controller.timing
        self.phases = range(len(controller.greens))
        self.movements = [m for m, phase in enumerate(controller.phase_of) if phase != NONE]
        self._phase_of = [controller.phase_of[m] for m in self.movements]
        self._served = controller.served[:, self.movements].tolist()

    def any_state(self, goal: int) -> State:
        """A state of which nothing is known but its goal."""
        integer, count = self.z3.Int, range(len(self.movements))
        waited, red = ([integer(f"{name}{m}") for m in count] for name in ("waited", "red"))
        return State(goal, integer("until_green"), integer("green_for"), waited, red)

    def start(self, goal: int) -> State:
        """The state in which a controller takes over."""
        nobody = [self.z3.IntVal(0)] * len(self.movements)
        return State(goal, self.z3.IntVal(0), self.z3.IntVal(self.timing.min_green), nobody, nobody)

    def invariant(self, state: State) -> Any:
        """What is true just before every choice."""
        z3, timing, goal = self.z3, self.timing, state.goal
        until_green, green_for = state.until_green, state.green_for
        parts = [until_green >= 0, until_green <= timing.longest_change, green_for >= 0]
        parts.append(z3.Implies(until_green > 0, green_for == 0))
        if goal == NONE:
            parts += [until_green == 0, green_for >= timing.min_green]
        noted = [z3.If(waited > 0, waited, timing.step) for waited in state.waited]  # if all were waiting now
        for waited, red, most in zip(state.waited, state.red, noted, strict=True):
            parts += [waited >= 0, red >= 0, red <= most]
        served = [goal != NONE and self._served[goal][m] for m in range(len(noted))]
        parts += [
            z3.Implies(until_green > 0, most + until_green <= timing.max_red)
            for most, soon in zip(noted, served, strict=True)
            if soon
        ]
        locked = until_green + z3.If(green_for < timing.min_green, timing.min_green - green_for, 0)
        free = (locked + (timing.step - 1)) / timing.step * timing.step  # seconds until a choice counts
        others = [None if soon else most for most, soon in zip(noted, served, strict=True)]
        return z3.And(*parts, self._in_turn(others, free))

    def steps(self, state: State) -> Iterator[Step]:
        """Every way from a choice to the next: one that is put off, and one for every phase."""
        z3, timing, goal = self.z3, self.timing, state.goal
        here = [z3.Bool(f"here{m}") for m in range(len(self.movements))]  # whether anybody is seen waiting
        waited, red = [], []
        for m, seen in enumerate(here):
            green = state.until_green <= 0 if goal != NONE and self._served[goal][m] else z3.BoolVal(False)
            gone = z3.Or(z3.Not(seen), green)
            first = z3.If(state.waited[m] > 0, state.waited[m], timing.step)
            waited.append(z3.If(gone, 0, first))
            red.append(z3.If(gone, 0, state.red[m]))
        held = z3.Or(state.until_green > 0, state.green_for < timing.min_green)
        if goal != NONE:
            yield self._seconds(State(goal, state.until_green, state.green_for, waited, red), held)
        for phase in self.phases:
            allowed = z3.Or(self._harmless(goal, phase, waited), self._most_urgent(phase, waited))
            possible = z3.And(z3.Not(held), allowed)
            if phase == goal:
                yield self._seconds(State(phase, state.until_green, state.green_for, waited, red), possible)
            else:
                change, nothing = z3.IntVal(timing.longest_change), z3.IntVal(0)
                yield self._seconds(State(phase, change, nothing, waited, red), possible)

    def _seconds(self, chosen: State, possible: object) -> Step:
        """The seconds that follow a choice."""
        z3, step, until_green = self.z3, self.timing.step, chosen.until_green
        spared = z3.Int("spared")  # seconds of clearance, because the junction was clear before
        clears = z3.And(spared >= 0, spared <= self.timing.clearance, spared <= until_green)
        changing = z3.If(until_green - spared < step, until_green - spared, step)
        waited = [z3.If(seconds > 0, seconds + step, 0) for seconds in chosen.waited]
        red = [seconds + (changing if self._served[chosen.goal][m] else step) for m, seconds in enumerate(chosen.red)]
        safe = z3.And(*(seconds <= self.timing.max_red for seconds in red))
        left = z3.If(until_green - spared <= step, 0, until_green - step)
        after = State(chosen.goal, left, chosen.green_for + step - changing, waited, red)
        return Step(z3.And(possible, clears), safe, after)

    def _harmless(self, goal: int, phase: int, waited: Sequence[object]) -> Any:
        """Whether all others who wait can still be served in time after a phase."""
        taken = self.timing.step if phase == goal else self.timing.slot
        others = [None if self._served[phase][m] else seconds for m, seconds in enumerate(waited)]
        return self._in_turn(others, taken)

    def _most_urgent(self, phase: int, waited: Sequence[Any]) -> Any:
        """Whether a phase is that of somebody who has waited longest."""
        own = [seconds for m, seconds in enumerate(waited) if self._phase_of[m] == phase]
        longest = (self.z3.And(one > 0, *(one >= seconds for seconds in waited)) for one in own)
        return self.z3.Or(*longest)

    def _in_turn(self, waited: Sequence[object | None], free: object) -> Any:
        """Whether one phase after the other, `free` seconds from now, serves all in time, the longest waiting first."""
        z3, timing = self.z3, self.timing
        longest = {}
        for phase in sorted(set(self._phase_of)):
            own = [one for m, one in enumerate(waited) if self._phase_of[m] == phase and one is not None]
            if own:
                longest[phase] = own[0]
                for seconds in own[1:]:
                    longest[phase] = z3.If(seconds > longest[phase], seconds, longest[phase])
        parts = []
        for phase, seconds in longest.items():
            before = [z3.If(other >= seconds, 1, 0) for place, other in longest.items() if place != phase]
            due = seconds + free + timing.slot * z3.Sum(before) + timing.longest_change
            parts.append(z3.Implies(seconds > 0, due <= timing.max_red))
        return z3.And(*parts)


def keeps_max_red(controller: Controller, deadline: Deadline) -> bool:
    """Whether it is proved that nobody whom some phase serves waits at red for longer than max_red."""
    machine = Machine(controller)
    z3, goals = machine.z3, (NONE, *machine.phases)
    doubts = [z3.Not(machine.invariant(machine.start(goal))) for goal in goals]
    for goal in goals:
        state = machine.any_state(goal)
        known = machine.invariant(state)
        for step in machine.steps(state):
            kept = z3.And(step.safe, machine.invariant(step.after))
            doubts.append(z3.And(known, step.possible, z3.Not(kept)))
    return all(_refuted(z3, doubt, deadline) for doubt in doubts)


def _refuted(z3: Any, doubt: Any, deadline: Deadline) -> bool:
    deadline.check()
    solver = z3.Solver()
    solver.set("timeout", max(1, int(1000 * deadline.left)))
    solver.add(doubt)
    return solver.check() == z3.unsat
