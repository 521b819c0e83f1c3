"""The report of a run: one self-contained HTML page that needs no other file and no documentation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from math import hypot, isfinite
from typing import Any

from hydraviper.charts import (
    WIDTH,
    Dot,
    Line,
    Part,
    Row,
    column_chart,
    dot_plot,
    figure,
    fixed,
    inline,
    interval,
    line_chart,
    part_bar,
    places,
    plus_minus,
    table,
    width_of,
)
from hydraviper.data import STEPS, Agent
from hydraviper.trees.render import PALETTE, percent, size_of, to_svg, to_text
from hydraviper.trees.tree import Tree

TREES, EXPERT, YARDSTICK, QUIET = PALETTE[0], PALETTE[6], PALETTE[7], "#9aa5b1"
_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")

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

_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: #fff; color: #1a1d21; font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 40px 28px 64px; }
header { border-bottom: 1px solid #dfe3e8; padding-bottom: 24px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 4px; }
h2 { font-size: 21px; margin: 48px 0 8px; }
h3 { font-size: 16px; margin: 28px 0 4px; }
p { margin: 6px 0 12px; max-width: 76ch; }
.kind { color: #5b6470; margin: 0 0 18px; }
.verdict { font-size: 20px; line-height: 1.45; margin: 0 0 6px; }
.soft, figcaption { color: #5b6470; }
.facts { display: flex; flex-wrap: wrap; gap: 12px; margin: 22px 0 0; padding: 0; list-style: none; }
.facts li { flex: 1 1 150px; background: #f5f7f9; border-radius: 8px; padding: 12px 16px; }
.facts b { display: block; font-size: 21px; line-height: 1.3; }
.facts span { color: #5b6470; font-size: 14px; }
.notes { background: #fff8e6; border-left: 4px solid #e69f00; padding: 10px 18px; margin: 26px 0 0; }
.notes ul { margin: 4px 0; padding-left: 20px; }
figure { margin: 14px 0 22px; break-inside: avoid; }
figure svg { display: block; max-width: 100%; height: auto; }
.tree { border: 1px solid #dfe3e8; border-radius: 8px; padding: 8px; overflow-x: auto; }
.tree svg { margin: 0 auto; }
@media screen { .tree.wide { position: relative; left: 50%; transform: translateX(-50%); width: 96vw; } }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 0 32px; }
table { border-collapse: collapse; margin: 8px 0 16px; font-variant-numeric: tabular-nums; break-inside: avoid; }
th, td { text-align: left; padding: 5px 22px 5px 0; border-bottom: 1px solid #e6e9ed; vertical-align: top; }
thead th { color: #5b6470; font-weight: 600; font-size: 14px; }
tbody th { font-weight: 500; }
td.n, th.n { text-align: right; white-space: nowrap; }
td { overflow-wrap: anywhere; }
pre { background: #f5f7f9; border-radius: 8px; padding: 12px 16px; overflow-x: auto; font-size: 13px; }
pre.wrap { white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin: 10px 0 0; }
summary { cursor: pointer; color: #0063a0; }
footer { margin-top: 56px; color: #5b6470; font-size: 14px; border-top: 1px solid #dfe3e8; padding-top: 12px; }
@media screen and (max-width: 760px) {
  main { padding: 24px 16px; } .pair { grid-template-columns: 1fr; }
  figure { overflow-x: auto; } figure svg { min-width: 660px; } .tree svg { max-width: none; }
}
@media print {
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  body { font-size: 11pt; } main { max-width: none; padding: 0; } details { display: none; }
  h2, h3 { break-after: avoid; } .tree { border: none; padding: 0; overflow: visible; }
  .tree svg { max-height: 115mm; } .pair { grid-template-columns: 1fr 1fr; } pre { white-space: pre-wrap; }
}
"""


def render_report(
    summary: Mapping[str, Any],
    agents: Sequence[Agent],
    trees: Sequence[Tree],
    ledger: Sequence[Mapping[str, Any]],
    notes: Sequence[str],
) -> str:
    """The whole page as text: verdict, scores, every tree, learning curve, budget, time, settings."""
    title = f"{summary.get('game', 'game')}: {summary.get('algorithm', 'trees')}"
    sections = [
        _header(summary, trees),
        _notes(notes),
        _scores(summary, len(trees)),
        _refined(summary),
        _trees(agents, trees),
        _learning(summary, ledger),
        _budget(summary, ledger),
        _time(summary),
        _again(summary),
    ]
    version = summary.get("version")
    footer = (
        f"<footer>Made by hydraviper{' ' + escape(str(version)) if version else ''}. This page needs no other file."
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(filter(None, sections))
        + f"\n{footer}</footer>\n</main>\n</body>\n</html>\n"
    )


