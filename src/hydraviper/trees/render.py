"""A tree for people: rules as text, and a drawing as SVG."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import floor, isfinite, log10

import numpy as np

from hydraviper.data import Agent
from hydraviper.trees.tree import LEAF, Tree

# Okabe and Ito's colours, which people tell apart whatever their colour vision; grey instead of black.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#56b4e9", "#d55e00", "#8c8c8c")
INK, SOFT, LINE = "#1a1d21", "#5b6470", "#b4bbc4"  # text, less important text, lines

_MARGIN, _GAP = 16.0, 44.0  # around the drawing; between two levels
_NARROW = 16  # with more leaves than this, leaves carry bare numbers
_WIDTHS = {" ": 0.32, "m": 0.98, "w": 0.82, "M": 0.87, "W": 0.99, "%": 0.95, "≤": 0.84, "−": 0.84, "+": 0.84}


@dataclass(frozen=True)
class Paint:
    """How an action looks; the same index always looks the same."""

    fill: str
    edge: str
    dash: str  # stroke-dasharray: tells the second, third, ... round through the palette from the first


def paint(index: int) -> Paint:
    """The look of an action, for any number of actions."""
    turn, edge = index // len(PALETTE), PALETTE[index % len(PALETTE)]
    white = (0.25, 0.6, 0.0)[turn % 3]
    mixed = (round(int(edge[k : k + 2], 16) * (1 - white) + 255 * white) for k in (1, 3, 5))
    return Paint("#" + "".join(f"{part:02x}" for part in mixed), edge, ("none", "5 2.5", "1.5 2", "8 2 2 2")[turn % 4])


def number(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, without trailing zeros and never as -0."""
    if value == 0 or not isfinite(value):
        return "0" if value == 0 else str(float(value))
    rounded = float(f"{value:.{digits - 1}e}")
    exponent = floor(log10(abs(rounded)))
    if not -5 < exponent < 7:
        mantissa, _, power = f"{rounded:.{digits - 1}e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{int(power)}"
    text = f"{rounded:.{max(0, digits - 1 - exponent)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float) -> str:
    """A share in per cent, with a decimal where it is small; a dash where it is not known."""
    if not isfinite(share):
        return "–"
    hundredths = 100 * share
    if 0 < hundredths < 0.095:
        return "<0.1%"
    if 0 < hundredths < 9.95:
        return f"{hundredths:.1f}%"
    if 99.5 <= hundredths < 100 - 1e-9:  # must not read as all
        return f"{min(hundredths, 99.9):.1f}%"
    return f"{hundredths:.0f}%"


def threshold_texts(tree: Tree) -> list[str]:
    """Every node's threshold with three digits, or with as many as tell a feature's thresholds apart."""
    digits: dict[int, int] = {}
    for feature in set(tree.feature.tolist()) - {LEAF}:
        values = set(tree.threshold[tree.feature == feature].tolist())
        enough = (count for count in range(3, 10) if len({number(value, count) for value in values}) == len(values))
        digits[feature] = next(enough, 9)
    columns = zip(tree.feature.tolist(), tree.threshold.tolist(), strict=True)
    return ["" if feature == LEAF else number(value, digits[feature]) for feature, value in columns]


def shares(tree: Tree) -> np.ndarray:
    """The share of the data that reaches each node, [nodes]; not a number if the tree has seen no data."""
    weight = tree.counts.sum(axis=1)
    return weight / weight[0] if weight[0] > 0 else np.full(len(tree), np.nan)


def agreement(tree: Tree) -> np.ndarray:
    """How much of the data at each node has the node's action, [nodes]; not a number where there is no data."""
    weight = tree.counts.sum(axis=1)
    agreeing = tree.counts[np.arange(len(tree)), tree.action]
    return np.divide(agreeing, weight, out=np.full(len(tree), np.nan), where=weight > 0)


# --------------------------------------------------------------------------- text


