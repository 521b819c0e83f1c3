"""Bounds: what one agent's tree must keep to, as boxes that allow only some actions, and limits of its shape.

An obligation whose region is no box is replaced by boxes around it, so a tree that keeps to the boxes keeps the
obligation. Whether a box reaches a node depends on the questions above one by one, so all that matters at a node is
the set of boxes that reach it. Sets of boxes and sets of actions are bit masks.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hydraviper.data import Derived, InputError
from hydraviper.expressions.expression import All
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.verify.obligations import Obligation, Obligations
from hydraviper.verify.prover.deadline import Deadline, OutOfTime
from hydraviper.verify.prover.forms import Formula
from hydraviper.verify.prover.frames import FrameBuilder
from hydraviper.verify.prover.regions import Region, divide
from hydraviper.verify.prover.search import encode, find
from hydraviper.verify.world import World

DEEPEST = 40  # questions on a path, when any tree at all would do
MOST_BOXES = 64  # around one obligation's region
SECONDS = 5.0  # to find boxes around a region, and to find out whether conflicting obligations apply at once


@dataclass(frozen=True)
class Question:
    """A question that separates boxes: the boxes that reach its left and its right side."""

    feature: int
    threshold: float
    left: int  # bit mask
    right: int


@dataclass(frozen=True)
class Bounds:
    """The boxes and the shape limits of one agent's tree."""

    world: World
    agent: int
    actions: int  # how many there are
    low: np.ndarray  # float64 [R, F] closed boxes, derived features included
    high: np.ndarray
    good: tuple[int, ...]  # [R] the actions that each box allows, bit masks
    sources: tuple[tuple[Obligation, ...], ...]  # [R] the obligations behind each box
    whole: np.ndarray  # bool [F], whether only whole numbers occur
    banned: np.ndarray  # bool [F], features that must not be asked for
    most_leaves: int | None = None
    most_depth: int | None = None
    _fewest: dict[tuple[int, int], float] = field(default_factory=dict, compare=False)

    @property
    def all(self) -> int:
        """The set of all boxes, which reach the root."""
        return (1 << len(self.good)) - 1

    @cached_property
    def forbidden(self) -> np.ndarray:
        """The actions that each box forbids, bool [R, A]."""
        forbidden = [[not good >> a & 1 for a in range(self.actions)] for good in self.good]
        return np.array(forbidden).reshape(-1, self.actions)

    def sides(self, feature: int, threshold: float) -> tuple[int, int]:
        """The boxes that reach the left and the right side of a question."""
        return _bits(self.low[:, feature] <= threshold), _bits(self.high[:, feature] > threshold)

    def allowed(self, boxes: int) -> int:
        """The actions that all these boxes allow, a bit mask."""
        actions = (1 << self.actions) - 1
        while boxes:
            bit = boxes & -boxes
            actions &= self.good[bit.bit_length() - 1]
            boxes ^= bit
        return actions

    def may(self, action: int, boxes: int) -> bool:
        """Whether all these boxes allow an action."""
        return bool(self.allowed(boxes) >> action & 1)

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """The questions at the borders of boxes that keep some box off one side."""
        questions = []
        for f in np.flatnonzero(~self.banned):
            if self.whole[f]:
                borders = {v - 0.5 for v in self.low[:, f]} | {v + 0.5 for v in self.high[:, f]}
            else:
                below = {float(np.nextafter(np.float32(v), np.float32(-np.inf))) for v in self.low[:, f]}
                borders = below | {float(v) for v in self.high[:, f]}
            for threshold in sorted(filter(math.isfinite, borders)):
                left, right = self.sides(int(f), threshold)
                if self.all != left & right:
                    questions.append(Question(int(f), threshold, left, right))
        return tuple(questions)

    @cached_property
    def _useful(self) -> tuple[Question, ...]:
        """The questions that no other one dominates."""
        unique = {(q.left, q.right): q for q in reversed(self.questions)}

        def dominates(other: Question, q: Question) -> bool:
            return other is not q and other.left | q.left == q.left and other.right | q.right == q.right

        return tuple(q for q in unique.values() if not any(dominates(other, q) for other in unique.values()))

    def fewest(self, boxes: int, depth: int) -> float:
        """The fewest leaves of a tree of at most this depth that keeps to these boxes; infinite if there is none."""
        if self.allowed(boxes):
            return 1
        if depth == 0:
            return math.inf
        if (boxes, depth) not in self._fewest:
            best = math.inf
            for q in self._useful:
                left, right = boxes & q.left, boxes & q.right
                if boxes not in (left, right):
                    best = min(best, self.fewest(left, depth - 1) + self.fewest(right, depth - 1))
                if best == 2:
                    break
            self._fewest[boxes, depth] = best
        return self._fewest[boxes, depth]

    def forced(self, boxes: int, depth: int) -> Question | None:
        """The question after which the fewest leaves are needed; None if no question leads to a tree."""
        options = [q for q in self._useful if boxes not in (boxes & q.left, boxes & q.right)]
        cost = [self.fewest(boxes & q.left, depth - 1) + self.fewest(boxes & q.right, depth - 1) for q in options]
        best = int(np.argmin(cost)) if cost else 0
        return options[best] if cost and math.isfinite(cost[best]) else None

    def boxes_of(self, obligations: Sequence[Obligation]) -> int:
        """The boxes behind which one of these obligations stands."""
        wanted = set(map(id, obligations))
        return _bits(np.array([any(id(one) in wanted for one in source) for source in self.sources], bool))

    def depth_limit(self, depth: int) -> int:
        """The stricter of this depth and the tree's own limit."""
        return depth if self.most_depth is None else min(depth, self.most_depth)

    def leaf_limit(self, leaves: int | None) -> int | None:
        """The stricter of this number of leaves and the tree's own limit."""
        return min((limit for limit in (leaves, self.most_leaves) if limit is not None), default=None)


