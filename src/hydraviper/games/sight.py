"""What signals see: counts of vehicles by lane group, up to so many metres before the stop line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hydraviper.data import Observations
from hydraviper.games.delays import STANDS
from hydraviper.games.road_network import Signal
from hydraviper.games.signal_control import SignalControl


class Stretch(NamedTuple):
    """A lane, or what lies on it behind some metres."""

    lane: str
    start: float = 0.0


class Seen(NamedTuple):
    """What was counted at one time, by stretch [L]."""

    stopped: np.ndarray
    rolling: np.ndarray


class FullSight:
    """Every vehicle in sight is counted, as a camera does: stopped, rolling, and stopped where a group leads to."""

    def __init__(self, signals: Sequence[Signal], moving: bool, memory: bool) -> None:
        self._signals, self._moving, self._memory = signals, moving, memory
        self.stretches = stretches(signals)
        self._own, self._ahead, self.queues = counting(signals, self.stretches)

    def features(self, signal: Signal) -> list[str]:
        """The names of what a signal sees, behind its phases."""
        groups = [group.name for group in signal.groups]
        counts = ("queue", "moving") if self._moving else ("queue",)
        names = [f"{what} from {group}" for what in counts for group in groups]
        junction = ["standing in the junction"] if self._memory else []
        return [*names, *junction, *(f"pressure from {group}" for group in groups)]

    def look(self, library: Any) -> Seen:
        """Count the vehicles on every stretch."""
        stopped, number = library.lane.getLastStepHaltingNumber, library.lane.getLastStepVehicleNumber
        counts = np.zeros((2, len(self.stretches)), np.float32)
        for k, (lane, start) in enumerate(self.stretches):
            if start > 0:
                counts[:, k] = _behind(library, lane, start) if number(lane) else 0
            else:
                counts[:, k] = stopped(lane), number(lane)
        return Seen(counts[0], counts[1] - counts[0])

    def describe(self, library: Any, seen: Seen, i: int) -> list[np.ndarray]:
        """What one signal sees, in the order of its features."""
        queues = self._own[i] @ seen.stopped
        moving = [self._own[i] @ seen.rolling] if self._moving else []
        inside = [np.array([_standing(library, self._signals[i].inside)], np.float32)] if self._memory else []
        return [queues, *moving, *inside, queues - self._ahead[i] @ seen.stopped]

    def waiting(self, seen: Seen, i: int) -> list[bool]:
        """Which lane groups of a signal have stopped vehicles."""
        return (self._own[i] @ seen.stopped > 0).tolist()


def _behind(library: Any, lane: str, start: float) -> tuple[int, int]:
    """Stopped vehicles and all vehicles on a lane behind some metres."""
    position, speed = library.vehicle.getLanePosition, library.vehicle.getSpeed
    near = [name for name in library.lane.getLastStepVehicleIDs(lane) if position(name) >= start]
    return sum(speed(name) < STANDS for name in near), len(near)


def _standing(library: Any, lanes: Sequence[str]) -> int:
    return sum(map(library.lane.getLastStepHaltingNumber, lanes))


def stretches(signals: Sequence[Signal]) -> list[Stretch]:
    """What is read: the lanes that lead into the signals as far as they see, and the lanes that lead out."""
    groups = [group for signal in signals for group in signal.groups]
    parts = (part for group in groups for part in (*map(Stretch._make, group.in_sight), *map(Stretch, group.to_lanes)))
    return list(dict.fromkeys(parts))


def counting(
    signals: Sequence[Signal], parts: Sequence[Stretch]
) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """What turns counts per stretch into counts per group, own and ahead [G_i, L] each, and into queues [N, L].

    A lane that leads into two signals is seen by both and counts for the first only, so that the sum over all
    signals counts nobody twice.
    """
    at = {part: k for k, part in enumerate(parts)}
    own = [np.zeros((len(signal.groups), len(parts)), np.float32) for signal in signals]
    ahead = [np.zeros_like(matrix) for matrix in own]
    queues = np.zeros((len(signals), len(parts)), np.float32)
    for i, signal in enumerate(signals):
        for g, group in enumerate(signal.groups):
            leading = [at[Stretch(*part)] for part in group.in_sight]
            own[i][g, leading] = 1
            ahead[i][g, [at[Stretch(lane)] for lane in group.to_lanes]] = 1
            queues[i, [part for part in leading if not queues[:i, part].any()]] = 1
    return own, ahead, queues


def observe(controls: Sequence[SignalControl], memory: bool, described: Sequence[list[np.ndarray]]) -> Observations:
    """Observations [1, F_i]: which phase is green, how long the others have been red, and what is seen."""
    observations = []
    for control, parts in zip(controls, described, strict=True):
        phases = np.array([control.lights == green for green in control.greens], np.float32)
        red = [np.array(control.red_for, np.float32)] if memory else []
        observations.append(np.concatenate((phases, *red, *parts))[None])
    return observations