def to_text(agent: Agent, tree: Tree) -> str:
    """Indented rules to read in a terminal: at each leaf the action, its share of the data and the agreement there."""
    rules = list(_rules(agent, tree, threshold_texts(tree), 0, "")) or [("always", 0)]
    leaves = [(rule, node) for rule, node in rules if tree.feature[node] == LEAF]
    wide = min(64, max(len(rule) for rule, _ in leaves))
    action_wide = max([len("action"), *(len(agent.actions[tree.action[node]]) for _, node in leaves)])
    share, agrees = shares(tree), agreement(tree)
    most = max(share[node] for _, node in leaves)
    heading = f"{size_of(tree)}, agrees with the expert on {percent(tree.fidelity)} of the data"
    columns = f"{'':{wide}}    {'action':{action_wide}}  {'share of data':<15}  expert agrees"
    lines = [f"{agent.name}: {heading}", "", columns.rstrip()]
    for rule, node in rules:
        if tree.feature[node] != LEAF:
            lines.append(rule)
            continue
        action = agent.actions[tree.action[node]]
        size = 0 if not isfinite(share[node]) else round(8 * share[node] / most)
        bar = "■" * max(size, int(share[node] > 0))
        lines.append(
            f"{rule:{wide}}  → {action:{action_wide}}  {bar:8} {percent(share[node]):>6}  {percent(agrees[node]):>6}"
        )
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _rules(agent: Agent, tree: Tree, thresholds: Sequence[str], node: int, indent: str) -> Iterator[tuple[str, int]]:
    """The branches below a node, depth first: the rule's text and the node it leads to."""
    if tree.feature[node] == LEAF:
        return
    name = tree.names(agent)[tree.feature[node]]
    for child, sign, elbow, stem in ((tree.left[node], "≤", "├─ ", "│  "), (tree.right[node], ">", "└─ ", "   ")):
        yield f"{indent}{elbow}{name} {sign} {thresholds[node]}", int(child)
        yield from _rules(agent, tree, thresholds, int(child), indent + stem)


def size_of(tree: Tree) -> str:
    """The tree's size in words: `12 leaves, depth 4`."""
    return f"{tree.leaves} {'leaf' if tree.leaves == 1 else 'leaves'}, depth {tree.depth}"


# --------------------------------------------------------------------------- drawing


def tag(name: str, content: str = "", **attributes: object) -> str:
    """One XML element; the content is taken as it is, attributes are escaped (`font_size` becomes `font-size`)."""
    words = [
        f'{key.rstrip("_").replace("_", "-")}="{escape(f"{value:.2f}" if isinstance(value, float) else str(value))}"'
        for key, value in attributes.items()
    ]
    head = " ".join([name, *words])
    return f"<{head}>{content}</{name}>" if content else f"<{head}/>"


def text(x: float, y: float, words: str, **attributes: object) -> str:
    """A line of text as an SVG element."""
    return tag("text", escape(words), x=float(x), y=float(y), **attributes)


def text_width(words: str, size: float) -> float:
    """About how wide a line of text is, in a wide sans-serif font."""
    narrow = "iljtfrI.,:;'|!()[]/-"
    return size * sum(_WIDTHS.get(c, 0.38 if c in narrow else 0.72 if c.isupper() else 0.62) for c in words)


def document(width: float, height: float, label: str, *parts: str) -> str:
    """A self-contained SVG document on white that scales with whatever it is put into."""
    inside = [tag("title", escape(label)), tag("rect", width=width, height=height, fill="#ffffff"), *parts]
    return tag(
        "svg",
        "\n" + "\n".join(inside) + "\n",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        role="img",
        aria_label=label,
        font_family="sans-serif",
        fill=INK,
    )


def to_svg(agent: Agent, tree: Tree) -> str:
    """A drawing of the tree for a paper or a page: yes goes left, no goes right, lines as wide as their share."""
    plan = _plan(agent, tree)
    label = f"Decision tree of {agent.name}: {size_of(tree)}"
    facts = f"{size_of(tree)}, agrees with the expert on {percent(tree.fidelity)} of the data"
    beside = tag("tspan", facts, dx=12, font_size=12, font_weight="normal", fill=SOFT)
    title = tag("text", escape(agent.name) + beside, x=_MARGIN, y=28, font_size=16, font_weight="bold")
    legend, bottom = _legend(agent, tree, plan.width, plan.bottom + 34)
    edges = [_edge(tree, plan, parent) for parent in np.flatnonzero(tree.feature != LEAF).tolist()]
    order = np.argsort(plan.depth, kind="stable")
    nodes = [_leaf(agent, tree, plan, n) if tree.feature[n] == LEAF else _question(agent, tree, plan, n) for n in order]
    return document(plan.width, bottom + _MARGIN, label, title, *edges, *nodes, *legend)


@dataclass(frozen=True)
class _Plan:
    """Where everything stands."""

    words: tuple[tuple[str, ...], ...]  # [nodes] the lines of text in each node's box
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


