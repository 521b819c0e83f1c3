"""A study's figures by matplotlib: scores with intervals, time against score, seconds by step.

Text stays text and the same rows give the same file, byte for byte. matplotlib is imported when a figure is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from math import isfinite
from typing import TYPE_CHECKING, Any

from hydraviper.data import Estimate
from hydraviper.studies.design import BASELINES, OURS, PAPERS, titled
from hydraviper.studies.rows import STEPS, Row, by_game

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: dict[Any, Any] = {
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.edgecolor": "#5b6470",
    "grid.color": "#e6e9ed",
    "xtick.color": "#5b6470",
    "xtick.labelcolor": "#1a1d21",
    "ytick.color": "#5b6470",
    "ytick.labelcolor": "#1a1d21",
    "legend.frameon": False,
    "svg.fonttype": "none",  # text, not outlines
    "svg.hashsalt": "hydraviper",  # otherwise names inside the file are random
    "pdf.fonttype": 42,
}
INK, SOFT, BLUE, EXPERT = "#1a1d21", "#5b6470", "#0072b2", "#d55e00"
# Okabe and Ito's colours, which colour-blind people tell apart; the expert's line has the eighth
COLOURS = (BLUE, "#e69f00", "#009e73", "#cc79a7", "#56b4e9", INK, "#8c8c8c")
MARKERS = "osD^vPX"
FIRST = (OURS, PAPERS, *BASELINES, "imitation")  # arms that look the same in every figure
WIDTH, LINE = 9.2, 0.24  # inches; the height of a row's line


@dataclass(frozen=True)
class Drawing:
    """A figure with a line of text above it."""

    caption: str
    figure: Figure

    @property
    def name(self) -> str:
        """A file's name, without an ending."""
        return re.sub(r"[^a-z0-9]+", "-", self.caption.lower()).strip("-")

    def save(self, format: str) -> bytes:
        """The figure as a file: svg, pdf or png."""
        dates = {
            "svg": {"Date": None, "Creator": None},
            "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
        }
        file = BytesIO()
        with style():
            self.figure.savefig(file, format=format, metadata=dates.get(format), bbox_inches="tight", pad_inches=0.05)
        return file.getvalue()

    @property
    def svg(self) -> str:
        """The figure for a page: without a head of its own, and without names that nothing refers to."""
        text = self.save("svg").decode()
        text = re.sub(r"\s*<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
        text = re.sub(r">\s+<", "><", text)
        used = set(re.findall(r"#([\w.-]+)", text))
        return re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", text)


@contextmanager
def style() -> Iterator[None]:
    """Draw and save in the one style that all figures have."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        yield


@style()
def scores(rows: Sequence[Row]) -> list[Drawing]:
    """For each game and expert, a line per arm: the mean score with its interval, the published one, the expert's.

    Where the paper measures something else, a second figure shows that.
    """
    drawings = []
    for (game, expert), game_rows in by_game(rows).items():
        drawings.append(Drawing(titled(game, expert), _scores(game_rows)))
        if beside := [other for row in game_rows if (other := row.as_published)]:
            drawings.append(Drawing(f"{titled(game, expert)}: {beside[0].measure}", _scores(beside)))
    return drawings


def _scores(rows: Sequence[Row]) -> Figure:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    figure, axes = _figure(len(rows) + len(groups))
    labels: list[tuple[str, bool]] = []  # words, whether they head a group
    low, high = _span(rows)
    for group, members in groups.items():
        labels.append((group if members[0].arm.group else f"{group} rollouts", True))
        for row in members:
            y = len(labels)
            labels.append((row.arm.name, False))
            _interval(axes, row.score, y - 0.14 * bool(row.published), BLUE, "o", filled=True)
            if row.published:
                _published(axes, row.published, y + 0.2, low, high)
    axes.set_yticks(range(len(labels)), [words for words, _ in labels])
    for tick, (_, is_head) in zip(axes.get_yticklabels(), labels, strict=True):
        tick.set_fontweight("bold" if is_head else "normal")
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlim(low, high)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(rows[0].score_name)
    axes.plot([], [], "o", color=BLUE, label="ours")
    if any(row.published for row in rows):
        axes.plot([], [], "D", mfc="white", mec=INK, ms=4.5, label="published")
    _expert(axes, rows[0], vertical=True)
    _legend(axes, 3)
    return figure


def _span(rows: Sequence[Row]) -> tuple[float, float]:
    """The axis: all of ours and the expert; published values that would dwarf them are left outside."""
    ours = [rows[0].expert_score.mean]
    ours += [end for row in rows for end in (row.score.mean, row.score.low, row.score.high) if isfinite(end)]
    middle, reach = (min(ours) + max(ours)) / 2, max(max(ours) - min(ours), 0.05 * abs(max(ours)), 1e-9)
    theirs = [end for row in rows if (told := row.published) for end in (told.low, told.high)]
    ends = ours + [end for end in theirs if abs(end - middle) <= 2 * reach]
    air = 0.06 * (max(ends) - min(ends)) or 1.0
    return min(ends) - air, max(ends) + air


def _published(axes: Axes, value: Estimate, y: float, low: float, high: float) -> None:
    """A hollow diamond with its interval; beyond the axis, an arrow with the number."""
    if low <= value.mean <= high:
        _interval(axes, value, y, INK, "D", filled=False)
        return
    right = value.mean > high
    edge = high if right else low
    axes.plot([edge], [y], ">" if right else "<", mfc="white", mec=INK, ms=5, clip_on=False)
    axes.annotate(
        f"{value.mean:,.0f}", (edge, y), (-6 if right else 6, 0), textcoords="offset points", fontsize=7.5,
        ha="right" if right else "left", va="center",
    )  # fmt: skip


@style()
def tradeoff(rows: Sequence[Row]) -> list[Drawing]:
    """For each game and expert, seconds against score."""
    return [
        Drawing(f"{titled(game, expert)}: seconds against score", _tradeoff(game_rows))
        for (game, expert), game_rows in by_game(rows).items()
    ]


def _tradeoff(rows: Sequence[Row]) -> Figure:
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    figure, axes = _figure(15)
    looks = _looks(rows)
    both = {row.arm.level == "low/low" for row in rows} == {True, False}
    for row in rows:
        filled = not both or row.arm.level != "low/low"
        _interval(axes, row.score, row.spent().mean, *looks[row.name], filled, vertical=True)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("seconds")
    axes.set_ylabel(rows[0].score_name)
    for name, (colour, marker) in looks.items():
        axes.plot([], [], marker, color=colour, label=name)
    if both:
        axes.plot([], [], "o", mfc="white", mec=INK, label="hollow: low budget")
    _expert(axes, rows[0], vertical=False)
    _legend(axes, 3)
    return figure


def _looks(rows: Sequence[Row]) -> dict[str, tuple[str, str]]:
    """A colour and a marker for each arm; where there are more arms than colours, markers tell them apart."""
    names = dict.fromkeys(row.name for row in rows)
    order = [*FIRST, *(name for name in names if name not in FIRST)] if names.keys() & set(FIRST) else list(names)
    count = len(COLOURS)
    looks = {name: (COLOURS[k % count], MARKERS[(k + k // count) % count]) for k, name in enumerate(order)}
    return {name: looks[name] for name in names}


@style()
def step_seconds(rows: Sequence[Row]) -> list[Drawing]:
    """For each game, expert and budget, the seconds of each step of each algorithm as bars from 0."""
    drawings = []
    for (game, expert), game_rows in by_game(rows).items():
        for budget in dict.fromkeys(row.budget for row in game_rows):
            same_budget = [row for row in game_rows if row.budget == budget]
            drawings.append(Drawing(f"{titled(game, expert)}: seconds by step, {budget} rollouts", _steps(same_budget)))
    return drawings


def _steps(rows: Sequence[Row]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure((WIDTH, LINE * len(rows) + 0.7))
    panels = figure.subplots(1, len(STEPS), sharey=True, gridspec_kw={"wspace": 0.12})
    for axes, (step, title) in zip(panels, STEPS.items(), strict=True):
        spent = [row.spent(step) for row in rows]
        errors = [value.ci95 if isfinite(value.ci95) else 0.0 for value in spent]
        downs = [min(error, value.mean) for error, value in zip(errors, spent, strict=True)]
        bars: dict[str, Any] = {"height": 0.6, "color": BLUE, "alpha": 0.85, "ecolor": INK}
        axes.barh(range(len(rows)), [value.mean for value in spent], xerr=[downs, errors], **bars)
        axes.set_xlim(left=0)
        axes.set_title(f"{title}, s", fontsize=9)
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
        axes.locator_params(axis="x", nbins=4)
    panels[0].set_yticks(range(len(rows)), [row.arm.name for row in rows])
    panels[0].invert_yaxis()
    return figure


def _figure(lines: int) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure((WIDTH, LINE * lines + 0.8))
    return figure, figure.subplots()


def _interval(
    axes: Axes, value: Estimate, at: float, colour: str, marker: str, filled: bool, vertical: bool = False
) -> None:
    """A mean as a marker, its interval as a line with caps."""
    half = value.ci95 if isfinite(value.ci95) else None
    look: dict[str, Any] = {"fmt": marker, "color": colour, "ms": 5 if filled else 4.5, "capsize": 2.5, "lw": 1.2}
    look |= {"mfc": colour if filled else "white", "mec": colour}
    if vertical:
        axes.errorbar([at], [value.mean], yerr=half, **look)
    else:
        axes.errorbar([value.mean], [at], xerr=half, **look)


def _expert(axes: Axes, row: Row, vertical: bool) -> None:
    draw = axes.axvline if vertical else axes.axhline
    draw(row.expert_score.mean, color=EXPERT, ls=(0, (5, 3)), lw=1.2, label="our expert")


def _legend(axes: Axes, columns: int) -> None:
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2, handletextpad=0.5)
