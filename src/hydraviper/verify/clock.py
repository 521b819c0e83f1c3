"""Time limits: what is not settled when a clock has run out is undecided."""

from __future__ import annotations

import time
from dataclasses import dataclass


class OutOfTime(Exception):  # noqa: N818  (nothing is wrong: whoever looks for an answer stops)
    """The clock has run out."""


@dataclass(frozen=True)
class Clock:
    """When to stop."""

    deadline: float

    @staticmethod
    def of(seconds: float) -> Clock:
        """A clock that runs out after some seconds."""
        return Clock(time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, self.deadline - time.monotonic())

    def check(self) -> None:
        """Raise `OutOfTime` if nothing is left."""
        if self.left <= 0:
            raise OutOfTime
