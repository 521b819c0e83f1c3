"""What runs at signals today, as policies: the network's own plan, longest queue first, and max-pressure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hydraviper.data import Observations
from hydraviper.games.road_network import Signal

LEAVE = -1  # instead of a phase: leave the signal to its own program
_TIE = 1e-3  # less than any difference between counts: of equal phases, the one that is green stays


@dataclass(frozen=True)
class OwnPlan:
    """The plan that the network came with: nobody touches a signal."""

    signals: int

    def act(self, observations: Observations) -> np.ndarray:
        """LEAVE for everybody, [B, N]."""
        return np.full((len(observations[0]), self.signals), LEAVE)


@dataclass(frozen=True)
class PhaseRule:
    """The phase with the largest sum over what it serves; of equal ones, the one that is green, or the first."""

    weights: tuple[np.ndarray, ...]  # per signal [F_i, phases]

    def act(self, observations: Observations) -> np.ndarray:
        """One phase per signal, [B, N]."""
        chosen = [(seen @ weights).argmax(axis=1) for seen, weights in zip(observations, self.weights, strict=True)]
        return np.stack(chosen, axis=1)


def longest_queue(signals: Sequence[Signal], moving: bool) -> PhaseRule:
    """Serve the phase whose lanes hold most stopped vehicles."""
    return PhaseRule(tuple(_weights(signal, 0, moving) for signal in signals))


def max_pressure(signals: Sequence[Signal], moving: bool) -> PhaseRule:
    """Serve the phase whose lanes hold most stopped vehicles more than the lanes they lead to (Varaiya 2013)."""
    return PhaseRule(tuple(_weights(signal, 1 + moving, moving) for signal in signals))


def _weights(signal: Signal, column: int, moving: bool) -> np.ndarray:
    """1 from a group's count to each phase that serves it; columns: queue, moving if it is seen, pressure."""
    phases, groups = len(signal.greens), len(signal.groups)
    weights = np.zeros((phases + (2 + moving) * groups, phases), np.float32)
    weights[:phases] = _TIE * np.eye(phases)
    for g, group in enumerate(signal.groups):
        weights[phases + column * groups + g, list(group.phases)] = 1
    return weights
