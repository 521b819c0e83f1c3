"""Street by street: who came, who passed, how long they waited, and how often each phase was shown.

A street is a road into a signal. Its vehicles are those whose next signal it leads into, from the moment they pass the
signal before, or are due; so those who wait outside the map are on the street that they would come to first. Following
all this costs a little, so a game does it only in episodes that somebody asks to be watched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hydraviper.data import Agent, StreetRecord
from hydraviper.games import road_network
from hydraviper.games.delays import Delays, Vehicle
from hydraviper.games.road_network import Signal
from hydraviper.games.signal_control import SignalControl
from hydraviper.games.sumo import Sumo

STREETS, PHASES = "street by street", "phases shown"  # measures of episodes that were watched
_NUMBERS = 5  # per street: delay, came, passed, longest wait, outside
# Seconds of delay per vehicle up to which a street has each level of service at a signal (Highway Capacity Manual).
LEVELS = {"A": 10.0, "B": 20.0, "C": 35.0, "D": 55.0, "E": 80.0}
WORST = "F"


@dataclass(frozen=True)
class Street:
    """A road into a signal."""

    signal: int  # its index
    edge: str  # SUMO's
    side: str  # where it comes from: "west"
    title: str  # what people call it, or SUMO's name


def read(library: Sumo, signals: Sequence[Signal]) -> tuple[tuple[Street, ...], dict[tuple[str, str], int]]:
    """The roads into the signals, and which of them ends between two edges, by its number."""
    ends: dict[tuple[int, str], int] = {}
    turns = {}
    for (edge, onward), signal in road_network.turns(library, signals).items():
        turns[edge, onward] = ends.setdefault((signal, edge), len(ends))
    sides = {
        (i, library.lane.getEdgeID(lane)): group.side
        for i, signal in enumerate(signals)
        for group in signal.groups
        for lane in group.lanes
    }
    streets = tuple(
        Street(signal, edge, sides.get((signal, edge), "elsewhere"), library.edge.getStreetName(edge) or edge)
        for signal, edge in ends
    )
    return streets, turns


class StreetDelays(Delays):
    """Follows every vehicle of an episode, and keeps what happens on each street."""

    def __init__(
        self,
        library: Sumo,
        turns: Mapping[tuple[str, str], int],
        streets: int,
        phases: Sequence[int],
        trips: bool = True,
    ) -> None:
        """`phases` has how many green phases each signal has."""
        super().__init__(library, turns, streets, trips)
        self._kept = np.zeros((_NUMBERS, streets + 1))  # the last one is nobody's
        self._delayed, self._came, self._passed, self._longest, self._outside = self._kept
        self._shown = [np.zeros(count) for count in phases]

    def look(self) -> np.ndarray:
        """As always; what is kept goes on."""
        arisen = super().look()
        self._delayed += arisen
        self._outside[:] = 0
        outside = set(self._library.simulation.getPendingVehicles())
        for name, wait in zip(self._waiting, self._waits, strict=True):
            street = self._vehicles[name].street
            self._longest[street] = max(self._longest[street], wait)
            self._outside[street] += name in outside
        return arisen

    def look_at(self, controls: Sequence[SignalControl]) -> None:
        """Note which phases are green."""
        for shown, control in zip(self._shown, controls, strict=True):
            shown += [control.lights == green for green in control.greens]

    def measures(self) -> dict[str, Any]:
        """What to tell beside the score, by street [S, numbers] and by phase [phases of all signals] as well."""
        watched = {STREETS: self._kept[:, :-1].T.copy(), PHASES: np.concatenate(self._shown)}
        return {**super().measures(), **watched}

    def _new(self, name: str, route: str) -> Vehicle:
        trip = super()._new(name, route)
        self._came[trip.street] += 1
        return trip

    def _take(self, trip: Vehicle, route: str, name: str, edge: int) -> None:
        self._came[trip.street] -= 1
        super()._take(trip, route, name, edge)
        self._came[trip.street] += 1

    def _move_on(self, trip: Vehicle, edge: int) -> None:
        for before, after in zip(trip.ahead[trip.edge : edge], trip.ahead[trip.edge + 1 : edge + 1], strict=True):
            if before != after:  # it may have passed several signals since the last look
                self._passed[before] += 1
                self._came[after] += 1
        super()._move_on(trip, edge)


def table(
    streets: Sequence[Street], agents: Sequence[Agent], measures: Mapping[str, np.ndarray]
) -> tuple[StreetRecord, ...]:
    """What happened on every street, over all episodes that were watched."""
    if STREETS not in measures:
        return ()
    kept = measures[STREETS]  # [E, S, numbers]
    delayed, came, passed, longest, outside = kept.transpose(2, 0, 1)
    records = []
    for k, street in enumerate(streets):
        vehicles = came[:, k].sum()
        wait = float(delayed[:, k].sum() / max(vehicles, 1))
        records.append(
            StreetRecord(
                street=f"{agents[street.signal].name} from {street.side} ({street.title})",
                agent=agents[street.signal].name,
                served=float(passed[:, k].mean()),
                mean_wait=wait,
                longest_wait=float(longest[:, k].max()),
                level_of_service=level(wait) if vehicles else None,
                outside=float(outside[:, k].mean()),
            )
        )
    return tuple(records)


def level(delay: float) -> str:
    """The level of service of a street with so many seconds of delay per vehicle."""
    return next((letter for letter, most in LEVELS.items() if delay <= most), WORST)


def shown(agents: Sequence[Agent], measures: Mapping[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """Of every signal's phases, the share of all steps at whose end each was green."""
    if PHASES not in measures:
        return {}
    counts = measures[PHASES].sum(axis=0)
    ends = np.cumsum([len(agent.actions) for agent in agents])
    parts = zip(agents, np.split(counts, ends[:-1]), strict=True)
    return {
        agent.name: dict(zip(agent.actions, (part / max(part.sum(), 1)).tolist(), strict=True)) for agent, part in parts
    }
