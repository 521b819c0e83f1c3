"""Time limits: what is not decided by the deadline stays undecided."""

from __future__ import annotations

import time
from dataclasses import dataclass


class OutOfTime(Exception):  # noqa: N818  (not an error: it ends a search)
    """The deadline has passed."""


@dataclass(frozen=True)
class Deadline:
    """The moment at which a search must stop."""

    moment: float  # by `time.monotonic`

    @staticmethod
    def after(seconds: float) -> Deadline:
        """A deadline that many seconds from now."""
        return Deadline(time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """The seconds that are left, at least 0."""
        return max(0.0, self.moment - time.monotonic())

    def check(self) -> None:
        """Raise `OutOfTime` if the deadline has passed."""
        if self.left <= 0:
            raise OutOfTime
