"""Trees as SVG drawings, for a paper or a page."""

import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

import numpy as np

from hydraviper.data import Agent
from hydraviper.drawing.icons import SIDE, Icons
from hydraviper.drawing.svg import INK, LINE, SOFT, document, hatch, paint, tag, text, text_width
from hydraviper.trees.questions import Question, questions
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.trees.words import agreement, number, percent, shares, short_actions, size_of

_MARGIN, _GAP = 16.0, 44.0  # around the drawing; between two levels
_NARROW = 16  # with more leaves than this, leaves carry bare numbers
_BAND = 9.0  # the hatched band at the top of a leaf
_LEGEND_SCALE = 0.75  # of icons


def to_svg(agent: Agent, tree: Tree, icons: Icons | None = None, about: str = "", lit: Collection[int] = ()) -> str:
    """Draw a tree for a paper or a page: yes goes left, no goes right, lines are as wide as their share of the data.

    With icons, every leaf and the legend show the action's icon. `about` becomes the description inside the file. The
    nodes of `lit`, and the lines to them, are of the class `lit`, which a page's style can light up.
    """
    plan = _plan(agent, tree, icons)
    label = f"Decision tree of {agent.name}: {size_of(tree)}"
    facts = f"{size_of(tree)}, agrees with the expert on {percent(tree.fidelity)} of the data"
    beside = tag("tspan", escape(facts), dx=12, font_size=12, font_weight="normal", fill=SOFT)
    title = tag("text", escape(agent.name) + beside, x=_MARGIN, y=28, font_size=16, font_weight="bold")
    legend, bottom = _legend(agent, tree, plan)
    edges = [_edge(tree, plan, parent, lit) for parent in np.flatnonzero(tree.feature != LEAF).tolist()]
    nodes = [
        tag("g", (_leaf if tree.feature[n] == LEAF else _question)(agent, tree, plan, n), **_part("node", n, lit))
        for n in np.argsort(plan.depth, kind="stable").tolist()
    ]
    notes = [tag("desc", escape(about))] if about else []
    return document(plan.width, bottom + _MARGIN, label, *notes, title, *edges, *nodes, *legend)


@dataclass(frozen=True)
class _Plan:
    """Where every node stands, and what is written in it."""

    words: tuple[tuple[str, ...], ...]  # [nodes] the lines of text in each node's box
    tests: tuple[int, ...]  # [nodes] how many of the last lines are what is asked of a feature
    x: np.ndarray  # [nodes] centres
    top: np.ndarray  # [nodes]
    floor: np.ndarray  # [nodes] the lower end of the level on which a node stands
    depth: np.ndarray  # [nodes]
    wide: np.ndarray  # [nodes] widths of the boxes
    high: np.ndarray  # [nodes] heights of the boxes
    paths: tuple[str, ...]  # [nodes] the conditions that lead here
    share: np.ndarray  # [nodes]
    width: float  # of the drawing
    bottom: float  # of the lowest node
    icons: Icons | None


def _plan(agent: Agent, tree: Tree, icons: Icons | None) -> _Plan:
    """Lay the leaves out evenly, centre parents, and leave each box as much room as its text needs."""
    asked = questions(agent, tree)
    slot, paths = _slots(tree, asked)
    depth = tree.levels
    leaf = tree.feature == LEAF
    line, padding, apart, least = (16, 15, 10, 62) if tree.leaves <= _NARROW else (11, 8, 7, 42)
    actions = short_actions(agent)
    words = tuple(
        tuple(_wrap(actions[tree.action[n]], 12 if tree.leaves > _NARROW else 18))
        if question is None
        else (*_wrap(question.subject, line), *_test(question, line))
        for n, question in enumerate(asked)
    )
    tests = tuple(0 if question is None else len(_test(question, line)) for question in asked)
    inside = np.array([max(text_width(line, 12) for line in lines) for lines in words])
    least = least if icons is None else max(least, SIDE + 6)
    wide = np.maximum(inside + padding, np.where(leaf, least, 58 if tree.leaves > _NARROW else 76))
    high = np.array([15.0 * len(lines) for lines in words])
    high += np.where(leaf, 9 + _BAND + (0 if icons is None else SIDE + 4), 22)
    pitch = wide[leaf].max() + apart
    for level in range(depth.max() + 1):
        row = sorted(np.flatnonzero(depth == level), key=lambda n: slot[n])
        for a, b in pairwise(row):
            pitch = max(pitch, ((wide[a] + wide[b]) / 2 + apart) / (slot[b] - slot[a]))
    below = np.where(leaf, 44.0, 0.0)  # bar and two numbers
    heights = np.array([(high + below)[depth == level].max() for level in range(depth.max() + 1)])
    stem = [leaf[depth == level].any() for level in range(depth.max() + 1)]  # lines pass the numbers under a leaf
    tops = 50 + np.concatenate([[0], np.cumsum(heights + np.where(stem, _GAP - 14, _GAP))[:-1]])
    used = pitch * (tree.leaves - 1) + wide.max()
    width = max(used + 2 * _MARGIN, 520.0, text_width(agent.name, 17.5) + 420)
    x = width / 2 + pitch * (slot - (tree.leaves - 1) / 2)
    bottom = float((tops + heights)[-1])
    floor = (tops + heights)[depth]
    return _Plan(words, tests, x, tops[depth], floor, depth, wide, high, paths, shares(tree), width, bottom, icons)


