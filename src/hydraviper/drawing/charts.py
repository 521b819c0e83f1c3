"""Small charts as SVG, and tables and figures in HTML, for reports."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isfinite, log10
from typing import TypeVar

from hydraviper.data import Estimate
from hydraviper.drawing.svg import INK, SOFT, document, tag, text, text_width
from hydraviper.trees.words import number, percent

Named = TypeVar("Named")
GRID = "#e6e9ed"
WIDTH = 1024.0


@dataclass(frozen=True)
class Dot:
    """A mean with its interval."""

    mean: float
    ci95: float  # half the width of the interval; not a number if it is not known
    label: str  # the numbers as they are printed
    colour: str


@dataclass(frozen=True)
class DotRow:
    """A row of a dot plot."""

    label: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class Series:
    """A value per iteration, drawn as a line."""

    label: str
    values: Sequence[float | None]  # [iterations], None where it is not known
    colour: str
    chosen: int | None = None  # the iteration to mark, from 1
    thin: bool = False


@dataclass(frozen=True)
class Segment:
    """A piece of a segmented bar."""

    label: str
    size: float
    colour: str


def dot_plot(title: str, rows: Sequence[DotRow], lower_is_better: bool) -> str:
    """Means with their intervals, one row each, and which way is better."""
    left = 24 + max([text_width(row.label, 13) for row in rows])
    right = WIDTH - 24 - max([text_width(dot.label, 13) for row in rows for dot in row.dots])
    ends = [dot.mean + side * _known(dot.ci95) for row in rows for dot in row.dots for side in (-1, 1)]
    low, high, ticks = axis(min(ends), max(ends), 6)

    def at(value: float) -> float:
        return left + (value - low) / (high - low) * (right - left)

    parts, y = [], 34.0
    for row in rows:
        tall = max(30.0, 20.0 * len(row.dots) + 12)
        parts.append(text(left - 14, y + tall / 2 + 4.5, row.label, font_size=13, text_anchor="end"))
        parts.append(tag("path", d=f"M{left:.1f} {y + tall:.1f}H{right:.1f}", stroke=GRID))
        for k, dot in enumerate(row.dots):
            middle = y + tall / 2 + 20 * (k - (len(row.dots) - 1) / 2)
            parts.append(_dot(dot, at, middle) + text(right + 14, middle + 4.5, dot.label, font_size=13))
        y += tall
    for tick in ticks:
        parts.insert(0, tag("path", d=f"M{at(tick):.1f} 34V{y:.1f}", stroke=GRID))
        parts.append(text(at(tick), y + 16, tick_text(tick), font_size=11, fill=SOFT, text_anchor="middle"))
    hint, x, anchor = ("← better", left, "start") if lower_is_better else ("better →", right, "end")
    parts.append(text(x, 22, hint, font_size=12, font_weight="bold", text_anchor=anchor))
    middle = (left + right) / 2
    parts.append(text(middle, y + 34, title, font_size=12, fill=SOFT, text_anchor="middle"))
    return document(WIDTH, y + 44, f"{title}, {hint}", *parts)


def _dot(dot: Dot, at: Callable[[float], float], y: float) -> str:
    """The interval as a line with caps, the mean as a dot."""
    spread = _known(dot.ci95)
    start, end = at(dot.mean - spread), at(dot.mean + spread)
    whisker = f"M{start:.1f} {y:.1f}H{end:.1f}M{start:.1f} {y - 7:.1f}v14M{end:.1f} {y - 7:.1f}v14"
    shape = tag("path", d=whisker, stroke=dot.colour, stroke_width=2, fill="none") if spread > 0 else ""
    return shape + tag("circle", cx=float(at(dot.mean)), cy=y, r=4, fill=dot.colour)


def line_chart(title: str, series: Sequence[Series], as_percent: bool = False, width: float = WIDTH) -> str:
    """Values per iteration, the chosen iteration ringed; every series has its name at the right end."""
    count = max(len(one.values) for one in series)
    seen = [value for one in series for _, value in _points(one)]
    low, high, ticks = axis(min(seen), max(seen), 4)
    named = [one for one in series if one.label]
    left, right = 60.0, width - 22 - max([text_width(one.label, 12) for one in named], default=0)
    top, bottom = 36.0, 184.0

    def at(iteration: int, value: float) -> tuple[float, float]:
        return left + (iteration - 0.5) * (right - left) / count, bottom - (value - low) / (high - low) * (bottom - top)

    parts = [text(4, 18, title, font_size=13, font_weight="bold")]
    for tick in ticks:
        y = at(1, tick)[1]
        parts.append(tag("path", d=f"M{left:.1f} {y:.1f}H{right:.1f}", stroke=GRID))
        label = percent(tick) if as_percent else tick_text(tick)
        parts.append(text(left - 8, y + 4, label, font_size=11, fill=SOFT, text_anchor="end"))
    for iteration in _some(count):
        x = at(iteration, low)[0]
        parts.append(text(x, bottom + 16, str(iteration), font_size=11, fill=SOFT, text_anchor="middle"))
    parts.append(text((left + right) / 2, bottom + 31, "iteration", font_size=11, fill=SOFT, text_anchor="middle"))
    parts += [_path(one, at, as_percent) for one in series]
    ends = [(at(*known[-1])[1], one) for one in named if (known := _points(one))]
    for y, one in spread(ends, 14):
        parts.append(text(right + 6, y + 4, one.label, font_size=12, fill=INK))
        parts.append(tag("path", d=f"M{right - 4:.1f} {y:.1f}h7", stroke=one.colour, stroke_width=3))
    return document(width, bottom + 36, title, *parts)


def _points(series: Series) -> list[tuple[int, float]]:
    return [(k, value) for k, value in enumerate(series.values, start=1) if value is not None and isfinite(value)]


def _path(series: Series, at: Callable[[int, float], tuple[float, float]], as_percent: bool) -> str:
    """The line of a series, interrupted where values are missing, its points, and the ring around the chosen one."""
    d, last = "", None
    for iteration, value in _points(series):
        x, y = at(iteration, value)
        d += f"{'L' if last == iteration - 1 else 'M'}{x:.1f} {y:.1f}"
        last = iteration
    thick = 1 if series.thin else 2
    parts = [tag("path", d=d, fill="none", stroke=series.colour, stroke_width=thick, stroke_linejoin="round")]
    for iteration, value in _points(series):
        x, y = at(iteration, value)
        shown = percent(value) if as_percent else number(value, 4)
        tooltip = tag("title", escape(f"{series.label or 'iteration'} {iteration}: {shown}"))
        size = 1.2 if series.thin else 2.6
        parts.append(tag("circle", tooltip, cx=x, cy=y, r=size, fill=series.colour))
        if iteration == series.chosen:
            parts.append(tag("circle", cx=x, cy=y, r=7, fill="none", stroke=INK, stroke_width=2))
            beside = {"x": x, "y": y - 12, "text_anchor": "middle", "font_size": 11, "font_weight": "bold"}
            parts.append(tag("text", f"chosen: {iteration}", **beside))
    return "".join(parts)


def column_chart(
    title: str, values: Sequence[float], colour: str, chosen: int | None = None, width: float = WIDTH
) -> str:
    """A column per iteration, the chosen one outlined."""
    left, right, top, bottom = 60.0, width - 22, 34.0, 96.0
    most = max([*values, 1e-12])
    step = (right - left) / len(values)
    parts = [text(4, 18, title, font_size=13, font_weight="bold")]
    for y, label in ((top, number(most)), (bottom, "0")):
        parts.append(tag("path", d=f"M{left:.1f} {y:.1f}H{right:.1f}", stroke=GRID))
        parts.append(text(left - 8, y + 4, label, font_size=11, fill=SOFT, text_anchor="end"))
    for k, value in enumerate(values):
        high = (bottom - top) * value / most
        tooltip = tag("title", escape(f"iteration {k + 1}: {value:,g}"))
        shape = {"x": left + step * (k + 0.14), "y": bottom - high, "width": step * 0.72, "height": max(high, 0.5)}
        edge = {"stroke": INK, "stroke_width": 2} if k + 1 == chosen else {}
        parts.append(tag("rect", tooltip, **shape, **edge, fill=colour))
        if k + 1 in _some(len(values)):
            x = left + step * (k + 0.5)
            parts.append(text(x, bottom + 16, str(k + 1), font_size=11, fill=SOFT, text_anchor="middle"))
    parts.append(text((left + right) / 2, bottom + 31, "iteration", font_size=11, fill=SOFT, text_anchor="middle"))
    return document(width, bottom + 38, title, *parts)


def segment_bar(title: str, segments: Sequence[Segment]) -> str:
    """One bar in coloured segments, with a legend below that gives each one's share."""
    whole = sum(one.size for one in segments) or 1.0
    drawn, x, legend_x, y = [], 4.0, 4.0, 60.0
    for one in (one for one in segments if one.size > 0):
        wide = (WIDTH - 8) * one.size / whole
        share = percent(one.size / whole)
        tooltip = tag("title", escape(f"{one.label}: {share}"))
        shape = {"x": x, "y": 8, "width": max(wide - 1, 0.5), "height": 28, "fill": one.colour}
        drawn.append(tag("rect", tooltip, **shape))
        long = 34 + text_width(f"{one.label} {share}", 12)
        if legend_x > 4 and legend_x + long > WIDTH:
            legend_x, y = 4.0, y + 18
        drawn.append(tag("rect", x=legend_x, y=y - 10, width=11, height=11, fill=one.colour))
        drawn.append(text(legend_x + 17, y, f"{one.label} {share}", font_size=12))
        x, legend_x = x + wide, legend_x + long
    return document(WIDTH, y + 10, title, *drawn)


