"""Whether trees have properties: they hold, are broken, apply nowhere, or that is undecided.

`holds` is a proof: wherever a rule applies, no tree answers what it forbids, and there are observations at which it
applies. `broken` comes with observations that `meaning` confirms. `applies nowhere` is a proof as well.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hydraviper.data import Derived
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.verify import meaning
from hydraviper.verify.cells import Box, Cell, divide
from hydraviper.verify.clock import Clock, OutOfTime
from hydraviper.verify.frames import Builder, Frame, Needs, leaf_boxes
from hydraviper.verify.resolve import Rule, Rules, Shape, World
from hydraviper.verify.solver import quick, thorough

SECONDS = 60.0  # the most that one property may take
HOLDS, BROKEN, NOWHERE, UNDECIDED = ANSWERS = ("holds", "broken", "applies nowhere", "undecided")
MOST_CELLS = 50_000  # parts of one rule that are looked at


@dataclass(frozen=True)
class Counterexample:
    """Observations at which a rule is violated; the trees were run on them."""

    rule: Rule
    observations: Mapping[int, np.ndarray]  # agent -> float32 [F_i]; all agents that facts tie in are here
    actions: Mapping[int, int]  # agent -> what its tree answers, for the agents of the rule


@dataclass(frozen=True)
class Answer:
    """What is known of one property."""

    property: str
    answer: str  # one of ANSWERS
    cases: int  # rules and limits that were looked at
    broken: int  # how many of them are broken
    nowhere: int  # how many of the rules apply nowhere
    counterexamples: tuple[Counterexample, ...]  # one for each broken rule
    problems: tuple[str, ...]  # broken limits, and what could not be decided, in words
    seconds: float

    @cached_property
    def holds(self) -> bool | None:
        """True if it holds, False if it is broken, None if it applies nowhere or is undecided."""
        return {HOLDS: True, BROKEN: False}.get(self.answer)


@dataclass(frozen=True)
class Finding:
    """What is known of one rule."""

    answer: str  # one of ANSWERS; `holds` says nothing here about whether the rule applies anywhere
    example: Counterexample | None = None


def verify(rules: Rules, students: Mapping[int, Tree], seconds: float = SECONDS) -> list[Answer]:
    """Answer every property for some trees, each within so many seconds."""
    rules.scene.check_trees(students)
    return [_answer(rules, name, students, Clock.of(seconds)) for name in rules.names]


def _answer(rules: Rules, name: str, students: Mapping[int, Tree], clock: Clock) -> Answer:
    start = time.perf_counter()
    own = [rule for rule in rules.rules if rule.property == name]
    shapes = [shape for shape in rules.shapes if shape.property == name]
    findings = [check(rules, rule, students, clock) for rule in own]
    problems = [problem for shape in shapes for problem in misshapen(rules, shape, students[shape.agent])]
    broken = sum(finding.answer == BROKEN for finding in findings) + len(problems)
    nowhere = sum(finding.answer == NOWHERE for finding in findings)
    undecided = [rule.words for rule, found in zip(own, findings, strict=True) if found.answer == UNDECIDED]
    problems += [f"undecided: {words}" for words in undecided]
    if broken:
        answer = BROKEN
    elif undecided:
        answer = UNDECIDED
    elif not own:
        answer = HOLDS if shapes else NOWHERE
    elif nowhere == len(own):
        answer = NOWHERE
    else:
        answer = _somewhere(rules, own, findings, clock)
        if answer == UNDECIDED:
            problems.append("undecided: no observation was found at which it applies, and no proof that there is none")
    examples = tuple(finding.example for finding in findings if finding.example is not None)
    spent = time.perf_counter() - start
    return Answer(name, answer, len(own) + len(shapes), broken, nowhere, examples, tuple(problems), spent)


def _somewhere(rules: Rules, own: Sequence[Rule], findings: Sequence[Finding], clock: Clock) -> str:
    """`holds` once one of the rules that are kept is seen to apply, `applies nowhere` if all provably do not."""
    empty = 0
    kept = [rule for rule, finding in zip(own, findings, strict=True) if finding.answer == HOLDS]
    for rule in kept:
        found = find(rules.world, rule, {}, [], clock)
        if found.seen is not None:
            return HOLDS
        empty += found.empty
    return NOWHERE if empty == len(kept) else UNDECIDED


def check(rules: Rules, rule: Rule, students: Mapping[int, Tree], clock: Clock | None = None) -> Finding:
    """Whether trees keep one rule; `applies nowhere` is said where narrowing alone shows it."""
    trees = {agent: students[agent] for agent in rule.agents}
    bad = [
        (agent, forbidden)
        for agent, forbidden in zip(rule.agents, rule.bad, strict=True)
        if len(forbidden) < len(rules.scene.agents[agent].actions)  # else whatever it does is bad: no need to look
    ]
    found = find(rules.world, rule, trees, bad, clock or Clock.of(SECONDS))
    if found.seen is not None:
        return Finding(BROKEN, Counterexample(rule, found.seen, meaning.answers(rule, found.seen, trees)))
    return Finding(NOWHERE if found.nowhere else HOLDS if found.empty else UNDECIDED)


@dataclass(frozen=True)
class Found:
    """What a search ends with: observations, or whether there are none for certain."""

    seen: Mapping[int, np.ndarray] | None
    empty: bool
    nowhere: bool = False  # whether the rule applies nowhere, whatever the trees answer


def find(
    world: World, rule: Rule, trees: Mapping[int, Tree], bad: Sequence[tuple[int, frozenset[int]]], clock: Clock
) -> Found:
    """Observations at which a rule applies and trees give bad answers, each agent one of its own.

    First among the agents that the rule sees; where facts tie in others, these must fit as well.
    """
    near, far = rule.seers, world.tied(rule.seers)
    result = Found(None, False)
    for agents in dict.fromkeys((near, far)):
        try:
            result = _find(world, rule, trees, bad, agents, far, clock)
        except OutOfTime:
            return Found(None, False)
        if result.seen is not None or result.empty:
            break
    return result


def _find(
    world: World,
    rule: Rule,
    trees: Mapping[int, Tree],
    bad: Sequence[tuple[int, frozenset[int]]],
    agents: Sequence[int],
    tied: Sequence[int],
    clock: Clock,
) -> Found:
    frame, needs, facts = question(world, rule, agents, trees)
    boxes = [_bad_leaves(frame, agent, trees[agent], forbidden) for agent, forbidden in bad]
    found: list[Mapping[int, np.ndarray]] = []

    def confirm(values: list[float]) -> bool:
        seen = frame.seen(values)
        if not meaning.possible(world, seen, agents) or not meaning.holds(rule.when, seen):
            return False
        answers = {agent: int(trees[agent].predict(seen[agent][None])[0]) for agent, _ in bad}
        if any(answers[agent] not in forbidden for agent, forbidden in bad):
            return False
        complete = completed(world, seen, tied, clock)
        if complete is not None:
            found.append(complete)
        return complete is not None

    region = Cell.whole(frame).narrowed()
    if region is None or (applies := region.needing((*needs.lines, *facts.lines)).narrowed()) is None:
        return Found(None, True, True)
    cells: list[Cell] = []
    for settle in (quick, thorough):
        parts = divide(applies, Needs((), (*needs.choices, *facts.choices)), boxes, clock) if settle is quick else cells
        left: list[Cell] = []
        for count, cell in enumerate(parts):
            if count >= MOST_CELLS:
                return Found(None, False)
            empty = settle(cell, confirm, clock)
            if found:
                return Found(found[0], False)
            if not empty:
                left.append(cell)
        cells = left
    return Found(None, not cells)


def question(
    world: World,
    rule: Rule,
    agents: Sequence[int],
    trees: Mapping[int, Tree],
    derived: Sequence[tuple[int, Derived]] = (),
) -> tuple[Frame, Needs, Needs]:
    """The frame of a rule for some agents' observations, what the rule needs and what the facts need."""
    builder = Builder({i: world.spaces[i] for i in agents})
    needs = builder.needs(rule.when)
    facts = Needs.all(builder.needs(fact, fact=True) for fact in world.about(agents))
    for agent, tree in trees.items():
        builder.ask(agent, tree)
    for agent, feature in derived:
        builder.derive(agent, feature)
    return builder.built(), needs, facts


