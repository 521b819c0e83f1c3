"""A moment of a game on a plane as SVG: agents and landmarks where they are."""

from collections.abc import Sequence

from hydraviper.drawing.svg import INK, LINE, SOFT, document, paint, tag, text, text_width
from hydraviper.geometry import Point, Scene

_SIDE = 420.0  # pixels of a drawing
_MARGIN = 0.25  # around what is drawn, in units of length


def scene_window(scenes: Sequence[Scene]) -> tuple[float, float, float]:
    """A square that holds everything in some scenes: its left and lower edges, and its side."""
    places = [mark.position for scene in scenes for mark in scene.marks]
    if not places:
        return -1.0, -1.0, 2.0
    xs, ys = zip(*places, strict=True)
    side = max(max(xs) - min(xs), max(ys) - min(ys), 2.0) + 2 * _MARGIN
    return (max(xs) + min(xs) - side) / 2, (max(ys) + min(ys) - side) / 2, side


def scene_place(window: tuple[float, float, float], point: Point) -> Point:
    """Where a point of a game is in the drawings of its scenes, in pixels to the right and down."""
    left, low, side = window
    scale = _SIDE / side
    return (point[0] - left) * scale, _SIDE - (point[1] - low) * scale


def draw_scene(scene: Scene, window: tuple[float, float, float], label: str) -> str:
    """Draw a scene; agents are circles in colours of their own, landmarks are squares, a goal has a double edge.

    Each mark is a group with its number in `data-mark`, which a page's script can move.
    """
    scale = _SIDE / window[2]
    parts, agents = [tag("rect", width=_SIDE, height=_SIDE, fill="#fafbfc", stroke=LINE)], 0
    taken: list[tuple[float, float, float]] = []  # where names stand
    for number, mark in sorted(enumerate(scene.marks), key=lambda item: item[1].kind == "agent"):
        x, y = scene_place(window, mark.position)
        size = max(mark.size * scale, 5.0)
        if mark.kind == "agent":
            look = {"fill": paint(agents).fill, "fill_opacity": 0.85, "stroke": INK, "stroke_width": 1.5}
            shape = tag("circle", r=size, **look)  # shows what lies beneath
            agents += 1
        else:
            shape = _square(size, fill=SOFT, stroke=INK)
        if mark.kind == "goal":
            shape += _square(size + 5, fill="none", stroke=INK, stroke_width=2.5)
        halo = {"stroke": "#fafbfc", "stroke_width": 3, "paint_order": "stroke"}
        wide = text_width(mark.name, 12)
        middle = min(max(x, wide / 2 + 4), _SIDE - wide / 2 - 4)
        line = _free(taken, middle, min(max(y - size - 5, 12.0), _SIDE - 4), wide)
        name = text(middle - x, line - y, mark.name, font_size=12, text_anchor="middle", **halo)
        parts.append(tag("g", shape + name, data_mark=number, transform=f"translate({x:.1f} {y:.1f})"))
    return document(_SIDE, _SIDE, label, *parts)


def _free(taken: list[tuple[float, float, float]], x: float, y: float, wide: float) -> float:
    """The line nearest to y, above it or below, on which a name hides no other; it is taken from then on."""
    lines = [y + side * 13 * k for k in range(20) for side in (-1, 1)]
    free = (
        line
        for line in lines
        if 12 <= line <= _SIDE - 4
        and all(abs(line - v) >= 13 or abs(x - u) >= (wide + other) / 2 for u, v, other in taken)
    )
    line = next(free, y)
    taken.append((x, line, wide))
    return line


def _square(half: float, **look: object) -> str:
    return tag("rect", "", **{"x": -half, "y": -half, "width": 2 * half, "height": 2 * half, **look})
