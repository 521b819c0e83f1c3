"""Features in people's own words: a line is `name = formula`, for every agent that sees all that the formula names.

A line `for AGENT:` above lines leaves them to agents whose names fit, with * as in conditions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hydraviper.data import Agent, Derived, InputError
from hydraviper.expressions.names import Scope, matching
from hydraviper.expressions.parser import parse_formula
from hydraviper.protocols import Game, offers
from hydraviper.settings import FEATURES, are_lines

MOST = 500  # features of one agent
Features = tuple[tuple[Derived, ...], ...]  # per agent


def features_of(game: Game, features: str) -> Features:
    """Per agent, what its trees may ask for beside the plain features: by a word or by lines (see `Settings`).

    Those that are found in data are not known yet.
    """
    search, nothing = offers(game).search, ((),) * len(game.agents)
    if features in ("plain", "found"):
        return nothing
    if features == "derived":
        if not search.derived:
            raise InputError(f"{game.name} names no derived features: use --features plain.")
        return search.derived
    if features == "shipped":
        if not search.lines:
            raise InputError(f"no features ship for {game.name}: use --features found, or a file of your own.")
        known = search.derived or nothing
        both = zip(read_lines(search.lines, game.agents, known), known, strict=True)
        return tuple((*lines, *derived) for lines, derived in both)
    return read_lines(features, game.agents, search.derived or nothing)


def nameable(game: Game, made: Mapping[str, object]) -> Features:
    """Per agent, the derived features that people may name: the game's, and those that trees were `made` to ask for."""
    searches = made.get("refined")
    sources = [made.get("settings"), *(searches if isinstance(searches, list | tuple) else ())]
    words = [str(source.get("features", "plain")) for source in sources if isinstance(source, Mapping)]
    offered = [offers(game).search.derived or ((),) * len(game.agents)]
    offered += [features_of(game, word) for word in dict.fromkeys(words) if word not in ("plain", "derived")]
    return tuple(tuple(dict.fromkeys(f for own in agent for f in own)) for agent in zip(*offered, strict=True))


def chosen(text: str | None) -> str | None:
    """What people say of features: one of the words, or the lines of the file of this name; None if nothing."""
    if text is None or text in FEATURES or are_lines(text):
        return text
    path = Path(text)
    try:
        lines = path.read_text(encoding="utf-8") if path.is_file() else None
    except (OSError, ValueError):
        raise InputError(
            f"the file of features {text} cannot be read: pass a text file of lines name = formula."
        ) from None
    if lines is None:
        words = ", ".join(FEATURES)
        if path.suffix or len(path.parts) > 1:
            raise InputError(f"there is no file of features {text}: pass one, or choose one of {words}.")
        raise InputError(f"--features {text!r} is unknown: choose one of {words}, or a file of lines name = formula.")
    if not are_lines(lines):
        raise InputError(f"the file of features {text} has no line: write lines name = formula (docs/features.md).")
    return lines


@lru_cache(maxsize=64)
def read_lines(lines: str, agents: tuple[Agent, ...], known: Features) -> Features:
    """Per agent, the features that lines define for it; a formula may name lines above it and the `known` features."""
    own: list[dict[str, Derived]] = [{} for _ in agents]
    for line in _split(lines):
        members = matching(
            line.who, [agent.name for agent in agents], f"line {line.number} of the features: no agent is"
        )
        problem: InputError | None = None
        taken = False
        for i in members:
            above = (*own[i].values(), *known[i])
            scope = Scope(agents, tuple(above if k == i else () for k in range(len(agents))), ())
            try:
                feature = parse_formula(line.name, line.formula, scope, i)
            except InputError as error:
                problem = problem or error
                continue
            if line.name in agents[i].features or line.name in own[i]:
                raise InputError(
                    f"line {line.number} of the features: {agents[i].name} already has a feature {line.name!r}."
                )
            own[i][line.name], taken = feature, True
            if len(own[i]) > MOST:
                raise InputError(f"{agents[i].name} has more than {MOST} features of its own: write fewer lines.")
        if not taken and problem is not None:
            raise InputError(f"line {line.number} of the features: {problem}")
    return tuple(tuple(features.values()) for features in own)


@dataclass(frozen=True)
class _Line:
    """A line of a file of features."""

    number: int
    who: str  # a pattern of agents' names
    name: str
    formula: str


def _without_comment(line: str) -> str:
    """A line up to a # at its beginning or behind a space, unless that is part of a name in brackets."""
    inside = 0
    for k, character in enumerate(line):
        inside += (character == "[") - (character == "]")
        if character == "#" and inside <= 0 and not line[:k][-1:].strip():
            return line[:k]
    return line


def _split(lines: str) -> Iterator[_Line]:
    """The lines that define a feature, each for the agents that the last `for ...:` above it names."""
    who = "*"
    for number, line in enumerate(lines.splitlines(), 1):
        text = _without_comment(line).strip()
        if not text:
            continue
        name, sign, formula = text.partition("=")
        if not sign and text.startswith("for ") and text.endswith(":"):
            who = text[4:-1].strip()
            continue
        if not sign or not name.strip() or not formula.strip():
            raise InputError(
                f"line {number} of the features is {text[:60]!r}: write name = formula, such as 'gap = [x] - [y]'."
            )
        if any(character in name for character in "[]<>"):
            raise InputError(f"line {number} of the features: write the name {name.strip()!r} without brackets.")
        yield _Line(number, who, " ".join(name.split()), formula)