def _plan(agent: Agent, tree: Tree) -> _Plan:
    """Lay the leaves out evenly, centre parents, and leave each box as much room as its text needs."""
    thresholds = threshold_texts(tree)
    slot, depth, paths = _slots(agent, tree, thresholds)
    leaf = tree.feature == LEAF
    line, padding, apart, least = (16, 15, 10, 62) if tree.leaves <= _NARROW else (11, 8, 7, 42)
    words = tuple(
        tuple(textwrap.wrap(agent.actions[tree.action[n]], 12))
        if leaf[n]
        else (*textwrap.wrap(tree.names(agent)[tree.feature[n]], line), "≤ " + thresholds[n].replace("-", "−"))
        for n in range(len(tree))
    )
    inside = np.array([max(text_width(line, 12) for line in lines) for lines in words])
    wide = np.maximum(inside + padding, np.where(leaf, least, 0))
    high = np.array([15.0 * len(lines) + 9 for lines in words])
    pitch = wide[leaf].max() + apart
    for level in range(depth.max() + 1):
        row = sorted(np.flatnonzero(depth == level), key=lambda n: slot[n])
        for a, b in pairwise(row):
            pitch = max(pitch, ((wide[a] + wide[b]) / 2 + apart) / (slot[b] - slot[a]))
    below = np.where(leaf, 40.0, 0.0)  # bar and two numbers
    heights = np.array([(high + below)[depth == level].max() for level in range(depth.max() + 1)])
    stem = [leaf[depth == level].any() for level in range(depth.max() + 1)]  # lines pass the numbers under a leaf
    tops = 50 + np.concatenate([[0], np.cumsum(heights + np.where(stem, _GAP - 14, _GAP))[:-1]])
    used = pitch * (tree.leaves - 1) + wide.max()
    width = max(used + 2 * _MARGIN, 520.0, text_width(agent.name, 17.5) + 420)
    x = width / 2 + pitch * (slot - (tree.leaves - 1) / 2)
    bottom = float((tops + heights)[-1])
    return _Plan(words, x, tops[depth], (tops + heights)[depth], depth, wide, high, paths, shares(tree), width, bottom)


def _slots(agent: Agent, tree: Tree, thresholds: Sequence[str]) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Every node's place from left to right (a leaf is one wide), its depth, and the way to it in words."""
    slot, depth, paths = np.zeros(len(tree)), np.zeros(len(tree), int), ["always"] * len(tree)
    stack, leaves = [0], 0
    while stack:
        node = stack.pop()
        if tree.feature[node] == LEAF:
            slot[node], leaves = leaves, leaves + 1
            continue
        for child, sign in ((int(tree.right[node]), ">"), (int(tree.left[node]), "≤")):
            condition = f"{tree.names(agent)[tree.feature[node]]} {sign} {thresholds[node]}"
            paths[child] = condition if node == 0 else f"{paths[node]}\nand {condition}"
            depth[child] = depth[node] + 1
            stack.append(child)
    for node in range(len(tree) - 1, -1, -1):  # children stand behind their parent
        if tree.feature[node] != LEAF:
            slot[node] = (slot[tree.left[node]] + slot[tree.right[node]]) / 2
    return slot, depth, tuple(paths)


def _edge(tree: Tree, plan: _Plan, parent: int) -> str:
    """The two lines from a node to its children, with their answers."""
    parts = []
    for child, answer, side in ((tree.left[parent], "yes", -1), (tree.right[parent], "no", 1)):
        thick = 1.2 + 10 * float(np.nan_to_num(plan.share[child]))
        x, y, to_x, to_y = (float(v) for v in (plan.x[parent], plan.floor[parent], plan.x[child], plan.top[child]))
        middle = (y + to_y) / 2
        start = plan.top[parent] + plan.high[parent]
        curve = f"M{x:.1f} {start:.1f}V{y:.1f}C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}"
        parts.append(tag("path", d=curve, fill="none", stroke=LINE, stroke_width=thick))
        anchor = "end" if side < 0 else "start"
        beside = to_x + side * (thick / 2 + 3)
        parts.append(text(beside, to_y - 5, answer, font_size=10, text_anchor=anchor, fill=SOFT))
    return "".join(parts)


def _lines(x: float, y: float, lines: Sequence[str], **attributes: object) -> str:
    return "".join(text(x, y + 15 * k, line, text_anchor="middle", **attributes) for k, line in enumerate(lines))


