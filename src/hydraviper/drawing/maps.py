"""A road network as a map: roads as they lie, signals numbered, teams told apart by colour and by shape."""

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape

from hydraviper.data import Team
from hydraviper.drawing.svg import INK, SOFT, document, line, paint, tag, text, text_width
from hydraviper.geometry import MapSignal, Point, RoadMap

ROAD, PLAIN = "#ccd2d9", "#5b6470"  # roads; lanes that lead to signals, if all are of one team
_WIDEST, _TALLEST, _MARGIN = 880.0, 720.0, 16.0  # the largest map, and the margin around it
_AROUND = 150.0  # metres of road to show around the signals, at least
_RADIUS = 11.0  # of a signal's mark
_LONGEST_NAME = 46  # letters of a signal's identifier in the legend

Place = Callable[[Point], Point]  # metres to the right and up -> pixels to the right and down


def draw_map(road_map: RoadMap, teams: Sequence[Team]) -> str:
    """The map as an SVG document; with several teams, each has its colour and its mark."""
    signals = road_map.signals
    place, scale, (wide, tall) = placed(road_map)
    roads = "".join([*draw_roads(road_map, place, scale), *_approaches(road_map, teams, place, scale)])
    marks = _marks(signals, teams, place, (wide, tall))
    label = f"Map with {len(signals)} signals" + (f" in {len(teams)} teams" if len(teams) > 1 else "")
    inner = tag("svg", roads, x=_MARGIN, y=_MARGIN, width=wide, height=tall)  # cuts off what lies outside
    moved = tag("g", marks, transform=f"translate({_MARGIN:.1f} {_MARGIN:.1f})")
    width = max(wide, 420.0) + 2 * _MARGIN
    below = tall + 2 * _MARGIN
    legend, bottom = _legend(signals, teams, width, below + 58)
    return document(width, bottom + _MARGIN, label, inner, moved, _north(below), _scale_bar(scale, below), *legend)


def placed(road_map: RoadMap) -> tuple[Place, float, Point]:
    """Where the points of a network lie in its drawing, pixels per metre, and how wide and high the drawing is."""
    (left, low), (right, high) = window_of(road_map)
    scale = min(_WIDEST / (right - left), _TALLEST / (high - low))

    def place(point: Point) -> Point:
        return (point[0] - left) * scale, (high - point[1]) * scale

    return place, scale, ((right - left) * scale, (high - low) * scale)


def window_of(road_map: RoadMap) -> tuple[Point, Point]:
    """The part of the network to show, in metres: the signals with some road around them."""
    xs, ys = zip(*(signal.position for signal in road_map.signals), strict=True)
    air = max(_AROUND, 0.15 * max(max(xs) - min(xs), max(ys) - min(ys)))
    points = [point for lane in road_map.lanes.values() for point in lane.line]
    ends = [(min(p[axis] for p in points) - 4, max(p[axis] for p in points) + 4) for axis in (0, 1)]
    (left, right), (low, high) = (
        (max(start, min(at) - air), min(end, max(at) + air)) for (start, end), at in zip(ends, (xs, ys), strict=True)
    )
    return (left, low), (right, high)


def names_with_room(
    places: Mapping[str, Point], wide: float, long: Callable[[str], float], high: float
) -> list[tuple[str, float, float]]:
    """Names beside their places, each with its left and upper end; those that would lie on others are left out."""
    taken: list[tuple[str, float, float]] = []
    for name, (x, y) in places.items():
        size = long(name)
        for left, top in (
            (x + 12, y + 4),
            (x - 12 - size, y + 4),
            (x + 12, y - 4 - high),
            (x - 12 - size, y - 4 - high),
        ):
            free = all(
                left >= end + long(other) or end >= left + size or abs(top - level) >= high
                for other, end, level in taken
            )
            if free and left >= 0 and left + size <= wide:
                taken.append((name, left, top))
                break
    return taken


def draw_roads(road_map: RoadMap, place: Place, scale: float) -> list[str]:
    """Junctions and lanes as pieces of SVG."""
    parts = [tag("path", d=line(map(place, edge)) + "Z", fill=ROAD) for edge in road_map.junctions if len(edge) > 2]
    look = {"fill": "none", "stroke": ROAD, "stroke_linecap": "round"}
    by_width: dict[float, list[str]] = {}
    for lane in road_map.lanes.values():
        by_width.setdefault(max(1.8, lane.width * scale), []).append(line(map(place, lane.line)))
    return parts + [tag("path", d="".join(paths), stroke_width=width, **look) for width, paths in by_width.items()]


def _approaches(road_map: RoadMap, teams: Sequence[Team], place: Place, scale: float) -> list[str]:
    """The lanes that a signal looks at, in the colour of its team."""
    parts = []
    for i, signal in enumerate(road_map.signals):
        lanes = [road_map.lanes[name] for name in signal.lanes]
        width = max(1.6, 0.8 * min((lane.width for lane in lanes), default=3.2) * scale)
        if lanes:
            paths = "".join(line(map(place, lane.line)) for lane in lanes)
            parts.append(tag("path", d=paths, fill="none", stroke=_colour(i, teams), stroke_width=width))
    return parts


def _team(signal: int, teams: Sequence[Team]) -> int:
    return next((k for k, team in enumerate(teams) if signal in team), 0)


def _colour(signal: int, teams: Sequence[Team]) -> str:
    return PLAIN if len(teams) < 2 else paint(_team(signal, teams)).edge