# --------------------------------------------------------------------------- heading


def _header(summary: Mapping[str, Any], trees: Sequence[Tree]) -> str:
    rollouts, seconds = summary.get("rollouts") or {}, summary.get("seconds") or {}
    leaves, depth = sum(tree.leaves for tree in trees), max(tree.depth for tree in trees)
    size = f"{leaves:,} {'leaf' if leaves == 1 else 'leaves'}"
    facts = [(size, f"in {_count(len(trees), 'tree')}, at most {_count(depth, 'question')} deep")]
    if rollouts:
        facts.append((f"{sum(rollouts.values()):,} episodes", "played to make the trees"))
    if seconds.get("total") is not None:
        facts.append((_duration(seconds["total"]), "from start to end"))
    known = [value for value in (tree.fidelity for tree in trees) if isfinite(value)]
    if known:
        facts.append((percent(sum(known) / len(known)), "of the training data where trees and expert agree"))
    items = "".join(f"<li><b>{escape(value)}</b><span>{escape(meaning)}</span></li>" for value, meaning in facts)
    game, algorithm = escape(str(summary.get("game", "A game"))), escape(str(summary.get("algorithm") or "hydraviper"))
    return (
        f"<header>\n<h1>{game}</h1>\n"
        f'<p class="kind">A trained policy as decision trees that people can read, made with <b>{algorithm}</b></p>\n'
        f'<p class="verdict">{escape(verdict(summary, len(trees)))}</p>\n<ul class="facts">{items}</ul>\n</header>'
    )


def verdict(summary: Mapping[str, Any], tree_count: int) -> str:
    """The outcome in words, with the numbers."""
    score, expert = summary.get("score") or {}, summary.get("expert") or {}
    if score.get("mean") is None:
        return "The trees have not been scored."
    ours, theirs = interval(score), interval(expert)
    who = "The tree scores" if tree_count == 1 else f"The {_count(tree_count, 'tree')} score"
    digits = places([score, expert] if theirs else [score])
    way = "lower is better" if score.get("lower_is_better") else "higher is better"
    words = f"{who} {plus_minus(score, digits)} {score.get('name', '')}".rstrip()
    words += f", the expert {plus_minus(expert, digits)}" if theirs else ""
    words += f" ({way})"
    episodes = int(score.get("episodes") or 0)
    words += f", over {episodes:,} unseen episode{'s' if episodes != 1 else ''}." if episodes else "."
    if not ours or not theirs or not isfinite(ours[1] + theirs[1]):
        return words
    gap = (ours[0] - theirs[0]) * (-1 if score.get("lower_is_better") else 1)
    if abs(gap) <= hypot(ours[1], theirs[1]):
        return f"{words} That is too close to call."
    ahead = "expert is" if gap < 0 else "tree is" if tree_count == 1 else "trees are"
    return f"{words} The {ahead} ahead by {fixed(abs(gap), digits)}."