def _tooltip(agent: Agent, tree: Tree, plan: _Plan, node: int) -> str:
    """What stands behind a node: its path and the weight of each of the expert's actions there."""
    counts = tree.counts[node]
    heaviest = [k for k in np.argsort(-counts, kind="stable") if counts[k] > 0]
    there = ", ".join(f"{agent.actions[k]} {number(counts[k], 4)}" for k in heaviest) or "no data"
    return tag("title", escape(f"{plan.paths[node]}\n{percent(plan.share[node])} of the data; weight: {there}"))


def _question(agent: Agent, tree: Tree, plan: _Plan, node: int) -> str:
    x, y, wide, high = (float(v[node]) for v in (plan.x, plan.top, plan.wide, plan.high))
    box = tag("rect", x=x - wide / 2, y=y, width=wide, height=high, rx=4, fill="#ffffff", stroke=SOFT, stroke_width=1)
    name, threshold = plan.words[node][:-1], plan.words[node][-1:]
    words = _lines(x, y + 16, name, font_size=12) + _lines(
        x, y + 16 + 15 * len(name), threshold, font_size=12, font_weight="bold"
    )
    return tag("g", _tooltip(agent, tree, plan, node) + box + words)


def _leaf(agent: Agent, tree: Tree, plan: _Plan, node: int) -> str:
    """The action in its colour; beneath, what the expert does there as a bar, the share and the agreement."""
    x, y, wide, high = (float(v[node]) for v in (plan.x, plan.top, plan.wide, plan.high))
    left, action = x - wide / 2, int(tree.action[node])
    parts = [_tooltip(agent, tree, plan, node), _swatch(action, left, y, wide, high, 1.5)]
    parts.append(_lines(x, y + 16, plan.words[node], font_size=12, font_weight="bold"))
    whole = tree.counts[node].sum()
    start = left
    for k in [action, *(k for k in range(len(agent.actions)) if k != action)]:
        part = wide * float(tree.counts[node, k] / whole) if whole > 0 else 0.0
        if part > 0:
            parts.append(tag("rect", x=start, y=y + high + 4, width=part, height=6, fill=paint(k).edge))
            start += part
    of_data, agree = (" data", " agree") if tree.leaves <= _NARROW else ("", "")
    parts.append(text(x, y + high + 23, percent(plan.share[node]) + of_data, font_size=10, text_anchor="middle"))
    agrees = percent(agreement(tree)[node]) + agree
    parts.append(text(x, y + high + 36, agrees, font_size=10, text_anchor="middle", fill=SOFT))
    return tag("g", "".join(parts))


def _swatch(action: int, x: float, y: float, wide: float, high: float, thick: float) -> str:
    look = paint(action)
    shape = {"x": x, "y": y, "width": wide, "height": high, "rx": 4 if high > 12 else 2}
    return tag("rect", **shape, fill=look.fill, stroke=look.edge, stroke_width=thick, stroke_dasharray=look.dash)


def _legend(agent: Agent, tree: Tree, width: float, y: float) -> tuple[list[str], float]:
    """The actions with how often the tree answers with each, and how to read the drawing; and where that ends."""
    leaves, share = np.flatnonzero(tree.feature == LEAF), shares(tree)
    parts, x = [], _MARGIN
    for k, name in enumerate(agent.actions):
        mine = leaves[tree.action[leaves] == k]
        label = f"{name} {percent(share[mine].sum())}" if len(mine) else f"{name} (never)"
        long = 18 + text_width(label, 11)
        if x > _MARGIN and x + long > width - _MARGIN:
            x, y = _MARGIN, y + 19
        parts.append(_swatch(k, x, y - 9, 11, 11, 1))
        parts.append(text(x + 17, y, label, font_size=11, fill=INK if len(mine) else SOFT))
        x += long + 16
    meaning = (
        "Above: how much of the training data gets each action. Yes goes left, no goes right; a line is as wide as its "
        "share of the data. Under each leaf: the expert's actions there as a bar, the share of the data that gets "
        "there, and how much of it agrees with the leaf."
    )
    lines = textwrap.wrap(meaning, int((width - 2 * _MARGIN) / 5.9))
    parts += [text(_MARGIN, y + 19 + 13 * k, line, font_size=10, fill=SOFT) for k, line in enumerate(lines)]
    return parts, y + 6 + 13 * len(lines)
