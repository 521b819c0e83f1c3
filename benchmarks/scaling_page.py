"""The table and the picture of docs/scaling.md, from the points that `python -m benchmarks.scaling` has measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

DOCS = Path(__file__).resolve().parents[1] / "docs"
BEGIN, END = "<!-- measured: python -m benchmarks.scaling -->", "<!-- end -->"
PAPER = "<!-- reckoned: python -m benchmarks.scaling -->"
CITIES = {"Greater London": 6_000, "New York": 13_250}  # signals, as their operators tell
EPISODES, STEPS_OF_AN_HOUR, IN_ONE_GO = 210, 720, 10  # the low budget for signals: warm-up, training and validation
ITERATIONS = 100
WAITS = 17  # episodes that follow one another: in 13 iterations of a corridor's low budget, and in 4 rounds of a race
FEATURES, DERIVED = 17, 2  # of a signal of the grids
STEPS = ("collect", "resample", "train", "select")
# What a series is called, against what it is drawn, its points' first word, and how its seconds are counted.
SERIES = (
    ("navigation", "agents", "agents of cooperative navigation, teams of at most 3"),
    ("grid", "agents", "signals of a grid"),
    ("samples", "samples", "samples, 3 navigators"),
    ("team", "joint_actions", "joint actions of a team, 6 navigators"),
)


def write(points: Mapping[str, Any]) -> None:
    """Put the tables into docs/scaling.md, and the picture beside it."""
    page = DOCS / "scaling.md"
    if page.exists() and BEGIN in (text := page.read_text()):
        head, _, rest = text.partition(BEGIN)
        rest = rest.partition(END)[2]
        text = f"{head}{BEGIN}\n\n{tables(points)}\n{END}{rest}"
        head, _, rest = text.partition(PAPER)
        page.write_text(f"{head}{PAPER}\n\n{on_paper(points)}\n{END}{rest.partition(END)[2]}" if rest else text)
    if any(of(points, name) for name, _, _ in SERIES):
        draw(points, DOCS / "images" / "scaling.svg")


def of(points: Mapping[str, Any], name: str) -> list[Any]:
    """The points of a series, in order."""
    return [point for key, point in points.items() if key.split()[0] == name]


def cost(point: Any, step: str, axis: str) -> float:
    """Milliseconds of a step, per sample or rollout where the axis is not the number of samples."""
    per = 1 if axis == "samples" else point["rollouts"]["valid"] if step == "select" else point["samples"]
    return 1000 * point["seconds"][step] / max(per, 1)


def exponent(points: list[Any], step: str, axis: str, half: bool = False) -> float | None:
    """The power with which the cost of a step grows, by least squares of logarithms; `half`: over the upper half."""
    points = points[len(points) // 2 :] if half else points
    pairs = [(point[axis], cost(point, step, axis)) for point in points if step in point["seconds"]]
    pairs = [(x, y) for x, y in pairs if y > 0]
    if len(pairs) < 2:
        return None
    x, y = np.log(np.array(pairs)).T
    return float(np.polyfit(x, y, 1)[0])


def tables(points: Mapping[str, Any]) -> str:
    """A table for each series, with the exponents as its last rows."""
    parts = []
    for name, axis, title in SERIES:
        series = of(points, name)
        if not series:
            continue
        steps = [step for step in STEPS if step in series[0]["seconds"]]
        per = {
            step: "" if axis == "samples" else " per rollout" if step == "select" else " per sample" for step in steps
        }
        cells = [f"{step}, ms{per[step]}" for step in steps] + [f"{step}, MB" for step in steps]
        parts += [f"**{title[0].upper()}{title[1:]}**", ""]
        parts += [f"| {axis.replace('_', ' ')} | {' | '.join(cells)} |", "|---" * (len(cells) + 1) + "|"]
        for point in series:
            numbers = [_words(cost(point, step, axis)) for step in steps]
            numbers += [f"{point['megabytes'][step]:,.0f}" for step in steps]
            parts.append(f"| {point[axis]:,} | {' | '.join(numbers)} |")
        for words, half in (("exponent", False), ("of the upper half", True)):
            found = [exponent(series, step, axis, half) for step in steps]
            numbers = ["" if one is None else f"{one:.2f}" for one in found] + [""] * len(steps)
            parts.append(f"| *{words}* | {' | '.join(numbers)} |")
        parts.append("")
    return "\n".join(parts)


def on_paper(points: Mapping[str, Any]) -> str:
    """What the low budget would take for whole cities, by the rates of the largest grid and the exponents fitted."""
    grids = of(points, "grid")
    if len(grids) < 2 or not of(points, "samples"):
        return ""
    largest, rows = grids[-1], (EPISODES // 2 + IN_ONE_GO // 2) * STEPS_OF_AN_HOUR
    lines = ["| | " + " | ".join(f"{city}, {signals:,} signals" for city, signals in CITIES.items()) + " |"]
    lines.append("|---" * (len(CITIES) + 1) + "|")

    def hours(step: str, signals: int) -> float:
        growth = max(1.0, exponent(grids, step, "agents") or 1.0)
        return cost(largest, step, "agents") / 3_600_000 * (signals / largest["agents"]) ** growth

    def row(words: str, number: Any) -> None:
        lines.append(f"| {words} | " + " | ".join(_words(number(signals)) for signals in CITIES.values()) + " |")

    row("an episode of an hour, core hours", lambda n: hours("collect", n) * STEPS_OF_AN_HOUR)
    row(f"all {EPISODES} episodes, core hours", lambda n: hours("collect", n) * STEPS_OF_AN_HOUR * EPISODES)
    row(f"{WAITS} episodes one after another, hours", lambda n: hours("collect", n) * STEPS_OF_AN_HOUR * WAITS)
    row("weights of all samples, core hours", lambda n: hours("resample", n) * rows)
    most = of(points, "samples")[-1]  # a grid's short episodes tell little of trees that grow on many samples
    tree = most["seconds"]["train"] / most["samples"] / most["agents"] / 3600
    row(f"trees of {ITERATIONS} iterations, core hours", lambda n: tree * n * rows * ITERATIONS / 2)
    size = FEATURES * 4 + (FEATURES + DERIVED) * 5 + 16  # observations, again with derived ones and bins, action, count
    row("samples, GB", lambda n: rows * n * size / 1e9)
    return "\n".join(lines) + "\n"


def _words(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def draw(points: Mapping[str, Any], path: Path) -> None:
    """Seconds above, memory below, a column for each series."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "scaling", "svg.fonttype": "none", "font.size": 8}):
        shown = [one for one in SERIES if of(points, one[0])]
        figure = Figure(figsize=(3.1 * len(shown), 5.2), layout="constrained")
        axes = figure.subplots(2, len(shown), squeeze=False)
        for column, (name, axis, title) in enumerate(shown):
            series = of(points, name)
            for number, step in enumerate(STEPS):
                if step not in series[0]["seconds"]:
                    continue
                x = [point[axis] for point in series]
                look = {"marker": "o", "markersize": 3, "label": step, "color": f"C{number}"}
                axes[0, column].plot(x, [cost(point, step, axis) for point in series], **look)
                axes[1, column].plot(x, [point["megabytes"][step] for point in series], **look)
            axes[0, column].set(title=title.replace(", ", ",\n"), xscale="log", yscale="log")
            axes[1, column].set(xlabel=axis.replace("_", " "), xscale="log", ylim=(0, None))
            for one in axes[:, column] if axis == "agents" else ():
                one.set_xticks([point[axis] for point in series], [str(point[axis]) for point in series])
                one.minorticks_off()
            axes[0, column].set_ylabel("ms" if axis == "samples" else "ms per sample (select: rollout)")
            axes[1, column].set_ylabel("most memory, MB")
        axes[0, 0].legend()
        figure.savefig(path, metadata={"Date": None})
