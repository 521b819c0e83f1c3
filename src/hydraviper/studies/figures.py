"""A study's figures as SVG: bars with intervals, time against score, seconds by step; published values beside ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isfinite, log10

from hydraviper.charts import GRID, WIDTH, fixed
from hydraviper.studies import statistics
from hydraviper.studies.published import Published
from hydraviper.studies.tables import STEPS, Row, by_game
from hydraviper.trees.render import INK, PALETTE, SOFT, document, number, tag, text, text_width

COLOURS = {"iviper": PALETTE[1], "maviper": PALETTE[2], "hydraviper": PALETTE[0], "imitation": PALETTE[7]}
_MORE = (PALETTE[3], PALETTE[5], PALETTE[6], PALETTE[1], PALETTE[2], PALETTE[7])
_EXPERT = PALETTE[6]


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


@dataclass(frozen=True)
class Figure:
    """A drawing with a line of text above it."""

    caption: str
    svg: str


def bars(rows: Sequence[Row]) -> list[Figure]:
    """For each game and expert, a bar per arm, grouped."""
    figures = []
    for (game, expert), own in by_game(rows).items():
        groups: dict[str, list[Row]] = {}
        for row in own:
            groups.setdefault(row.group, []).append(row)
        colours = _colours(own)
        drawn = [Group(name, tuple(_bar(row, colours[_look(row)]) for row in part)) for name, part in groups.items()]
        score, better = own[0].first["score"]["name"], "lower" if own[0].lower_is_better else "higher"
        named = own[0].arm.group == ""
        legend = {row.arm.name: colours[_look(row)] for row in own} if named else {}
        line = float(own[0].first["expert"]["mean"])
        svg = bar_chart(f"{score} ({better} is better)", drawn, legend, line, labels=not named)
        figures.append(Figure(_heading(game, expert), svg))
    return figures


def tradeoff(rows: Sequence[Row]) -> list[Figure]:
    """For each game and expert, seconds against score."""
    figures = []
    for (game, expert), own in by_game(rows).items():
        colours = _colours(own)
        better = "lower" if own[0].lower_is_better else "higher"
        svg = scatter(
            f"{own[0].first['score']['name']} ({better} is better)",
            [_point(row, colours[_look(row)]) for row in own],
            float(own[0].first["expert"]["mean"]),
            own[0].lower_is_better,
        )
        figures.append(Figure(f"{_heading(game, expert)}: seconds against score", svg))
    return figures


def steps(rows: Sequence[Row]) -> list[Figure]:
    """For each game and expert, the seconds of each step of each algorithm."""
    figures = []
    for (game, expert), own in by_game(rows).items():
        colours = _colours(own)
        groups = [
            Group(title, tuple(_step_bar(row, step, title, colours[_look(row)]) for row in own))
            for step, title in STEPS.items()
        ]
        legend = {row.arm.name: colours[_look(row)] for row in own}
        figures.append(Figure(_heading(game, expert), bar_chart("seconds", groups, legend, None, from_zero=True)))
    return figures


FIGURES: dict[str, Callable[[Sequence[Row]], list[Figure]]] = {"bars": bars, "tradeoff": tradeoff, "steps": steps}


def _heading(game: str, expert: str) -> str:
    return game if expert == "maddpg" else f"{game}, {expert} expert"


def _look(row: Row) -> str:
    """Arms of a named series look alike; others look like their name."""
    return row.arm.group or row.arm.name


def _colours(rows: Sequence[Row]) -> dict[str, str]:
    looks = list(dict.fromkeys(map(_look, rows)))
    others = iter(_MORE * len(looks))
    first = [PALETTE[0], PALETTE[2]] if rows[0].arm.group else []
    return {look: COLOURS.get(look) or (first.pop(0) if first else next(others)) for look in looks}


def _bar(row: Row, colour: str) -> Bar:
    score = statistics.t_interval(list(row.scores.values()))
    words = f"{row.arm.name}, {row.group}: {_words(score)}"
    if theirs := row.published:
        words += f"; published {theirs.mean:g} ± {theirs.ci95:g}"
    return Bar(row.arm.name, score.mean, score.low, score.high, colour, words, row.published)


def _step_bar(row: Row, step: str, title: str, colour: str) -> Bar:
    spent = statistics.t_interval(row.step(step))
    return Bar(
        row.arm.name, spent.mean, max(0.0, spent.low), spent.high, colour, f"{row.arm.name}, {title}: {_words(spent)} s"
    )


def _words(value: statistics.Interval) -> str:
    digits = 1 if abs(value.mean) >= 100 else 2
    interval = f" ± {fixed(value.half, digits)}" if isfinite(value.half) else ""
    return f"{fixed(value.mean, digits)}{interval} ({value.count} seed{'s' if value.count != 1 else ''})"


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
    """Grouped bars with intervals; hollow diamonds are published values, a dashed line is the expert."""
    drawn = [bar for group in groups for bar in group.bars]
    low, high, ticks = _axis(drawn, line, from_zero)
    left, right, top, bottom = 64.0, width - 12, 62.0, 312.0

    def at(value: float) -> float:
        return bottom - (min(max(value, low), high) - low) / (high - low) * (bottom - top)

    parts = [_frame(title, ticks, at, left, right, low)]
    slot = (right - left) / len(groups)
    wide = min(54.0, 0.82 * slot / max(len(group.bars) for group in groups))
    for k, group in enumerate(groups):
        middle = left + slot * (k + 0.5)
        start = middle - wide * len(group.bars) / 2
        for j, bar in enumerate(group.bars):
            parts.append(_draw(bar, start + wide * (j + 0.5), wide, at, bottom))
            if labels:
                x = start + wide * (j + 0.5)
                parts.append(text(x, bottom + 17, bar.label, font_size=12, text_anchor="middle"))
        below = bottom + (36 if labels else 20)
        parts.append(text(middle, below, group.label, font_size=12, fill=SOFT, text_anchor="middle"))
    if line is not None:
        dash = tag(
            "path",
            d=f"M{left:.1f} {at(line):.1f}H{right:.1f}",
            stroke=_EXPERT,
            stroke_dasharray="6 4",
            stroke_width=1.5,
        )
        parts.append(dash)
    parts.append(_legend(legend, line is not None, any(bar.published for bar in drawn), left))
    return document(width, bottom + (46 if labels else 30), title, *parts)


def _axis(drawn: Sequence[Bar], line: float | None, from_zero: bool) -> tuple[float, float, list[float]]:
    """Zero to the largest; where all are far from zero, only the part that matters.

    Published values that would dwarf ours are drawn at the edge.
    """
    ends = [end for bar in drawn for end in (bar.mean, bar.low, bar.high) if isfinite(end)]
    ends += [line] if line is not None else []
    top = max(ends)
    theirs = [bar.published.mean + side * bar.published.ci95 for bar in drawn if bar.published for side in (-1, 1)]
    ends += [value for value in theirs if value <= 2.2 * top]
    low, high = min(ends), max(ends)
    base = 0.0 if from_zero or low < 0.45 * high else low - 0.25 * (high - low)
    high += 0.06 * (high - base) or 1.0
    rough = (high - base) / 5
    scale = 10.0 ** floor(log10(rough))
    step = next(scale * k for k in (1, 2, 2.5, 5, 10) if scale * k >= rough * (1 - 1e-9))
    return base, high, [step * k for k in range(ceil(base / step), floor(high / step) + 1)]


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


def _draw(bar: Bar, x: float, wide: float, at: Callable[[float], float], bottom: float) -> str:
    """A bar, its interval, and the published value as a hollow diamond with a thin interval."""
    half = 0.42 * wide
    shape = {"x": x - half, "y": at(bar.mean), "width": 2 * half, "height": max(bottom - at(bar.mean), 0.8)}
    parts = [tag("rect", tag("title", escape(bar.words)), **shape, fill=bar.colour, fill_opacity=0.85)]
    cap = min(6.0, 0.5 * half)
    ours = x - 0.4 * half if bar.published else x
    if isfinite(bar.low) and isfinite(bar.high):
        parts.append(_whisker(ours, at(bar.high), at(bar.low), cap, INK, 1.6))
    if theirs := bar.published:
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


def _legend(named: Mapping[str, str], expert: bool, theirs: bool, left: float) -> str:
    parts, x, y = [], left, 42.0
    for name, colour in named.items():
        parts.append(tag("rect", x=x, y=y - 10, width=12, height=12, fill=colour, fill_opacity=0.85))
        parts.append(text(x + 18, y, name, font_size=12))
        x += 42 + text_width(name, 12)
    if expert:
        parts.append(
            tag("path", d=f"M{x:.1f} {y - 4:.1f}h22", stroke=_EXPERT, stroke_dasharray="6 4", stroke_width=1.5)
        )
        parts.append(text(x + 28, y, "our expert", font_size=12))
        x += 52 + text_width("our expert", 12)
    if theirs:
        parts.append(
            tag("path", d=f"M{x + 5:.1f} {y - 9:.1f}l5 5l-5 5l-5 -5Z", fill="#fff", stroke=INK, stroke_width=1.2)
        )
        parts.append(text(x + 16, y, "published", font_size=12))
    return "".join(parts)


# --------------------------------------------------------------------------- time against score


@dataclass(frozen=True)
class Point:
    """A score with its interval, at the seconds that it took."""

    label: str
    seconds: float
    score: statistics.Interval
    colour: str
    hollow: bool  # the low budget


def _point(row: Row, colour: str) -> Point:
    score = statistics.t_interval(list(row.scores.values()))
    seconds = statistics.t_interval(list(row.seconds.values())).mean
    label = row.arm.name if row.arm.group else f"{row.arm.name}, {row.budget}"
    return Point(label, seconds, score, colour, row.arm.level == "low/low")


def scatter(title: str, points: Sequence[Point], line: float, lower_is_better: bool, width: float = WIDTH) -> str:
    """Seconds on a logarithmic axis against the score with its interval; the best corner is named."""
    ends = [end for point in points for end in (point.score.mean, point.score.low, point.score.high) if isfinite(end)]
    low, high = min([*ends, line]), max([*ends, line])
    air = 0.12 * (high - low) or 1.0
    low, high = low - air, high + air
    times = [max(point.seconds, 1e-3) for point in points]
    first, last = log10(min(times)) - 0.12, log10(max(times)) + 0.35
    left, right, top, bottom = 64.0, width - 12, 40.0, 330.0

    def at(seconds: float, score: float) -> tuple[float, float]:
        x = left + (log10(max(seconds, 1e-3)) - first) / (last - first) * (right - left)
        return x, bottom - (score - low) / (high - low) * (bottom - top)

    rough = (high - low) / 5
    scale = 10.0 ** floor(log10(rough))
    step = next(scale * k for k in (1, 2, 2.5, 5, 10) if scale * k >= rough * (1 - 1e-9))
    ticks = [step * k for k in range(ceil(low / step), floor(high / step) + 1)]
    parts = [_frame(title, ticks, lambda value: at(1.0, value)[1], left, right, 0.0)]
    for seconds in (scale * k for scale in (10.0**k for k in range(-3, 7)) for k in (1, 2, 5)):
        if first <= log10(seconds) <= last:
            x = at(seconds, low)[0]
            parts.append(tag("path", d=f"M{x:.1f} {top}V{bottom}", stroke=GRID))
            parts.append(text(x, bottom + 16, f"{seconds:,g} s", font_size=11, fill=SOFT, text_anchor="middle"))
    y = at(1.0, line)[1]
    parts.append(tag("path", d=f"M{left} {y:.1f}H{right}", stroke=_EXPERT, stroke_dasharray="6 4", stroke_width=1.5))
    parts.append(text(right, y - 6, "our expert", font_size=12, fill=SOFT, text_anchor="end"))
    corner = bottom - 10 if lower_is_better else top + 16
    parts.append(
        text(left + 8, corner, "↙ better" if lower_is_better else "↖ better", font_size=12, font_weight="bold")
    )
    parts += _points(points, at)
    return document(width, bottom + 26, f"{title} against seconds", *parts)


def _points(points: Sequence[Point], at: Callable[[float, float], tuple[float, float]]) -> list[str]:
    """Points with whiskers, and names that keep out of each other's way."""
    parts, taken = [], []
    for point in sorted(points, key=lambda point: at(point.seconds, point.score.mean)[1]):
        x, y = at(point.seconds, point.score.mean)
        if isfinite(point.score.low):
            parts.append(_whisker(x, at(1, point.score.high)[1], at(1, point.score.low)[1], 6, point.colour, 1.8))
        fill = "#fff" if point.hollow else point.colour
        parts.append(tag("circle", cx=x, cy=y, r=5.5, fill=fill, stroke=point.colour, stroke_width=2))
        label_y = y + 4
        while any(abs(label_y - other) < 14 and abs(x - where) < 190 for where, other in taken):
            label_y += 3
        taken.append((x, label_y))
        parts.append(text(x + 12, label_y, point.label, font_size=12))
    return parts
