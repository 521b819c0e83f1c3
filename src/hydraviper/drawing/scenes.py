"""A moment of a game on a plane as SVG: agents and landmarks where they are."""

from collections.abc import Sequence

from hydraviper.drawing.svg import INK, LINE, SOFT, document, paint, tag, text
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
    for number, mark in sorted(enumerate(scene.marks), key=lambda item: item[1].kind == "agent"):
        x, y = scene_place(window, mark.position)
        size = max(mark.size * scale, 5.0)
        if mark.kind == "agent":
            shape = tag("circle", r=size, fill=paint(agents).fill, stroke=INK, stroke_width=1.5)
            agents += 1
        else:
            shape = _square(size, fill=SOFT, stroke=INK)
        if mark.kind == "goal":
            shape += _square(size + 5, fill="none", stroke=INK, stroke_width=2.5)
        halo = {"stroke": "#fafbfc", "stroke_width": 3, "paint_order": "stroke"}
        name = text(0, -size - 5, mark.name, font_size=12, text_anchor="middle", **halo)
        parts.append(tag("g", shape + name, data_mark=number, transform=f"translate({x:.1f} {y:.1f})"))
    return document(_SIDE, _SIDE, label, *parts)


def _square(half: float, **look: object) -> str:
    return tag("rect", "", **{"x": -half, "y": -half, "width": 2 * half, "height": 2 * half, **look})
