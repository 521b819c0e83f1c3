"""How a score runs through an episode, as charts: everybody's median, then each with its spread and worst episode."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from msgspec import structs

from hydraviper.drawing.charts import GRID, WIDTH, axis, spread, tick_text
from hydraviper.drawing.svg import INK, PALETTE, SOFT, document, line, tag, text, text_width
from hydraviper.records import Course, OverTime

Values = Sequence[float | None]  # [steps], None after an episode's end
Place = Callable[[float, float], tuple[float, float]]  # minutes and score -> pixels


@dataclass(frozen=True)
class Look:
    """How a policy's line looks: told apart by colour, and without it by width and dashes."""

    colour: str
    width: float
    dash: str = "none"


TREES, EXPERT = Look(PALETTE[0], 3.0), Look(PALETTE[6], 1.8)
OTHERS = (Look("#6b7580", 1.8, "7 3"), Look("#2b3036", 1.6, "2 2.5"), Look("#9aa5b1", 2.2, "9 3 2 3"))


def looks(names: Sequence[str]) -> dict[str, Look]:
    """A look for every policy; yardsticks are dashed."""
    fixed = {"trees": TREES, "expert": EXPERT}
    others = [name for name in names if name not in fixed]
    return {name: fixed.get(name) or OTHERS[others.index(name) % len(OTHERS)] for name in names}


def time_chart(title: str, over_time: OverTime) -> str:
    """One SVG document: the medians of all policies together, and below one small chart for each policy."""
    policies, step = over_time.policies, over_time.step_minutes
    drawn = looks(list(policies))
    top, bottom = _medians(title, policies, drawn, step)
    columns = min(3, len(policies))
    wide, tall = WIDTH / columns, 190.0
    highest = max(
        value for course in policies.values() for values in structs.astuple(course) for value in _known(values)
    )
    panels = [
        tag(
            "g",
            _panel(name, course, drawn[name], step, highest, wide, tall),
            transform=f"translate({k % columns * wide:.1f} {bottom + 34 + k // columns * tall:.1f})",
        )
        for k, (name, course) in enumerate(policies.items())
    ]
    words = "Each by itself: median, the middle 80% of the episodes shaded, the worst episode as a thin line"
    heading = text(4, bottom + 22, words, font_size=13, font_weight="bold")
    rows = -(-len(policies) // columns)
    return document(WIDTH, bottom + 34 + rows * tall, title, top, heading, *panels)


def _medians(title: str, policies: Mapping[str, Course], drawn: Mapping[str, Look], step: float) -> tuple[str, float]:
    """All medians on one scale, named at their right ends; and where the chart ends."""
    left, right, top, bottom = 60.0, WIDTH - 30 - max(text_width(name, 12) for name in policies), 36.0, 250.0
    highest = max(value for course in policies.values() for value in _known(course.median))
    last = max(len(course.median) for course in policies.values()) * step
    place, parts = _axes(left, right, top, bottom, last, highest)
    parts.insert(0, text(4, 18, f"{title}, median over the episodes", font_size=13, font_weight="bold"))
    ends = []
    for name, course in sorted(policies.items(), key=lambda item: drawn[item[0]].width):  # the widest on top
        parts.append(_line(name, course.median, step, place, drawn[name]))
        ends.append((place(last, _known(course.median)[-1])[1], name))
    labels = spread(ends, 15)
    lift = max(0.0, labels[-1][0] - bottom)  # no name below the axis
    for y, name in ((y - lift, name) for y, name in labels):
        look = drawn[name]
        mark = {"stroke": look.colour, "stroke_width": look.width, "stroke_dasharray": look.dash}
        parts.append(tag("path", d=f"M{right + 3:.1f} {y:.1f}h18", **mark))
        parts.append(text(right + 25, y + 4, name, font_size=12))
    return "".join(parts), bottom + 36


def _panel(name: str, course: Course, look: Look, step: float, highest: float, wide: float, tall: float) -> str:
    """One policy: its median, what lies between low and high, and its worst episode."""
    place, parts = _axes(44, wide - 14, 28, tall - 40, len(course.median) * step, highest)
    parts.insert(0, text(44, 18, name, font_size=12, font_weight="bold"))
    low, high = _known(course.low), _known(course.high)
    there = [place((k + 1) * step, value) for k, value in enumerate(high)]
    back = [place((k + 1) * step, value) for k, value in enumerate(low)][::-1]
    area = line(there + back) + "Z"
    parts.append(tag("path", d=area, fill=look.colour, fill_opacity=0.25))
    parts.append(_line("worst episode", course.worst, step, place, Look(INK, 0.9)))
    parts.append(_line("median", course.median, step, place, Look(look.colour, max(look.width, 2))))
    return "".join(parts)


def _axes(left: float, right: float, top: float, bottom: float, last: float, highest: float) -> tuple[Place, list[str]]:
    """Minutes to the right, the score upward from nought, with their numbers."""
    _, high, ticks = axis(0, highest or 1.0, 4)

    def place(minutes: float, value: float) -> tuple[float, float]:
        return left + minutes / last * (right - left), bottom - value / high * (bottom - top)

    parts = []
    for tick in (tick for tick in ticks if tick >= 0):
        y = place(0, tick)[1]
        parts.append(tag("path", d=f"M{left:.1f} {y:.1f}H{right:.1f}", stroke=GRID))
        parts.append(text(left - 8, y + 4, tick_text(tick), font_size=11, fill=SOFT, text_anchor="end"))
    for tick in (tick for tick in axis(0, last, 5)[2] if 0 <= tick <= last):
        x = place(tick, 0)[0]
        parts.append(tag("path", d=f"M{x:.1f} {bottom:.1f}v4", stroke=SOFT))
        parts.append(text(x, bottom + 16, tick_text(tick), font_size=11, fill=SOFT, text_anchor="middle"))
    parts.append(text((left + right) / 2, bottom + 31, "minutes", font_size=11, fill=SOFT, text_anchor="middle"))
    return place, parts


def _known(values: Values) -> list[float]:
    return [value for value in values if value is not None]


def _line(name: str, values: Values, step: float, place: Place, look: Look) -> str:
    points = [place((k + 1) * step, value) for k, value in enumerate(_known(values))]
    stroke = {"stroke": look.colour, "stroke_width": look.width, "stroke_dasharray": look.dash}
    return tag("path", tag("title", escape(name)), d=line(points), fill="none", stroke_linejoin="round", **stroke)
