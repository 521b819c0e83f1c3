"""What one agent's tree must keep to: boxes in which only some actions are allowed, and limits of form.

A rule that is no box is replaced by the box around it, so a tree that keeps to the boxes keeps to the rules. Which
rules reach a node depends on each question by itself, so a node is known by the set of rules that reach it, as bits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hydraviper.data import Derived, InputError
from hydraviper.expressions.expression import All
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.verify.cells import Cell, divide
from hydraviper.verify.clock import Clock, OutOfTime
from hydraviper.verify.frames import Builder, Needs
from hydraviper.verify.proof import find, question
from hydraviper.verify.resolve import Rule, Rules, World

DEEPEST = 40  # questions on a path, when it is asked whether any tree at all could keep to limits
MOST_BOXES = 64  # around one rule
SECONDS = 5.0  # to draw boxes around a rule, and to find out whether rules that clash really meet


@dataclass(frozen=True)
class Question:
    """A question that keeps rules apart: those that reach its left and its right side, as bits."""

    feature: int
    threshold: float
    left: int
    right: int


@dataclass(frozen=True)
class Limits:
    """The boxes and limits of one agent's tree."""

    world: World  # which observations there are
    agent: int
    actions: int  # how many there are
    low: np.ndarray  # float64 [R, F] closed boxes, derived features included
    high: np.ndarray
    good: tuple[int, ...]  # [R] the actions that each box allows, as bits
    sources: tuple[tuple[Rule, ...], ...]  # [R] the rules that each box stands for
    whole: np.ndarray  # bool [F]
    banned: np.ndarray  # bool [F] features that must not be asked for
    most_leaves: int | None = None
    most_depth: int | None = None
    _known: dict[tuple[int, int], float] = field(default_factory=dict, compare=False)

    @property
    def all(self) -> int:
        """Every rule, as bits: what reaches the root."""
        return (1 << len(self.good)) - 1

    @cached_property
    def forbidden(self) -> np.ndarray:
        """The actions that each box forbids, bool [R, A]."""
        return np.array([[not good >> a & 1 for a in range(self.actions)] for good in self.good]).reshape(
            -1, self.actions
        )

    def sides(self, feature: int, threshold: float) -> tuple[int, int]:
        """Which rules reach the left and the right side of a question."""
        return _bits(self.low[:, feature] <= threshold), _bits(self.high[:, feature] > threshold)

    def allowed(self, rules: int) -> int:
        """The actions that all these rules allow, as bits."""
        left, here = (1 << self.actions) - 1, rules
        while here:
            bit = here & -here
            left &= self.good[bit.bit_length() - 1]
            here ^= bit
        return left

    def may(self, action: int, rules: int) -> bool:
        """Whether all these rules allow an action."""
        return bool(self.allowed(rules) >> action & 1)

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """The questions at the borders of the boxes, which keep some rule off one of their sides."""
        made = []
        for f in np.flatnonzero(~self.banned):
            step = 0.5 if self.whole[f] else None
            below = {
                v - 0.5 if step else float(np.nextafter(np.float32(v), np.float32(-np.inf))) for v in self.low[:, f]
            }
            above = {v + 0.5 if step else float(v) for v in self.high[:, f]}
            for threshold in sorted(below | above):
                if math.isfinite(threshold):
                    left, right = self.sides(int(f), threshold)
                    if self.all != left & right:
                        made.append(Question(int(f), threshold, left, right))
        return tuple(made)

    @cached_property
    def _useful(self) -> tuple[Question, ...]:
        """Of the questions, those that no other keeps apart better."""
        unique = {(q.left, q.right): q for q in reversed(self.questions)}
        kept = [
            q
            for q in unique.values()
            if not any(
                o is not q and o.left | q.left == q.left and o.right | q.right == q.right for o in unique.values()
            )
        ]
        return tuple(kept)

    def fewest(self, rules: int, depth: int) -> float:
        """The least leaves of a tree that gives each of these rules an allowed action with so many questions."""
        if self.allowed(rules):
            return 1
        if depth == 0:
            return math.inf
        if (rules, depth) not in self._known:
            best = math.inf
            for q in self._useful:
                left, right = rules & q.left, rules & q.right
                if rules not in (left, right):
                    best = min(best, self.fewest(left, depth - 1) + self.fewest(right, depth - 1))
                if best == 2:
                    break
            self._known[rules, depth] = best
        return self._known[rules, depth]

    def forced(self, rules: int, depth: int) -> Question | None:
        """A question that leaves the fewest leaves to come."""
        options = [q for q in self._useful if rules not in (rules & q.left, rules & q.right)]
        cost = [self.fewest(rules & q.left, depth - 1) + self.fewest(rules & q.right, depth - 1) for q in options]
        best = int(np.argmin(cost)) if cost else 0
        return options[best] if cost and math.isfinite(cost[best]) else None

    def standing_for(self, rules: Sequence[Rule]) -> int:
        """The boxes that stand for some of these rules, as bits."""
        wanted = set(map(id, rules))
        return _bits(np.array([any(id(rule) in wanted for rule in own) for own in self.sources], bool))

    def depth_limit(self, depth: int) -> int:
        """The stricter of two limits of depth."""
        return depth if self.most_depth is None else min(depth, self.most_depth)

    def leaf_limit(self, leaves: int | None) -> int | None:
        """The stricter of two limits of leaves."""
        known = [limit for limit in (leaves, self.most_leaves) if limit is not None]
        return min(known, default=None)


