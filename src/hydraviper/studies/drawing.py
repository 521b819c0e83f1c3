"""The drawings of studies as SVG: grouped bars with intervals, and seconds against score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isfinite, log10
from typing import Any

from hydraviper.drawing.charts import GRID, WIDTH
from hydraviper.drawing.svg import INK, PALETTE, SOFT, document, tag, text, text_width
from hydraviper.studies.published import Published
from hydraviper.studies.statistics import Interval
from hydraviper.trees.words import number

_EXPERT = PALETTE[6]
_DASHED: dict[str, Any] = {"stroke_dasharray": "6 4", "stroke_width": 1.5}


@dataclass(frozen=True)
class Bar:
    """A mean with its interval, and the published one."""

    label: str
    mean: float
    low: float
    high: float
    colour: str
    words: str  # what the bar says when it is pointed at
    published: Published | None = None


@dataclass(frozen=True)
class Group:
    """Bars that stand side by side over one label."""

    label: str
    bars: tuple[Bar, ...]


# --------------------------------------------------------------------------- bars


def bar_chart(
    title: str,
    groups: Sequence[Group],
    legend: Mapping[str, str],
    line: float | None,
    labels: bool = False,
    from_zero: bool = False,
    width: float = WIDTH,
) -> str:
    """Grouped bars with intervals; hollow diamonds are published values, a dashed line is the expert.

    A published value beyond the axis is an arrow with its number.
    """
    drawn = [bar for group in groups for bar in group.bars]
    low, high, ticks = _axis(drawn, line, from_zero)
    left, right = 64.0, width - 12
    signs = _legend(legend, line is not None, any(bar.published for bar in drawn), left, right)
    top, bottom = 62.0 + signs.below, 312.0 + signs.below

    def at(value: float) -> float:
        return bottom - (min(max(value, low), high) - low) / (high - low) * (bottom - top)

    parts = [_frame(title, ticks, at, left, right, low)]
    slot = (right - left) / len(groups)
    wide = min(54.0, 0.82 * slot / max(len(group.bars) for group in groups))
    for k, group in enumerate(groups):
        middle = left + slot * (k + 0.5)
        start = middle - wide * len(group.bars) / 2
        for j, bar in enumerate(group.bars):
            parts.append(_draw(bar, start + wide * (j + 0.5), wide, at, bottom, high))
            if labels:
                x = start + wide * (j + 0.5)
                parts.append(text(x, bottom + 17, bar.label, font_size=12, text_anchor="middle"))
        below = bottom + (36 if labels else 20)
        parts.append(text(middle, below, group.label, font_size=12, fill=SOFT, text_anchor="middle"))
    if line is not None:
        parts.append(tag("path", d=f"M{left:.1f} {at(line):.1f}H{right:.1f}", stroke=_EXPERT, **_DASHED))
    parts.append(signs.drawn)
    return document(width, bottom + (46 if labels else 30), title, *parts)


def _axis(drawn: Sequence[Bar], line: float | None, from_zero: bool) -> tuple[float, float, list[float]]:
    """Zero to the largest; where all are far from zero, only the part that matters.

    Published values that would dwarf ours are left outside.
    """
    ends = [end for bar in drawn for end in (bar.mean, bar.low, bar.high) if isfinite(end)]
    ends += [line] if line is not None else []
    top = max(ends)
    theirs = [bar.published.mean + side * bar.published.ci95 for bar in drawn if bar.published for side in (-1, 1)]
    ends += [value for value in theirs if value <= 3 * top]
    low, high = min(ends), max(ends)
    base = 0.0 if from_zero or low < 0.45 * high else low - 0.25 * (high - low)
    high += 0.06 * (high - base) or 1.0
    return base, high, _ticks(base, high)


def _frame(
    title: str, ticks: Sequence[float], at: Callable[[float], float], left: float, right: float, low: float
) -> str:
    parts = [text(4, 18, title, font_size=13, font_weight="bold")]
    for tick in ticks:
        parts.append(tag("path", d=f"M{left:.1f} {at(tick):.1f}H{right:.1f}", stroke=GRID))
        parts.append(text(left - 8, at(tick) + 4, number(tick, 6), font_size=11, fill=SOFT, text_anchor="end"))
    if low > 0:  # bars are cut: say so where they stand
        parts.append(text(right, 18, f"axis from {number(low, 3)}", font_size=11, fill=SOFT, text_anchor="end"))
    return "".join(parts)


def _draw(bar: Bar, x: float, wide: float, at: Callable[[float], float], bottom: float, high: float) -> str:
    """A bar, its interval, and the published value as a hollow diamond with a thin interval."""
    half = 0.42 * wide
    shape = {"x": x - half, "y": at(bar.mean), "width": 2 * half, "height": max(bottom - at(bar.mean), 0.8)}
    parts = [tag("rect", tag("title", escape(bar.words)), **shape, fill=bar.colour, fill_opacity=0.85)]
    cap = min(6.0, 0.5 * half)
    ours = x - 0.4 * half if bar.published else x
    if isfinite(bar.low) and isfinite(bar.high):
        parts.append(_whisker(ours, at(bar.high), at(bar.low), cap, INK, 1.6))
    if bar.published and bar.published.mean > high:
        parts.append(tag("path", d=f"M{x:.1f} {at(high) + 2:.1f}l5 7h-10Z", fill="#fff", stroke=INK, stroke_width=1.2))
        words = number(bar.published.mean, 3)
        parts.append(text(x, at(high) + 21, words, font_size=10, text_anchor="middle"))
    elif theirs := bar.published:
        place, y = x + 0.45 * half, at(theirs.mean)
        parts.append(_whisker(place, at(theirs.mean + theirs.ci95), at(theirs.mean - theirs.ci95), 0, INK, 1))
        diamond = f"M{place:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5Z"
        parts.append(tag("path", d=diamond, fill="#fff", stroke=INK, stroke_width=1.2))
    return "".join(parts)


def _whisker(x: float, top: float, bottom: float, cap: float, colour: str, thick: float) -> str:
    d = f"M{x:.1f} {top:.1f}V{bottom:.1f}"
    if cap:
        d += f"M{x - cap:.1f} {top:.1f}h{2 * cap:.1f}M{x - cap:.1f} {bottom:.1f}h{2 * cap:.1f}"
    return tag("path", d=d, stroke=colour, stroke_width=thick, fill="none")


@dataclass(frozen=True)
class _Legend:
    """What colours and signs mean: drawn, where its last line ends, and how far below the first that is."""

    drawn: str
    x: float
    below: float


def _legend(named: Mapping[str, str], expert: bool, theirs: bool, left: float, right: float, *more: str) -> _Legend:
    """Colours, signs and other words in lines that end before `right`."""
    marks = {name: (18, tag("rect", width=12, height=12, fill=fill, fill_opacity=0.85)) for name, fill in named.items()}
    if expert:
        marks["our expert"] = (28, tag("path", d="M0 6h22", stroke=_EXPERT, **_DASHED))
    if theirs:
        marks["published"] = (16, tag("path", d="M5 1l5 5l-5 5l-5 -5Z", fill="#fff", stroke=INK, stroke_width=1.2))
    marks |= dict.fromkeys(more, (0, ""))
    parts, x, y = [], left, 42.0
    for name, (wide, mark) in marks.items():
        if x > left and x + wide + text_width(name, 12) > right:
            x, y = left, y + 20
        inside = mark + text(wide, 10, name, font_size=12)
        parts.append(tag("g", inside, transform=f"translate({x:.1f} {y - 10:.1f})"))
        x += wide + 24 + text_width(name, 12)
    return _Legend("".join(parts), x, y - 42)


# --------------------------------------------------------------------------- time against score


@dataclass(frozen=True)
class Point:
    """A score with its interval, at the seconds that it took."""

    label: str
    seconds: float
    score: Interval
    colour: str
    hollow: bool  # the low budget
    words: str


def scatter(
    title: str,
    points: Sequence[Point],
    legend: Mapping[str, str],
    line: float,
    lower_is_better: bool,
    width: float = WIDTH,
) -> str:
    """Seconds on a logarithmic axis against the score with its interval; the best corner is named."""
    ends = [end for point in points for end in (point.score.mean, point.score.low, point.score.high) if isfinite(end)]
    low, high = min([*ends, line]), max([*ends, line])
    air = 0.12 * (high - low) or 1.0
    low, high = low - air, high + air
    times = [log10(max(point.seconds, 1e-3)) for point in points]
    first, last = min(times) - 0.15, max(times) + 0.15
    left, right = 64.0, width - 12
    both = {point.hollow for point in points} == {True, False}
    signs = _legend(legend, True, False, left, right, *["hollow: low budget"] * both)
    top, bottom = 62.0 + signs.below, 340.0 + signs.below

    def at(seconds: float, score: float) -> tuple[float, float]:
        x = left + (log10(max(seconds, 1e-3)) - first) / (last - first) * (right - left)
        return x, bottom - (score - low) / (high - low) * (bottom - top)

    parts = [_frame(title, _ticks(low, high), lambda value: at(1.0, value)[1], left, right, 0.0)]
    for seconds in _times(10**first, 10**last):
        x = at(seconds, low)[0]
        parts.append(tag("path", d=f"M{x:.1f} {top}V{bottom}", stroke=GRID))
        parts.append(text(x, bottom + 16, f"{seconds:,g} s", font_size=11, fill=SOFT, text_anchor="middle"))
    y = at(1.0, line)[1]
    parts.append(tag("path", d=f"M{left} {y:.1f}H{right}", stroke=_EXPERT, **_DASHED))
    corner = bottom - 10 if lower_is_better else top + 16
    arrow = "↙ better" if lower_is_better else "↖ better"
    parts.append(signs.drawn + text(left + 8, corner, arrow, font_size=12, font_weight="bold"))
    return document(width, bottom + 26, f"{title} against seconds", *parts, *(_spot(point, at) for point in points))


def _spot(point: Point, at: Callable[[float, float], tuple[float, float]]) -> str:
    """A point with its whisker and, where there is no legend, its name."""
    x, y = at(point.seconds, point.score.mean)
    parts = []
    if isfinite(point.score.low):
        parts.append(_whisker(x, at(1, point.score.high)[1], at(1, point.score.low)[1], 6, point.colour, 1.8))
    look = {"fill": "#fff" if point.hollow else point.colour, "stroke": point.colour, "stroke_width": 2}
    parts.append(tag("circle", tag("title", escape(point.words)), cx=x, cy=y, r=5.5, **look))
    return "".join(parts) + (text(x + 12, y + 4, point.label, font_size=12) if point.label else "")


def _times(low: float, high: float) -> list[float]:
    """Round numbers of seconds on a logarithmic axis; a short one has those of a plain axis."""
    round_ones = [10.0**k * step for k in range(-3, 7) for step in (1, 2, 5)]
    within = [seconds for seconds in round_ones if low <= seconds <= high]
    return within if len(within) >= 3 else _ticks(low, high)


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers within an axis."""
    rough = (high - low) / 5
    scale = 10.0 ** floor(log10(rough))
    step = next(scale * k for k in (1, 2, 2.5, 5, 10) if scale * k >= rough * (1 - 1e-9))
    return [step * k for k in range(ceil(low / step), floor(high / step) + 1)]
