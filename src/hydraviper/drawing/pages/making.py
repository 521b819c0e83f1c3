"""How the trees were made: learning, budget, time, and how to make them again."""

from collections.abc import Mapping, Sequence
from html import escape
from math import isfinite

from hydraviper.data import STEPS
from hydraviper.drawing.charts import WIDTH, Segment, Series, column_chart, figure, line_chart, segment_bar, table
from hydraviper.drawing.pages.words import count
from hydraviper.drawing.svg import PALETTE
from hydraviper.records import Iteration, Plain, Selection, Summary
from hydraviper.trees.words import percent

TREES, QUIET = PALETTE[0], "#9aa5b1"
_MEANING = {  # what each step of the algorithm does
    "expert": "make an expert, since none was at hand",
    "partition": "put the agents into teams",
    "collect": "play the students' trees and ask the expert what it would have done",
    "resample": "weigh the samples by what a mistake would cost the team",
    "train": "grow the trees",
    "select": "play the trees of each iteration to find the best",
    "refine": "search for better thresholds and actions",
    "other": "loading, and what lies between the steps",
    "warmup": "the expert alone, to start the data",
    "valid": "choosing among the iterations' trees",
}


def learning(summary: Summary, ledger: Sequence[Iteration]) -> str:
    """How the trees of each iteration did, and which were chosen."""
    teams = summary.selection
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


def _selection(team: Selection, index: int, teams: int) -> str:
    """How one team's trees of each iteration did, and how often each was played."""
    means = [value if value is not None and isfinite(value) else None for value in team.means]
    if not any(value is not None for value in means):
        return ""
    colour = PALETTE[index % len(PALETTE)]
    wide = WIDTH if teams == 1 else WIDTH / 2
    chart = line_chart("Mean return per step (higher is better)", [Series("", means, colour, team.chosen)], width=wide)
    if any(team.pulls):
        chart += column_chart(
            "Episodes played to choose among the iterations", team.pulls, QUIET, team.chosen, width=wide
        )
    who = f"Team{'' if teams == 1 else f' {index + 1}'}: {', '.join(team.team)}."
    return figure(chart, f"{who} Iteration {team.chosen} was chosen.")


def _accuracy(ledger: Sequence[Iteration]) -> str:
    """How often the new trees agree with the expert, a line per agent; many agents get one bold mean."""
    names = list(dict.fromkeys(name for line in ledger for name in line.accuracy))
    if all(value is None for line in ledger for value in line.accuracy.values()):
        return ""
    columns = {name: [line.accuracy.get(name) for line in ledger] for name in names}
    title = "Agreement with the expert on the training data"
    if len(names) <= 6:
        lines = [Series(name, columns[name], PALETTE[k % len(PALETTE)]) for k, name in enumerate(names)]
        return line_chart(title, lines, as_percent=True)
    lines = [Series("", columns[name], QUIET, thin=True) for name in names]
    known = [[v for v in values if v is not None] for values in zip(*columns.values(), strict=True)]
    mean = [sum(values) / len(values) if values else None for values in known]
    return line_chart(title, [*lines, Series(f"mean of {len(names)}", mean, TREES)], as_percent=True)


def budget(summary: Summary, ledger: Sequence[Iteration]) -> str:
    """Where the episodes went."""
    rollouts = summary.rollouts
    if not rollouts:
        return ""
    colours = {"warmup": PALETTE[1], "train": PALETTE[0], "valid": PALETTE[2]}
    words = {"warmup": "warm-up", "train": "training", "valid": "validation"}
    meanings = {**_MEANING, "train": "students play, the expert labels what they see"}
    whole = sum(rollouts.values()) or 1
    pieces = [Segment(words.get(k) or k, n, colours.get(k, QUIET)) for k, n in rollouts.items()]
    rows = [[words.get(k, k), f"{n:,}", percent(n / whole), meanings.get(k, "")] for k, n in rollouts.items()]
    per_iteration = [line.rollouts for line in ledger]
    parts = [
        "<h2>Where the budget went</h2>",
        f"<p>{whole:,} episodes were played to make the trees. Those that an expert was made with, and those of the "
        "final measurement, are not among them.</p>",
        figure(segment_bar("Episodes by purpose", pieces)),
        table(("purpose", "episodes", "share", "for"), rows, numbers=2),
    ]
    if any(per_iteration):
        parts.append(figure(column_chart("Training episodes of each iteration", per_iteration, TREES)))
    samples = [line.samples for line in ledger if line.samples is not None]
    if samples:
        dropped = ledger[-1].dropped
        idle = f"; about as many as in {count(dropped, 'episode')} weigh little or nothing" if dropped else ""
        parts.append(f'<p class="soft">The last iteration had {samples[-1]:,} samples to learn from{idle}.</p>')
    return "\n".join(parts)


def seconds(summary: Summary) -> str:
    """Where the time went."""
    made = ["expert"] if summary.seconds.get("expert") else []
    steps = {step: summary.seconds.get(step, 0.0) for step in (*made, *STEPS)}
    total = max(summary.seconds.get("total", 0.0), sum(steps.values()))
    if total <= 0:
        return ""
    steps["other"] = total - sum(steps.values())
    colours = {step: PALETTE[k] for k, step in enumerate(STEPS)} | {"expert": PALETTE[len(STEPS)], "other": QUIET}
    rows = [[step, f"{spent:,.2f}", percent(spent / total), _MEANING[step]] for step, spent in steps.items()]
    rows.append(["total", f"{total:,.2f}", "100%", ""])
    segments = [Segment(step, spent, colours[step]) for step, spent in steps.items()]
    return "\n".join(
        [
            "<h2>Where the time went</h2>",
            "<p>The final measurement is not counted.</p>",
            figure(segment_bar("Seconds by step", segments)),
            table(("step", "seconds", "share", "to"), rows, numbers=2),
            *_memory(summary.megabytes),
        ]
    )


def _memory(megabytes: Mapping[str, float]) -> list[str]:
    """A sentence on the most memory that was held, if anybody looked."""
    if not megabytes.get("process"):
        return []
    workers = megabytes.get("workers", 0.0)
    beside = f", its workers together at most {workers:,.0f} MB" if workers else ""
    return [f'<p class="soft">The process held at most {megabytes["process"]:,.0f} MB of memory{beside}.</p>']


def again(summary: Summary) -> str:
    """What it takes to make the run again."""
    parts = ["<h2>How to make it again</h2>"]
    if summary.command:
        parts.append(f'<pre class="wrap">{escape(summary.command)}</pre>')
    facts = {
        "seed": summary.seed,
        "hydraviper version": summary.version,
        "expert's hash": summary.expert_hash,
        "folder": summary.out,
    }
    rows = [[label, str(value)] for label, value in facts.items() if value is not None]
    if rows:
        parts.append(table(("", ""), rows, numbers=0))
    if summary.settings:
        parts.append("<h3>Settings</h3>")
        values = [[name, _setting(value)] for name, value in summary.settings.items()]
        parts.append(table(("setting", "value"), values, numbers=0))
    return "\n".join(parts) if len(parts) > 1 else ""


def _setting(value: Plain) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    return f"{value:.10g}" if isinstance(value, float) else str(value)
