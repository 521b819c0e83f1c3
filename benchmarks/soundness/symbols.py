"""The plain definition in z3, written apart from the prover: whole numbers exactly, or float32 with its rounding.

Distances of whole numbers are compared as squares. What does not fit is left to the samples.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import z3

from benchmarks.soundness.cases import Case, Draft, applies, forbidden
from benchmarks.soundness.sums import Arrays, Condition, Name, Place, Value, fill
from benchmarks.soundness.worlds import Being, Split, exact

SECONDS = 4.0
EXACT = 2**24


class EncodingError(Exception):
    """A case that this encoding does not know."""


class Symbols:
    """Arithmetic on z3's whole numbers."""

    def times(self, number: Any, factor: int) -> Any:
        return number * factor

    def plus(self, left: Any, right: Any) -> Any:
        return left + right

    def size(self, number: Any) -> Any:
        return z3.If(number >= 0, number, -number)

    def number(self, value: int) -> Any:
        return z3.IntVal(value)

    def every(self, parts: list[Any]) -> Any:
        return z3.And(*parts) if parts else z3.BoolVal(True)

    def some(self, parts: list[Any]) -> Any:
        return z3.Or(*parts) if parts else z3.BoolVal(False)


def answer(case: Case, draft: Draft) -> str:
    """holds, broken or applies nowhere; or why that is not known."""
    try:
        whole = all(f.whole for being in case.world.beings for f in being.features)
        made = Whole(case) if whole else Floats(case)
        apply, violate = made.told(draft)
    except EncodingError:
        return "not encoded"
    broken = _check(made.always, [violate])
    if broken != "unsat":
        return "broken" if broken == "sat" else "unknown"
    return {"sat": "holds", "unsat": "applies nowhere"}.get(_check(made.always, [apply]), "unknown")


def _check(always: list[Any], more: list[Any]) -> str:
    solver = z3.Solver()
    solver.set("timeout", int(1000 * SECONDS))
    solver.add(*always, *more)
    return str(solver.check())


@dataclass
class Encoding:
    """What every encoding does: trees as conditions, rules as wholes."""

    case: Case

    def told(self, draft: Draft) -> tuple[Any, Any]:
        """Where the property applies and where it is violated."""
        own, beings = Symbols(), self.case.world.beings
        apply, violate = [], []
        for team, values, rule in draft.cases(beings):
            where = self.applies(rule, team, values)
            bad = forbidden(rule, team, values, beings)
            told = bad(lambda i, chosen: self.answers(i, beings[i].tree, chosen), own, z3.Not)
            apply.append(where)
            violate.append(z3.And(where, told))
        return own.some(apply), own.some(violate)

    def answers(self, agent: int, tree: Split, chosen: list[int]) -> Any:
        if tree.sides is None:
            return z3.BoolVal(tree.action in chosen)
        left = self.at_most(agent, tree.feature, tree.threshold)
        return z3.If(left, *(self.answers(agent, side, chosen) for side in tree.sides))

    def applies(self, rule: Any, team: tuple[int, ...], values: dict[str, str]) -> Any:
        raise NotImplementedError

    def at_most(self, agent: int, k: int, threshold: float) -> Any:
        raise NotImplementedError


