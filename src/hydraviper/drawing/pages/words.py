"""Numbers and answers in words."""

from hydraviper.records import Paired, PropertyPrice

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


def without(price: PropertyPrice | Paired | None) -> str:
    """Whether trees without a constraint have its property all the same; nothing where that is unknown."""
    if not isinstance(price, PropertyPrice):
        return ""
    return price.answer_without or {True: "holds", False: "broken", None: "undecided"}[price.holds_without]
