"""Vehicles on the road as signals count them: those that stand before the stop lines, then those that roll."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from hydraviper.data import Agent
from hydraviper.games.road_network import LaneGroup, Signal
from hydraviper.geometry import Car, Frame, Lane, Point, RoadMap, Seen

_LENGTH, _GAP, _ROLLING_GAP = 5.0, 2.5, 10.0  # metres of a vehicle, and between two that stand or roll
_SPEED = 8.0  # m/s, of those that roll


def frame_of(agents: Sequence[Agent], signals: Sequence[Signal], seen: Seen, road_map: RoadMap) -> Frame:
    """A moment that looks to some signals as they say: their queues, what rolls behind them, and their lights."""
    cars: list[Car] = []
    lights: dict[str, str] = {}
    own = {agent.name: signal for agent, signal in zip(agents, signals, strict=True)}
    for name, features in seen.items():
        green = next((k for k in range(len(own[name].greens)) if features.get(f"phase {k + 1} is green", 0) > 0), None)
        for group in own[name].groups:
            lights |= dict.fromkeys(group.lanes, "G" if green in group.phases else "r")
            cars += _group(group, features, road_map.lanes)
    return Frame(0.0, tuple(cars), lights, 0)


def _group(group: LaneGroup, features: Mapping[str, float], lanes: Mapping[str, Lane]) -> Iterator[Car]:
    """The vehicles of a lane group, spread evenly over its lanes; those that find no room on them are left out."""
    lines = [lanes[name].line[::-1] for name in group.lanes if name in lanes]
    counts = {kind: round(features.get(f"{kind} from {group.name}", 0.0)) for kind in ("queue", "moving", "coming")}
    standing, rolling = counts["queue"], counts["moving"] + counts["coming"]
    free = [0.0] * len(lines)
    for number in range(standing + rolling) if lines else ():
        k = number % len(lines)
        is_rolling = number >= standing
        place = _along(lines[k], free[k] + (_ROLLING_GAP if is_rolling else 0.0))
        if place is not None:
            yield Car(place[0], place[1], _LENGTH, _SPEED if is_rolling else 0.0)
        free[k] += _LENGTH + (_ROLLING_GAP if is_rolling else _GAP)


def _along(line: Sequence[Point], metres: float) -> tuple[Point, float] | None:
    """The point so far up the road from the stop line, and the direction in which vehicles drive there."""
    for (x, y), (u, v) in pairwise(line):
        long = math.dist((x, y), (u, v))
        if metres <= long and long > 0:
            share = metres / long
            return (x + share * (u - x), y + share * (v - y)), math.degrees(math.atan2(x - u, y - v)) % 360
        metres -= long
    return None
