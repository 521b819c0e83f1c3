"""Who is due when and which way they go, read from a scenario's route files without playing it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hydraviper.games.scenario import Scenario
from hydraviper.games.sumo import Sumo
from hydraviper.games.sumo_files import seconds, visit

_FILES = ("route-files", "additional-files")
_DEPARTING = ("vehicle", "trip", "flow", "person", "personFlow", "container", "containerFlow")
Edges = tuple[str, ...]


@dataclass(frozen=True)
class Demand:
    """What the routes ask for between two times; of flows at random, as much as on average."""

    due: float  # vehicles
    routes: Mapping[Edges, float]  # vehicles by the edges they drive along; a trip without a route by its two ends
    ignored: Mapping[str, Sequence[str]]  # by route file, what SUMO leaves out because others depart later before it

    def turns(self, library: Sumo) -> dict[tuple[str, str], float]:
        """Vehicles by the two edges that they drive along one after the other; SUMO finds the routes of trips."""
        counts: dict[tuple[str, str], float] = {}
        for edges, vehicles in self.routes.items():
            for pair in pairwise(edges[1:] if edges[0] else _way(library, *edges[1:])):
                counts[pair] = counts.get(pair, 0.0) + vehicles
        return counts

    def notes(self) -> tuple[str, ...]:
        """A word about every route file of which SUMO leaves something out."""
        return tuple(
            f"SUMO leaves out {len(names)} of the vehicles and flows in {file}, {names[0]} first: the file is not "
            "sorted by departure. Sort it."
            for file, names in self.ignored.items()
        )


def _way(library: Sumo, start: str, end: str) -> Sequence[str]:
    """The edges of a trip by car; none where no car can go. An edge that does not exist SUMO refuses when it plays."""
    try:
        return library.simulation.findRoute(start, end).edges
    except library.TraCIException:
        return ()


def read(scenario: Scenario, begin: float, end: float, scale: float) -> Demand:
    """Read all route files; vehicles of other kinds of routes (by zones, at random) are due, but go no known way."""
    reader = _Reader(begin, end, scale)
    for option, files in scenario.inputs.files:
        if option in _FILES:
            for file in files:
                reader.open(file.path.name if option == "route-files" else "")
                visit(file, reader.element)
    return Demand(reader.due, reader.routes, reader.ignored)


class _Reader:
    """Adds up vehicles, trips and flows, element by element."""

    def __init__(self, begin: float, end: float, scale: float) -> None:
        self._begin, self._end, self._scale = begin, end, scale
        self._named: dict[str, str] = {}  # edges of a route by its name
        self._open = 0.0  # vehicles whose route follows
        self._file, self._last = "", -math.inf  # a file that must be sorted, and its latest departure so far
        self.due = 0.0
        self.routes: dict[Edges, float] = {}
        self.ignored: dict[str, list[str]] = {}

    def open(self, sorted_file: str) -> None:
        """Go on with another file; one without a name need not be sorted."""
        self._file, self._last = sorted_file, -math.inf

    def element(self, name: str, attributes: list[str]) -> None:
        values = dict(zip(attributes[::2], attributes[1::2], strict=True))
        if name in _DEPARTING and self._is_ignored(values):
            self.ignored.setdefault(self._file, []).append(values.get("id", name))
            self._open = 0.0
        elif name == "route" and "edges" in values:
            if self._open:
                self._add(("route", *values["edges"].split()), self._open)
            elif "id" in values:
                self._named[values["id"]] = values["edges"]
            self._open = 0.0
        elif name in ("vehicle", "trip", "flow"):
            vehicles = self._scale * (
                _of_flow(values, self._begin, self._end) if name == "flow" else self._is_due(values)
            )
            self.due += vehicles
            self._open = 0.0
            if values.get("route") in self._named:
                self._add(("route", *self._named[values["route"]].split()), vehicles)
            elif "from" in values and "to" in values:
                self._add(("", values["from"], values["to"]), vehicles)
            elif "route" not in values:
                self._open = vehicles

    def _add(self, edges: Edges, vehicles: float) -> None:
        self.routes[edges] = self.routes.get(edges, 0.0) + vehicles

    def _is_ignored(self, values: Mapping[str, str]) -> bool:
        """Whether a later departure stands before it in a file that must be sorted."""
        depart = seconds(values.get("depart", values.get("begin", "")))
        if not self._file or depart is None:
            return False
        late, self._last = depart < self._last, max(depart, self._last)
        return late

    def _is_due(self, values: Mapping[str, str]) -> bool:
        depart = seconds(values.get("depart", ""))
        return depart is not None and self._begin <= depart <= self._end - 1  # the last second inserts nobody


def _of_flow(values: Mapping[str, str], begin: float, end: float) -> float:
    """Vehicles of a flow that are due between two times."""
    first = seconds(values.get("begin", "0")) or 0.0
    last = seconds(values.get("end", "")) or float("inf")
    share = max(0.0, min(last, end) - max(first, begin))
    if "number" in values:
        return (seconds(values["number"]) or 0.0) * (share / (last - first) if first < last < float("inf") else 1.0)
    return share * _rate(values)


def _rate(values: Mapping[str, str]) -> float:
    """Vehicles per second of a flow."""
    hourly = seconds(values.get("vehsPerHour", values.get("perHour", "")))
    if hourly is not None:
        return hourly / 3600
    period = values.get("period", "")
    if period.startswith("exp("):
        return seconds(period[4:-1]) or 0.0
    every = seconds(period)
    return 1 / every if every else seconds(values.get("probability", "")) or 0.0