def _marks(signals: Sequence[MapSignal], teams: Sequence[Team], place: Place, size: Point) -> str:
    """A numbered mark at every signal; where marks would overlap they move apart and point to where they belong."""
    homes = [place(signal.position) for signal in signals]
    parts = []
    spots = _apart(homes, 2 * _RADIUS + 3, size)
    for home, spot in zip(homes, spots, strict=True):
        if math.dist(home, spot) > 2:
            parts.append(tag("path", d=line((home, spot)), stroke=INK, stroke_width=1.2))
            parts.append(tag("circle", cx=home[0], cy=home[1], r=2.5, fill=INK))
    for i, (signal, (x, y)) in enumerate(zip(signals, spots, strict=True)):
        title = tag("title", escape(f"{signal.agent}: {signal.identifier}\n" + "\n".join(signal.phases)))
        parts.append(tag("g", title + _mark(i, teams, x, y)))
    return "".join(parts)


def _apart(homes: Sequence[Point], least: float, size: Point) -> list[Point]:
    """The same points, pushed away from each other until none are closer than `least`, and kept on the map."""
    spots = list(homes)
    for _ in range(200):
        moved = False
        for i in range(len(spots)):
            for j in range(i):
                (x, y), (u, v) = spots[i], spots[j]
                apart = math.dist(spots[i], spots[j])
                if apart < least - 0.01:
                    dx, dy = ((x - u) / apart, (y - v) / apart) if apart > 1e-6 else (1.0, 0.0)
                    push = (least - apart) / 2
                    spots[i], spots[j] = (x + push * dx, y + push * dy), (u - push * dx, v - push * dy)
                    moved = True
        spots = [(_within(x, size[0]), _within(y, size[1])) for x, y in spots]
        if not moved:
            break
    return spots


def _within(value: float, end: float) -> float:
    return min(max(value, _RADIUS + 1), end - _RADIUS - 1)


def _mark(signal: int, teams: Sequence[Team], x: float, y: float) -> str:
    """A signal's number on its team's shape, readable in grey as well."""
    k, fill = (_team(signal, teams), _colour(signal, teams)) if len(teams) > 1 else (0, INK)
    label = {"text_anchor": "middle", "font_size": 12, "font_weight": "bold"}
    return (
        _shape(k, x, y, _RADIUS, fill)
        + tag("circle", cx=x, cy=y, r=8.2, fill="#ffffff")
        + text(x, y + 4.3, str(signal + 1), **label)
    )


def _shape(team: int, x: float, y: float, radius: float, fill: str) -> str:
    """A team's shape, which tells teams apart without colour: disc, square, diamond, triangle, ..."""
    look = {"fill": fill, "stroke": INK, "stroke_width": 1.4}
    corners, turn = ((0, 0.0), (4, 45.0), (4, 0.0), (3, 0.0), (3, 180.0), (6, 0.0), (5, 0.0), (8, 22.5))[team % 8]
    if corners == 0:
        return tag("circle", cx=x, cy=y, r=radius, **look)
    reach = radius / math.cos(math.pi / corners) if corners > 3 else 1.75 * radius
    angles = [math.radians(turn + 360 * k / corners) for k in range(corners)]
    points = [(x + reach * math.sin(angle), y - reach * math.cos(angle)) for angle in angles]
    return tag("path", d=line(points) + "Z", stroke_linejoin="round", **look)


def _north(top: float) -> str:
    arrow = tag("path", d=f"M{_MARGIN + 8:.1f} {top:.1f}l7 22l-7 -5l-7 5Z", fill=INK)
    return arrow + text(_MARGIN + 22, top + 18, "N", font_size=13, font_weight="bold")


def _scale_bar(scale: float, top: float) -> str:
    """A bar of a round number of metres, at most 150 pixels long."""
    rough = 150 / scale
    unit = 10 ** math.floor(math.log10(rough))
    metres = max(step * unit for step in (1, 2, 5) if step * unit <= rough)
    x, long = _MARGIN + 58, metres * scale
    words = f"{metres:g} m" if metres < 1000 else f"{metres / 1000:g} km"
    bar = tag("path", d=f"M{x:.1f} {top + 11:.1f}v8h{long:.1f}v-8", fill="none", stroke=INK, stroke_width=1.6)
    return bar + text(x + long + 8, top + 18, words, font_size=12)


def _legend(signals: Sequence[MapSignal], teams: Sequence[Team], width: float, y: float) -> tuple[list[str], float]:
    """The agents of each team, with the identifiers of their signals; and the y at which the legend ends."""
    parts, several = [], len(teams) > 1
    for k, team in enumerate(teams):
        x = _MARGIN
        if several:
            parts.append(_shape(k, x + 7, y - 4, 6, paint(k).edge))
            parts.append(text(x + 22, y, f"team {k + 1}", font_size=12, font_weight="bold"))
            x += 84
        start = x
        for i in team:
            agent, name = signals[i].agent, signals[i].identifier
            name = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
            long = text_width(f"{agent} {name}", 11) + 18
            if x > start and x + long > width - _MARGIN:
                x, y = start, y + 17
            beside = tag("tspan", escape(name), dx=5, fill=SOFT)
            parts.append(tag("text", f"{escape(agent)}{beside}", x=x, y=y, font_size=11))
            x += long
        y += 22 if several else 17
    shade = "in their team's colour" if several else "dark"
    parts.append(text(_MARGIN, y, f"The lanes that each signal looks at are {shade}.", font_size=11, fill=SOFT))
    return parts, y
