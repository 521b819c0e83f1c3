"""Pictures of an episode that is under way: where every vehicle is and what the lights show, every few seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hydraviper.games.sumo import Sumo
from hydraviper.geometry import Car, Frame

_FREEST = "GgyYuOorRs"  # of several lights over one lane, the first of these is shown


class Camera:
    """Lets a simulation go on, and takes a picture every so many seconds."""

    def __init__(self, take: Callable[[Frame], None], every: int) -> None:
        self._take, self._every = take, every
        self._begin = self._next = -1.0  # seconds
        self._lanes: dict[str, Sequence[Sequence[str]]] = {}  # signal -> per letter of its state, the lanes

    def begin(self, library: Sumo) -> None:
        """Take the first picture of an episode."""
        lights = library.trafficlight
        self._lanes = {
            name: [
                [lane for lane, _, _ in ways if not lane.startswith(":")] for ways in lights.getControlledLinks(name)
            ]
            for name in lights.getIDList()
        }
        self._begin = library.simulation.getTime()
        self._next = self._begin + self._every
        self._take(self._frame(library))

    def advance(self, library: Sumo, time: float, arrived: Callable[[Iterable[str]], None]) -> None:
        """Let the simulation go on until `time`; `arrived` is told of everybody who arrives."""
        while (now := library.simulation.getTime()) < time:
            library.simulationStep(min(max(self._next, now + 1), time))
            arrived(library.simulation.getArrivedIDList())
            if library.simulation.getTime() >= self._next:
                self._next += self._every
                self._take(self._frame(library))

    def _frame(self, library: Sumo) -> Frame:
        vehicle = library.vehicle
        cars = tuple(
            Car(vehicle.getPosition(name), vehicle.getAngle(name), vehicle.getLength(name), vehicle.getSpeed(name))
            for name in vehicle.getIDList()
        )
        lights: dict[str, str] = {}
        for signal, links in self._lanes.items():
            for light, lanes in zip(library.trafficlight.getRedYellowGreenState(signal), links, strict=False):
                for lane in lanes:
                    lights[lane] = min(light, lights.get(lane, light), key=_FREEST.find)
        outside = len(library.simulation.getPendingVehicles())
        return Frame(library.simulation.getTime() - self._begin, cars, lights, outside)