def _known(value: float) -> float:
    return value if isfinite(value) else 0.0


def axis(low: float, high: float, about: int) -> tuple[float, float, list[float]]:
    """The two ends of an axis that leaves a little room around the values, and about so many round numbers on it."""
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):
        low, high = low - 0.05 * (abs(low) or 1), high + 0.05 * (abs(high) or 1)
    air = 0.06 * (high - low)
    low, high = low - air, high + air
    rough = (high - low) / about
    scale = 10.0 ** floor(log10(rough))
    step = next(scale * k for k in (1, 2, 2.5, 5, 10) if scale * k >= rough * (1 - 1e-9))
    return low, high, [step * k for k in range(ceil(low / step), floor(high / step) + 1)]


def tick_text(value: float) -> str:
    """A number at an axis."""
    return number(value, 6).replace("-", "−")


def _some(count: int) -> list[int]:
    """Which iterations to write at an axis: all if they are few."""
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, count) if count <= 20 * step)
    return list(range(1, count + 1)) if step == 1 else [1, *range(step, count + 1, step)]


def spread(ends: Sequence[tuple[float, Named]], apart: float) -> list[tuple[float, Named]]:
    """Move labels apart that would overlap, given as pairs of a height and whatever belongs to it."""
    placed = sorted(ends, key=lambda end: end[0])
    ys = [y for y, _ in placed]
    for k in range(1, len(ys)):
        ys[k] = max(ys[k], ys[k - 1] + apart)
    lift = (ys[-1] - placed[-1][0]) / 2 if ys else 0.0
    return [(y - lift, label) for y, (_, label) in zip(ys, placed, strict=True)]


