"""What induction loops tell: one at each stop line and one further back, as they lie in real streets.

A loop knows whether a vehicle stands on it, how many have passed since the last choice, and how long ago the last one
was. Where a lane group has several lanes, any vehicle on one of its loops counts.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence

import numpy as np

from hydraviper.controllers import LONGEST_MEMORY
from hydraviper.data import InputError
from hydraviper.games import sumo_files
from hydraviper.games.road_network import Signal
from hydraviper.games.sumo import Sumo

BACK = 40  # metres between the stop line and the loop further back
FRONT = 2.0  # metres between the stop line and its loop: whoever waits stands on it
PLACES = ("at the stop line", f"{BACK} m back")
TELLS = ("occupied", "vehicles in the last step", "seconds since the last vehicle")
_FOR_EVER = 10**7  # seconds of the only interval in which SUMO counts


class LoopSight:
    """Loops in every lane that leads into a signal; SUMO loads them with the scenario."""

    def __init__(self, library: Sumo, signals: Sequence[Signal], before: Mapping[str, Sequence[str]]) -> None:
        """`before` tells per lane which lanes lead on into it, as `road_network.continued` does."""
        self._loops: list[list[list[int]]] = []  # per signal and feature's place: which loops
        self._names: dict[tuple[str, float], int] = {}
        for i, signal in enumerate(signals):
            places = []
            for distance in (FRONT, float(BACK)):
                for group in signal.groups:
                    found = [self._at(library, lane, distance, before, f"signal-{i + 1}") for lane in group.lanes]
                    places.append([loop for loops in found for loop in loops])
            self._loops.append(places)
        self._passed = np.zeros(len(self._names))
        file = sumo_files.in_memory("".join(self._elements()))
        weakref.finalize(self, file.close)
        self.file = sumo_files.address(file)  # SUMO has to load it beside the scenario

    def features(self, signal: Signal) -> list[str]:
        """The names of what a signal sees, behind its phases: first who waits, one per lane group."""
        groups = [group.name for group in signal.groups]
        return [f"loop {place} from {group}: {what}" for what in TELLS for place in PLACES for group in groups]

    def start(self) -> None:
        """Begin an episode."""
        self._passed[:] = 0

    def look(self, library: Sumo) -> np.ndarray:
        """Read every loop: occupied, vehicles since the last look, seconds since the last one [3, loops]."""
        loop, names = library.inductionloop, [f"hydraviper-{k}" for k in self._names.values()]
        passed = np.array([loop.getIntervalVehicleNumber(name) for name in names], float)
        ago = np.minimum(np.floor([loop.getTimeSinceDetection(name) for name in names]), LONGEST_MEMORY)
        since, self._passed = passed - self._passed, passed
        return np.array([[loop.getLastStepOccupancy(name) > 0 for name in names], since, ago])

    def describe(self, library: Sumo, seen: np.ndarray, i: int) -> np.ndarray:
        """What one signal sees, in the order of its features."""
        del library
        ways = zip(seen, (np.max, np.sum, np.min), strict=True)
        return np.array([of_all(row[loops]) for row, of_all in ways for loops in self._loops[i]], np.float32)

    def _at(
        self, library: Sumo, lane: str, distance: float, before: Mapping[str, Sequence[str]], whose: str
    ) -> list[int]:
        """The loops so many metres before the end of a lane, on each lane that leads there."""
        length = library.lane.getLength(lane)
        if length > distance:
            return [self._names.setdefault((lane, length - distance), len(self._names))]
        if not before.get(lane):
            raise InputError(
                f"the lane {lane} before {whose} is too short for a loop {BACK} m before the stop line: "
                "play it with detectors=full."
            )
        found = [self._at(library, other, distance - length, before, whose) for other in before[lane]]
        return [loop for loops in found for loop in loops]

    def _elements(self) -> list[str]:
        loops = [
            f'<inductionLoop id="hydraviper-{k}" lane="{lane}" pos="{position:.2f}" period="{_FOR_EVER}" '
            f'file="{sumo_files.NOWHERE}"/>'
            for (lane, position), k in self._names.items()
        ]
        return ["<additional>", *loops, "</additional>"]