def _notes(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'<aside class="notes"><b>Good to know</b><ul>{items}</ul></aside>'


# --------------------------------------------------------------------------- scores


def _scores(summary: Mapping[str, Any], tree_count: int) -> str:
    score, expert = summary.get("score") or {}, summary.get("expert") or {}
    ours = "this tree" if tree_count == 1 else "these trees"
    yardsticks = summary.get("yardsticks") or {}
    rated = [(ours, score, TREES), ("expert", expert, EXPERT)]
    rated += [(name, value, YARDSTICK) for name, value in yardsticks.items()]
    rated = [(name, value, colour) for name, value, colour in rated if interval(value)]
    if not rated:
        return ""
    lower, digits = bool(score.get("lower_is_better")), places([score, expert])
    rows = [Row(name, (_dot(value, colour, digits),)) for name, value, colour in rated]
    words = [f"Mean {score.get('name', 'score')} of an episode."]
    if any(isfinite(dot.ci95) for row in rows for dot in row.dots):
        words.append("The lines are 95% intervals: where two of them are apart, the difference is hardly chance.")
    if yardsticks:
        words.append("Yardsticks in grey are simple policies, to compare with.")
    parts = [
        "<h2>How good the trees are</h2>",
        f"<p>{escape(' '.join(words))}</p>",
        figure(dot_plot(str(score.get("name", "score")), rows, lower)),
        _opponents(summary.get("opponents") or {}, score, lower),
        _measures(summary.get("measures") or {}),
    ]
    return "\n".join(filter(None, parts))


def _opponents(opponents: Mapping[str, Any], score: Mapping[str, Any], lower: bool) -> str:
    rows = []
    for name, sides in opponents.items():
        known = [(who, sides[who]) for who in ("trees", "expert") if interval(sides.get(who) or {})]
        digits = places([value for _, value in known])
        colours = {"trees": TREES, "expert": EXPERT}
        dots = tuple(_dot(value, colours[who], digits, f"{who} ") for who, value in known)
        rows += [Row(f"against {name}", dots)] if dots else []
    if not rows:
        return ""
    return (
        "<h3>Against other opponents</h3>\n<p>The same trees and expert when the other side plays a fixed script."
        f"</p>\n{figure(dot_plot(str(score.get('name', 'score')), rows, lower))}"
    )


def _measures(measures: Mapping[str, Any]) -> str:
    columns = list(dict.fromkeys(["trees", "expert", *(who for sides in measures.values() for who in sides)]))
    rows = []
    for name, sides in measures.items():
        known = [sides.get(who) or {} for who in columns]
        digits = places([value for value in known if interval(value)])
        rows.append([name, *(plus_minus(value, digits) if interval(value) else "–" for value in known)])
    return "<h3>What else was measured</h3>\n" + table(("", *columns), rows) if rows else ""


def _dot(value: Mapping[str, Any], colour: str, digits: int, prefix: str = "") -> Dot:
    mean, ci95 = interval(value) or (0.0, 0.0)
    return Dot(mean, ci95, prefix + plus_minus(value, digits), colour)


# --------------------------------------------------------------------------- trees


def _trees(agents: Sequence[Agent], trees: Sequence[Tree]) -> str:
    parts = [
        f"<h2>{'The tree' if len(trees) == 1 else 'The trees'}</h2>",
        "<p>Start at the top and answer each question about what the agent sees: yes goes left, no goes right. "
        "The coloured box at the end is what it does. Rest the pointer on a box for the whole path and the counts.</p>",
    ]
    for agent, tree in zip(agents, trees, strict=True):
        svg = inline(to_svg(agent, tree))
        wide = width_of(svg) > WIDTH  # may stick out of the column of text
        style = f' wide" style="max-width: {width_of(svg) + 20:.0f}px' if wide else ""
        parts.append(
            f'<figure class="tree{style}">{svg}</figure>\n'
            f"<details><summary>{escape(agent.name)} as text ({size_of(tree)})</summary>"
            f"<pre>{escape(to_text(agent, tree))}</pre></details>"
        )
    return "\n".join(parts)


# --------------------------------------------------------------------------- learning


def _learning(summary: Mapping[str, Any], ledger: Sequence[Mapping[str, Any]]) -> str:
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


# --------------------------------------------------------------------------- budget, time, settings


def _budget(summary: Mapping[str, Any], ledger: Sequence[Mapping[str, Any]]) -> str:
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
        idle = f"; about as many as in {_count(dropped, 'episode')} weigh little or nothing" if dropped else ""
        parts.append(f'<p class="soft">The last iteration had {int(samples[-1]):,} samples to learn from{idle}.</p>')
    return "\n".join(parts)


def _refined(summary: Mapping[str, Any]) -> str:
    """What the search for better trees gained."""
    refined = summary.get("refined")
    if not refined:
        return ""
    unseen, held = refined["unseen"], refined["held_out"]
    rows = [
        [
            words,
            plus_minus(part["before"], 2),
            plus_minus(part["after"], 2),
            plus_minus(part["gain"], 2),
            f"{part['episodes']:,}",
        ]
        for words, part in (("unseen episodes", unseen), ("held-out episodes of the search", held))
    ]
    spent = refined["spent"]
    outcome = (
        f"The best trees came from: {refined['start']}."
        if refined["kept"]
        else "Nothing better was found, so the trees are those that the search was given."
    )
    return "\n".join(
        [
            "<h2>Refined</h2>",
            f"<p>After imitating the expert, the trees were changed directly for a better score: {spent['rollouts']:,} "
            f"episodes in {_duration(spent['seconds'])}. {escape(outcome)} The gain is paired: the same episodes "
            "before and after; positive is better.</p>",
            table(("measured on", "before", "after", "gain", "episodes"), rows, numbers=4),
        ]
    )


def _time(summary: Mapping[str, Any]) -> str:
    seconds = summary.get("seconds") or {}
    steps = {step: float(seconds.get(step) or 0.0) for step in STEPS}
    total = max(float(seconds.get("total") or 0.0), sum(steps.values()))
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


def _again(summary: Mapping[str, Any]) -> str:
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


# --------------------------------------------------------------------------- words and numbers


def _count(count: int, noun: str) -> str:
    words = _COUNTS[count] if count < len(_COUNTS) else f"{count:,}"
    return f"{words} {noun}{'' if count == 1 else 's'}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} seconds"
    return f"{seconds / 60:.1f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"


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
