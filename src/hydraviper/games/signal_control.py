"""What a signal shows, second by second, whoever chooses its phases: the rules that no policy can break.

A phase is chosen every few seconds. The controller decides whether it may be shown yet (minimum green), how the
lights get there (yellow, all-red) and whether somebody else has waited too long (maximum red). It knows nothing of
SUMO and reads no clock: it is told of every choice and of every second that passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from hydraviper.controllers import LONGEST_MEMORY, NONE, Timing, designated, longest_red
from hydraviper.data import InputError
from hydraviper.geometry import GREEN


class SignalControl:
    """The lights of one signal, and the memory behind them."""

    def __init__(self, greens: Sequence[str], served: np.ndarray, timing: Timing) -> None:
        """`greens` are the lights of each phase; `served` [phases, movements] tells what it lets go."""
        self.greens, self.timing = tuple(greens), timing
        self._served = [[bool(goes) for goes in phase] for phase in served]
        self._phase_of = designated(served)  # the phase that serves a movement which has waited too long
        needed = longest_red(self._phase_of, timing)
        if 0 < timing.max_red < needed:
            raise InputError(
                f"max_red must be at least {needed} seconds for {len(set(self._phase_of) - {NONE})} phases that each "
                f"take {timing.slot} seconds, not {timing.max_red}: nobody could be served in time."
            )
        self.lights = self.greens[0]
        self._goal = 0  # the phase that is green, or becomes green next
        self._until_red = self._until_green = 0  # seconds of yellow, and of yellow and all-red, that are left
        self._put_off = 0  # seconds that this green has waited for the junction to clear
        self._green_for = timing.min_green
        self._waited = [0] * len(self._phase_of)  # seconds that each movement has had vehicles waiting at red
        self.red_for = [0] * len(self.greens)  # seconds since each phase was green
        self.held = self.forced = self.cleared = 0  # how often minimum green, maximum red and clearance stepped in

    def take_over(self, lights: str) -> None:
        """Begin with the lights that somebody else shows."""
        self.lights = lights
        self._goal = self.greens.index(lights) if lights in self.greens else NONE
        self._until_red = self._until_green = 0
        self._green_for = self.timing.min_green
        self._waited = [0] * len(self._waited)

    def choose(self, phase: int, waiting: Sequence[bool]) -> None:
        """Choose a phase, knowing which movements have waiting vehicles; the rules come first."""
        self._notice(waiting)
        if self._until_green > 0:
            return  # on the way to a green that was chosen before
        if self._green_for < self.timing.min_green:
            self.held += phase != self._goal
            return
        allowed = self._overdue(phase) if self.timing.max_red else phase
        self.forced += allowed != phase
        if self.greens[allowed] != self.lights:
            self.lights = yellow_between(self.lights, self.greens[allowed])
            self._until_red, self._until_green = self.timing.yellow, self.timing.change
            self._green_for = self._put_off = 0
        self._goal = allowed
        self._settle()

    def clears_in(self, seconds: int) -> bool:
        """Whether, after so many seconds, a green is due that would wait for vehicles inside the junction."""
        return 0 < self._until_green <= seconds and self._put_off < self.timing.clearance

    def tick(self, seconds: int = 1, occupied: bool = False) -> None:
        """Let a second pass, or several until the lights change next.

        `occupied`: vehicles that had green before are still inside the junction. The next green then waits a second.
        """
        if occupied and self.clears_in(seconds):
            self.cleared += self._put_off == 0
            self._put_off += 1
            self._until_green += 1
        if self._until_green > 0:
            self._until_red -= seconds
            self._until_green -= seconds
            self._settle()
        else:
            self._green_for += seconds
        for k, green in enumerate(self.greens):
            self.red_for[k] = 0 if self.lights == green else min(self.red_for[k] + seconds, LONGEST_MEMORY)
        self._waited = [waited + seconds if waited else 0 for waited in self._waited]

    @property
    def until_change(self) -> int:
        """Seconds until the lights change by themselves; 0 if they stay."""
        return self._until_red if self._until_red > 0 else max(self._until_green, 0)

    def follow(self, lights: str, seconds: int) -> None:
        """Remember what somebody else showed after some seconds."""
        self.take_over(lights)
        for k, green in enumerate(self.greens):
            self.red_for[k] = 0 if lights == green else min(self.red_for[k] + seconds, LONGEST_MEMORY)

    def _settle(self) -> None:
        """Show what is due after yellow, and after all-red."""
        if self._goal == NONE:
            return
        if self._until_green <= 0:
            self.lights = self.greens[self._goal]
        elif self._until_red <= 0:
            self.lights = self.lights.replace("y", "r")

    def _notice(self, waiting: Sequence[bool]) -> None:
        """Whoever is seen waiting at red for the first time may have waited since the last choice."""
        green = self._served[self._goal] if self._goal != NONE and self._until_green <= 0 else [False] * len(waiting)
        for movement, waits in enumerate(waiting):
            if not waits or green[movement] or self._phase_of[movement] == NONE:
                self._waited[movement] = 0
            elif not self._waited[movement]:
                self._waited[movement] = self.timing.step

    def _overdue(self, phase: int) -> int:
        """The chosen phase, if everybody else who waits can still be served in time after it; else the most urgent.

        Those who wait are served in the order of their waiting, one phase after the other. As long as this order meets
        every deadline from the next choice on, any phase may be chosen now.
        """
        taken = self.timing.step if phase == self._goal else self.timing.slot
        waiting = [movement for movement, waited in enumerate(self._waited) if waited]
        left = self._in_turn(movement for movement in waiting if not self._served[phase][movement])
        for place, waited in enumerate(left.values()):
            if waited + taken + place * self.timing.slot + self.timing.longest_change > self.timing.max_red:
                return next(iter(self._in_turn(waiting)))
        return phase

    def _in_turn(self, waiting: Iterable[int]) -> dict[int, int]:
        """The phases that will serve them, each with its longest waiting, the longest first."""
        oldest: dict[int, int] = {}
        for movement in sorted(waiting, key=lambda movement: -self._waited[movement]):
            oldest.setdefault(self._phase_of[movement], self._waited[movement])
        return oldest


@cache
def yellow_between(lights: str, green: str) -> str:
    """Yellow for those who lose their green; everybody else as before."""
    return "".join("y" if old in GREEN and new not in GREEN else old for old, new in zip(lights, green, strict=True))


def yellow_for(speed: float) -> int:
    """Seconds of yellow for an approach speed in m/s: one to react, then braking by 3.05 m/s² (ITE), at least 3."""
    return max(3, min(6, round(1 + speed / (2 * 3.05))))
