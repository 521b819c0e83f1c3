"""Whether trees have properties: yes for certain, no with observations that they really answer so, or undecided."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hydraviper.data import Agent, Derived
from hydraviper.trees.render import number
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.verify.cells import Cell, Frame, columns_of, frame, leaf_boxes
from hydraviper.verify.resolve import Rule, Rules, Shape
from hydraviper.verify.solver import SECONDS, quick, thorough


@dataclass(frozen=True)
class Counterexample:
    """Observations at which a rule is broken; the trees were run on them."""

    rule: Rule
    observations: Mapping[int, np.ndarray]  # agent -> float32 [F_i]
    actions: Mapping[int, int]  # agent -> what its tree answers


@dataclass(frozen=True)
class Answer:
    """What is known of one property."""

    property: str
    holds: bool | None  # None: not decided
    cases: int  # rules and limits that were looked at
    broken: int  # how many of them do not hold
    counterexamples: tuple[Counterexample, ...]  # one for each broken rule
    problems: tuple[str, ...]  # broken limits, and what could not be decided, in words
    seconds: float


def verify(rules: Rules, students: Mapping[int, Tree], seconds: float = SECONDS) -> list[Answer]:
    """Answer every property for some trees; `seconds` is the most that one question to z3 may take."""
    return [_answer(rules, name, students, seconds) for name in rules.names]


def _answer(rules: Rules, name: str, students: Mapping[int, Tree], seconds: float) -> Answer:
    start = time.perf_counter()
    examples, problems, open_cases, cases = [], [], 0, 0
    for rule in rules.rules:
        if rule.property == name:
            cases += 1
            found, decided = check(rules, rule, students, seconds)
            if found is not None:
                examples.append(found)
            elif not decided:
                open_cases += 1
                problems.append(f"not decided: {rule.words}")
    for shape in rules.shapes:
        if shape.property == name:
            cases += 1
            problems += misshapen(rules, shape, students[shape.agent])
    broken = len(examples) + len(problems) - open_cases
    holds = False if broken else None if open_cases else True
    return Answer(name, holds, cases, broken, tuple(examples), tuple(problems), time.perf_counter() - start)


def check(
    rules: Rules, rule: Rule, students: Mapping[int, Tree], seconds: float = SECONDS
) -> tuple[Counterexample | None, bool]:
    """A confirmed counterexample to one rule, or none; and whether that is certain."""
    own = frame(rules, rule, students)
    cells = list(_cells(rules, rule, own, students))
    for settle in (quick, thorough):
        left = []
        for cell in cells:
            found: list[Counterexample] = []
            verdict = settle(cell, lambda point, to=found: _confirm(rules, rule, own, students, point, to), seconds)
            if found:
                return found[0], True
            if not verdict.empty:
                left.append(cell)
        cells = left
    return None, not cells


def _cells(rules: Rules, rule: Rule, own: Frame, students: Mapping[int, Tree]) -> Iterator[Cell]:
    """Where all agents get to leaves with bad actions; what narrows to nothing is left out."""
    whole = Cell(own, own.low, own.high).narrowed()
    choices = []
    for agent, bad in zip(rule.agents, rule.bad, strict=True):
        if len(bad) < len(rules.scene.agents[agent].actions):  # else whatever it does is bad: no need to look
            tree = students[agent]
            columns = columns_of(own, agent, tree)
            leaves, low, high = leaf_boxes(tree, len(columns))
            choices.append([(columns, low[k], high[k]) for k, leaf in enumerate(leaves) if tree.action[leaf] in bad])
    stack = [] if whole is None else [(whole, 0)]
    while stack:
        cell, level = stack.pop()
        if level == len(choices):
            yield cell
            continue
        for columns, low, high in choices[level]:
            part = cell.within(columns, low, high).narrowed()
            if part is not None:
                stack.append((part, level + 1))


def _confirm(
    rules: Rules,
    rule: Rule,
    own: Frame,
    students: Mapping[int, Tree],
    point: list[Fraction],
    found: list[Counterexample],
) -> bool:
    """Round a point to float32, and see whether conditions, facts and values hold there and the trees answer so.

    Every feature is the float32 next to a real number, and the facts hold for those real numbers.
    """
    seen: dict[int, np.ndarray] = {}
    for agent in rule.agents:
        exact = point[own.start[agent] : own.start[agent] + own.sizes[agent]]
        values = np.array([float(value) for value in exact], np.float32)
        space = rules.spaces[agent]
        inside = (values >= space.low).all() and (values <= space.high).all()
        if not inside or (values[space.whole] % 1 != 0).any():
            return False
        if any(abs(Fraction(float(x)) - y) > np.spacing(abs(x)) / 2 for x, y in zip(values, exact, strict=True)):
            return False
        seen[agent] = values
    for line in rule.facts:
        plain = all(not isinstance(feature, Derived) for (_, feature), _ in line.terms)
        if plain:
            total = sum((factor * point[own.column(variable)] for variable, factor in line.terms), Fraction(0))
        else:
            total = line.sum_over(seen)
        if not line.holds(total):
            return False
    if not all(line.holds(line.sum_over(seen)) for line in rule.when):
        return False
    actions = {agent: int(students[agent].predict(seen[agent][None])[0]) for agent in rule.agents}
    if any(actions[agent] not in bad for agent, bad in zip(rule.agents, rule.bad, strict=True)):
        return False
    found.append(Counterexample(rule, seen, actions))
    return True


def misshapen(rules: Rules, shape: Shape, tree: Tree) -> list[str]:
    """Which limits a tree breaks, in words."""
    agent = rules.scene.agents[shape.agent]
    asked = {tree.names(agent)[k] for k in tree.feature if k != LEAF}
    problems = [f"{agent.name} asks for {name!r}" for name in sorted(asked & shape.never_asks)]
    if shape.most_leaves is not None and tree.leaves > shape.most_leaves:
        problems.append(f"{agent.name} has {tree.leaves} leaves, not at most {shape.most_leaves}")
    if shape.most_depth is not None and tree.depth > shape.most_depth:
        problems.append(f"{agent.name} asks {tree.depth} questions, not at most {shape.most_depth}")
    return problems


def in_words(rules: Rules, example: Counterexample, students: Mapping[int, Tree]) -> str:
    """A counterexample as a sentence: what the rule and the trees ask for, and what the trees answer."""
    parts = []
    for agent in example.rule.agents:
        who = rules.scene.agents[agent]
        tree, seen = students[agent], example.observations[agent]
        asked = [int(tree.feature[node]) for node in tree.path(seen)[:-1]]
        shown = dict.fromkeys(_plain_columns(agent, example.rule) + [k for k in asked if k < len(seen)])
        zero = [k for k in shown if seen[k] == 0]
        values = [f"{who.features[k]} = {_exactly(seen[k])}" for k in shown if seen[k] != 0]
        values += [f"{who.features[zero[0]]} = 0"] if len(zero) == 1 else []
        values += [f"{len(zero)} other features = 0"] if len(zero) > 1 and values else []
        values += ["all features that are asked for = 0"] if len(zero) > 1 and len(values) == 0 else []
        parts.append(f"{who.name} sees {', '.join(values)} and answers {who.actions[example.actions[agent]]!r}")
    return "; ".join(parts)


def _plain_columns(agent: int, rule: Rule) -> list[int]:
    found: list[int] = []
    for line in rule.when:
        for (owner, feature), _ in line.terms:
            if owner == agent:
                found += (
                    [k for term in feature.terms for k in term.inputs] if isinstance(feature, Derived) else [feature]
                )
    return found


def _exactly(value: np.float32) -> str:
    """A number with few digits if they tell it exactly, else with all that a float32 has."""
    short = number(float(value), 4)
    return short if np.float32(float(short)) == value else str(value)


def demanded(agents: tuple[Agent, ...], rule: Rule) -> str:
    """What a rule forbids, in words."""
    parts = [
        f"{agents[i].name} must not answer {' or '.join(repr(agents[i].actions[a]) for a in sorted(bad))}"
        for i, bad in zip(rule.agents, rule.bad, strict=True)
        if len(bad) < len(agents[i].actions)
    ]
    return " while ".join(parts)


Check = Callable[[Mapping[int, Tree]], bool]
