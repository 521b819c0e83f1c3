"""What lies between a signal's choices and its lights, as data: for games that run it, exports and proofs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

LONGEST_MEMORY = 240  # seconds that are told of a phase that has been red; longer ones count as this
NONE = -1  # no phase


@dataclass(frozen=True)
class Timing:
    """The seconds that a signal keeps, whatever is chosen."""

    step: int  # between two choices
    yellow: int
    all_red: int = 0  # between yellow and the next green, for those that lose or get green
    min_green: int = 1  # a green that is over before a second has passed is none
    max_red: int = 0  # a movement with waiting vehicles gets green within it; 0: whenever somebody chooses it
    clearance: int = 0  # the next green waits at most so long for vehicles that are still inside the junction

    def __post_init__(self) -> None:
        object.__setattr__(self, "min_green", max(1, self.min_green))

    @property
    def change(self) -> int:
        """Seconds from the choice of another phase until it is green, if the junction is clear by then."""
        return self.yellow + self.all_red

    @property
    def longest_change(self) -> int:
        """Seconds from the choice of another phase until it is green, at most."""
        return self.change + self.clearance

    @property
    def slot(self) -> int:
        """Seconds from the choice of another phase until the next choice counts."""
        return max(1, -(-(self.longest_change + self.min_green) // self.step)) * self.step


@dataclass(frozen=True)
class Controller:
    """One signal's state machine, which shows the lights for the phases that its agent chooses.

    A movement is what vehicles of one lane group do in the same phases: two of them may share their lanes.
    """

    greens: tuple[str, ...]  # the lights of each phase, one letter per link
    links: tuple[str, ...]  # what each letter is about, in words
    served: np.ndarray  # bool [phases, movements], which movements each phase lets go
    seen_by: tuple[int, ...]  # per movement, the agent's feature that is above 0 while vehicles wait
    timing: Timing
    memory: bool  # whether the agent knows how long its phases have been red

    @property
    def own(self) -> int:
        """How many of the agent's features, the first ones, the controller tells itself: all others are detectors'."""
        return len(self.greens) * (2 if self.memory else 1)

    @cached_property
    def phase_of(self) -> list[int]:
        """The phase that serves each movement when it has waited too long."""
        return designated(self.served)


def designated(served: np.ndarray) -> list[int]:
    """A phase for every movement [movements], few of them in all; NONE for one that no phase serves."""
    phase_of = [NONE] * served.shape[1]
    left = served.any(axis=0)
    while left.any():
        phase = int((served & left).sum(axis=1).argmax())
        for movement in np.flatnonzero(served[phase] & left):
            phase_of[movement] = phase
        left = left & ~served[phase]
    return phase_of


def longest_red(phase_of: Sequence[int], timing: Timing) -> int:
    """The least maximum red that can be kept, in seconds: all phases in turn, after a choice that was just missed."""
    return len(set(phase_of) - {NONE}) * timing.slot + timing.longest_change
