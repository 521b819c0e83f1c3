"""SVG elements, text and its width, and colours with hatches that tell actions apart, also in grey."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

# Okabe and Ito's colours, which people tell apart whatever their colour vision; grey instead of black.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#56b4e9", "#d55e00", "#8c8c8c")
INK, SOFT, LINE = "#1a1d21", "#5b6470", "#b4bbc4"  # text, less important text, lines

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_WIDTHS = {" ": 0.32, "m": 0.98, "w": 0.82, "M": 0.87, "W": 0.99, "%": 0.95, "≤": 0.84, "−": 0.84, "+": 0.84}


@dataclass(frozen=True)
class Paint:
    """How an action looks; the same index always looks the same."""

    fill: str
    light: str  # a paler fill, behind words
    edge: str
    dash: str  # stroke-dasharray: tells the second, third, ... round through the palette from the first


def paint(index: int) -> Paint:
    """The look of an action, for any number of actions."""
    turn, edge = index // len(PALETTE), PALETTE[index % len(PALETTE)]
    white = (0.25, 0.6, 0.0)[turn % 3]
    dash = ("none", "5 2.5", "1.5 2", "8 2 2 2")[turn % 4]
    return Paint(_mix(edge, white), _mix(edge, 0.72), edge, dash)


def _mix(colour: str, white: float) -> str:
    """A colour with a share of white in it."""
    parts = (round(int(colour[k : k + 2], 16) * (1 - white) + 255 * white) for k in (1, 3, 5))
    return "#" + "".join(f"{part:02x}" for part in parts)


def tag(name: str, content: str = "", **attributes: object) -> str:
    """One XML element; the content is taken as it is, attributes are escaped (`font_size` becomes `font-size`)."""
    words = [
        f'{key.rstrip("_").replace("_", "-")}="{escape(f"{value:.2f}" if isinstance(value, float) else str(value))}"'
        for key, value in attributes.items()
    ]
    head = " ".join([name, *words])
    return f"<{head}>{content}</{name}>" if content else f"<{head}/>"


def text(x: float, y: float, words: str, **attributes: object) -> str:
    """A line of text as an SVG element."""
    return tag("text", escape(words), x=float(x), y=float(y), **attributes)


def line(points: Iterable[tuple[float, float]]) -> str:
    """Straight lines through points, for a path's `d`."""
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def text_width(words: str, size: float) -> float:
    """An estimate of how wide a line of text is in a wide sans-serif font, in pixels."""
    narrow = "iljtfrI.,:;'|!()[]/-"
    return size * sum(_WIDTHS.get(c, 0.38 if c in narrow else 0.72 if c.isupper() else 0.62) for c in words)


def document(width: float, height: float, label: str, *parts: str) -> str:
    """A self-contained SVG document on white that scales with the page.

    Characters that XML does not allow are replaced by the replacement character.
    """
    inside = [tag("title", escape(label)), tag("rect", width=width, height=height, fill="#ffffff"), *parts]
    drawing = tag(
        "svg",
        "\n" + "\n".join(inside) + "\n",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        role="img",
        aria_label=label,
        font_family="sans-serif",
        fill=INK,
    )
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", drawing)


def hatch(index: int, x: float, y: float, wide: float, high: float) -> str:
    """Thin dark lines over a rectangle, in a pattern of its own for each colour of the palette.

    The lines are drawn one by one: an SVG pattern would need a name that is unique in a page of many drawings.
    """
    kind, pitch = index % len(PALETTE), 4.0 + 2.0 * (index // len(PALETTE) % 3)
    pieces: list[str] = []
    if kind in (1, 5, 6):  # rising
        pieces += _slanted(x, y, wide, high, pitch, rising=True)
    if kind in (2, 6):  # falling
        pieces += _slanted(x, y, wide, high, pitch, rising=False)
    if kind in (3, 7):  # upright
        pieces += [f"M{x + k * pitch:.1f} {y:.1f}v{high:.1f}" for k in range(1, int(wide / pitch) + 1)]
    if kind in (4, 7):  # level
        pieces += [f"M{x:.1f} {y + k * pitch / 1.5:.1f}h{wide:.1f}" for k in range(1, int(high / pitch * 1.5) + 1)]
    dash = "1.2 2.6" if kind == 5 else "none"  # dots
    look = {"stroke": INK, "stroke_width": 0.9, "stroke_dasharray": dash, "fill": "none", "stroke_opacity": 0.75}
    return tag("path", d="".join(pieces), **look) if pieces else ""


def _slanted(x: float, y: float, wide: float, high: float, pitch: float, rising: bool) -> list[str]:
    """Lines at 45 degrees, cut at the rectangle's edges."""
    pieces = []
    for k in range(1, int((wide + high) / pitch) + 1):
        upper = k * pitch - high  # where the falling line would cross the upper edge
        start, end = max(0.0, upper), min(wide, upper + high)
        if end - start >= 0.5:
            left, right = (wide - start, wide - end) if rising else (start, end)
            pieces.append(f"M{x + left:.1f} {y + start - upper:.1f}L{x + right:.1f} {y + end - upper:.1f}")
    return pieces
