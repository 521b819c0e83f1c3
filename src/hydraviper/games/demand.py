"""Who is due when, read from a scenario's route files without playing it."""

from __future__ import annotations

from hydraviper.games.scenario import Scenario
from hydraviper.games.sumo_files import visit

_FILES = ("route-files", "additional-files")


def vehicles_due(scenario: Scenario, begin: float, end: float, scale: float) -> float:
    """How many vehicles the routes ask for between two times; of flows at random, as many as on average."""
    count = 0.0

    def element(name: str, attributes: list[str]) -> None:
        nonlocal count
        if name in ("vehicle", "trip", "flow"):
            values = dict(zip(attributes[::2], attributes[1::2], strict=True))
            if name == "flow":
                count += _of_flow(values, begin, end)
            else:
                depart = seconds(values.get("depart", ""))
                count += depart is not None and begin <= depart <= end - 1  # the last second inserts nobody

    for option, files in scenario.inputs.files:
        if option in _FILES:
            for file in files:
                visit(file, element)
    return count * scale


def _of_flow(values: dict[str, str], begin: float, end: float) -> float:
    """Vehicles of a flow that are due between two times."""
    first = seconds(values.get("begin", "0")) or 0.0
    last = seconds(values.get("end", "")) or float("inf")
    share = max(0.0, min(last, end) - max(first, begin))
    if "number" in values:
        return (seconds(values["number"]) or 0.0) * (share / (last - first) if first < last < float("inf") else 1.0)
    return share * rate(values)


def rate(values: dict[str, str]) -> float:
    """Vehicles per second of a flow."""
    hourly = seconds(values.get("vehsPerHour", values.get("perHour", "")))
    if hourly is not None:
        return hourly / 3600
    period = values.get("period", "")
    if period.startswith("exp("):
        return seconds(period[4:-1]) or 0.0
    every = seconds(period)
    return 1 / every if every else seconds(values.get("probability", "")) or 0.0


def seconds(text: str) -> float | None:
    """A time as SUMO writes it: seconds, or hours, minutes and seconds; None for words such as `triggered`."""
    try:
        total = 0.0
        for part in text.split(":"):
            total = 60 * total + float(part)
        return total
    except ValueError:
        return None