def _bits(flags: np.ndarray) -> int:
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def at_leaves(limits: Limits, tree: Tree) -> dict[int, int]:
    """The rules that reach each leaf, as bits."""
    rules, leaves = {0: limits.all}, {}
    for node in range(len(tree)):  # parents stand before their children
        if tree.feature[node] == LEAF:
            leaves[node] = rules[node]
        else:
            left, right = limits.sides(int(tree.feature[node]), float(tree.threshold[node]))
            rules[int(tree.left[node])], rules[int(tree.right[node])] = rules[node] & left, rules[node] & right
    return leaves


def keeps(limits: Limits, tree: Tree) -> bool:
    """Whether a tree keeps to the boxes and limits; what is not a box may be kept all the same."""
    if limits.most_leaves is not None and tree.leaves > limits.most_leaves:
        return False
    if limits.most_depth is not None and tree.depth > limits.most_depth:
        return False
    if limits.banned[tree.feature[tree.feature != LEAF]].any():
        return False
    return all(limits.may(int(tree.action[leaf]), rules) for leaf, rules in at_leaves(limits, tree).items())


def limits_of(rules: Rules, agent: int, own: Sequence[Rule], derived: Sequence[Derived], shapes: bool = True) -> Limits:
    """One agent's limits from the rules that it is to keep by itself, for a tree that may ask for derived features."""
    who = rules.scene.agents[agent]
    boxes: dict[tuple[bytes, bytes, int], list[Rule]] = {}
    everything = (1 << len(who.actions)) - 1
    for rule in own:
        good = everything & ~sum(1 << a for a in rule.bad[rule.agents.index(agent)])
        for low, high in boxes_of(rules, rule, agent, derived):
            boxes.setdefault((low.tobytes(), high.tobytes(), good), []).append(rule)
    names = [*who.features, *(feature.name for feature in derived)]
    forms = [shape for shape in rules.shapes if shape.agent == agent and shapes]
    banned = np.array([any(name in shape.never_asks for shape in forms) for name in names])
    found = [(np.frombuffer(low), np.frombuffer(high), good) for low, high, good in boxes]
    builder = Builder({agent: rules.world.spaces[agent]})
    columns = [*range(len(who.features)), *(builder.derive(agent, feature) for feature in derived)]
    return Limits(
        rules.world,
        agent,
        len(who.actions),
        np.array([low for low, _, _ in found]).reshape(-1, len(names)),
        np.array([high for _, high, _ in found]).reshape(-1, len(names)),
        tuple(good for _, _, good in found),
        tuple(map(tuple, boxes.values())),
        np.array([builder.whole[column] for column in columns], bool),
        banned,
        min((shape.most_leaves for shape in forms if shape.most_leaves is not None), default=None),
        min((shape.most_depth for shape in forms if shape.most_depth is not None), default=None),
    )


