"""Trees on a page, as reports and notebooks show them: a button for each, zoom, paths that light up.

Without scripts all drawings are there, one below the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from hydraviper.data import Agent
from hydraviper.drawing.charts import inline, width_of
from hydraviper.drawing.icons import Icons, draw_icons
from hydraviper.drawing.trees import to_svg
from hydraviper.protocols import Drawing
from hydraviper.trees.tree import Tree

_ZOOM = (
    '<button type="button" aria-label="smaller">−</button><button type="button" aria-label="larger">+</button>'
    '<button type="button">fit</button><button type="button">100 %</button>'
)


@dataclass(frozen=True)
class Panel:
    """One tree of a page."""

    agent: Agent
    tree: Tree
    icons: Icons | None = None
    lit: Sequence[int] = ()  # the nodes of a path that is lit up
    words: str = ""  # beneath the drawing
    beneath: str = ""  # HTML beneath the words


def panel(agent: Agent, tree: Tree, drawing: Drawing | None = None, **more: Any) -> Panel:
    """An agent's tree, with pictures of its actions where a game's geometry has them."""
    intersection = None if drawing is None else drawing.intersections.get(agent.name)
    return Panel(agent, tree, None if intersection is None else draw_icons(intersection), **more)


def tree_panels(panels: Sequence[Panel], hint: str) -> str:
    """The HTML of the drawings with their buttons; `hint` says what a click on a box does."""
    names = [*(one.agent.name for one in panels), "all"] if len(panels) > 1 else []
    tabs = "".join(f'<button type="button">{escape(name)}</button>' for name in names)
    return (
        '<div class="trees">'
        + (f'<nav class="tabs" aria-label="Trees" hidden>{tabs}</nav>' if tabs else "")
        + f'<nav class="zoom" aria-label="Zoom" hidden>{_ZOOM}<span>{escape(hint)}</span></nav>'
        + "".join(map(_figure, panels))
        + "</div>"
    )


def _figure(one: Panel) -> str:
    drawing = inline(to_svg(one.agent, one.tree, one.icons, lit=one.lit))
    kinds = f"view{' lighting' * bool(one.lit)}"
    words = f"<pre>{escape(one.words)}</pre>" if one.words else ""
    return (
        f'<figure class="tree{" pictured" * (one.icons is not None)}" style="--wide: {width_of(drawing):.0f}px">'
        f'<div class="{kinds}">{drawing}</div>{words}{one.beneath}</figure>'
    )


@cache
def script() -> str:
    """The element that brings the drawings of a page to life."""
    return f"<script>\n{tree_script()}{_read('page.js')}hydraviper.start();\n</script>"


@cache
def tree_script() -> str:
    """What makes a drawing zoom, its nodes answer and its paths light up: the function `drawnTree`."""
    return _read("tree.js")


def _read(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


# A path is told by thick orange lines; what lies beside it fades, but its words do not. Opacity of whole elements
# would cost a browser a layer each.
TREE_STYLE = """
.node { cursor: pointer; outline: none; }
.far { --thick: 10; } .far .fine, .far .edge > text { display: none; }
.lighting .edge:not(.lit) > path { stroke-opacity: .45; }
.lighting .node:not(.lit) > rect { fill-opacity: .4; stroke-opacity: .45; }
.lighting .edge.lit > path { stroke: #c25400; } .far .edge.lit > path { stroke-width: var(--thick); }
.lighting .node.lit > rect:first-of-type { stroke: #c25400; stroke-width: var(--thick, 4); stroke-dasharray: none; }
.node.node:focus-visible > rect:first-of-type { stroke: #000; stroke-width: var(--thick, 4); stroke-dasharray: none; }
"""

STYLE = (
    """
nav { display: flex; gap: 6px; align-items: center; flex-wrap: wrap; margin: 0 0 8px; } nav[hidden] { display: none; }
nav span { color: var(--soft); font-size: 14px; }
button, select { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--edge);
  border-radius: 6px; padding: 3px 12px; min-height: 30px; }
button { cursor: pointer; overflow-wrap: anywhere; }
button[aria-pressed="true"] { background: var(--strong); border-color: var(--strong); color: var(--on-strong); }
:focus-visible { outline: 3px solid var(--strong); outline-offset: 2px; }
.tree[hidden] { display: none; }
.view { overflow: auto; max-height: 85vh; background: var(--drawn); border: 1px solid var(--line);
  border-radius: 8px; }
.view svg { display: block; max-width: 100%; min-width: calc(.62 * var(--wide)); height: auto; margin: 0 auto; }
"""
    + TREE_STYLE
)

LIGHT = """
:root { color-scheme: light; --ink: #1a1d21; --soft: #5b6470; --ground: #fff; --drawn: #fff; --paper: #fff;
  --shade: #f5f7f9; --line: #dfe3e8; --edge: #7d8793; --strong: #0063a0; --on-strong: #fff; --note: #fff8e6;
  --bad: #a1201a; --bad-ground: #fdecea; }
"""
DARK = """
@media screen and (prefers-color-scheme: dark) { :root { color-scheme: dark; --ink: #e8eaed; --soft: #a9b1bb;
  --ground: #14171a; --drawn: #141414; --paper: #1d2125; --shade: #22272c; --line: #3a4149; --strong: #6cb8ea;
  --on-strong: #10202c; --note: #332a14; --bad: #ffb4ab; --bad-ground: #47211e; } }
"""