class Whole(Encoding):
    """Whole numbers."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self.always: list[Any] = []
        self.plain: list[list[Any]] = []
        for i, being in enumerate(case.world.beings):
            own = [z3.Int(f"w{i}_{k}") for k in range(len(being.features))]
            self.plain.append(own)
            for name, f in zip(own, being.features, strict=True):
                if f.high > EXACT:
                    raise EncodingError
                self.always += [name >= int(f.low), name <= int(f.high)]
        place = self.place()
        for fact in case.facts:
            for owner, values in fact.cases(case.world.beings):
                here = replace(place, owner=owner, values=values)
                if any(_derived(case.world.beings, part, here) for part in fact.either):
                    raise EncodingError  # facts about derived features have some room
                self.always.append(fact.true(here, ""))

    def place(self) -> Place:
        beings = self.case.world.beings
        return Place(
            [being.names for being in beings],
            [being.name for being in beings],
            lambda agent, pattern: beings[agent].members(pattern),
            self.column,
            None,
            Symbols(),
        )

    def column(self, agent: int, k: int) -> Value:
        being = self.case.world.beings[agent]
        if k < len(being.features):
            return self.plain[agent][k], 1
        terms = being.derived[k - len(being.features)][1]
        if any(kind == "distance" for kind, _, _ in terms):
            raise EncodingError
        if sum(_largest(being, inputs[0]) for _, inputs, _ in terms) > EXACT:
            raise EncodingError
        total: Any = z3.IntVal(0)
        for kind, inputs, sign in terms:
            one = self.plain[agent][inputs[0]]
            total = total + sign * (Symbols().size(one) if kind == "size" else one)
        return total, 1

    def applies(self, rule: Any, team: tuple[int, ...], values: dict[str, str]) -> Any:
        return applies(rule, team, values, self.place())

    def at_most(self, agent: int, k: int, threshold: float) -> Any:
        being = self.case.world.beings[agent]
        terms = being.derived[k - len(being.features)][1] if k >= len(being.features) else []
        if len(terms) == 1 and terms[0][0] == "distance":
            return self._near(agent, terms[0], threshold)
        return self.column(agent, k)[0] <= int(np.floor(np.float64(np.float32(threshold))))

    def _near(self, agent: int, term: tuple[str, tuple[int, ...], int], threshold: float) -> Any:
        """A distance, or its negative, compared by its square."""
        being, (_, inputs, sign) = self.case.world.beings[agent], term
        x = [self.plain[agent][i] for i in inputs]
        across, up = (x[0], x[1]) if len(x) == 2 else (x[0] - x[2], x[1] - x[3])
        most = 2 * (2 * max(_largest(being, i) for i in inputs)) ** 2
        roots = np.sqrt(np.arange(most + 1, dtype=np.float64)).astype(np.float32)
        square = across * across + up * up
        if sign > 0:  # roots do not fall, so those that are near are the first ones
            return square < int((roots <= np.float32(threshold)).sum())
        return square >= int((-roots > np.float32(threshold)).sum())


def _largest(being: Being, k: int) -> int:
    return int(max(abs(being.features[k].low), abs(being.features[k].high)))


def _derived(beings: list[Being], conditions: list[Condition], at: Place) -> bool:
    names = [name for one in conditions for side in one.sides for name in side.names()]
    for name in names:
        agent = name.whose(at)
        found = [k for _, k in name.all(at)] if "*" in name.feature else [name.where(at)[1]]
        if any(k >= len(beings[agent].features) for k in found):
            return True
    return False


class Floats(Encoding):
    """Float32 as z3 knows it, sums rounded one by one; conditions that are about one feature each."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        if case.facts:
            raise EncodingError
        self.sort = z3.Float32()
        self.always: list[Any] = []
        self.plain: list[list[Any]] = []
        for i, being in enumerate(case.world.beings):
            self.plain.append([z3.FP(f"f{i}_{k}", self.sort) for k in range(len(being.features))])
            for name, f in zip(self.plain[i], being.features, strict=True):
                if f.whole:
                    values = np.arange(f.low, f.high + 1)
                    if len(values) > 8:
                        raise EncodingError
                    self.always.append(z3.Or(*(z3.fpEQ(name, self.float32(v)) for v in values)))
                else:
                    self.always += [z3.fpGEQ(name, self.float32(f.low)), z3.fpLEQ(name, self.float32(f.high))]

    def float32(self, value: float) -> Any:
        bits = int(np.float32(value).view(np.uint32))
        return z3.fpBVToFP(z3.BitVecVal(bits, 32), self.sort)

    def column(self, agent: int, k: int) -> Any:
        being = self.case.world.beings[agent]
        if k < len(being.features):
            return self.plain[agent][k]
        total = None
        for kind, inputs, sign in being.derived[k - len(being.features)][1]:
            if kind == "distance":
                raise EncodingError
            one = self.plain[agent][inputs[0]]
            one = z3.fpAbs(one) if kind == "size" else one
            if total is None:
                total = one if sign > 0 else z3.fpNeg(one)
            else:
                total = (z3.fpAdd if sign > 0 else z3.fpSub)(z3.RNE(), total, one)
        return total

    def at_most(self, agent: int, k: int, threshold: float) -> Any:
        return z3.fpLEQ(self.column(agent, k), self.float32(threshold))

    def applies(self, rule: Any, team: tuple[int, ...], values: dict[str, str]) -> Any:
        return z3.And(*(self._condition(one, rule.when, team[0], values) for one in rule.when), z3.BoolVal(True))

    def _condition(self, one: Condition, others: list[Condition], owner: int, values: dict[str, str]) -> Any:
        beings = self.case.world.beings
        place = Place(
            [being.names for being in beings],
            [being.name for being in beings],
            lambda agent, pattern: beings[agent].members(pattern),
            None,
            None,
            Arrays(),
            owner,
            values,
        )
        if one.over is None:
            return self._pairs(one, place)
        if one.quantifier == "every other":
            raise EncodingError
        cases = [
            self._pairs(one, replace(place, bound={fill(one.over.text, values): where}))
            for where in one.over.all(place)
        ]
        return Symbols().some(cases) if one.quantifier == "some" else Symbols().every(cases)

    def _pairs(self, one: Condition, place: Place) -> Any:
        parts = []
        for left, sign, right in zip(one.sides, one.operators, one.sides[1:], strict=False):
            names: list[Name] = [*left.names(), *right.names()]
            if any("*" in name.feature and fill(name.text, place.values) not in place.bound for name in names):
                raise EncodingError
            places = {name.where(place) for name in names}
            if len(places) != 1:
                raise EncodingError
            signs = ("<=", ">=") if sign in ("=", "==") else (sign,)
            for each in signs:
                parts.append(self._border(Condition((left, right), (each,)), place, *places))
        return z3.And(*parts)

    def _border(self, pair: Condition, place: Place, where: tuple[int, int]) -> Any:
        """A comparison about one feature or its size: monotone on both sides of 0, so its borders can be sought."""

        def true(key: int) -> bool:
            value = exact(np.array([_float(key)], np.float32))
            here = replace(place, column=lambda *_: value)
            return bool(np.all(pair.holds(here, [])))

        x = self.column(*where)
        sides = []
        for low, high in ((-_HIGHEST, 0), (0, _HIGHEST)):
            within = z3.And(z3.fpGEQ(x, self.float32(_float(low))), z3.fpLEQ(x, self.float32(_float(high))))
            first, last = true(low), true(high)
            if first == last:
                sides.append(z3.And(within, z3.BoolVal(first)))
                continue
            a, b = low, high
            while b - a > 1:
                middle = (a + b) // 2
                a, b = (middle, b) if true(middle) == first else (a, middle)
            side = z3.fpLEQ(x, self.float32(_float(a))) if first else z3.fpGEQ(x, self.float32(_float(b)))
            sides.append(z3.And(within, side))
        return z3.Or(*sides)


_HIGHEST = int(np.float32(1e30).view(np.int32))


@functools.lru_cache(maxsize=100_000)
def _float(key: int) -> float:
    """The float32 with a number, counted from 0."""
    return float(np.int32(abs(key)).view(np.float32)) * (1 if key >= 0 else -1)
