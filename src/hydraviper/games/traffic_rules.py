"""Simple policies for signals: a program that runs by itself, longest queue first, and max-pressure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hydraviper.data import Agent, Observations
from hydraviper.games.road_network import Signal

_TIE = 1e-3  # less than any difference between counts: of equal phases, the one that is green stays


@dataclass(frozen=True)
class LeaveTo:
    """Nobody chooses: every signal is left to a program (see `programs`)."""

    signals: int
    program: int

    def act(self, observations: Observations) -> np.ndarray:
        """The program's action for everybody, [B, N]."""
        return np.full((len(observations[0]), self.signals), self.program)


@dataclass(frozen=True)
class PhaseRule:
    """The phase with the largest sum over what it serves; of equal ones, the one that is green, or the first."""

    weights: tuple[np.ndarray, ...]  # per signal [F_i, phases]

    def act(self, observations: Observations) -> np.ndarray:
        """One phase per signal, [B, N]."""
        chosen = [(seen @ weights).argmax(axis=1) for seen, weights in zip(observations, self.weights, strict=True)]
        return np.stack(chosen, axis=1)


def longest_queue(agents: Sequence[Agent], signals: Sequence[Signal]) -> PhaseRule:
    """Serve the phase whose lanes hold most stopped vehicles."""
    return PhaseRule(tuple(_weights(agent, signal, "queue") for agent, signal in zip(agents, signals, strict=True)))


def max_pressure(agents: Sequence[Agent], signals: Sequence[Signal]) -> PhaseRule:
    """Serve the phase whose lanes hold most stopped vehicles more than the lanes they lead to (Varaiya 2013)."""
    return PhaseRule(tuple(_weights(agent, signal, "pressure") for agent, signal in zip(agents, signals, strict=True)))


def _weights(agent: Agent, signal: Signal, what: str) -> np.ndarray:
    """1 from a group's queue or pressure to each phase that serves it, [F, phases]."""
    phases = len(signal.greens)
    weights = np.zeros((len(agent.features), phases), np.float32)
    weights[:phases] = _TIE * np.eye(phases)
    for group in signal.groups:
        weights[agent.features.index(f"{what} from {group.name}"), list(group.phases)] = 1
    return weights
