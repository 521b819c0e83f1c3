"""A moment of a game on a plane as SVG: agents and landmarks where they are."""

from collections.abc import Sequence

from hydraviper.drawing.svg import INK, LINE, SOFT, document, paint, tag, text
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
    parts, names, agents = [tag("rect", width=_SIDE, height=_SIDE, fill="#fafbfc", stroke=LINE)], [], 0
    for mark in sorted(scene.marks, key=lambda mark: mark.kind == "agent"):
        x, y = (mark.position[0] - left) * scale, _SIDE - (mark.position[1] - low) * scale
        size = max(mark.size * scale, 5.0)
        if mark.kind == "agent":
            fill = paint(agents).fill
            agents += 1
            parts.append(tag("circle", cx=x, cy=y, r=size, fill=fill, stroke=INK, stroke_width=1.5))
        else:
            parts.append(_square(x, y, size, fill=SOFT, stroke=INK))
        if mark.kind == "goal":
            parts.append(_square(x, y, size + 5, fill="none", stroke=INK, stroke_width=2.5))
        halo = {"stroke": "#fafbfc", "stroke_width": 3, "paint_order": "stroke"}
        above = min(max(y - size - 5, 12.0), _SIDE - 4)
        names.append(text(x, above, mark.name, font_size=12, text_anchor="middle", **halo))
    return document(_SIDE, _SIDE, label, *parts, *names)


def _square(x: float, y: float, half: float, **look: object) -> str:
    return tag("rect", "", **{"x": x - half, "y": y - half, "width": 2 * half, "height": 2 * half, **look})
