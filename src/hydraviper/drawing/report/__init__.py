"""The report of a run: one self-contained HTML page that needs no other file and no documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import hypot, isfinite
from typing import Any

from hydraviper.data import Agent, Team
from hydraviper.drawing.charts import (
    WIDTH,
    Dot,
    Row,
    dot_plot,
    figure,
    fixed,
    inline,
    interval,
    places,
    plus_minus,
    table,
    width_of,
)
from hydraviper.drawing.icons import draw_icons
from hydraviper.drawing.maps import draw_map
from hydraviper.drawing.report import beyond, making
from hydraviper.drawing.report.style import STYLE
from hydraviper.drawing.report.words import count, duration
from hydraviper.drawing.svg import PALETTE
from hydraviper.drawing.timeline import time_chart
from hydraviper.drawing.trees import to_svg
from hydraviper.protocols import Drawing
from hydraviper.trees.tree import Tree
from hydraviper.trees.words import percent, size_of, to_text

TREES, EXPERT, YARDSTICK = PALETTE[0], PALETTE[6], PALETTE[7]


def render_report(
    summary: Mapping[str, Any],
    agents: Sequence[Agent],
    trees: Sequence[Tree],
    ledger: Sequence[Mapping[str, Any]],
    notes: Sequence[str],
    drawing: Drawing | None = None,
    teams: Sequence[Team] = (),
) -> str:
    """The whole page as text: verdict, scores, a map if there is one, every tree, learning, budget, time, settings.

    `drawing` is the game's geometry, `teams` are those of the map.
    """
    drawing = drawing or Drawing()
    title = f"{summary.get('game', 'game')}: {summary.get('algorithm', 'trees')}"
    sections = [
        _header(summary, trees),
        _notes(notes),
        _scores(summary, len(trees)),
        beyond.refined(summary),
        beyond.constraints(summary),
        _map(summary, drawing, teams),
        _trees(agents, trees, drawing),
        making.learning(summary, ledger),
        making.budget(summary, ledger),
        making.seconds(summary),
        making.again(summary),
    ]
    version = summary.get("version")
    footer = (
        f"<footer>Made by hydraviper{' ' + escape(str(version)) if version else ''}. This page needs no other file."
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(filter(None, sections))
        + f"\n{footer}</footer>\n</main>\n</body>\n</html>\n"
    )


# --------------------------------------------------------------------------- heading


def _header(summary: Mapping[str, Any], trees: Sequence[Tree]) -> str:
    rollouts, seconds = summary.get("rollouts") or {}, summary.get("seconds") or {}
    facts = [_size(trees)] if trees else []
    if rollouts:
        facts.append((f"{sum(rollouts.values()):,} episodes", "played to make the trees"))
    if seconds.get("total") is not None:
        facts.append((duration(seconds["total"]), "from start to end"))
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


def _size(trees: Sequence[Tree]) -> tuple[str, str]:
    leaves, depth = sum(tree.leaves for tree in trees), max(tree.depth for tree in trees)
    size = f"{leaves:,} {'leaf' if leaves == 1 else 'leaves'}"
    return size, f"in {count(len(trees), 'tree')}, at most {count(depth, 'question')} deep"


def verdict(summary: Mapping[str, Any], tree_count: int) -> str:
    """The outcome in words, with the numbers."""
    score, expert = summary.get("score") or {}, summary.get("expert") or {}
    if score.get("mean") is None:
        return "The trees have not been scored."
    ours, theirs = interval(score), interval(expert)
    who = (
        "The tree scores" if tree_count == 1 else f"The {count(tree_count, 'tree') if tree_count else 'students'} score"
    )
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
    paired = interval(summary.get("difference") or {})  # older runs know the two intervals alone
    if abs(gap) <= (paired[1] if paired else hypot(ours[1], theirs[1])):
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
        _over_time(summary),
        _opponents(summary.get("opponents") or {}, score, lower),
        _measures(summary.get("measures") or {}),
    ]
    return "\n".join(filter(None, parts))


def _over_time(summary: Mapping[str, Any]) -> str:
    through = summary.get("over_time") or {}
    if not through.get("policies"):
        return ""
    episodes = int((summary.get("score") or {}).get("episodes") or 0)
    name = str((summary.get("score") or {}).get("name", "score"))
    words = f"The {name} after each step, on the same {episodes:,} episodes. A line that climbs and stays up is a jam."
    if smoothed := through.get("smoothed_minutes"):
        words += f" Signals make queues come and go, so each episode is smoothed over {smoothed:g} minutes."
    chart = time_chart(name.capitalize(), through)
    return f"<h3>Through the episode</h3>\n<p>{escape(words)}</p>\n{figure(chart)}"


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


def _map(summary: Mapping[str, Any], drawing: Drawing, teams: Sequence[Team]) -> str:
    if drawing.road_map is None:
        return ""
    groups = len(summary.get("teams") or ())
    words = "Every agent where it is, with its number."
    if groups > 1:
        words += f" The agents of each of the {count(groups, 'team')} share a colour and a shape."
    svg = draw_map(drawing.road_map(), teams)
    return f'<h2>The map</h2>\n<p>{escape(words)}</p>\n<figure class="map">{inline(svg)}</figure>'


def _trees(agents: Sequence[Agent], trees: Sequence[Tree], drawing: Drawing) -> str:
    if not trees:
        return (
            "<h2>The students</h2>\n<p>Each is made of several trees, which nobody reads as one: distill with "
            "<code>--learner tree</code> for trees that people can read, check and change.</p>"
        )
    parts = [
        f"<h2>{'The tree' if len(trees) == 1 else 'The trees'}</h2>",
        "<p>Start at the top and answer each question about what the agent sees: yes goes left, no goes right. "
        "The coloured box at the end is what it does. Rest the pointer on a box for the whole path and the counts.</p>",
    ]
    for agent, tree in zip(agents, trees, strict=True):
        intersection = drawing.intersections.get(agent.name)
        icons = None if intersection is None else draw_icons(intersection)
        svg = inline(to_svg(agent, tree, icons))
        wide = width_of(svg) > WIDTH  # may stick out of the column of text
        kind = "tree pictured" if icons else "tree"
        style = f' wide" style="max-width: {width_of(svg) + 20:.0f}px' if wide else ""
        parts.append(
            f'<figure class="{kind}{style}">{svg}</figure>\n'
            f"<details><summary>{escape(agent.name)} as text ({size_of(tree)})</summary>"
            f"<pre>{escape(to_text(agent, tree))}</pre></details>"
        )
    return "\n".join(parts)
