"""A study's figures: bars with intervals, time against score, seconds by step; published values beside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite

from hydraviper.drawing.charts import fixed
from hydraviper.drawing.svg import PALETTE
from hydraviper.studies import statistics
from hydraviper.studies.design import OURS, PAPERS, titled
from hydraviper.studies.drawing import Bar, Group, Point, bar_chart, scatter
from hydraviper.studies.tables import STEPS, Row, by_game
from hydraviper.trees.words import number

COLOURS = {"iviper": PALETTE[1], "maviper": PALETTE[2], PAPERS: PALETTE[5], OURS: PALETTE[0], "imitation": PALETTE[7]}
_MORE = (PALETTE[3], PALETTE[6], PALETTE[4], PALETTE[7], PALETTE[1], PALETTE[2])


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
        names = list(dict.fromkeys(row.arm.name for row in own))
        # more arms than colours are numbered
        number_of = {name: str(k) for k, name in enumerate(names, 1)} if len(names) > len(PALETTE) else {}
        drawn = [
            Group(name, tuple(_bar(row, colours[_look(row)], number_of.get(row.arm.name)) for row in part))
            for name, part in groups.items()
        ]
        score, better = own[0].first["score"]["name"], "lower" if own[0].lower_is_better else "higher"
        named = own[0].arm.group == ""
        legend = {f"{number_of.get(row.arm.name, '')} {row.arm.name}".strip(): colours[_look(row)] for row in own}
        line = float(own[0].first["expert"]["mean"])
        shown = f"{score} ({better} is better)"
        svg = bar_chart(shown, drawn, legend if named else {}, line, labels=not named or bool(number_of))
        figures.append(Figure(titled(game, expert), svg))
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
            {} if own[0].arm.group else {row.arm.name: colours[_look(row)] for row in own},
            float(own[0].first["expert"]["mean"]),
            own[0].lower_is_better,
        )
        figures.append(Figure(f"{titled(game, expert)}: seconds against score", svg))
    return figures


def steps(rows: Sequence[Row]) -> list[Figure]:
    """For each game, expert and budget, the seconds of each step of each algorithm."""
    figures = []
    for (game, expert), all_rows in by_game(rows).items():
        colours = _colours(all_rows)
        for budget in dict.fromkeys(row.budget for row in all_rows):
            own = [row for row in all_rows if row.budget == budget]
            groups = [
                Group(title, tuple(_step_bar(row, step, title, colours[_look(row)]) for row in own))
                for step, title in STEPS.items()
            ]
            legend = {row.arm.name: colours[_look(row)] for row in own}
            drawn = bar_chart("seconds", groups, legend, None, from_zero=True)
            figures.append(Figure(f"{titled(game, expert)}: seconds by step, {budget} rollouts", drawn))
    return figures


FIGURES: dict[str, Callable[[Sequence[Row]], list[Figure]]] = {"bars": bars, "tradeoff": tradeoff, "steps": steps}


def _look(row: Row) -> str:
    """Arms of a named series look alike; others look like their name."""
    return row.arm.group or row.arm.name


def _colours(rows: Sequence[Row]) -> dict[str, str]:
    looks = list(dict.fromkeys(map(_look, rows)))
    others = iter(_MORE * len(looks))
    first = [PALETTE[0], PALETTE[2]] if rows[0].arm.group else []
    return {look: COLOURS.get(look) or (first.pop(0) if first else next(others)) for look in looks}


def _bar(row: Row, colour: str, label: str | None = None) -> Bar:
    score = statistics.t_interval(list(row.scores.values()))
    words = f"{row.arm.name}, {row.group}: {_words(score)}"
    if theirs := row.published:
        words += f"; published {theirs.mean:g} ± {theirs.ci95:g}"
    return Bar(label or row.arm.name, score.mean, score.low, score.high, colour, words, row.published)


def _step_bar(row: Row, step: str, title: str, colour: str) -> Bar:
    spent = statistics.t_interval(list(row.step(step).values()))
    return Bar(
        row.arm.name, spent.mean, max(0.0, spent.low), spent.high, colour, f"{row.arm.name}, {title}: {_words(spent)} s"
    )


def _point(row: Row, colour: str) -> Point:
    score = statistics.t_interval(list(row.scores.values()))
    seconds = statistics.t_interval(list(row.seconds.values())).mean
    words = f"{row.arm.name}, {row.group}: {_words(score)}, {number(seconds)} s"
    return Point(row.arm.name if row.arm.group else "", seconds, score, colour, row.arm.level == "low/low", words)


def _words(value: statistics.Interval) -> str:
    digits = 1 if abs(value.mean) >= 100 else 2
    interval = f" ± {fixed(value.half, digits)}" if isfinite(value.half) else ""
    return f"{fixed(value.mean, digits)}{interval} ({value.count} seed{'s' if value.count != 1 else ''})"
