"""Whether the prover's answers are right, found out without it: by trying everything, by sampling and by z3."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.soundness import symbols
from benchmarks.soundness.aiming import aimed
from benchmarks.soundness.cases import Case, Draft, applies, forbidden
from benchmarks.soundness.kinds import KINDS, make
from benchmarks.soundness.sums import Arrays
from benchmarks.soundness.worlds import Points, joint_grid
from hydraviper.data import InputError
from hydraviper.verify import properties
from hydraviper.verify.obligations import resolve
from hydraviper.verify.prover.proof import verify

HOLDS, BROKEN, NOWHERE, UNDECIDED = "holds", "broken", "applies nowhere", "undecided"
SECONDS = 2.0  # for the prover, per property
MOST_POINTS = 40_000


@dataclass
class Verdict:
    """What was answered, what is known, and what is wrong with it."""

    kind: str
    seed: int
    property: str
    answer: str
    way: str  # how it was checked
    wrong: str = ""
    known: str = ""  # what z3 says


def one(job: tuple[str, int]) -> list[Verdict]:
    """Every verdict of one case; z3 is asked now and then, oftener where not everything is tried."""
    kind, seed = job
    try:
        return list(judge(make(kind, seed), symbolic=seed % (8 if KINDS[kind][0] else 2) == 0))
    except Exception as error:
        return [Verdict(kind, seed, "", "raw error", "", f"{type(error).__name__}: {error}")]


def judge(case: Case, symbolic: bool) -> Iterator[Verdict]:
    """Ask the prover about a case and check every answer."""
    try:
        rules = resolve(properties.read(case.text, "the case"), case.world.scene())
    except InputError as error:
        yield Verdict(case.kind, case.seed, "", "refused", "", "" if _may_be_refused(str(error)) else str(error))
        return
    students = case.world.students()
    everything = KINDS[case.kind][0]
    if everything and math.prod(_size(case)) <= MOST_POINTS:
        points, way = Points(case.world, joint_grid(case.world)), "all"
    else:
        points, way = None, "samples"
    for draft, answer in zip(case.properties, verify(rules, students, SECONDS), strict=True):
        here = points or aimed(case, draft)
        wrong = _against_points(case, draft, here, answer.outcome, way == "all")
        wrong = wrong or "; ".join(_against_examples(case, draft, answer))
        verdict = Verdict(case.kind, case.seed, draft.name, answer.outcome, way, wrong)
        if symbolic:
            verdict.known = symbols.answer(case, draft)
            if verdict.known in (HOLDS, BROKEN, NOWHERE) and answer.outcome not in (verdict.known, UNDECIDED):
                verdict.wrong = verdict.wrong or f"z3 says {verdict.known}"
        yield verdict


def _may_be_refused(why: str) -> bool:
    return "its numbers multiply" in why or "more than 20 brackets" in why or "more than 2000 characters" in why


def _size(case: Case) -> list[int]:
    sizes = []
    for being in case.world.beings:
        for f in being.features:
            low, high = np.float32(f.low), np.float32(f.high)
            if f.whole:
                sizes.append(int(high - low) + 1)
            else:
                keys = [int(np.abs(v).view(np.int32)) * (1 if v >= 0 else -1) for v in (low, high)]
                sizes.append(keys[1] - keys[0] + 1)
    return sizes


def _completed(points: Points) -> Points:
    """With some observation of the agents that do not matter."""
    lowest = {i: np.array([[f.low for f in b.features]], np.float32) for i, b in enumerate(points.world.beings)}
    return Points(points.world, {**lowest, **points.rows})


def at_points(case: Case, draft: Draft, points: Points) -> tuple[np.ndarray, np.ndarray]:
    """Where some case of a property applies, and where one is violated."""
    at, own = points.place(), Arrays()
    apply, violate = np.zeros(len(points), bool), np.zeros(len(points), bool)
    actions = {i: points.actions(i) for i in points.rows}
    for team, values, rule in draft.cases(case.world.beings):
        where = applies(rule, team, values, at) & np.ones(len(points), bool)
        bad = forbidden(rule, team, values, case.world.beings)
        told = bad(lambda i, chosen: np.isin(actions[i], chosen), own, np.logical_not)
        apply |= where
        violate |= where & told
    return apply, violate


def _against_points(case: Case, draft: Draft, points: Points, answer: str, everything: bool) -> str:
    apply, violate = at_points(case, draft, points)
    sure = case.possible(points, "strict")
    if answer == HOLDS and (violate & sure).any():
        return f"holds, but broken at {_shown(points, violate & sure)}"
    if answer == NOWHERE and (apply & sure).any():
        return f"applies nowhere, but applies at {_shown(points, apply & sure)}"
    if everything:
        perhaps = case.possible(points, "loose")
        if not perhaps.any():
            return ""  # an impossible world: whatever is said of it is true
        if answer == BROKEN and not (violate & perhaps).any():
            return "broken, but no observation breaks it"
        if answer == HOLDS and not (apply & perhaps).any():
            return "holds, but it applies nowhere"
    return ""


def _shown(points: Points, where: np.ndarray) -> str:
    row = int(np.argmax(where))
    return str({points.world.beings[i].name: [str(v) for v in rows[row]] for i, rows in points.rows.items()})


def _against_examples(case: Case, draft: Draft, answer: Any) -> Iterator[str]:
    if answer.outcome == BROKEN and not answer.counterexamples:
        yield "broken without a counterexample"
    for example in answer.counterexamples:
        rows = {i: np.asarray(seen)[None] for i, seen in example.observations.items()}
        points = Points(case.world, rows)
        for i, row in rows.items():
            for f, value in zip(case.world.beings[i].features, row[0], strict=True):
                if row.dtype != np.float32 or not f.low <= value <= f.high or (f.whole and value % 1 != 0):
                    yield f"a counterexample has {f.name} = {value!r}"
        if any(points.actions(i)[0] != action for i, action in example.actions.items()):
            yield "a counterexample has other actions than the trees"
        if not at_points(case, draft, _completed(points))[1][0]:
            yield f"a counterexample breaks nothing: {example.observations}"
        if not case.possible(points, "loose")[0]:
            yield f"a counterexample is impossible: {example.observations}"
