"""Numbers and answers in words."""

from collections.abc import Sequence

from hydraviper.records import Paired, PropertyPrice

_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def count(number: int, noun: str) -> str:
    """A number in words where it is small, and what it counts."""
    words = _COUNTS[number] if number < len(_COUNTS) else f"{number:,}"
    return f"{words} {noun}{'' if number == 1 else 's'}"


def listed(names: Sequence[str]) -> str:
    """Names with commas between, and an "and" before the last one."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, whichever reads best."""
    if seconds < 120:
        return f"{seconds:.1f} seconds"
    return f"{seconds / 60:.1f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"


def without(price: PropertyPrice | Paired | None) -> str:
    """Whether trees without a constraint have its property all the same; nothing where that is unknown."""
    if not isinstance(price, PropertyPrice):
        return ""
    return price.answer_without or {True: "holds", False: "broken", None: "undecided"}[price.holds_without]
