"""Verdicts by proof or counterexample: whether trees have properties in every observation of their world.

`holds` is a proof: wherever an obligation applies, the trees' actions keep it, and it applies to some observation.
`broken` comes with observations that `meaning` confirms. `applies nowhere` is a proof as well. Everything else, such as
a property that takes too long, is `undecided`.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hydraviper.data import Derived
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.verify import meaning
from hydraviper.verify.obligations import Obligation, Obligations, ShapeLimits
from hydraviper.verify.prover.deadline import Deadline, OutOfTime
from hydraviper.verify.prover.forms import Formula
from hydraviper.verify.prover.frames import Frame, FrameBuilder, leaf_boxes
from hydraviper.verify.prover.regions import Box, Region, divide
from hydraviper.verify.prover.solver import quick, thorough
from hydraviper.verify.verdicts import BROKEN, HOLDS, NOWHERE, UNDECIDED, Counterexample, Verdict
from hydraviper.verify.world import World

SECONDS = 60.0  # the most that one property may take
MOST_REGIONS = 50_000  # of one obligation

Forbidden = Sequence[tuple[int, frozenset[int]]]  # agents, and the actions of theirs that are searched for


@dataclass(frozen=True)
class Checked:
    """The outcome for one obligation."""

    outcome: str  # one of OUTCOMES; here, an obligation that holds may still apply nowhere
    example: Counterexample | None = None


@dataclass(frozen=True)
class SearchResult:
    """The observations that a search found, or whether it proved that there are none."""

    seen: Mapping[int, np.ndarray] | None
    empty: bool
    nowhere: bool = False  # whether the obligation applies to no observation, whatever the trees do


def verify(obligations: Obligations, students: Mapping[int, Tree], seconds: float = SECONDS) -> list[Verdict]:
    """A verdict on every property of some trees, each within that many seconds."""
    obligations.scene.check_trees(students)
    return [_verdict(obligations.only([name]), students, Deadline.after(seconds)) for name in obligations.names]


def _verdict(obligations: Obligations, students: Mapping[int, Tree], deadline: Deadline) -> Verdict:
    """The verdict on the only property of the obligations."""
    start = time.perf_counter()
    behaviour, shapes = obligations.behaviour, obligations.shapes
    checked = [check(obligations, obligation, students, deadline) for obligation in behaviour]
    problems = [text for shape in shapes for text in shape_violations(obligations, shape, students[shape.agent])]
    broken = sum(one.outcome == BROKEN for one in checked) + len(problems)
    nowhere = sum(one.outcome == NOWHERE for one in checked)
    pairs = list(zip(behaviour, checked, strict=True))
    undecided = [obligation.description for obligation, one in pairs if one.outcome == UNDECIDED]
    problems += [f"undecided: {description}" for description in undecided]
    if broken:
        outcome = BROKEN
    elif undecided:
        outcome = UNDECIDED
    elif not behaviour:
        outcome = HOLDS if shapes else NOWHERE
    elif nowhere == len(behaviour):
        outcome = NOWHERE
    else:
        outcome = _applies(obligations.world, [ob for ob, one in pairs if one.outcome == HOLDS], deadline)
        if outcome == UNDECIDED:
            problems.append("undecided: no observation was found at which it applies, and no proof that there is none")
    examples = tuple(one.example for one in checked if one.example is not None)
    cases, spent = len(behaviour) + len(shapes), time.perf_counter() - start
    return Verdict(obligations.names[0], outcome, cases, broken, nowhere, examples, tuple(problems), spent)


def _applies(world: World, kept: Sequence[Obligation], deadline: Deadline) -> str:
    """`holds` if an observation is found to which a kept obligation applies, `applies nowhere` if there is none."""
    empty = 0
    for obligation in kept:
        found = find(world, obligation, {}, [], deadline)
        if found.seen is not None:
            return HOLDS
        empty += found.empty
    return NOWHERE if empty == len(kept) else UNDECIDED


def check(
    obligations: Obligations, obligation: Obligation, students: Mapping[int, Tree], deadline: Deadline | None = None
) -> Checked:
    """Whether trees keep one obligation; `applies nowhere` only where narrowing alone proves it."""
    trees = {agent: students[agent] for agent in obligation.agents}
    forbidden = [
        (agent, bad)
        for agent, bad in zip(obligation.agents, obligation.bad, strict=True)
        if len(bad) < len(obligations.scene.agents[agent].actions)  # else every action is bad: no need to search
    ]
    found = find(obligations.world, obligation, trees, forbidden, deadline or Deadline.after(SECONDS))
    if found.seen is not None:
        actions = meaning.actions(obligation, found.seen, trees)
        return Checked(BROKEN, Counterexample(obligation, found.seen, actions))
    return Checked(NOWHERE if found.nowhere else HOLDS if found.empty else UNDECIDED)


def keeps_for_certain(obligations: Obligations, obligation: Obligation, students: Mapping[int, Tree]) -> bool:
    """Whether it is proved that trees keep an obligation."""
    return check(obligations, obligation, students).outcome in (HOLDS, NOWHERE)


def find(
    world: World, obligation: Obligation, trees: Mapping[int, Tree], forbidden: Forbidden, deadline: Deadline
) -> SearchResult:
    """Search for observations at which an obligation applies and each tree's action is one of its forbidden ones.

    The search first considers the obligation's observers alone. If facts relate others to them, these must have
    possible observations as well.
    """
    near, far = obligation.observers, world.related(obligation.observers)
    result = SearchResult(None, False)
    for agents in dict.fromkeys((near, far)):
        try:
            result = _Search(world, obligation, trees, forbidden, agents, far, deadline).run()
        except OutOfTime:
            return SearchResult(None, False)
        if result.seen is not None or result.empty:
            break
    return result


@dataclass
class _Search:
    """The search for one obligation's violations among some agents' observations."""

    world: World
    obligation: Obligation
    trees: Mapping[int, Tree]
    forbidden: Forbidden
    agents: Sequence[int]
    related: Sequence[int]
    deadline: Deadline
    found: dict[int, np.ndarray] | None = None

    def __post_init__(self) -> None:
        self.frame, self.condition, self.facts = encode(self.world, self.obligation, self.agents, self.trees)

    def run(self) -> SearchResult:
        """Divide the world into regions; settle each quickly, then those that are left thoroughly."""
        everything = Region.everything(self.frame).narrowed()
        forms = (*self.condition.forms, *self.facts.forms)
        if everything is None or (applies := everything.requiring(forms).narrowed()) is None:
            return SearchResult(None, True, True)
        boxes = [_leaf_boxes(self.frame, agent, self.trees[agent], bad) for agent, bad in self.forbidden]
        choices = Formula((), (*self.condition.choices, *self.facts.choices))
        unsettled: list[Region] = []
        for count, region in enumerate(divide(applies, choices, boxes, self.deadline)):
            if count >= MOST_REGIONS:
                return SearchResult(None, False)
            empty = quick(region, self.confirm, self.deadline)
            if self.found is not None:
                return SearchResult(self.found, False)
            if not empty:
                unsettled.append(region)
        left = 0
        for region in unsettled:
            left += not thorough(region, self.confirm, self.deadline)
            if self.found is not None:
                return SearchResult(self.found, False)
        return SearchResult(None, left == 0)

    def confirm(self, values: list[float]) -> bool:
        """Whether values of the plain columns are a violation by `meaning`; if so, remember it."""
        seen = self.frame.seen(values)
        if not meaning.possible(self.world, seen, self.agents) or not meaning.holds(self.obligation.when, seen):
            return False
        actions = {agent: int(self.trees[agent].predict(seen[agent][None])[0]) for agent, _ in self.forbidden}
        if any(actions[agent] not in bad for agent, bad in self.forbidden):
            return False
        self.found = _completed(self.world, seen, self.related, self.deadline)
        return self.found is not None


def encode(
    world: World,
    obligation: Obligation,
    agents: Sequence[int],
    trees: Mapping[int, Tree],
    derived: Sequence[tuple[int, Derived]] = (),
) -> tuple[Frame, Formula, Formula]:
    """The frame of some agents' observations, the formula of when the obligation applies, and that of the facts."""
    builder = FrameBuilder({i: world.spaces[i] for i in agents})
    condition = builder.formula(obligation.when)
    facts = Formula.all(builder.formula(fact, fact=True) for fact in world.facts_about(agents))
    for agent, tree in trees.items():
        builder.add_tree(agent, tree)
    for agent, feature in derived:
        builder.derived_column(agent, feature)
    return builder.frame(), condition, facts


