"""Names of agents and features, patterns with *, and what was meant by a name that is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hydraviper.data import Agent, Derived, InputError
from hydraviper.expressions.expression import Feature


@dataclass(frozen=True)
class Vocabulary:
    """What may be named: agents, and what each sees, plain features and derived ones."""

    agents: tuple[Agent, ...]
    derived: tuple[tuple[Derived, ...], ...]  # per agent
    nameable: tuple[int, ...]  # the agents that may be named

    def agent(self, name: str) -> int:
        """An agent by its name."""
        names = [self.agents[i].name for i in self.nameable]
        if name not in names:
            raise InputError(f"no tree is for {name!r}: {nearest(name, names)}")
        return self.nameable[names.index(name)]

    def features(self, agent: int, pattern: str) -> list[Feature]:
        """The features that a name or pattern means: plain ones, or derived ones where no plain one fits."""
        who = self.agents[agent]
        plain: dict[str, Feature] = {name: (agent, k) for k, name in enumerate(who.features)}
        derived: dict[str, Feature] = {}
        for feature in self.derived[agent]:
            derived.setdefault(feature.name, (agent, feature))
        for names in (plain, derived):
            if pattern in names:
                return [names[pattern]]
        for names in (plain, derived):
            if found := [names[name] for name in names if "*" in pattern and matches(pattern, name)]:
                return found
        raise InputError(f"{who.name} has no feature {pattern!r}: {nearest(pattern, [*plain, *derived])}")


def matches(pattern: str, name: str) -> bool:
    """Whether a name fits a pattern, in which each * stands for one character or more."""
    first, *others = pattern.split("*")
    if not others:
        return pattern == name
    if not name.startswith(first):
        return False
    *middle, last = others
    at = len(first)
    for part in middle:  # the leftmost place leaves most room for the rest
        at = name.find(part, at + 1)
        if at < 0:
            return False
        at += len(part)
    return len(name) - len(last) > at and name.endswith(last)


def star(pattern: str, name: str) -> str | None:
    """What the one * of a pattern stands for in a name; None if the name does not fit."""
    first, _, last = pattern.partition("*")
    return name[len(first) : len(name) - len(last)] if matches(pattern, name) else None


def nearest(name: str, known: Iterable[str]) -> str:
    """An end of a sentence that suggests what was meant."""
    known = list(dict.fromkeys(known))
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"choose one of {', '.join(map(repr, known[:12]))}{', ...' if len(known) > 12 else ''}."


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with {variables} put in."""
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def found(pattern: str, names: Sequence[str], complaint: str) -> list[int]:
    """Where the names stand that a pattern fits; a complaint if there is none."""
    places = [k for k, name in enumerate(names) if matches(pattern, name)]
    if not places:
        raise InputError(f"{complaint} {pattern!r}: {nearest(pattern, names)}")
    return places