def boxes_of(rules: Rules, rule: Rule, agent: int, derived: Sequence[Derived]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Boxes around a rule's region, as one agent sees it [F + D]; none if the region is empty."""
    asked = [(agent, feature) for feature in derived]
    frame, needs, facts = question(rules.world, rule, rule.seers, {}, asked)
    columns = [*(frame.start[agent] + k for k in range(frame.sizes[agent])), *(frame.derived[one] for one in asked)]
    both = Needs.all((needs, facts))
    cells: list[Cell] = []
    for choices in (both.choices, needs.choices, ()):  # fewer cases, wider boxes
        parts = divide(Cell.whole(frame), Needs(both.lines, choices), [], Clock.of(SECONDS if choices else math.inf))
        try:
            cells = list(itertools.islice(parts, MOST_BOXES + 1))
        except OutOfTime:
            continue
        if len(cells) <= MOST_BOXES:
            break
    return [(cell.low[columns], cell.high[columns]) for cell in cells]


def check_possible(limits: Limits, name: str, depth: int, most_leaves: int | None) -> None:
    """Refuse limits that no tree can keep, and say which rules clash."""
    depth, leaves = limits.depth_limit(depth), limits.leaf_limit(most_leaves)
    if limits.fewest(limits.all, depth) <= (2**60 if leaves is None else leaves):
        return
    if math.isinf(limits.fewest(limits.all, DEEPEST)):
        raise _clash(limits, name)
    enough = next(d for d in range(DEEPEST + 1) if math.isfinite(limits.fewest(limits.all, d)))
    if depth < enough:
        raise InputError(
            f"the constraints on {name} need trees with {enough} questions on a path, and {depth} are allowed: "
            f"raise --depth, or choose --features derived, or drop a constraint."
        )
    raise InputError(
        f"the constraints on {name} need {limits.fewest(limits.all, depth):.0f} leaves, and {leaves} are allowed: "
        "raise --leaves or most_leaves, or drop a constraint."
    )


def _clash(limits: Limits, name: str) -> InputError:
    """The complaint about rules that no tree can keep together: they leave no action, or questions cannot part them."""
    clash = limits.all
    for bit in range(len(limits.good)):  # leave out what is not needed for the clash
        if math.isinf(limits.fewest(clash & ~(1 << bit), DEEPEST)):
            clash &= ~(1 << bit)
    sources = list(dict.fromkeys(limits.sources[bit][0] for bit in range(len(limits.good)) if clash >> bit & 1))
    words = " and ".join(f"{rule.property!r} ({rule.words})" for rule in sources)
    everywhere = All(tuple(part for rule in sources for part in rule.when.parts))
    meeting = Rule("", "", (limits.agent,), everywhere, (frozenset(range(limits.actions)),))
    forbidden = frozenset[int]().union(*(rule.bad[rule.agents.index(limits.agent)] for rule in sources))
    met = find(limits.world, meeting, {}, [], Clock.of(SECONDS)).seen is not None
    if met and len(forbidden) == limits.actions:
        return InputError(f"the constraints on {name} clash, no action is left where these meet: {words}.")
    return InputError(
        f"the constraints on {name} cannot be kept apart by the questions that trees may ask: {words}: "
        "choose --features derived, or drop one of them."
    )


def by_agent(rules: Rules, assigned: Mapping[int, int]) -> dict[int, list[Rule]]:
    """Every rule with the agent that keeps it: its own, or the one that a joint rule (by number) is assigned to."""
    kept: dict[int, list[Rule]] = {i: [] for i in rules.scene.distilled}
    for number, rule in enumerate(rules.rules):
        agent = assigned.get(number, rule.agents[0] if len(rule.agents) == 1 else None)
        if agent is not None:
            kept[agent].append(rule)
    return kept
