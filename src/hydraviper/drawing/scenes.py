"""A moment of a game on a plane as SVG: agents and landmarks where they are."""

from collections.abc import Sequence

from hydraviper.drawing.svg import INK, LINE, document, paint, tag, text
from hydraviper.geometry import Scene

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


def draw_scene(scene: Scene, window: tuple[float, float, float], label: str) -> str:
    """Draw a scene; agents are circles in colours of their own, landmarks are squares, a goal has a double edge."""
    left, low, side = window
    scale = _SIDE / side
    parts = [tag("rect", width=_SIDE, height=_SIDE, fill="#fafbfc", stroke=LINE)]
    agents = 0
    for mark in sorted(scene.marks, key=lambda mark: mark.kind == "agent"):
        x, y = (mark.position[0] - left) * scale, _SIDE - (mark.position[1] - low) * scale
        size = max(mark.size * scale, 5.0)
        if mark.kind == "agent":
            look = paint(agents)
            agents += 1
            parts.append(tag("circle", cx=x, cy=y, r=size, fill=look.fill, stroke=INK, stroke_width=1.5))
        else:
            box = {"x": x - size, "y": y - size, "width": 2 * size, "height": 2 * size}
            parts.append(tag("rect", **box, fill="#5b6470", stroke=INK))
        if mark.kind == "goal":
            wide = {"x": x - size - 5, "y": y - size - 5, "width": 2 * size + 10, "height": 2 * size + 10}
            parts.append(tag("rect", **wide, fill="none", stroke=INK, stroke_width=2.5))
        look = {
            "font_size": 12,
            "text_anchor": "middle",
            "stroke": "#fafbfc",
            "stroke_width": 3,
            "paint_order": "stroke",
        }
        parts.append(text(x, min(max(y - size - 5, 12.0), _SIDE - 4), mark.name, **look))
    return document(_SIDE, _SIDE, label, *parts)