def _leaf_boxes(frame: Frame, agent: int, tree: Tree, bad: frozenset[int]) -> list[Box]:
    """The boxes of the leaves with bad actions."""
    columns = frame.columns_of(agent, tree)
    leaves, low, high = leaf_boxes(tree, len(columns))
    return [(columns, low[k], high[k]) for k, leaf in enumerate(leaves) if int(tree.action[leaf]) in bad]


def _completed(
    world: World, seen: Mapping[int, np.ndarray], agents: Sequence[int], deadline: Deadline
) -> dict[int, np.ndarray] | None:
    """The observations with possible ones of the other agents; None if none were found."""
    if all(agent in seen for agent in agents):
        return dict(seen)
    builder = FrameBuilder({i: world.spaces[i] for i in agents})
    facts = Formula.all(builder.formula(fact, fact=True) for fact in world.facts_about(agents))
    frame = builder.frame()
    region = Region.everything(frame)
    for agent, values in seen.items():
        columns = frame.start[agent] + np.arange(len(values))
        region = region.within((columns, values.astype(np.float64), values.astype(np.float64)))
    found: list[dict[int, np.ndarray]] = []

    def confirm(values: list[float]) -> bool:
        complete = frame.seen(values)
        if meaning.possible(world, complete, agents):
            found.append(complete)
        return bool(found)

    for part in divide(region, facts, [], deadline):
        quick(part, confirm, deadline)
        if found:
            return found[0]
    return None


def shape_violations(obligations: Obligations, shape: ShapeLimits, tree: Tree) -> list[str]:
    """The shape limits that a tree violates, in words."""
    agent = obligations.scene.agents[shape.agent]
    asked = {tree.names(agent)[k] for k in tree.feature if k != LEAF}
    problems = [f"{agent.name} asks for {name!r}" for name in sorted(asked & shape.never_asks)]
    if shape.most_leaves is not None and tree.leaves > shape.most_leaves:
        problems.append(f"{agent.name} has {tree.leaves} leaves, not at most {shape.most_leaves}")
    if shape.most_depth is not None and tree.depth > shape.most_depth:
        problems.append(f"{agent.name} asks {tree.depth} questions, not at most {shape.most_depth}")
    return problems
