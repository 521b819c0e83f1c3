"""What drivers lose: the delay of every vehicle that was due, and the signal that it waits for meanwhile.

A vehicle's delay is what RESCO measures: the time it lost on the road against driving as it likes, plus the time it
waited to enter. Whoever is still outside counts with the time it has waited so far, so nobody is invisible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

NOBODY = -1  # behind the last signal of its route, a vehicle waits for none
STANDS = 0.1  # m/s; slower vehicles are stopped, as SUMO counts them
_STOPS = "device.tripinfo.waitingCount"


class Delays:
    """Follows every vehicle of an episode, from the second in which it is due.

    What arises between two looks belongs to the signal that the vehicle waited for at the first one, since that
    signal's choice decided about it.
    """

    def __init__(self, library: Any, turns: Mapping[tuple[str, str], int], signals: int) -> None:
        """`turns` says which signal stands between two edges."""
        self._library, self._turns, self._signals = library, turns, signals
        self._ahead: dict[str, tuple[int, ...]] = {}  # route -> the next signal at each of its edges
        self._delays: dict[str, float] = {}  # of every vehicle that was due and has not arrived
        self._waits_for: dict[str, int] = {}
        self._due_at: dict[str, float] = {}  # of those outside
        self._outside_for: dict[str, float] = {}  # of those that entered
        self._arrived: list[str] = []  # since the last look
        self._stops = 0  # of those that arrived
        self._looks = self._stopped = 0
        self.due = 0  # vehicles that were due so far
        self.total = 0.0  # their delays, vehicle-seconds
        self.longest_wait = 0.0  # seconds that anybody stood still or waited outside

    def note_arrivals(self, names: Iterable[str]) -> None:
        """Tell who arrived; to be called whenever the simulation went on, since it forgets them."""
        self._arrived += names

    def look(self) -> np.ndarray:
        """The delay that arose since the last look, vehicle-seconds by signal [N]; nobody's is shared by all."""
        vehicle = self._library.vehicle
        lost, waiting, speed = vehicle.getTimeLoss, vehicle.getWaitingTime, vehicle.getSpeed
        arisen = [0.0] * (self._signals + 1)  # the last one is nobody's
        before, waits_for = self._delays, self._waits_for
        for name in self._arrived:
            delay = self._entered_after(name) + lost(name)
            arisen[waits_for.setdefault(name, NOBODY)] += delay - self._rise_from(name)
            del before[name], waits_for[name], self._outside_for[name]
            self._stops += int(vehicle.getParameter(name, _STOPS))
        self._arrived = []
        self._looks += 1
        for name in vehicle.getIDList():
            delay = self._entered_after(name) + lost(name)
            ahead = self._next(vehicle.getRouteID(name), name)[vehicle.getRouteIndex(name)]
            arisen[waits_for.setdefault(name, ahead)] += delay - self._rise_from(name)
            before[name], waits_for[name] = delay, ahead
            self.longest_wait = max(self.longest_wait, waiting(name))
            self._stopped += speed(name) < STANDS
        self._look_outside(arisen)
        self.total += sum(arisen)
        return np.array(arisen[:-1]) + arisen[-1] / self._signals

    def measures(self) -> dict[str, float]:
        """What to tell beside the score, once the episode is over."""
        stops = self._library.vehicle.getParameter
        running = sum(int(stops(name, _STOPS)) for name in self._library.vehicle.getIDList())
        return {
            "delay, s": self.total / max(self.due, 1),
            "stops per vehicle": (self._stops + running) / max(self.due, 1),
            "stopped vehicles, whole network": self._stopped / max(self._looks, 1),
            "longest wait, s": self.longest_wait,
        }

    def _look_outside(self, arisen: list[float]) -> None:
        now, vehicle = self._library.simulation.getTime(), self._library.vehicle
        for name in self._library.simulation.getPendingVehicles():
            if name not in self._due_at:
                self._due_at[name] = now - vehicle.getDepartDelay(name)
                self._waits_for[name] = self._next(vehicle.getRouteID(name), name)[0]
            delay = now - self._due_at[name]
            arisen[self._waits_for[name]] += delay - self._rise_from(name)
            self._delays[name] = delay
            self.longest_wait = max(self.longest_wait, delay)

    def _rise_from(self, name: str) -> float:
        """The vehicle's delay at the last look; 0 for one that is new."""
        if name not in self._delays:
            self.due += 1
            self._delays[name] = 0.0
        return self._delays[name]

    def _entered_after(self, name: str) -> float:
        """How long a vehicle on the road waited outside."""
        if name not in self._outside_for:
            self._outside_for[name] = self._library.vehicle.getDepartDelay(name)
            self._due_at.pop(name, None)
        return self._outside_for[name]

    def _next(self, route: str, name: str) -> tuple[int, ...]:
        """The next signal at each edge of a vehicle's route."""
        if route not in self._ahead:
            self._ahead[route] = next_signals(self._library.vehicle.getRoute(name), self._turns)
        return self._ahead[route]


def next_signals(edges: Sequence[str], turns: Mapping[tuple[str, str], int]) -> tuple[int, ...]:
    """At each edge of a route, the signal that comes next; NOBODY behind the last one."""
    ahead = [NOBODY] * len(edges)
    for k in range(len(edges) - 2, -1, -1):
        ahead[k] = turns.get((edges[k], edges[k + 1]), ahead[k + 1])
    return tuple(ahead)
