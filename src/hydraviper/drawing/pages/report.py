"""The report of a run: one self-contained HTML page that needs no other file and no documentation."""

from collections.abc import Sequence
from html import escape
from math import isfinite

from hydraviper.data import Agent, Team
from hydraviper.drawing.charts import WIDTH, inline, width_of
from hydraviper.drawing.icons import draw_icons
from hydraviper.drawing.maps import draw_map
from hydraviper.drawing.pages import beyond, making
from hydraviper.drawing.pages.episode import Film, episode
from hydraviper.drawing.pages.scores import more_scores, scores, verdict
from hydraviper.drawing.pages.streets import streets
from hydraviper.drawing.pages.style import page
from hydraviper.drawing.pages.words import count, duration
from hydraviper.drawing.trees import to_svg
from hydraviper.protocols import Drawing
from hydraviper.records import Iteration, Summary
from hydraviper.trees.text import to_text
from hydraviper.trees.tree import Tree
from hydraviper.trees.words import percent, size_of


def render_report(
    summary: Summary,
    *,
    agents: Sequence[Agent] = (),
    trees: Sequence[Tree] = (),
    ledger: Sequence[Iteration] = (),
    notes: Sequence[str] = (),
    drawing: Drawing | None = None,
    teams: Sequence[Team] = (),
    foremost: Sequence[str] = (),
    film: Film | None = None,
) -> str:
    """The whole page as text: verdict, scores, every tree, streets, then all that explains them.

    `drawing` is the game's geometry, `teams` are those of the map, `foremost` the measures that stand beside the
    score, `film` shows an episode.
    """
    drawing = drawing or Drawing()
    sections = [
        _header(summary, trees),
        _notes(notes),
        scores(summary, len(trees), foremost),
        _trees(agents, trees, drawing),
        streets(summary),
        beyond.refined(summary),
        beyond.constraints(summary),
        _map(summary, drawing, teams),
        episode(film),
        more_scores(summary, foremost),
        making.learning(summary, ledger),
        making.budget(summary, ledger),
        making.seconds(summary),
        making.again(summary),
    ]
    return page(f"{summary.game}: {summary.algorithm}", "\n".join(filter(None, sections)), summary.version)


def _header(summary: Summary, trees: Sequence[Tree]) -> str:
    facts = [_size(trees)] if trees else []
    if summary.rollouts:
        facts.append((f"{sum(summary.rollouts.values()):,} episodes", "played to make the trees"))
    if "total" in summary.seconds:
        facts.append((duration(summary.seconds["total"]), "from start to end"))
    agreements = [value for value in (tree.fidelity for tree in trees) if isfinite(value)]
    if agreements:
        facts.append((percent(sum(agreements) / len(agreements)), "of the training data where trees and expert agree"))
    items = "".join(f"<li><b>{escape(value)}</b><span>{escape(meaning)}</span></li>" for value, meaning in facts)
    return (
        f"<header>\n<h1>{escape(summary.game)}</h1>\n"
        '<p class="kind">A trained policy as decision trees that people can read, made with '
        f"<b>{escape(summary.algorithm)}</b></p>\n"
        f'<p class="verdict">{escape(verdict(summary, len(trees)))}</p>\n<ul class="facts">{items}</ul>\n</header>'
    )


def _size(trees: Sequence[Tree]) -> tuple[str, str]:
    leaves, depth = sum(tree.leaves for tree in trees), max(tree.depth for tree in trees)
    size = f"{leaves:,} {'leaf' if leaves == 1 else 'leaves'}"
    return size, f"in {count(len(trees), 'tree')}, at most {count(depth, 'question')} deep"


def _notes(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'<aside class="notes"><b>Good to know</b><ul>{items}</ul></aside>'


def _map(summary: Summary, drawing: Drawing, teams: Sequence[Team]) -> str:
    if drawing.road_map is None:
        return ""
    words = "Every agent where it is, with its number."
    if len(summary.teams) > 1:
        words += f" The agents of each of the {count(len(summary.teams), 'team')} share a colour and a shape."
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
