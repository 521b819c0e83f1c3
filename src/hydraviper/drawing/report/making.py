"""How the trees were made: learning, budget, time, and how to make them again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from math import isfinite
from typing import Any

from hydraviper.data import STEPS
from hydraviper.drawing.charts import WIDTH, Line, Part, column_chart, figure, line_chart, part_bar, table
from hydraviper.drawing.report.words import count
from hydraviper.drawing.svg import PALETTE
from hydraviper.trees.words import percent

TREES, QUIET = PALETTE[0], "#9aa5b1"
_MEANING = {  # what each step of the algorithm does
    "partition": "put the agents into teams",
    "collect": "play the students' trees and ask the expert what it would have done",
    "resample": "weigh the samples by what a mistake would cost the team",
    "train": "grow the trees",
    "select": "play the trees of each iteration to find the best",
    "refine": "search for better thresholds and actions",
    "other": "loading, the final measurement, writing files",
    "warmup": "the expert alone, to start the data",
    "valid": "choosing among the iterations' trees",
}


def learning(summary: Mapping[str, Any], ledger: Sequence[Mapping[str, Any]]) -> str:
    """How the trees of each iteration did, and which were chosen."""
    teams = summary.get("selection") or []
    figures = [drawn for k, team in enumerate(teams) if (drawn := _selection(team, k, len(teams)))]
    accuracy = _accuracy(ledger)
    if not figures and not accuracy:
        return ""
    parts = ["<h2>How they were learned</h2>"]
    if figures:
        parts.append(
            "<p>Each iteration grows new trees from all data so far. Then the trees of all iterations are played; "
            "those that look better are played more often, and the best is chosen.</p>"
        )
        parts.append(f'<div class="pair">{"".join(figures)}</div>' if len(figures) > 1 else figures[0])
    if accuracy:
        parts.append(figure(accuracy))
    return "\n".join(parts)


def _selection(team: Mapping[str, Any], index: int, teams: int) -> str:
    """How one team's trees of each iteration did, and how often each was played."""
    means = [value if value is not None and isfinite(value) else None for value in team.get("means") or []]
    if not any(value is not None for value in means):
        return ""
    names, colour, chosen = list(team.get("team") or []), PALETTE[index % len(PALETTE)], team.get("chosen")
    wide = WIDTH if teams == 1 else WIDTH / 2
    chart = line_chart("Mean return per step (higher is better)", [Line("", means, colour, chosen)], width=wide)
    pulls = [int(value or 0) for value in team.get("pulls") or []]
    if any(pulls):
        chart += column_chart("Episodes played to choose among the iterations", pulls, QUIET, chosen, width=wide)
    who = f"Team{'' if teams == 1 else f' {index + 1}'}: {', '.join(map(str, names))}."
    return figure(chart, f"{who} Iteration {chosen} was chosen." if chosen is not None else who)


def _accuracy(ledger: Sequence[Mapping[str, Any]]) -> str:
    """How often the new trees agree with the expert, a line per agent; many agents get one bold mean."""
    names = list(dict.fromkeys(name for line in ledger for name in line.get("accuracy") or {}))
    if not names or all(value is None for line in ledger for value in (line.get("accuracy") or {}).values()):
        return ""
    columns = {name: [(line.get("accuracy") or {}).get(name) for line in ledger] for name in names}
    title = "Agreement with the expert on the training data"
    if len(names) <= 6:
        lines = [Line(name, columns[name], PALETTE[k % len(PALETTE)]) for k, name in enumerate(names)]
        return line_chart(title, lines, as_percent=True)
    lines = [Line("", columns[name], QUIET, thin=True) for name in names]
    known = [[v for v in values if v is not None] for values in zip(*columns.values(), strict=True)]
    mean = [sum(values) / len(values) if values else None for values in known]
    return line_chart(title, [*lines, Line(f"mean of {len(names)}", mean, TREES)], as_percent=True)


def budget(summary: Mapping[str, Any], ledger: Sequence[Mapping[str, Any]]) -> str:
    """Where the episodes went."""
    rollouts = summary.get("rollouts") or {}
    if not rollouts:
        return ""
    colours = {"warmup": PALETTE[1], "train": PALETTE[0], "valid": PALETTE[2]}
    words = {"warmup": "warm-up", "train": "training", "valid": "validation"}
    meanings = {**_MEANING, "train": "students play, the expert labels what they see"}
    whole = sum(rollouts.values()) or 1
    pieces = [Part(words.get(k) or k, n, colours.get(k, QUIET)) for k, n in rollouts.items()]
    rows = [[words.get(k, k), f"{n:,}", percent(n / whole), meanings.get(k, "")] for k, n in rollouts.items()]
    per_iteration = [int(line.get("rollouts") or 0) for line in ledger]
    parts = [
        "<h2>Where the budget went</h2>",
        f"<p>{whole:,} episodes were played to make the trees (the final measurement is not among them).</p>",
        figure(part_bar("Episodes by purpose", pieces)),
        table(("purpose", "episodes", "share", "for"), rows, numbers=2),
    ]
    if any(per_iteration):
        parts.append(figure(column_chart("Training episodes of each iteration", per_iteration, TREES)))
    samples = [line["samples"] for line in ledger if line.get("samples") is not None]
    if samples:
        dropped = int(ledger[-1].get("dropped") or 0)
        idle = f"; about as many as in {count(dropped, 'episode')} weigh little or nothing" if dropped else ""
        parts.append(f'<p class="soft">The last iteration had {int(samples[-1]):,} samples to learn from{idle}.</p>')
    return "\n".join(parts)


def seconds(summary: Mapping[str, Any]) -> str:
    """Where the time went."""
    spent_on = summary.get("seconds") or {}
    steps = {step: float(spent_on.get(step) or 0.0) for step in STEPS}
    total = max(float(spent_on.get("total") or 0.0), sum(steps.values()))
    if total <= 0:
        return ""
    steps["other"] = total - sum(steps.values())
    colours = {step: PALETTE[k] for k, step in enumerate(STEPS)} | {"other": QUIET}
    rows = [[step, f"{spent:,.2f}", percent(spent / total), _MEANING[step]] for step, spent in steps.items()]
    rows.append(["total", f"{total:,.2f}", "100%", ""])
    return "\n".join(
        [
            "<h2>Where the time went</h2>",
            figure(part_bar("Seconds by step", [Part(step, spent, colours[step]) for step, spent in steps.items()])),
            table(("step", "seconds", "share", "to"), rows, numbers=2),
        ]
    )


def again(summary: Mapping[str, Any]) -> str:
    """What it takes to make the run again."""
    parts = ["<h2>How to make it again</h2>"]
    if summary.get("command"):
        parts.append(f'<pre class="wrap">{escape(str(summary["command"]))}</pre>')
    facts = [("seed", "seed"), ("hydraviper version", "version"), ("expert's hash", "expert_hash"), ("folder", "out")]
    rows = [[label, str(summary[key])] for label, key in facts if summary.get(key) is not None]
    if rows:
        parts.append(table(("", ""), rows, numbers=0))
    settings = summary.get("settings") or {}
    if settings:
        parts.append("<h3>Settings</h3>")
        parts.append(table(("setting", "value"), [[name, _setting(v)] for name, v in settings.items()], numbers=0))
    return "\n".join(parts) if len(parts) > 1 else ""


def _setting(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    return (
        f"{value:.10g}"
        if isinstance(value, float)
        else value
        if isinstance(value, str)
        else json.dumps(value, default=str)
    )