def _bad_leaves(frame: Frame, agent: int, tree: Tree, forbidden: frozenset[int]) -> list[Box]:
    columns = frame.columns_of(agent, tree)
    leaves, low, high = leaf_boxes(tree, len(columns))
    return [(columns, low[k], high[k]) for k, leaf in enumerate(leaves) if int(tree.action[leaf]) in forbidden]


def completed(
    world: World, seen: Mapping[int, np.ndarray], agents: Sequence[int], clock: Clock
) -> dict[int, np.ndarray] | None:
    """Observations with those of further agents that facts tie to them; None if none was found that fit."""
    if all(agent in seen for agent in agents):
        return dict(seen)
    builder = Builder({i: world.spaces[i] for i in agents})
    facts = Needs.all(builder.needs(fact, fact=True) for fact in world.about(agents))
    frame = builder.built()
    cell = Cell.whole(frame)
    for agent, values in seen.items():
        columns = frame.start[agent] + np.arange(len(values))
        cell = cell.within((columns, values.astype(np.float64), values.astype(np.float64)))
    found: list[dict[int, np.ndarray]] = []

    def confirm(values: list[float]) -> bool:
        complete = frame.seen(values)
        if meaning.possible(world, complete, agents):
            found.append(complete)
        return bool(found)

    for part in divide(cell, facts, [], clock):
        quick(part, confirm, clock)
        if found:
            return found[0]
    return None


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
