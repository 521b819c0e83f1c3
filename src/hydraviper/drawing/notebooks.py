"""Trees in the output cells of notebooks: the report's drawings, with zoom and paths that light up.

A cell holds one frame with a whole page inside: no style or script of the notebook reaches in, none reaches out, and
the page needs no other file. Without scripts, the drawings and the path of an observation are still there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from hydraviper.data import Agent
from hydraviper.drawing.charts import inline, size_of_drawing
from hydraviper.drawing.icons import Icons, draw_icons
from hydraviper.drawing.trees import to_svg
from hydraviper.protocols import Drawing
from hydraviper.trees import shown
from hydraviper.trees.file import TreesFile
from hydraviper.trees.tree import Tree

_ROOM = 900.0  # pixels that a cell usually is wide
_LEAST, _MOST = 220, 620  # the height of a frame, in pixels, until its script knows better


@dataclass(frozen=True)
class Panel:
    """One tree of a cell."""

    agent: Agent
    tree: Tree
    icons: Icons | None = None
    lit: Sequence[int] = ()  # the nodes of a path that is lit up
    words: str = ""  # beneath the drawing


def panel(agent: Agent, tree: Tree, drawing: Drawing | None = None, **more: Any) -> Panel:
    """An agent's tree, with pictures of its actions where a game's geometry has them."""
    intersection = None if drawing is None else drawing.intersections.get(agent.name)
    return Panel(agent, tree, None if intersection is None else draw_icons(intersection), **more)


def cell(panels: Sequence[Panel], heading: str = "", sentence: str = "") -> str:
    """The HTML of an output cell: one tree, or a tab for each of several."""
    drawings = [inline(to_svg(one.agent, one.tree, one.icons, lit=one.lit)) for one in panels]
    heads = f"<h1>{escape(heading)}</h1>" * bool(heading) + f"<p>{escape(sentence)}</p>" * bool(sentence)
    tabs = "".join(f"<button>{escape(one.agent.name)}</button>" for one in panels) if len(panels) > 1 else ""
    figures = "".join(
        f'<figure><div class="view{" lighting" * bool(one.lit)}">{drawing}</div>'
        + (f"<pre>{escape(one.words)}</pre>" if one.words else "")
        + "</figure>"
        for one, drawing in zip(panels, drawings, strict=True)
    )
    page = (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><style>{_STYLE}</style></head><body>{heads}'
        f'<nav class="tabs">{tabs}</nav><nav class="zoom" hidden><button title="smaller">−</button>'
        '<button title="larger">+</button><button>fit</button><button>100 %</button>'
        "<span>click a box to light up the way to it</span></nav>"
        f"{figures}<script>{_SCRIPT}</script></body></html>"
    )
    height = _height(drawings[0], len(panels[0].words.splitlines()), bool(heads), bool(tabs))
    look = f"width: 100%; height: {height}px; border: 1px solid #dfe3e8; border-radius: 6px; background: #fff"
    return f'<iframe srcdoc="{escape(page)}" title="{escape(heading or "Decision trees")}" style="{look}"></iframe>'


def _height(drawing: str, lines: int, headed: bool, tabbed: bool) -> int:
    """About how high the page is that shows a drawing as wide as the cell."""
    wide, high = size_of_drawing(drawing)
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
body { margin: 0; padding: 10px 12px; background: #fff; color: #1a1d21; font: 14px/1.5 system-ui, sans-serif; }
h1 { font-size: 18px; margin: 0 0 2px; } p { margin: 0 0 8px; max-width: 90ch; color: #5b6470; }
nav { display: inline-flex; gap: 4px; align-items: center; margin: 0 16px 8px 0; flex-wrap: wrap; }
nav:empty, nav[hidden] { display: none; } nav span { color: #5b6470; font-size: 12px; margin-left: 6px; }
button { font: inherit; padding: 1px 10px; border: 1px solid #b4bbc4; border-radius: 5px; background: #fff;
  cursor: pointer; color: inherit; }
button.on { background: #0063a0; border-color: #0063a0; color: #fff; }
figure { margin: 0 0 14px; } figure[hidden] { display: none; }
.view { overflow: auto; } .view svg { display: block; max-width: 100%; height: auto; }
.zoomed .view { cursor: grab; max-height: calc(100vh - 60px); } .zoomed svg { max-width: none; }
pre { background: #f5f7f9; border-radius: 6px; padding: 10px 14px; margin: 8px 0 0; white-space: pre-wrap;
  font-size: 12.5px; }
[data-node] { transition: opacity .15s; } .node { cursor: pointer; }
.lighting [data-node] { opacity: .22; } .lighting [data-node].lit { opacity: 1; }
.lighting .edge.lit > path { stroke: #d55e00; }
.lighting .node.lit > rect:first-of-type { stroke: #d55e00; stroke-width: 2.5; stroke-dasharray: none; }
"""

