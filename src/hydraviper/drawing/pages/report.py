"""The report of a run: one self-contained HTML page that needs no other file and no documentation."""

from collections.abc import Sequence
from html import escape
from math import isfinite

from hydraviper.data import Agent, Team
from hydraviper.drawing import panels, stages
from hydraviper.drawing.charts import inline, scrolling
from hydraviper.drawing.maps import draw_map
from hydraviper.drawing.pages import beyond, making
from hydraviper.drawing.pages import episode as episodes
from hydraviper.drawing.pages.episode import Episode, player
from hydraviper.drawing.pages.scores import more_scores, scores, verdict
from hydraviper.drawing.pages.streets import streets
from hydraviper.drawing.pages.style import page
from hydraviper.drawing.pages.words import count, duration
from hydraviper.drawing.panels import panel, script, tree_panels
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
    episode: Episode | None = None,
) -> str:
    """The whole page as text: verdict, every tree beside an episode, scores, then all that explains them.

    `drawing` is the game's geometry, `teams` are those of the map, `foremost` the measures that stand beside the
    score; a game that has such measures is judged by them before its trees are read. `episode` is one that plays.
    """
    drawing = drawing or Drawing()
    rated = scores(summary, len(trees), foremost)
    shown, style = trees_beside(agents, trees, drawing, episode) if trees else (_UNREADABLE, "")
    sections = [
        _header(summary, trees),
        _notes(notes),
        *((rated, shown) if foremost else (shown, rated)),
        streets(summary),
        beyond.refined(summary),
        beyond.constraints(summary),
        _map(summary, drawing, teams),
        more_scores(summary, foremost),
        making.learning(summary, ledger),
        making.budget(summary, ledger),
        making.seconds(summary),
        making.again(summary),
    ]
    body = "\n".join(filter(None, sections))
    return page(f"{summary.title}: {summary.algorithm}", body, summary.version, style)


def _header(summary: Summary, trees: Sequence[Tree]) -> str:
    facts = [_size(trees)] if trees else []
    if summary.rollouts:
        facts.append((f"{sum(summary.rollouts.values()):,} episodes", "played to make the trees"))
    if "total" in summary.seconds:
        facts.append((duration(summary.seconds["total"]), "to make the trees"))
    agreements = [value for value in (tree.fidelity for tree in trees) if isfinite(value)]
    if agreements:
        facts.append((percent(sum(agreements) / len(agreements)), "of the training data where trees and expert agree"))
    items = "".join(f"<li><b>{escape(value)}</b><span>{escape(meaning)}</span></li>" for value, meaning in facts)
    return (
        f"<header>\n<h1>{escape(summary.title)}</h1>\n"
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
    return f"<h2>The map</h2>\n<p>{escape(words)}</p>\n<figure>{scrolling(inline(svg), 'The map')}</figure>"


_UNREADABLE = (
    "<h2>The students</h2>\n<p>Each is made of several trees, which nobody reads as one: distill with "
    "<code>--learner tree</code> for trees that people can read, check and change.</p>"
)


def trees_beside(
    agents: Sequence[Agent], trees: Sequence[Tree], drawing: Drawing, episode: Episode | None
) -> tuple[str, str]:
    """Every tree as drawing and as text, beside them an episode that they play; and the style that a page needs."""
    plays = episode is not None and episode.stage is not None
    words = (
        "Start at the top and answer each question about what the agent sees: yes goes left, no goes right. "
        "The coloured box at the end is what it does. Rest the pointer on a box for the whole path and the counts."
    )
    if plays:
        words += (
            " The episode is one that nothing was chosen by; the way that each tree takes in it lights up. Choose a "
            "leaf, and the episode goes to a moment where that leaf decided."
        )
    hint = "Choose a box by a click, or by arrow keys and Enter, "
    hint += "to go to a moment when it decided." if plays else "to light up the way to it."
    drawings = tree_panels(
        [panel(*both, drawing, beneath=_as_text(*both)) for both in zip(agents, trees, strict=True)], hint
    )
    shown = (
        f"<h2>{'The tree' if len(trees) == 1 else 'The trees'}</h2>\n<p>{words}</p>\n"
        f'<div class="{"both" if plays else "alone"}">{"" if episode is None else player(episode)}{drawings}</div>'
    )
    return shown + script(), panels.STYLE + episodes.STYLE + stages.STYLE


def _as_text(agent: Agent, tree: Tree) -> str:
    return (
        f"<details><summary>{escape(agent.name)} as text ({size_of(tree)})</summary>"
        f'<pre tabindex="0">{escape(to_text(agent, tree))}</pre></details>'
    )
