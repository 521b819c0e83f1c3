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


class _Vehicle:
    """A vehicle that was due and has not arrived."""

    __slots__ = ("ahead", "delay", "outside", "route", "signal")

    def __init__(self, route: str, ahead: tuple[int, ...]) -> None:
        self.route, self.ahead = route, ahead  # the next signal at each edge of its route
        self.signal = ahead[0]  # the one that it waits for
        self.delay = 0.0  # at the last look
        self.outside: float | None = None  # seconds that it waited to enter, once it has


class Delays:
    """Follows every vehicle of an episode, from the second in which it is due.

    What arises between two looks belongs to the signal that the vehicle waited for at the first one, since that
    signal's choice decided about it.
    """

    def __init__(self, library: Any, turns: Mapping[tuple[str, str], int], signals: int) -> None:
        """`turns` says which signal stands between two edges."""
        self._library, self._turns, self._signals = library, turns, signals
        self._vehicles: dict[str, _Vehicle] = {}
        self._routes: dict[tuple[str, ...], tuple[int, ...]] = {}  # edges -> the next signal at each of them
        self._arrived: list[str] = []  # since the last look
        self._stops = 0  # of those that arrived
        self._looks = self._stopped = 0
        self.stopped = np.zeros(signals)  # vehicles that stand at the last look, by the signal that they wait for
        self.due = 0  # vehicles that were due so far
        self.total = 0.0  # their delays, vehicle-seconds
        self.longest_wait = 0.0  # seconds that anybody stood still or waited outside

    def note_arrivals(self, names: Iterable[str]) -> None:
        """Tell who arrived; to be called whenever the simulation went on, since it forgets them."""
        self._arrived += names

    def look(self) -> np.ndarray:
        """The delay that arose since the last look, vehicle-seconds by signal [N]; nobody's is shared by all."""
        self._look_at_waits()
        arisen = [0.0] * (self._signals + 1)  # the last one is nobody's
        self._look_at_arrived(arisen)
        standing = self._look_on_the_road(arisen)
        self._look_outside(arisen)
        self.total += sum(arisen)
        self._stopped += sum(standing)
        self.stopped = np.array(standing[:-1]) + standing[-1] / self._signals
        return np.array(arisen[:-1]) + arisen[-1] / self._signals

    def measures(self) -> dict[str, float]:
        """What to tell beside the score, once the episode is over."""
        vehicle, running = self._library.vehicle, self._library.vehicle.getIDList()
        stops = self._stops + sum(int(vehicle.getParameter(name, _STOPS)) for name in running)
        return {
            "delay, s": self.total / max(self.due, 1),
            "stops per vehicle": stops / max(self.due, 1),
            "stopped vehicles, whole network": self._stopped / max(self._looks, 1),
            "longest wait, s": self.longest_wait,
        }

    def _look_at_waits(self) -> None:
        """How long anybody has waited."""
        vehicle, names = self._library.vehicle, self._library.vehicle.getIDList()
        outside = self._library.simulation.getPendingVehicles()
        self._looks += 1
        waits = (*map(vehicle.getWaitingTime, names), *map(vehicle.getDepartDelay, outside))
        self.longest_wait = max(self.longest_wait, *waits, 0.0)

    def _look_at_arrived(self, arisen: list[float]) -> None:
        vehicle, known = self._library.vehicle, self._vehicles
        for name in self._arrived:
            trip = known.pop(name) if name in known else self._new(name, vehicle.getRouteID(name))
            outside = vehicle.getDepartDelay(name) if trip.outside is None else trip.outside
            arisen[trip.signal] += outside + vehicle.getTimeLoss(name) - trip.delay
            self._stops += int(vehicle.getParameter(name, _STOPS))
        self._arrived = []

    def _look_on_the_road(self, arisen: list[float]) -> list[int]:
        """The loop that costs most: SUMO is asked for all vehicles at once. Counts those that stand, by signal."""
        vehicle, known = self._library.vehicle, self._vehicles
        names, standing = vehicle.getIDList(), [0] * len(arisen)
        asked = (vehicle.getTimeLoss, vehicle.getRouteID, vehicle.getRouteIndex, vehicle.getSpeed)
        for name, loss, route, index, speed in zip(names, *(map(ask, names) for ask in asked), strict=True):
            trip = known.get(name)
            if trip is None:
                trip = known[name] = self._new(name, route)
            elif trip.route != route:  # it goes another way now
                trip.route, trip.ahead = route, self._ahead_of(name)
            if trip.outside is None:
                trip.outside = vehicle.getDepartDelay(name)
            delay = trip.outside + loss
            arisen[trip.signal] += delay - trip.delay
            trip.delay, trip.signal = delay, trip.ahead[index]
            standing[trip.signal] += speed < STANDS
        return standing

    def _look_outside(self, arisen: list[float]) -> None:
        vehicle, known = self._library.vehicle, self._vehicles
        for name in self._library.simulation.getPendingVehicles():
            trip = known.get(name)
            if trip is None:
                trip = known[name] = self._new(name, vehicle.getRouteID(name))
            delay = vehicle.getDepartDelay(name)
            arisen[trip.signal] += delay - trip.delay
            trip.delay = delay

    def _new(self, name: str, route: str) -> _Vehicle:
        self.due += 1
        return _Vehicle(route, self._ahead_of(name))

    def _ahead_of(self, name: str) -> tuple[int, ...]:
        edges = self._library.vehicle.getRoute(name)
        if edges not in self._routes:
            self._routes[edges] = next_signals(edges, self._turns)
        return self._routes[edges]


def next_signals(edges: Sequence[str], turns: Mapping[tuple[str, str], int]) -> tuple[int, ...]:
    """At each edge of a route, the signal that comes next; NOBODY behind the last one."""
    ahead = [NOBODY] * len(edges)
    for k in range(len(edges) - 2, -1, -1):
        ahead[k] = turns.get((edges[k], edges[k + 1]), ahead[k + 1])
    return tuple(ahead)
