"""Trees in the output cells of notebooks: the report's drawings, with zoom and paths that light up.

A cell holds one frame with a whole page inside: no style or script of the notebook reaches in, none reaches out, and
the page needs no other file. Without scripts, the drawings and the path of an observation are still there.
"""

from collections.abc import Sequence
from dataclasses import replace
from html import escape

from hydraviper.data import Agent
from hydraviper.drawing.charts import size_of_drawing
from hydraviper.drawing.panels import LIGHT, STYLE, Panel, script, tree_panels
from hydraviper.trees import shown
from hydraviper.trees.file import TreesFile
from hydraviper.trees.tree import Tree

_ROOM = 900.0  # pixels that a cell usually is wide
_LEAST, _MOST = 220, 620  # the height of a frame, in pixels, until its script knows better


def cell(panels: Sequence[Panel], heading: str = "", sentence: str = "") -> str:
    """The HTML of an output cell: one tree, or a tab for each of several."""
    heads = f"<h1>{escape(heading)}</h1>" * bool(heading) + f"<p>{escape(sentence)}</p>" * bool(sentence)
    shown = tree_panels(panels, "Click a box to light up the way to it.")
    page = (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><style>{LIGHT}{_STYLE}{STYLE}</style></head>'
        f"<body>{heads}{shown}{script()}</body></html>"
    )
    height = _height(shown, len(panels[0].words.splitlines()), bool(heads), len(panels) > 1)
    look = f"width: 100%; height: {height}px; border: 1px solid #dfe3e8; border-radius: 6px; background: #fff"
    return f'<iframe srcdoc="{escape(page)}" title="{escape(heading or "Decision trees")}" style="{look}"></iframe>'


def _height(drawings: str, lines: int, headed: bool, tabbed: bool) -> int:
    """About how high the page is that shows the first of some drawings as wide as the cell."""
    wide, high = size_of_drawing(drawings)
    shown_high = high * min(1.0, _ROOM / wide) + 60 + 19 * lines + 70 * headed + 40 * tabbed
    return round(min(max(shown_high, _LEAST), _MOST))


def trees_cell(trees: TreesFile) -> str:
    """The trees of a file, a tab for each."""
    panels = [Panel(agent, tree) for agent, tree in zip(trees.agents, trees.trees, strict=True)]
    return cell(panels, trees.game)


def tree_cell(tree: Tree) -> str:
    """A tree alone, which knows neither the names of its features nor those of its actions."""
    features = tuple(f"feature {k}" for k in range(int(tree.feature.max()) + 1))
    actions = tuple(f"action {k}" for k in range(tree.counts.shape[1]))
    return cell([Panel(Agent("tree", features or ("feature 0",), actions), replace(tree, derived=()))])


shown.drawers[TreesFile] = trees_cell
shown.drawers[Tree] = tree_cell


_STYLE = """
body { margin: 0; padding: 10px 12px; background: var(--ground); color: var(--ink);
  font: 14px/1.5 system-ui, sans-serif; }
h1 { font-size: 18px; margin: 0 0 2px; } p { margin: 0 0 8px; max-width: 90ch; color: var(--soft); }
figure { margin: 0 0 14px; }
pre { background: var(--shade); border-radius: 6px; padding: 10px 14px; margin: 8px 0 0; white-space: pre-wrap;
  font-size: 12.5px; }
"""