def _wrap(words: str, width: int) -> list[str]:
    """Lines of about that many letters; a long "left+straight+right" is broken behind its signs."""
    return [line.replace("+ ", "+") for line in textwrap.wrap(words.replace("+", "+ "), width)]


def _test(question: Question, width: int) -> list[str]:
    """The lines of what is asked of a feature: "≤ 3", or words."""
    return [question.test.replace("-", "−")] if question.test[0] == "≤" else _wrap(question.test, width)


def _slots(tree: Tree, asked: Sequence[Question | None]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Every node's place from left to right (a leaf is one wide), and the way to it in words."""
    slot, paths = np.zeros(len(tree)), ["always"] * len(tree)
    stack, leaves = [0], 0
    while stack:
        node = stack.pop()
        question = asked[node]
        if question is None:
            slot[node], leaves = leaves, leaves + 1
            continue
        for child, condition in ((int(tree.right[node]), question.no), (int(tree.left[node]), question.yes)):
            paths[child] = condition if node == 0 else f"{paths[node]}\nand {condition}"
            stack.append(child)
    for node in range(len(tree) - 1, -1, -1):  # children stand behind their parent
        if tree.feature[node] != LEAF:
            slot[node] = (slot[tree.left[node]] + slot[tree.right[node]]) / 2
    return slot, tuple(paths)


def _part(kind: str, node: int, lit: Collection[int]) -> dict[str, object]:
    """How a page's style and script find the part of a drawing that belongs to a node."""
    return {"class_": f"{kind} lit" if node in lit else kind, "data_node": node}


def _edge(tree: Tree, plan: _Plan, parent: int, lit: Collection[int]) -> str:
    """The two lines from a node to its children, with their answers."""
    parts = []
    for child, answer, side in ((tree.left[parent], "yes", -1), (tree.right[parent], "no", 1)):
        thick = 1.2 + 10 * float(np.nan_to_num(plan.share[child]))
        x, y, to_x, to_y = (float(v) for v in (plan.x[parent], plan.floor[parent], plan.x[child], plan.top[child]))
        middle = (y + to_y) / 2
        start = plan.top[parent] + plan.high[parent]
        curve = f"M{x:.1f} {start:.1f}V{y:.1f}C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}"
        path = tag("path", d=curve, fill="none", stroke=LINE, stroke_width=thick)
        anchor = "end" if side < 0 else "start"
        beside = to_x + side * (thick / 2 + 3)
        words = text(beside, to_y - 9, answer, font_size=10, text_anchor=anchor, fill=SOFT)
        parts.append(tag("g", path + words, **_part("edge", int(child), lit), data_parent=parent))
    return "".join(parts)


def _lines(x: float, y: float, lines: Sequence[str], **attributes: object) -> str:
    return "".join(text(x, y + 15 * k, line, text_anchor="middle", **attributes) for k, line in enumerate(lines))


def _tooltip(agent: Agent, tree: Tree, plan: _Plan, node: int) -> str:
    """What a node shows under the pointer: its path and the weight of each of the expert's actions there."""
    counts = tree.counts[node]
    heaviest = [k for k in np.argsort(-counts, kind="stable") if counts[k] > 0]
    there = ", ".join(f"{agent.actions[k]} {number(counts[k], 4)}" for k in heaviest) or "no data"
    facts = f"node {node}\n{percent(plan.share[node])} of the data; weight: {there}"
    return tag("title", escape(f"{plan.paths[node]}\n{facts}"))


def _number(plan: _Plan, node: int) -> str:
    """The node's number, on its upper left corner."""
    x, y = float(plan.x[node] - plan.wide[node] / 2), float(plan.top[node])
    wide = text_width(str(node), 9) + 5
    badge = {"x": x - 5, "y": y - 6, "width": wide, "height": 11, "rx": 5.5}
    frame = tag("rect", **badge, fill="#ffffff", stroke=LINE, stroke_width=0.8)
    return frame + text(x - 5 + wide / 2, y + 2.5, str(node), font_size=9, text_anchor="middle", fill=SOFT)


def _question(agent: Agent, tree: Tree, plan: _Plan, node: int) -> str:
    """The question, and beneath it the share of the data that gets here and how much of it agrees with the tree."""
    x, y, wide, high = (float(v[node]) for v in (plan.x, plan.top, plan.wide, plan.high))
    box = tag("rect", x=x - wide / 2, y=y, width=wide, height=high, rx=4, fill="#ffffff", stroke=SOFT, stroke_width=1)
    split = len(plan.words[node]) - plan.tests[node]
    name, test = plan.words[node][:split], plan.words[node][split:]
    words = _lines(x, y + 16, name, font_size=12) + _lines(
        x, y + 16 + 15 * len(name), test, font_size=12, font_weight="bold"
    )
    facts = f"{percent(plan.share[node])} · {percent(agreement(tree)[node])}"
    words += text(x, y + high - 6, facts, font_size=9, text_anchor="middle", fill=SOFT)
    return _tooltip(agent, tree, plan, node) + box + _fine(words + _number(plan, node))


def _leaf(agent: Agent, tree: Tree, plan: _Plan, node: int) -> str:
    """The action in its colour; beneath, what the expert does there as a bar, the share and the agreement."""
    x, y, wide, high = (float(v[node]) for v in (plan.x, plan.top, plan.wide, plan.high))
    left, action, look = x - wide / 2, int(tree.action[node]), paint(int(tree.action[node]))
    shape = {"x": left, "y": y, "width": wide, "height": high, "rx": 2, "stroke_dasharray": look.dash}
    box = tag("rect", **shape, fill=look.light, stroke=look.edge, stroke_width=1.5)
    parts = [hatch(action, left, y, wide, _BAND)]
    first = y + _BAND + 16
    if plan.icons is not None:
        corner = f"translate({x - SIDE / 2:.1f} {y + _BAND + 4:.1f})"
        parts.append(tag("g", plan.icons.drawings[action], transform=corner))
        first += SIDE + 4
    parts.append(_lines(x, first, plan.words[node], font_size=12, font_weight="bold"))
    parts.append(_bar(agent, tree, node, left, y + high + 4, wide))
    of_data, agree = (" data", " agree") if tree.leaves <= _NARROW else ("", "")
    parts.append(text(x, y + high + 26, percent(plan.share[node]) + of_data, font_size=10, text_anchor="middle"))
    agrees = percent(agreement(tree)[node]) + agree
    parts.append(text(x, y + high + 39, agrees, font_size=10, text_anchor="middle", fill=SOFT))
    seen = _tooltip(agent, tree, plan, node) + box + _band(action, left, y, wide, _BAND)
    return seen + _fine("".join(parts) + _number(plan, node))


def _fine(content: str) -> str:
    """What nobody can read from afar, where pages leave it out."""
    return tag("g", content, class_="fine")


def _bar(agent: Agent, tree: Tree, node: int, x: float, y: float, wide: float) -> str:
    """The expert's actions at a leaf as parts of a bar, the leaf's action first."""
    action, whole, parts = int(tree.action[node]), tree.counts[node].sum(), []
    for k in [action, *(k for k in range(len(agent.actions)) if k != action)]:
        part = wide * float(tree.counts[node, k] / whole) if whole > 0 else 0.0
        if part > 0:
            parts.append(tag("rect", x=x, y=y, width=part, height=8, fill=paint(k).fill))
            parts.append(hatch(k, x, y, part, 8.0) if part > 4 else "")
            x += part
    return "".join(parts)


def _swatch(action: int, x: float, y: float, wide: float, high: float) -> str:
    """An action's colour with its hatch."""
    return _band(action, x, y, wide, high) + hatch(action, x, y, wide, high)


def _band(action: int, x: float, y: float, wide: float, high: float) -> str:
    look = paint(action)
    return tag("rect", x=x, y=y, width=wide, height=high, fill=look.fill, stroke=look.edge, stroke_width=1)


def _legend(agent: Agent, tree: Tree, plan: _Plan) -> tuple[list[str], float]:
    """How often the tree answers with each action, how to read the drawing, and the y at which the legend ends."""
    leaves, share = np.flatnonzero(tree.feature == LEAF), shares(tree)
    room = 0.0 if plan.icons is None else _LEGEND_SCALE * SIDE
    parts, x, y, width = [], _MARGIN, plan.bottom + 34 + room / 2, plan.width
    for k, name in enumerate(agent.actions):
        mine = leaves[tree.action[leaves] == k]
        label = f"{name} {percent(share[mine].sum())}" if len(mine) else f"{name} (never)"
        long = 27 + room + text_width(label, 11)
        if x > _MARGIN and x + long > width - _MARGIN:
            x, y = _MARGIN, y + max(19, room + 4)
        parts.append(_swatch(k, x, y - 9, 20, 11))
        if plan.icons is not None:
            corner = f"translate({x + 23:.1f} {y - 4 - room / 2:.1f}) scale({_LEGEND_SCALE})"
            parts.append(tag("g", plan.icons.drawings[k], transform=corner))
        parts.append(text(x + 26 + room, y, label, font_size=11, fill=INK if len(mine) else SOFT))
        x += long + 16
    y += room / 2
    meaning = (
        "Above: how much of the data gets each action. Yes goes left, no goes right; a line is as wide as its share of "
        "the data. In a box: the share of the data that gets there · where the expert answers as the tree does. "
        "Under a leaf: the expert's actions there as a bar, the share and the agreement. Small numbers name the nodes."
    )
    note = "" if plan.icons is None else plan.icons.meaning
    lines = textwrap.wrap(f"{meaning} {note}", int((width - 2 * _MARGIN) / 5.9))
    parts += [text(_MARGIN, y + 19 + 13 * k, line, font_size=10, fill=SOFT) for k, line in enumerate(lines)]
    return parts, y + 6 + 13 * len(lines)