# --------------------------------------------------------------------------- around the charts


def figure(svg: str, caption: str = "") -> str:
    """A drawing in a page, with a line of text above it."""
    words = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{words}{scrolling(inline(svg), caption or 'A chart')}</figure>"


def scrolling(content: str, label: str) -> str:
    """Something wide in an element that scrolls where a page is narrow, also by keyboard."""
    return f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(label)}">{content}</div>'


def inline(svg: str) -> str:
    """An SVG without its namespace, which HTML does not need, so that the page holds no address at all."""
    return svg.replace(' xmlns="http://www.w3.org/2000/svg"', "")


def width_of(svg: str) -> float:
    """How wide a drawing wants to be."""
    return size_of_drawing(svg)[0]


def size_of_drawing(svg: str) -> tuple[float, float]:
    """How wide and how high a drawing wants to be."""
    wide, high = (svg.partition(f' {side}="')[2].partition('"')[0] for side in ("width", "height"))
    return float(wide), float(high)


class Marked(str):
    """The words of a table's cell that must catch the eye."""

    __slots__ = ()


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: int | None = None) -> str:
    """An HTML table whose first column names the rows; the next `numbers` columns (default: all) hold numbers."""
    count = len(heads) - 1 if numbers is None else numbers

    def cell(kind: str, column: int, words: str) -> str:
        kinds = ["n"] * (0 < column <= count) + ["bad"] * isinstance(words, Marked)
        looks = f' class="{" ".join(kinds)}"' if kinds else ""
        return f"<{kind}{looks}>{escape(words)}</{kind}>"

    head = "".join(cell("th", k, words) for k, words in enumerate(heads))
    body = "".join(
        "<tr>" + "".join(cell("td" if k else "th", k, words) for k, words in enumerate(row)) + "</tr>" for row in rows
    )
    head = f"<thead><tr>{head}</tr></thead>" if any(heads) else ""
    return scrolling(f"<table>{head}<tbody>{body}</tbody></table>", "A table")


def places(estimates: Sequence[Estimate]) -> int:
    """Decimals to print: those of the smallest interval's leading digit, one more if that is 1 or 2."""
    widths = [one.ci95 for one in estimates if one.ci95 > 0 and isfinite(one.ci95)]
    if not widths:
        means = [abs(one.mean) for one in estimates if one.mean and isfinite(one.mean)]
        return max(0, 2 - floor(log10(max(means)))) if means else 0
    exponent = floor(log10(min(widths)))
    leading = min(widths) / 10.0**exponent
    return max(0, -exponent + (1 if leading < 2.95 else 0))


def fixed(value: float, digits: int) -> str:
    """A number with so many decimals and separators of thousands, never -0."""
    return f"{round(value, digits) + 0.0:,.{digits}f}"  # adding zero turns -0.0 into 0.0
