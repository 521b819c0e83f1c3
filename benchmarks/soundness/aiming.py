"""Observations that are likely to violate a property: at borders, one float32 step beside, moved to where it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from benchmarks.soundness.cases import Case, Draft, RuleDraft
from benchmarks.soundness.sums import Condition, Place, Where, add, fill, scale
from benchmarks.soundness.worlds import Draw, Points, Split, World

ROWS = 160  # at random
AIMED = 24  # for each of some cases
ROUNDS = 5


@dataclass
class Aim:
    """A number that shall be at most 0, or 0, and the plain features that decide it."""

    value: Callable[[Points], np.ndarray]
    inputs: list[Where]
    equal: bool


def aimed(case: Case, draft: Draft) -> Points:
    """Observations for one property."""
    draw = np.random.default_rng([case.seed, 17])
    values = _interesting(case, draft)
    made = [_random(draw, case.world, values, ROWS)]
    cases = list(draft.cases(case.world.beings))
    for k in draw.permutation(len(cases))[:4]:
        rows = _random(draw, case.world, values, AIMED)
        for _ in range(ROUNDS):
            for aim in _aims(draw, case, *cases[k]):
                _move(draw, case.world, rows, aim)
        made.append(rows)
    together = {i: np.concatenate([rows[i] for rows in made]) for i in made[0]}
    return Points(case.world, together)


def _interesting(case: Case, draft: Draft) -> list[float]:
    """Thresholds and the numbers of the text."""
    values = [0.0, 1.0, -1.0, 0.5, 2.0**-149, -(2.0**-149), 2.0**-126]

    def thresholds(split: Split) -> Iterator[float]:
        if split.sides is not None:
            yield split.threshold
            for side in split.sides:
                yield from thresholds(side)

    for being in case.world.beings:
        values += thresholds(being.tree)
    place = Points(case.world, {}).place()
    for rule in draft.rules:
        for one in rule.when:
            for side in one.sides:
                if not list(side.names()):
                    number, whole = side.value(place)
                    values.append(float(Fraction(int(number[0]), whole)))
    return values


def _random(draw: Draw, world: World, values: list[float], count: int) -> dict[int, np.ndarray]:
    rows = {}
    for i, being in enumerate(world.beings):
        columns = []
        for f in being.features:
            raw = np.float32(draw.uniform(f.low, f.high, count))
            way = draw.random(count)
            near = np.float32(draw.choice(np.array([*values, f.low, f.high]), count))
            raw = np.where(way < 0.5, near, np.where(way < 0.7, np.round(raw * 8) / np.float32(8), raw))
            step = draw.integers(-1, 2, count)
            raw = np.where(step == 0, raw, np.nextafter(raw, np.where(step > 0, np.float32(9e9), np.float32(-9e9))))
            columns.append(_kept(raw, f.low, f.high, f.whole))
        rows[i] = np.stack(columns, axis=1)
    return rows


def _kept(raw: np.ndarray, low: float, high: float, whole: bool) -> np.ndarray:
    raw = np.round(raw) if whole else raw
    return np.clip(raw.astype(np.float32), np.float32(low), np.float32(high))


def _aims(draw: Draw, case: Case, team: tuple[int, ...], values: dict[str, str], rule: RuleDraft) -> Iterator[Aim]:
    """The conditions of one case, a leaf of each tree that it forbids, and the facts."""
    beings = case.world.beings
    for one in rule.when:
        yield from _of_condition(draw, case, one, rule.when, team[0], values)
    for agent, names in rule.actions.items():
        i = team[0] if agent == "" else [being.name for being in beings].index(fill(agent, values))
        del names  # any leaf: forbidden ones turn up often enough
        yield from _to_leaf(draw, case.world, i, beings[i].tree)
    for fact in case.facts:
        for owner, known in fact.cases(beings):
            for one in fact.either[int(draw.integers(0, len(fact.either)))]:
                yield from _of_condition(draw, case, one, [], owner, known)


def _of_condition(
    draw: Draw, case: Case, one: Condition, others: list[Condition], owner: int | None, values: dict[str, str]
) -> Iterator[Aim]:
    place = replace(Points(case.world, {}).place(), owner=owner, values=values)
    bounds: list[dict[str, Where]] = [{}]
    if one.over is not None:
        found = one.over.all(place)
        if one.quantifier == "every other":
            named = {name.where(place) for o in others if not o.quantifier for name in o.singles()}
            found = [where for where in found if where not in named]
        if one.quantifier == "some" and found:
            found = [found[int(draw.integers(0, len(found)))]]
        bounds = [{fill(one.over.text, values): where} for where in found]
    for bound in bounds:
        for left, sign, right in zip(one.sides, one.operators, one.sides[1:], strict=False):
            names = [
                where
                for side in (left, right)
                for name in side.names()
                for where in (
                    [name.where(replace(place, bound=bound))] if _known(name, bound, values) else name.all(place)
                )
            ]
            inputs = [(i, k) for i, feature in names for k in case.world.beings[i].inputs(feature)]
            turn = Fraction(-1 if sign[0] == ">" else 1)

            def value(points: Points, left=left, right=right, bound=bound, turn=turn) -> np.ndarray:
                at: Place = replace(points.place(), owner=owner, values=values, bound=bound)
                number, whole = scale(at, add(at, left.value(at), scale(at, right.value(at), Fraction(-1))), turn)
                wide = np.array([int(n) / whole for n in number])
                return np.broadcast_to(wide, (len(points),))

            if inputs:
                yield Aim(value, inputs, sign in ("=", "=="))


def _known(name, bound, values) -> bool:
    return "*" not in name.feature or fill(name.text, values) in bound


def _to_leaf(draw: Draw, world: World, agent: int, tree: Split) -> Iterator[Aim]:
    while tree.sides is not None:
        side = int(draw.integers(0, 2))
        k, threshold = tree.feature, tree.threshold

        def value(points: Points, k=k, threshold=threshold, side=side) -> np.ndarray:
            away = points.columns[agent][:, k].astype(np.float64) - threshold
            return away if side == 0 else -away

        yield Aim(value, [(agent, j) for j in world.beings[agent].inputs(k)], False)
        tree = tree.sides[side]


def _move(draw: Draw, world: World, rows: dict[int, np.ndarray], aim: Aim) -> None:
    """Change one feature of the rows that miss the aim so that they reach it, if it is about linear there."""
    i, k = aim.inputs[int(draw.integers(0, len(aim.inputs)))]
    feature = world.beings[i].features[k]
    before = aim.value(Points(world, rows))
    missed = before != 0 if aim.equal else before >= 0
    if not missed.any():
        return
    moved = {agent: values.copy() for agent, values in rows.items()}
    way = draw.choice([-1.0, 1.0]) * max(1.0 if feature.whole else 0.0, (feature.high - feature.low) / 64)
    moved[i][:, k] = np.float32(moved[i][:, k] + np.float32(way))
    slope = (aim.value(Points(world, moved)) - before) / way
    with np.errstate(all="ignore"):
        there = rows[i][:, k] - before / slope * (1.0 if draw.random() < 0.6 else 1.1)
    there = np.where(np.isfinite(there), there, rows[i][:, k]).clip(feature.low, feature.high).astype(np.float32)
    step = draw.integers(-1, 2, len(there))
    beside = np.nextafter(there, np.where(step > 0, np.float32(9e9), np.float32(-9e9)))
    there = np.where((step == 0) | aim.equal, there, beside)
    rows[i][:, k] = np.where(missed, _kept(there, feature.low, feature.high, feature.whole), rows[i][:, k])
