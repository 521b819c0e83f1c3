"""What signals see: counts of vehicles by lane group, up to so many metres before the stop line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hydraviper.data import Observations
from hydraviper.games.delays import STANDS
from hydraviper.games.road_network import Signal
from hydraviper.games.signal_control import SignalControl
from hydraviper.games.simulation import question
from hydraviper.games.sumo import Sumo

JUNCTION = "standing in the junction"
_HALTING = "getLastStepHaltingNumber"


class Stretch(NamedTuple):
    """A lane, or what lies on it behind some metres."""

    lane: str
    start: float = 0.0


class FullSight:
    """Every vehicle in sight is counted, as a camera does: stopped, rolling, and stopped where a group leads to."""

    def __init__(self, signals: Sequence[Signal], moving: bool, memory: bool) -> None:
        self._signals, self._memory = signals, memory
        apart = any(group.close for signal in signals for group in signal.groups)
        self._rolling = () if not moving else ("moving", "coming") if apart else ("moving",)
        self.stretches = stretches(signals)
        self._lanes = [part.lane for part in self.stretches]
        self._clipped = [(k, part) for k, part in enumerate(self.stretches) if part.start > 0]
        counted = counting(signals, self.stretches)
        # what turns the counts, stopped and then rolling, into what each signal sees [F_i, 2 L]
        self._readings = [self._reading(own, ahead, close) for own, ahead, close in zip(*counted, strict=True)]

    def features(self, signal: Signal) -> list[str]:
        """The names of what a signal sees, behind its phases: first who waits, one per lane group."""
        groups = [group.name for group in signal.groups]
        counts = ("queue", *self._rolling)
        names = [f"{what} from {group}" for what in counts for group in groups]
        junction = [JUNCTION] if self._memory else []
        return [*names, *junction, *(f"pressure from {group}" for group in groups)]

    def look(self, library: Sumo) -> np.ndarray:
        """Count the vehicles on every stretch, the stopped ones and then those that roll [2 L]."""
        vehicles = list(map(question(library, "lane", "getLastStepVehicleNumber"), self._lanes))
        standing = list(map(question(library, "lane", _HALTING), self._lanes))
        for k, (lane, start) in self._clipped:
            if vehicles[k]:
                standing[k], vehicles[k] = _behind(library, lane, start)
        counts = np.array((standing, vehicles), np.float32)
        counts[1] -= counts[0]
        return counts.ravel()

    def describe(self, library: Sumo, seen: np.ndarray, i: int) -> np.ndarray:
        """What one signal sees, in the order of its features."""
        described = self._readings[i] @ seen
        if self._memory:
            inside = sum(map(question(library, "lane", _HALTING), self._signals[i].inside))
            described[-len(self._signals[i].groups) - 1] = inside
        return described

    def stopped(self, seen: np.ndarray) -> np.ndarray:
        """The stopped vehicles on every stretch [L]."""
        return seen[: len(self.stretches)]

    def _reading(self, own: np.ndarray, ahead: np.ndarray, close: np.ndarray) -> np.ndarray:
        nothing = np.zeros_like(own)
        rows = [np.hstack([own, nothing])]
        rolling = (close, own - close) if "coming" in self._rolling else (own,)
        rows += [np.hstack([nothing, part]) for part in rolling] if self._rolling else []
        rows += [np.zeros((1, 2 * own.shape[1]), np.float32)] if self._memory else []
        return np.vstack([*rows, np.hstack([own - ahead, nothing])])


def _behind(library: Sumo, lane: str, start: float) -> tuple[int, int]:
    """Stopped vehicles and all vehicles on a lane behind some metres."""
    position, speed = (question(library, "vehicle", name) for name in ("getLanePosition", "getSpeed"))
    near = [name for name in library.lane.getLastStepVehicleIDs(lane) if position(name) >= start]
    return sum(speed(name) < STANDS for name in near), len(near)


def stretches(signals: Sequence[Signal]) -> list[Stretch]:
    """What is read: the lanes that lead into the signals as far as they see, and the lanes that lead out."""
    groups = [group for signal in signals for group in signal.groups]
    parts = [part for group in groups for part in (*map(Stretch._make, group.in_sight), *map(Stretch, group.to_lanes))]
    parts += [Stretch(*part) for group in groups for part in group.close]
    return list(dict.fromkeys(parts))


def counting(signals: Sequence[Signal], parts: Sequence[Stretch]) -> tuple[list[np.ndarray], ...]:
    """What turns counts per stretch into counts per group: own, ahead and of the own those that are near [G_i, L]."""
    at = {part: k for k, part in enumerate(parts)}
    own = [np.zeros((len(signal.groups), len(parts)), np.float32) for signal in signals]
    ahead, close = ([np.zeros_like(matrix) for matrix in own] for _ in range(2))
    for i, signal in enumerate(signals):
        for g, group in enumerate(signal.groups):
            own[i][g, [at[Stretch(*part)] for part in group.in_sight]] = 1
            ahead[i][g, [at[Stretch(lane)] for lane in group.to_lanes]] = 1
            close[i][g, [at[Stretch(*part)] for part in group.close]] = 1
    return own, ahead, close


def observe(controls: Sequence[SignalControl], memory: bool, described: Sequence[np.ndarray]) -> Observations:
    """Observations [1, F_i]: which phase is green, how long the others have been red, and what is seen."""
    observations = []
    for control, seen in zip(controls, described, strict=True):
        known = [control.lights == green for green in control.greens]
        if memory:
            known += control.red_for
        observations.append(np.concatenate((np.array(known, np.float32), seen))[None])
    return observations
