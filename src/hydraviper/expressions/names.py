"""Names of agents and features, patterns with *, and suggestions for names that do not exist."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from hydraviper.data import Agent, Derived, InputError
from hydraviper.expressions.expression import Feature


@dataclass(frozen=True)
class Scope:
    """The names that an expression may use: agents, and each agent's plain and derived features."""

    agents: tuple[Agent, ...]
    derived: tuple[tuple[Derived, ...], ...]  # per agent
    nameable: tuple[int, ...]  # the agents that may be named

    def agent(self, name: str) -> int:
        """The agent of this name."""
        names = [self.agents[i].name for i in self.nameable]
        if name not in names:
            raise InputError(f"no tree is for {name!r}: {nearest(name, names)}")
        return self.nameable[names.index(name)]

    def features(self, agent: int, pattern: str) -> list[Feature]:
        """The agent's features that fit a name or pattern: plain ones, or derived ones if no plain one fits."""
        who = self.agents[agent]
        plain: dict[str, Feature] = {name: (agent, k) for k, name in enumerate(who.features)}
        derived: dict[str, Feature] = {}
        for feature in self.derived[agent]:
            derived.setdefault(feature.name, (agent, feature))
        for names in (plain, derived):
            if pattern in names:
                return [names[pattern]]
        for names in (plain, derived):
            if fitting := [names[name] for name in names if "*" in pattern and matches(pattern, name)]:
                return fitting
        raise InputError(f"{who.name} has no feature {pattern!r}: {nearest(pattern, [*plain, *derived])}")

    def fitting(self, agent: int, pattern: str, of_points: bool = False) -> list[str]:
        """The names of an agent's features that fit a pattern, of plain ones if there are some; or those of points."""
        who = self.agents[agent]
        derived = [feature.name for feature in self.derived[agent]]
        kinds = [list(points_of(who))] if of_points else [list(who.features), derived]
        for names in kinds:
            if fits := [name for name in names if matches(pattern, name)]:
                return fits
        hint = nearest(pattern, [name for names in kinds for name in names])
        raise InputError(f"{who.name} has no {'point' if of_points else 'feature'} {pattern!r}: {hint}")

    def point(self, agent: int, name: str) -> tuple[int, int]:
        """The features that are the two coordinates of an agent's point."""
        points = points_of(self.agents[agent])
        if name not in points:
            hint = nearest(name, points) if points else "none of its features are called ... dx and ... dy."
            raise InputError(f"{self.agents[agent].name} has no point {name!r}: {hint}")
        return points[name]


@lru_cache(maxsize=256)
def points_of(agent: Agent) -> dict[str, tuple[int, int]]:
    """What an agent sees of points: names with which two features begin, such as `goal` with goal dx and goal dy."""
    at = {name: k for k, name in enumerate(agent.features)}
    pairs = [
        (name.removesuffix(first), k, at.get(name.removesuffix(first) + second))
        for name, k in at.items()
        for first, second in ((" dx", " dy"), (" x", " y"))
        if name.endswith(first)
    ]
    return {name: (x, y) for name, x, y in pairs if y is not None}


def matches(pattern: str, name: str) -> bool:
    """Whether a name fits a pattern, in which each * stands for one character or more."""
    return _compiled(pattern).fullmatch(name) is not None


def captured(pattern: str, name: str) -> str | None:
    """What the only * of a pattern stands for in a name; None if the name does not fit."""
    fitting = _compiled(pattern).fullmatch(name)
    return None if fitting is None else fitting[1]


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    first, *others = map(re.escape, pattern.split("*"))
    # the leftmost match leaves most room for the rest, so what stands before the last * is never tried again
    middle = "".join(f"(?>.+?{part})" for part in others[:-1])
    return re.compile(f"{first}{middle}(.+){others[-1]}" if others else first, re.DOTALL)


def matching(pattern: str, names: Sequence[str], complaint: str) -> list[int]:
    """The positions of the names that fit a pattern; if there are none, an error that begins with the complaint."""
    positions = [k for k, name in enumerate(names) if matches(pattern, name)]
    if not positions:
        raise InputError(f"{complaint} {pattern!r}: {nearest(pattern, names)}")
    return positions


def nearest(name: str, names: Iterable[str]) -> str:
    """The end of an error message about an unknown name: what may have been meant."""
    names = list(dict.fromkeys(names))
    lower = {one.lower(): one for one in reversed(names)}
    if close := difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.5):
        return f"did you mean {' or '.join(repr(lower[one]) for one in close)}?"
    return f"choose one of {', '.join(map(repr, names[:12]))}{', ...' if len(names) > 12 else ''}."


def substitute(text: str, values: Mapping[str, str]) -> str:
    """The text with each {variable} replaced by its value."""
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text
