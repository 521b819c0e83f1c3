"""The search for observations at which trees break an obligation: found, proved not to exist, or neither."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hydraviper.data import Derived
from hydraviper.trees.tree import Tree
from hydraviper.verify import meaning
from hydraviper.verify.obligations import Obligation
from hydraviper.verify.prover.deadline import Deadline, OutOfTime
from hydraviper.verify.prover.forms import Formula
from hydraviper.verify.prover.frames import Frame, FrameBuilder, leaf_boxes
from hydraviper.verify.prover.regions import Box, Region, divide
from hydraviper.verify.prover.solver import quick, thorough
from hydraviper.verify.world import World

MOST_REGIONS = 50_000  # of one obligation

Forbidden = Sequence[tuple[int, frozenset[int]]]  # agents, and the actions of theirs that are searched for


@dataclass(frozen=True)
class SearchResult:
    """The observations that a search found, or whether it proved that there are none."""

    seen: Mapping[int, np.ndarray] | None
    empty: bool
    nowhere: bool = False  # whether the obligation applies to no observation, whatever the trees do


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


class _Search:
    """The search for one obligation's violations among some agents' observations."""

    def __init__(
        self,
        world: World,
        obligation: Obligation,
        trees: Mapping[int, Tree],
        forbidden: Forbidden,
        agents: Sequence[int],
        related: Sequence[int],
        deadline: Deadline,
    ) -> None:
        self.world, self.obligation, self.trees, self.forbidden = world, obligation, trees, forbidden
        self.agents, self.related, self.deadline = agents, related, deadline
        self.frame, self.condition, self.facts = encode(world, obligation, agents, trees)
        self.found: dict[int, np.ndarray] | None = None

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
