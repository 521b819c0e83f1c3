"""The phases of a signal as icons: the roads as they lie, an arrow for every movement that may go.

North is up. A solid arrow goes, a dashed one goes but yields; a bar closes an approach that must wait.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hydraviper.drawing.svg import line, tag
from hydraviper.geometry import GREEN, Intersection, Movement, Point

SIDE = 56.0  # of the square that an icon is drawn in
MEANING = "Intersections: north is up; a solid arrow goes, a dashed one goes but yields, a bar waits."
GO, ROAD, CLOSED = "#00703f", "#d9dee4", "#8f1d14"
_OUTER, _STOP = 26.0, 13.0  # where roads end and where vehicles stop, from the middle of the icon
_BEND = 6.0  # how far from the middle a curve's control points stay
_LANE, _INNER = 4.6, 1.2  # from a road's middle to an arrow; to one that yields, which must not hide below others
_SAME_ROAD = 40.0  # degrees: the two directions of one road lie about the same way


@dataclass(frozen=True)
class Icons:
    """A small drawing for each action of an agent."""

    drawings: tuple[str, ...]  # one per action: SVG elements in a square from (0, 0) to (SIDE, SIDE)
    meaning: str  # how to read them, in a sentence


def draw_icons(intersection: Intersection) -> Icons:
    """One drawing per green phase."""
    return Icons(tuple(_icon(intersection, phase) for phase in range(intersection.phases)), MEANING)


def _icon(intersection: Intersection, phase: int) -> str:
    """The roads of an intersection and what a phase lets go there, as a piece of SVG."""
    movements = list(intersection.movements)
    shown = [way for way in movements if way.turn != "turning back"] or movements
    target = _arms(shown)
    hand = -1 if intersection.keeps_left else 1
    parts = [tag("rect", width=SIDE, height=SIDE, rx=4, fill="#ffffff")]
    parts += [_road(angle) for angle in sorted({way.source for way in _approaches(shown)} | set(target.values()))]
    going = [way for way in shown if way.lights[phase] in GREEN]
    for approach in _approaches(shown):
        if not any(way.side == approach.side for way in going):
            parts.append(_bar(approach.source, hand))
    sources = {approach.side: approach.source for approach in _approaches(shown)}
    for way in sorted(going, key=lambda way: way.lights[phase]):  # those that go lie below those that yield
        parts.append(_arrow(sources[way.side], target[way.target], way.lights[phase] == "g", hand))
    return tag("g", "".join(parts))


def _approaches(movements: Sequence[Movement]) -> list[Movement]:
    """One movement of every approach: the lanes of an approach lie within a few degrees of each other."""
    return list({way.side: way for way in movements}.values())


def _arms(movements: Sequence[Movement]) -> dict[float, float]:
    """The angle at which to draw each target's road: that of the approach which is the same road, if there is one."""
    sources = {way.source for way in _approaches(movements)}
    targets = {way.target for way in movements}
    pairs = sorted((_between(source, target), source, target) for source in sources for target in targets)
    drawn: dict[float, float] = {}
    for apart, source, target in pairs:
        if apart <= _SAME_ROAD and target not in drawn and source not in drawn.values():
            drawn[target] = source
    return {target: drawn.get(target, target) for target in targets}


def _between(first: float, second: float) -> float:
    return abs((first - second + 180) % 360 - 180)


def _at(angle: float, along: float, right: float = 0.0) -> Point:
    """A point of the icon: `along` from the middle in a direction, and `right` to the right of that."""
    sine, cosine = math.sin(math.radians(angle)), math.cos(math.radians(angle))
    return SIDE / 2 + along * sine + right * cosine, SIDE / 2 - along * cosine + right * sine


def _road(angle: float) -> str:
    return tag("path", d=line([_at(angle, 0), _at(angle, _OUTER)]), stroke=ROAD, stroke_width=15)


def _bar(angle: float, hand: int) -> str:
    """A closed stop line. Vehicles that come keep to their right, which is the left as seen from the middle."""
    ends = _at(angle, _STOP + 1, -hand * 2.0), _at(angle, _STOP + 1, -hand * 7.0)
    return tag("path", d=line(ends), stroke=CLOSED, stroke_width=2.6)


def _arrow(source: float, target: float, yields: bool, hand: int) -> str:
    """An arrow from an approach into a road, in the lanes of both."""
    lane, tip, size = (_INNER, _STOP + 5, 2.9) if yields else (_LANE, _OUTER, 3.6)
    start, stop = _at(source, _OUTER, -hand * lane), _at(source, _STOP, -hand * lane)
    into, end = _at(target, tip - 13, hand * lane), _at(target, tip - 6, hand * lane)
    first, second = _at(source, _BEND, -hand * lane), _at(target, min(_BEND, tip - 16), hand * lane)
    curve = f"{line([start, stop])}C" + " ".join(f"{x:.1f} {y:.1f}" for x, y in (first, second, into))
    curve += f"L{end[0]:.1f} {end[1]:.1f}"
    corners = _at(target, tip - 7, hand * lane - size), _at(target, tip - 7, hand * lane + size)
    head = line([_at(target, tip, hand * lane), *corners]) + "Z"
    if yields:
        dashed = tag("path", d=curve, fill="none", stroke=GO, stroke_width=1.8, stroke_dasharray="2.6 1.8")
        return dashed + tag("path", d=head, fill="#ffffff", stroke=GO, stroke_width=1.1)
    return tag("path", d=curve, fill="none", stroke=GO, stroke_width=2.2) + tag("path", d=head, fill=GO)
