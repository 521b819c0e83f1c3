"""What drivers lose: the delay of every vehicle that was due, and the street on which it waits for a signal meanwhile.

A vehicle's delay is what RESCO measures: the time it lost on the road against driving as it likes, plus the time it
waited to enter. Whoever is still outside counts with the time it has waited so far, so nobody is invisible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from hydraviper.games import simulation
from hydraviper.games.sumo import Sumo

NOBODY = -1  # behind the last signal of its route, a vehicle is on no street into one
STANDS = 0.1  # m/s; slower vehicles are stopped, as SUMO counts them
LONG_WAIT = 240.0  # seconds that nobody should stand still or wait to enter; where a place locks, somebody does
LONG_WAITS = f"waits above {LONG_WAIT:g} s, % of episodes"
_STOPS = "device.tripinfo.waitingCount"


class Vehicle:
    """A vehicle that was due and has not arrived."""

    __slots__ = ("ahead", "delay", "edge", "outside", "route", "street")

    def __init__(self, route: str, ahead: tuple[int, ...]) -> None:
        self.route, self.ahead = route, ahead  # at each edge of its route, the street into the next signal
        self.street = ahead[0]  # the one that it waits on
        self.edge = 0  # of its route, since which it does
        self.delay = 0.0  # at the last look
        self.outside: float | None = None  # seconds that it waited to enter, once it has


class Delays:
    """Follows every vehicle of an episode, from the second in which it is due.

    A street leads into a signal; whoever will come to it next, from however far, waits on it. What arises between two
    looks belongs to the street that the vehicle was on at the first one, since that signal's choice decided about it.
    """

    def __init__(self, library: Sumo, turns: Mapping[tuple[str, str], int], streets: int, trips: bool = True) -> None:
        """`turns` says which street into a signal ends between two edges, by its number.

        Stops are counted if SUMO follows `trips`.
        """
        self._library, self._turns, self._streets, self.trips = library, turns, streets, trips
        asked = ("TimeLoss", "RouteID", "RouteIndex", "Speed", "WaitingTime", "DepartDelay", "Route")
        of_vehicle = (simulation.question(library, "vehicle", f"get{name}") for name in asked)
        self._loss, self._route, self._index, self._speed, self._wait, self._late, self._edges = of_vehicle
        self._tell = simulation.question(library, "vehicle", "getParameter")
        self._vehicles: dict[str, Vehicle] = {}
        self._routes: dict[tuple[str, ...], tuple[int, ...]] = {}  # edges -> the next street's at each of them
        self._arrived: list[str] = []  # since the last look
        self._stops = 0  # of those that arrived
        self._looks = self._stopped = 0
        self._waiting: Sequence[str] = ()  # those who stood or were outside at the last look,
        self._waits: Sequence[float] = ()  # and for how long
        self.stopped = np.zeros(streets + 1)  # vehicles that stand at the last look, by street; the last is nobody's
        self.due = 0  # vehicles that were due so far
        self.total = 0.0  # their delays, vehicle-seconds
        self.longest_wait = 0.0  # seconds that anybody stood still or waited outside

    def note_arrivals(self, names: Iterable[str]) -> None:
        """Tell who arrived; to be called whenever the simulation went on, since it forgets them."""
        self._arrived += names

    def look(self) -> np.ndarray:
        """The delay that arose since the last look, vehicle-seconds by street [S], and behind them on none of these."""
        names, outside = self._library.vehicle.getIDList(), self._library.simulation.getPendingVehicles()
        arisen = [0.0] * (self._streets + 1)  # the last one is nobody's
        self._look_at_arrived(arisen)
        standing = self._look_on_the_road(names, arisen)
        late = self._look_outside(outside, arisen)
        self.total += sum(arisen)
        self._looks += 1
        self._waiting, self._waits = (*standing, *outside), (*map(self._wait, standing), *late)
        self.longest_wait = max(self.longest_wait, *self._waits, 0.0)
        return np.array(arisen)

    def measures(self) -> dict[str, float]:
        """What to tell beside the score, once the episode is over."""
        return {
            "delay, s": self.total / max(self.due, 1),
            **({"stops per vehicle": self._all_stops() / max(self.due, 1)} if self.trips else {}),
            "stopped vehicles, whole network": self._stopped / max(self._looks, 1),
            "longest wait, s": self.longest_wait,
            LONG_WAITS: 100.0 * (self.longest_wait > LONG_WAIT),
        }

    def _all_stops(self) -> int:
        return self._stops + sum(int(self._tell(name, _STOPS)) for name in self._library.vehicle.getIDList())

    def _look_at_arrived(self, arisen: list[float]) -> None:
        known = self._vehicles
        for name in self._arrived:
            trip = known.pop(name) if name in known else self._new(name, self._route(name))
            outside = self._late(name) if trip.outside is None else trip.outside
            arisen[trip.street] += outside + self._loss(name) - trip.delay
            self._move_on(trip, len(trip.ahead) - 1)
            if self.trips:
                self._stops += int(self._tell(name, _STOPS))
        self._arrived = []

    def _look_on_the_road(self, names: Sequence[str], arisen: list[float]) -> list[str]:
        """The loop that costs most: SUMO is asked for all vehicles at once. Counts those that stand, and names them."""
        known, stopped, standing = self._vehicles, [0] * len(arisen), []
        asked = (self._loss, self._route, self._index, self._speed)
        for name, loss, route, index, speed in zip(names, *(map(ask, names) for ask in asked), strict=True):
            trip = known.get(name)
            if trip is None:
                trip = known[name] = self._new(name, route)
            elif trip.route != route:
                self._take(trip, route, name, index)
            if trip.outside is None:
                trip.outside = self._late(name)
            delay = trip.outside + loss
            arisen[trip.street] += delay - trip.delay
            trip.delay = delay
            if trip.ahead[index] != trip.street:
                self._move_on(trip, index)
            if speed <= STANDS:
                standing.append(name)
                stopped[trip.street] += speed < STANDS
        self.stopped = np.array(stopped, float)
        self._stopped += sum(stopped)
        return standing

    def _look_outside(self, names: Sequence[str], arisen: list[float]) -> list[float]:
        """How long each of them has waited to enter."""
        known, late = self._vehicles, list(map(self._late, names))
        for name, delay in zip(names, late, strict=True):
            trip = known.get(name)
            if trip is None:
                trip = known[name] = self._new(name, self._route(name))
            elif trip.route != (route := self._route(name)):  # in its first second it may have had none yet
                self._take(trip, route, name, 0)
            arisen[trip.street] += delay - trip.delay
            trip.delay = delay
        return late

    def _take(self, trip: Vehicle, route: str, name: str, edge: int) -> None:
        """Note that a vehicle goes another way from an edge of its new route on, or from before it."""
        trip.route, trip.ahead, trip.edge = route, self._ahead_of(name), min(trip.edge, edge)
        trip.street = trip.ahead[trip.edge]

    def _move_on(self, trip: Vehicle, edge: int) -> None:
        """Note that a vehicle is now at a later edge of its route, on another street."""
        trip.street, trip.edge = trip.ahead[edge], edge

    def _new(self, name: str, route: str) -> Vehicle:
        self.due += 1
        return Vehicle(route, self._ahead_of(name))

    def _ahead_of(self, name: str) -> tuple[int, ...]:
        edges = self._edges(name)
        if edges not in self._routes:
            self._routes[edges] = next_streets(edges, self._turns)
        return self._routes[edges]


def next_streets(edges: Sequence[str], turns: Mapping[tuple[str, str], int]) -> tuple[int, ...]:
    """At each edge of a route, the street that leads into the next signal; NOBODY behind the last one."""
    ahead = [NOBODY] * len(edges)
    for k in range(len(edges) - 2, -1, -1):
        ahead[k] = turns.get((edges[k], edges[k + 1]), ahead[k + 1])
    return tuple(ahead)
