"""Verdicts by proof or counterexample: whether trees have properties in every observation of their world.

`holds` is a proof: wherever an obligation applies, the trees' actions keep it, and it applies to some observation.
`broken` comes with observations that `meaning` confirms. `applies nowhere` is a proof as well. Everything else, such as
a property that takes too long, is `undecided`.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hydraviper.trees.tree import LEAF, Tree
from hydraviper.verify import meaning
from hydraviper.verify.obligations import Obligation, Obligations, ShapeLimits
from hydraviper.verify.prover import starving
from hydraviper.verify.prover.deadline import Deadline
from hydraviper.verify.prover.search import find
from hydraviper.verify.verdicts import BROKEN, HOLDS, NOWHERE, UNDECIDED, Counterexample, Verdict
from hydraviper.verify.world import World

SECONDS = 60.0  # the most that one property may take


@dataclass(frozen=True)
class Checked:
    """The outcome for one obligation."""

    outcome: str  # one of OUTCOMES; here, an obligation that holds may still apply nowhere
    example: Counterexample | None = None


def verify(obligations: Obligations, students: Mapping[int, Tree], seconds: float = SECONDS) -> list[Verdict]:
    """A verdict on every property of some trees, each within that many seconds."""
    obligations.scene.check_trees(students)
    parts = map(obligations.only, ([name] for name in obligations.names))
    return [
        (starving.verdict if part.services else _verdict)(part, students, Deadline.after(seconds)) for part in parts
    ]


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