def _bits(flags: np.ndarray) -> int:
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def at_leaves(bounds: Bounds, tree: Tree) -> dict[int, int]:
    """The boxes that reach each leaf."""
    boxes, leaves = {0: bounds.all}, {}
    for node in range(len(tree)):  # parents come before their children
        if tree.feature[node] == LEAF:
            leaves[node] = boxes[node]
        else:
            left, right = bounds.sides(int(tree.feature[node]), float(tree.threshold[node]))
            boxes[int(tree.left[node])], boxes[int(tree.right[node])] = boxes[node] & left, boxes[node] & right
    return leaves


def keeps(bounds: Bounds, tree: Tree) -> bool:
    """Whether a tree keeps to its bounds; one that does not may still keep obligations whose region is no box."""
    if bounds.most_leaves is not None and tree.leaves > bounds.most_leaves:
        return False
    if bounds.most_depth is not None and tree.depth > bounds.most_depth:
        return False
    if bounds.banned[tree.feature[tree.feature != LEAF]].any():
        return False
    return all(bounds.may(int(tree.action[leaf]), boxes) for leaf, boxes in at_leaves(bounds, tree).items())


def bounds_of(
    obligations: Obligations,
    agent: int,
    behaviour: Sequence[Obligation],
    derived: Sequence[Derived],
    shapes: bool = True,
) -> Bounds:
    """The bounds of an agent's tree that keeps some obligations by itself and may ask for some derived features."""
    who = obligations.scene.agents[agent]
    everything = (1 << len(who.actions)) - 1
    boxes: dict[tuple[bytes, bytes, int], list[Obligation]] = {}
    for obligation in behaviour:
        good = everything & ~sum(1 << a for a in obligation.bad[obligation.agents.index(agent)])
        for low, high in region_boxes(obligations, obligation, agent, derived):
            boxes.setdefault((low.tobytes(), high.tobytes(), good), []).append(obligation)
    names = [*who.features, *(feature.name for feature in derived)]
    limits = [shape for shape in obligations.shapes if shape.agent == agent and shapes]
    builder = FrameBuilder({agent: obligations.world.spaces[agent]})
    columns = [*range(len(who.features)), *(builder.derived_column(agent, feature) for feature in derived)]
    return Bounds(
        world=obligations.world,
        agent=agent,
        actions=len(who.actions),
        low=np.array([np.frombuffer(low) for low, _, _ in boxes]).reshape(-1, len(names)),
        high=np.array([np.frombuffer(high) for _, high, _ in boxes]).reshape(-1, len(names)),
        good=tuple(good for _, _, good in boxes),
        sources=tuple(map(tuple, boxes.values())),
        whole=np.array([builder.whole[column] for column in columns], bool),
        banned=np.array([any(name in shape.never_asks for shape in limits) for name in names]),
        most_leaves=min((shape.most_leaves for shape in limits if shape.most_leaves is not None), default=None),
        most_depth=min((shape.most_depth for shape in limits if shape.most_depth is not None), default=None),
    )


