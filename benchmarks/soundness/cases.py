"""Random properties and facts: the text of a file and what it says, from one description."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.soundness.sums import Condition, Name, Number, Place, Plus, Scaled, Size, Total, fill, fits
from benchmarks.soundness.worlds import ACTIONS, Being, Draw, Points, World

PATTERNS = ("queue *", "place *", "gap *", "far *", "*", "queue*", "*a*", "g*p *")
SIGNS = ("<", "<=", ">", ">=", "==", "=")


@dataclass
class RuleDraft:
    when: list[Condition]
    mode: str  # action or never
    actions: dict[str, list[str]]  # by agent ("" for the only one); may hold {variables}


@dataclass
class Draft:
    """A property: its text comes from `text`, what it says from `cases`."""

    name: str
    each: dict[str, tuple[str, list[str]]]  # variable -> kind (agent, feature, word), patterns or words
    agent: list[str] | None  # patterns, None: every one
    agents: list[str] | None  # or several together
    rules: list[RuleDraft]
    short: bool  # whether the only rule stands in the property itself

    def text(self) -> str:
        lines = ["[[property]]", f"name = {json.dumps(self.name)}"]
        lines += _each_text(self.each)
        if self.agent is not None:
            lines.append(f"agent = {json.dumps(self.agent[0] if len(self.agent) == 1 else self.agent)}")
        if self.agents is not None:
            lines.append(f"agents = {json.dumps(self.agents)}")
        if self.short and len(self.rules) == 1:
            lines += [f"{key} = {value}" for key, value in _rule_entries(self.rules[0])]
        else:
            tables = [", ".join(f"{key} = {value}" for key, value in _rule_entries(rule)) for rule in self.rules]
            lines.append("rules = [" + ", ".join(f"{{ {table} }}" for table in tables) + "]")
        return "\n".join(lines) + "\n"

    def cases(self, beings: list[Being]) -> Iterator[tuple[tuple[int, ...], dict[str, str], RuleDraft]]:
        """Every case: the agents, what the variables stand for, the rule."""
        names = [being.name for being in beings]
        for values in agent_values(self.each, names):
            if self.agents is not None:
                teams = [tuple(names.index(fill(name, values)) for name in self.agents)]
            else:
                wanted = ["*"] if self.agent is None else [fill(one, values) for one in self.agent]
                teams = [(i,) for i, name in enumerate(names) if any(fits(one, name) is not None for one in wanted)]
            for team in teams:
                for known in feature_values(self.each, values, beings[team[0]]):
                    for rule in self.rules:
                        yield team, known, rule


def _each_text(each: dict[str, tuple[str, list[str]]]) -> list[str]:
    if not each:
        return []
    parts = [
        f"{name} = {json.dumps(words)}" if kind == "word" else f"{name} = {{ {kind} = {json.dumps(words[0])} }}"
        for name, (kind, words) in each.items()
    ]
    return [f"for_each = {{ {', '.join(parts)} }}"]


def _rule_entries(rule: RuleDraft) -> list[tuple[str, str]]:
    entries = []
    if rule.when:
        texts = [one.text for one in rule.when]
        entries.append(("when", json.dumps(texts if len(texts) > 1 else texts[0])))
    if list(rule.actions) == [""]:
        entries.append((rule.mode, json.dumps(rule.actions[""])))
    else:
        tables = ", ".join(f"{json.dumps(agent)} = {json.dumps(names)}" for agent, names in rule.actions.items())
        entries.append((rule.mode, f"{{ {tables} }}"))
    return entries


def agent_values(each: dict[str, tuple[str, list[str]]], names: list[str]) -> Iterator[dict[str, str]]:
    """Choices of words and of agents that differ."""
    options: list[list[tuple[str, str, str | None]]] = []
    for variable, (kind, words) in each.items():
        if kind == "word":
            options.append([(variable, word, None) for word in words])
        elif kind == "agent":
            options.append([(variable, str(fits(words[0], n)), n) for n in names if fits(words[0], n) is not None])
    for chosen in itertools.product(*options):
        agents = [agent for _, _, agent in chosen if agent is not None]
        if len(set(agents)) == len(agents):
            yield {variable: word for variable, word, _ in chosen}


def feature_values(
    each: dict[str, tuple[str, list[str]]], values: dict[str, str], being: Being
) -> Iterator[dict[str, str]]:
    options = []
    for variable, (kind, words) in each.items():
        if kind == "feature":
            pattern = fill(words[0], values)
            options.append([(variable, str(fits(pattern, being.names[k]))) for k in being.members(pattern)])
    for chosen in itertools.product(*options):
        yield {**values, **dict(chosen)}


# --------------------------------------------------------------------------- what it says


def meets(conditions: list[Condition], at: Place, room: str = "") -> Any:
    parts = [one.holds(at, [o for o in conditions if o is not one], room) for one in conditions]
    return at.arithmetic.every(parts)


def applies(rule: RuleDraft, team: tuple[int, ...], values: dict[str, str], at: Place) -> Any:
    return meets(rule.when, replace(at, owner=team[0], values=values))


def forbidden(rule: RuleDraft, team: tuple[int, ...], values: dict[str, str], beings: list[Being]) -> Any:
    """A function of the joint actions: whether they are forbidden, for arrays of actions by agent."""
    sets = {}
    for agent, names in rule.actions.items():
        i = team[0] if agent == "" else [being.name for being in beings].index(fill(agent, values))
        sets[i] = [a for a, name in enumerate(ACTIONS) if any(fits(fill(n, values), name) is not None for n in names)]

    def told(is_one_of: Any, arithmetic: Any, negate: Any) -> Any:
        if rule.mode == "never":
            return arithmetic.every([is_one_of(i, own) for i, own in sets.items()])
        return arithmetic.some([negate(is_one_of(i, own)) for i, own in sets.items()])

    return told


@dataclass
class FactDraft:
    each: dict[str, tuple[str, list[str]]]
    agent: list[str] | None  # None with `each`: it names agents
    either: list[list[Condition]]

    def text(self) -> str:
        lines = ["[[fact]]", *_each_text(self.each)]
        if self.agent is not None:
            lines.append(f"agent = {json.dumps(self.agent)}")
        texts = [[one.text for one in part] for part in self.either]
        lines.append(f"either = {json.dumps(texts)}" if len(texts) > 1 else f"holds = {json.dumps(texts[0])}")
        return "\n".join(lines) + "\n"

    def cases(self, beings: list[Being]) -> Iterator[tuple[int | None, dict[str, str]]]:
        names = [being.name for being in beings]
        for values in agent_values(self.each, names):
            if self.agent is None:
                yield None, values
            else:
                for i, name in enumerate(names):
                    if any(fits(one, name) is not None for one in self.agent):
                        yield i, values

    def true(self, at: Place, room: str) -> Any:
        return at.arithmetic.some([meets(part, at, room) for part in self.either])

    def whose(self, at: Place) -> set[int]:
        return {name.whose(at) for part in self.either for one in part for side in one.sides for name in side.names()}


@dataclass
class Case:
    """Everything of one case."""

    kind: str
    seed: int
    world: World
    properties: list[Draft]
    facts: list[FactDraft] = field(default_factory=list)

    @property
    def text(self) -> str:
        parts = [one.text() for one in self.properties] + [self.world.domains] + [one.text() for one in self.facts]
        return "\n".join(parts)

    def possible(self, points: Points, room: str) -> np.ndarray:
        """Which rows keep all facts about the agents that are there (domains are kept by how rows are made)."""
        at, total = points.place(), np.ones(len(points), bool)
        for fact in self.facts:
            for owner, values in fact.cases(self.world.beings):
                here = replace(at, owner=owner, values=values)
                if fact.whose(here) <= set(points.rows):
                    total &= fact.true(here, room)
        return total


# --------------------------------------------------------------------------- drawing


class Writer:
    """Draws conditions about the features of a world, in the words of one rule."""

    def __init__(self, draw: Draw, world: World, numbers: list[float], simple: bool, plain_only: bool = False) -> None:
        self.draw, self.world, self.numbers = draw, world, numbers
        self.simple, self.plain_only = simple, plain_only
        self.words: list[tuple[str | None, list[str]]] = []  # who may be named, and the names

    def number(self, small: bool = False) -> Number:
        """A number that is simple, at a value, beside one or odd."""
        way = self.draw.random()
        if small:
            text = str(self.draw.choice(["2", "0.5", "3", "0.1", "1.", ".25", "1e0", "7", "0.3", "2E-1", "0"]))
            return Number(text, Fraction(text if text[-1] != "." else text + "0"))
        value = np.float32(self.draw.choice(np.array(self.numbers)))
        if way < 0.15:
            value = np.nextafter(value, np.float32(np.inf if way < 0.07 else -np.inf))
        exact = Fraction(float(value))
        if way > 0.9:  # between two float32
            exact += Fraction(float(np.spacing(abs(value)))) * Fraction(int(self.draw.choice([1, -1])), 10)
        elif way > 0.8:
            exact = Fraction(round(float(value), 1)).limit_denominator(1000)
        text = decimal(abs(exact))
        return Number(text, Fraction(text) * (1 if exact >= 0 else -1))

    def name(self, pattern: bool = False) -> Name:
        agent, names = self.words[int(self.draw.integers(0, len(self.words)))]
        if pattern:
            being = self.world.beings[0]
            good = [one for one in PATTERNS if len(being.members(one)) > 0]
            good = [one for one in good if not self.plain_only or being.members(one)[0] < len(being.features)]
            return Name(agent, str(self.draw.choice(good)))
        return Name(agent, str(self.draw.choice(names)))

    def term(self, depth: int, pattern: Name | None = None) -> Any:
        way = self.draw.random()
        if depth == 0 or way < 0.45:
            return pattern if pattern is not None and self.draw.random() < 0.6 else self.name()
        if way < 0.65:
            style = str(self.draw.choice(["before", "star before", "star behind"]))
            return Scaled(self.number(small=True), self.term(depth - 1, pattern), style)
        if way < 0.8:
            return Size(self.sum(depth - 1, pattern))
        if way < 0.9 and pattern is None:
            over = self.name(pattern=True)
            return Total(over, over if self.draw.random() < 0.4 else self._holding(over, depth - 1))
        return self.sum(depth - 1, pattern)

    def _holding(self, over: Name, depth: int) -> Any:
        """Something that names what is summed over."""
        way = self.draw.random()
        if way < 0.5:
            return Size(over)
        other = over if way < 0.6 else self.name() if way < 0.8 else self._positive()
        return Plus(((1, over), (int(self.draw.choice([1, -1])), other)))

    def _positive(self) -> Number:
        number = self.number()
        return Number(number.text, abs(number.exact))

    def sum(self, depth: int, pattern: Name | None = None) -> Any:
        parts = []
        for _ in range(int(self.draw.choice([1, 2, 2, 3]))):
            sign = int(self.draw.choice([1, 1, -1]))
            if self.draw.random() < 0.15:
                parts.append((sign, self._positive()))
            else:
                parts.append((sign, self.term(depth, pattern)))
        if self.draw.random() < 0.15 and len(parts) > 1:  # it repeats, or cancels out
            parts.append((int(self.draw.choice([1, -1])), parts[0][1]))
        return Plus(tuple(parts))

    def side(self) -> Any:
        number = self.number()
        return Plus(((1 if number.exact >= 0 else -1, Number(number.text, abs(number.exact))),))

    def signs(self, count: int) -> tuple[str, ...]:
        chances = [0.24, 0.24, 0.24, 0.2, 0.05, 0.03]
        return tuple(str(one) for one in self.draw.choice(SIGNS, count, p=chances))

    def condition(self, quantifier: str = "", singles: bool = True) -> Condition:
        """A condition of some form."""
        way = self.draw.random()
        over = self.name(pattern=True) if quantifier else None
        if way < 0.35 and (over is None or over.agent is None):
            name = over or self.name()
            if name.agent is None:
                return self._bare(name, quantifier)
        if self.simple:
            middle = self._simple(over or self.name())
        elif over is not None:
            middle = self._about(over, singles)
        else:
            middle = self.sum(int(self.draw.integers(0, 4)))
            if not list(middle.names()):
                middle = Plus((*middle.parts, (1, self.name())))
        sides = [middle, self.side()]
        if self.draw.random() < 0.2:
            sides = [self.side(), middle, self.side()]
        elif not self.simple and self.draw.random() < 0.15 and not quantifier:
            sides = [middle, self.sum(1)]
        elif self.draw.random() < 0.2:
            sides.reverse()
        return Condition(tuple(sides), self.signs(len(sides) - 1), quantifier, over)

    def _simple(self, name: Name) -> Any:
        inner: Any = Size(name) if self.draw.random() < 0.25 else name
        if self.draw.random() < 0.4:
            inner = Scaled(
                self.number(small=True), inner, str(self.draw.choice(["before", "star before", "star behind"]))
            )
        parts = [(int(self.draw.choice([1, 1, -1])), inner)]
        if self.draw.random() < 0.3:
            parts.append((int(self.draw.choice([1, -1])), self._positive()))
        return Plus(tuple(parts))

    def _about(self, over: Name, singles: bool) -> Any:
        way = self.draw.random()
        if way < 0.4:
            return Plus(((1, over),))
        if way < 0.6:
            return Plus(((1, Size(over)),))
        if way < 0.7 or not singles:
            return Plus(((1, over), (-1, Scaled(self.number(small=True), over, "before"))))
        return Plus(((1, over), (int(self.draw.choice([1, -1])), self.term(2, over))))

    def _bare(self, name: Name, quantifier: str) -> Condition:
        sides: list[Any] = [name, self._signed()]
        if self.draw.random() < 0.25:
            sides = [self._signed(), name, self._signed()]
        elif self.draw.random() < 0.2:
            sides.reverse()
        return Condition(tuple(sides), self.signs(len(sides) - 1), quantifier, name if quantifier else None, True)

    def _signed(self) -> Number:
        number = self.number()
        mark = str(self.draw.choice(["-", "- "])) if number.exact < 0 else str(self.draw.choice(["", "", "+"]))
        return Number(mark + number.text, number.exact)

    def when(self) -> list[Condition]:
        count = int(self.draw.choice([0, 1, 1, 2, 2, 3], p=[0.03, 0.27, 0.2, 0.2, 0.2, 0.1]))
        conditions = []
        others = self.draw.random() < 0.25 and count > 0 and not self.simple
        for k in range(count):
            if others:  # what `every other` leaves out must be clear: plain names alone
                chosen = "every other" if k == 0 else ""
                one = self.condition(chosen, singles=False)
                if k:
                    name = self.name()
                    one = Condition((self._simple(name), self.side()), self.signs(1))
            else:
                quantifier = str(self.draw.choice(["", "", "", "every", "some"]))
                one = self.condition(quantifier)
            conditions.append(one)
        return conditions


def decimal(value: Fraction) -> str:
    """A number of at most 46 digits as text; what has more is cut off, and the text is what counts."""
    if value == 0:
        return "0"
    if value.denominator == 1 and value < 10**12:
        return str(value.numerator)
    power = 0
    while value >= 10**9:
        value, power = value / 10, power + 1
    while value < 1:
        value, power = value * 10, power - 1
    digits = int(value * 10**45)
    text = f"{digits // 10**45}.{digits % 10**45:045d}".rstrip("0").rstrip(".")
    return text if power == 0 else f"{text}e{power}"
