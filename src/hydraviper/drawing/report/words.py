"""Numbers and answers in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def count(number: int, noun: str) -> str:
    """A number in words where it is small, and what it counts."""
    words = _COUNTS[number] if number < len(_COUNTS) else f"{number:,}"
    return f"{words} {noun}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, whichever reads best."""
    if seconds < 120:
        return f"{seconds:.1f} seconds"
    return f"{seconds / 60:.1f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"


def without(own: Mapping[str, Any]) -> str:
    """What trees without a constraint make of its property, from what its price says; nothing where that is unknown."""
    if "holds without" not in own:
        return ""
    older = {True: "holds", False: "broken", None: "undecided"}[own["holds without"]]
    return own.get("answer without", older)