_SCRIPT = """
(function () {
  var figures = [].slice.call(document.querySelectorAll("figure")), zoom = document.querySelector("nav.zoom");
  var tabs = [].slice.call(document.querySelectorAll("nav.tabs button")), scale = 0, now = 0;
  function fit() {  /* as high as the page, where the notebook allows it */
    try {
      window.frameElement.style.height = Math.min(document.body.offsetHeight + 20, 1200) + "px";
    } catch (error) { }
  }
  function size() {  /* scale 0: as wide as the cell */
    document.body.classList.toggle("zoomed", scale > 0);
    figures.forEach(function (figure) {
      var svg = figure.querySelector("svg");
      svg.style.width = scale > 0 ? svg.viewBox.baseVal.width * scale + "px" : "";
    });
  }
  function choose(number) {
    now = number;
    figures.forEach(function (figure, k) { figure.hidden = k !== number; });
    tabs.forEach(function (tab, k) { tab.classList.toggle("on", k === number); });
    fit();
  }
  function by(factor) {
    var svg = figures[now].querySelector("svg"), shown = svg.getBoundingClientRect().width;
    scale = Math.min(6, Math.max(.1, factor * (scale || shown / svg.viewBox.baseVal.width)));
    size();
  }
  tabs.forEach(function (tab, k) { tab.onclick = function () { choose(k); }; });
  var buttons = zoom.querySelectorAll("button");
  zoom.hidden = false;
  buttons[0].onclick = function () { by(1 / 1.25); };
  buttons[1].onclick = function () { by(1.25); };
  buttons[2].onclick = function () { scale = 0; size(); fit(); };
  buttons[3].onclick = function () { scale = 1; size(); };
  figures.forEach(function (figure) {
    var view = figure.querySelector(".view"), parts = [].slice.call(figure.querySelectorAll("[data-node]"));
    var parents = {}, clicked = null, from = null;
    parts.forEach(function (part) { parents[part.dataset.node] = part.dataset.parent || parents[part.dataset.node]; });
    function light(node) {
      var path = {};
      for (var n = node; n !== undefined && n !== null && n !== ""; n = parents[n]) { path[n] = true; }
      view.classList.toggle("lighting", node !== null);
      parts.forEach(function (part) { part.classList.toggle("lit", !!path[part.dataset.node]); });
    }
    view.addEventListener("wheel", function (event) {
      if (event.ctrlKey || event.metaKey) { event.preventDefault(); by(event.deltaY < 0 ? 1.15 : 1 / 1.15); }
    }, { passive: false });
    view.addEventListener("pointerdown", function (event) {
      from = { x: event.clientX, y: event.clientY, left: view.scrollLeft, top: view.scrollTop };
    });
    view.addEventListener("pointermove", function (event) {
      if (from && event.buttons) {
        view.scrollLeft = from.left - (event.clientX - from.x);
        view.scrollTop = from.top - (event.clientY - from.y);
      }
    });
    view.addEventListener("click", function (event) {
      if (from && Math.abs(event.clientX - from.x) + Math.abs(event.clientY - from.y) > 6) { return; }  /* was a drag */
      var part = event.target.closest("g.node"), node = part ? part.dataset.node : null;
      clicked = node === clicked ? null : node;
      light(clicked);
    });
  });
  choose(0);
})();
"""