def region_boxes(
    obligations: Obligations, obligation: Obligation, agent: int, derived: Sequence[Derived]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Boxes of one agent's features [F + D] around the region where an obligation applies; none if it is empty."""
    asked = [(agent, feature) for feature in derived]
    frame, condition, facts = encode(obligations.world, obligation, obligation.observers, {}, asked)
    columns = [*(frame.start[agent] + k for k in range(frame.sizes[agent])), *(frame.derived[one] for one in asked)]
    both = Formula.all((condition, facts))
    regions: list[Region] = []
    for choices in (both.choices, condition.choices, ()):  # fewer choices make fewer and wider boxes
        deadline = Deadline.after(SECONDS if choices else math.inf)
        parts = divide(Region.everything(frame), Formula(both.forms, choices), [], deadline)
        try:
            regions = list(itertools.islice(parts, MOST_BOXES + 1))
        except OutOfTime:
            continue
        if len(regions) <= MOST_BOXES:
            break
    return [(region.low[columns], region.high[columns]) for region in regions]


def check_possible(bounds: Bounds, name: str, depth: int, most_leaves: int | None) -> None:
    """Refuse bounds that no tree of this size can keep to, and say which obligations conflict."""
    depth, leaves = bounds.depth_limit(depth), bounds.leaf_limit(most_leaves)
    if bounds.fewest(bounds.all, depth) <= (2**60 if leaves is None else leaves):
        return
    if math.isinf(bounds.fewest(bounds.all, DEEPEST)):
        raise _conflict(bounds, name)
    enough = next(d for d in range(DEEPEST + 1) if math.isfinite(bounds.fewest(bounds.all, d)))
    if depth < enough:
        raise InputError(
            f"the constraints on {name} need trees with {enough} questions on a path, and {depth} are allowed: "
            f"raise --depth, or choose --features derived, or drop a constraint."
        )
    raise InputError(
        f"the constraints on {name} need {bounds.fewest(bounds.all, depth):.0f} leaves, and {leaves} are allowed: "
        "raise --leaves or most_leaves, or drop a constraint."
    )


def _conflict(bounds: Bounds, name: str) -> InputError:
    """An error about obligations that no tree keeps: they leave no action, or no question separates them."""
    needed = bounds.all
    for bit in range(len(bounds.good)):  # drop the boxes without which there is still a conflict
        if math.isinf(bounds.fewest(needed & ~(1 << bit), DEEPEST)):
            needed &= ~(1 << bit)
    sources = list(dict.fromkeys(bounds.sources[bit][0] for bit in range(len(bounds.good)) if needed >> bit & 1))
    words = " and ".join(f"{one.property!r} ({one.description})" for one in sources)
    at_once = All(tuple(part for one in sources for part in one.when.parts))
    meeting = Obligation("", "", (bounds.agent,), at_once, (frozenset(range(bounds.actions)),))
    forbidden = frozenset[int]().union(*(one.bad[one.agents.index(bounds.agent)] for one in sources))
    meet = find(bounds.world, meeting, {}, [], Deadline.after(SECONDS)).seen is not None
    if meet and len(forbidden) == bounds.actions:
        return InputError(f"the constraints on {name} clash, no action is left where these meet: {words}.")
    return InputError(
        f"the constraints on {name} cannot be kept apart by the questions that trees may ask: {words}: "
        "choose --features derived, or drop one of them."
    )


def by_agent(obligations: Obligations, assigned: Mapping[int, int]) -> dict[int, list[Obligation]]:
    """The obligations that each agent keeps: those about it alone, and joint ones (by number) assigned to it."""
    kept: dict[int, list[Obligation]] = {i: [] for i in obligations.scene.distilled}
    for number, obligation in enumerate(obligations.behaviour):
        agent = assigned.get(number, obligation.agents[0] if len(obligation.agents) == 1 else None)
        if agent is not None:
            kept[agent].append(obligation)
    return kept
