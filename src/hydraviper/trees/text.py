"""A tree as rules to read in a terminal."""

from collections.abc import Iterator, Sequence
from math import isfinite

from hydraviper.data import Agent
from hydraviper.trees.questions import Question, questions
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.trees.words import agreement, percent, shares, short_actions, size_of


def to_text(agent: Agent, tree: Tree) -> str:
    """A line per node to read in a terminal: its number, its question or answer, and what reached it."""
    rules, short = list(_rules(agent, tree, questions(agent, tree))), short_actions(agent)
    wide = min(72, max(len(rule) for rule, _ in rules))
    share, agrees, reached = shares(tree), agreement(tree), tree.counts.sum(axis=1)
    most = max(share[tree.feature == LEAF])
    facts = f"{size_of(tree)}, agrees with the expert on {percent(tree.fidelity)} of the data"
    lines = [f"{agent.name}: {facts}", "", f"node  {'':{wide}}  {'reached by':>10}   share  expert agrees"]
    for rule, node in rules:
        size = 0 if tree.feature[node] != LEAF or not isfinite(share[node]) else round(8 * share[node] / (most or 1))
        bar = "■" * max(size, int(tree.feature[node] == LEAF and share[node] > 0))
        columns = f"{reached[node]:>10,.0f}  {percent(share[node]):>6}  {percent(agrees[node]):>6}  {bar}"
        lines.append(f"{node:>4}  {rule:{wide}}  {columns}")
    legend = ["", *agent.actions] if short != agent.actions else []
    formulas = formulas_of(agent, tree)
    legend += ["", *(f"{name} = {formula}" for name, formula in formulas.items())] if formulas else []
    return "\n".join(line.rstrip() for line in [*lines, *legend]) + "\n"


def formulas_of(agent: Agent, tree: Tree) -> dict[str, str]:
    """How the features that a tree asks for are computed, where their names do not say it."""
    plain = len(agent.features)
    asked = [tree.derived[k - plain] for k in sorted(set(tree.feature.tolist())) if k >= plain]
    return {feature.name: feature.formula for feature in asked if feature.formula not in ("", feature.name)}


def _rules(
    agent: Agent, tree: Tree, asked: Sequence[Question | None], node: int = 0, lead: str = "", stem: str = ""
) -> Iterator[tuple[str, int]]:
    """The nodes from here on, depth first: how each is reached and what it asks or answers, and its number."""
    question = asked[node]
    if question is None:
        yield f"{lead}→ {short_actions(agent)[tree.action[node]]}", node
        return
    yield (lead.rstrip() + ": " if lead else "") + f"{question.yes}?", node
    for child, side, below in ((tree.left[node], "├─ yes ", "│  "), (tree.right[node], "└─ no ", "   ")):
        yield from _rules(agent, tree, asked, int(child), stem + side, stem + below)
