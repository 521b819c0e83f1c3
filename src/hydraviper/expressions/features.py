"""Features in people's own words: a line is `name = formula`, for every agent that sees all that the formula names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from hydraviper.data import Agent, Derived, InputError
from hydraviper.expressions.names import Scope
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
        return read_lines(search.lines, game.agents, search.derived or nothing)
    return read_lines(features, game.agents, search.derived or nothing)


def nameable(game: Game, made: Mapping[str, Any]) -> Features:
    """Per agent, the derived features that people may name: the game's, and those that trees were `made` to ask for."""
    sources = [made.get("settings"), *(made.get("refined") or ())]
    words = [source.get("features", "plain") for source in sources if isinstance(source, Mapping)]
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
        raise InputError(f"--features {text!r} is unknown: choose one of {words}, or a file of lines name = formula.")
    if not are_lines(lines):
        raise InputError(f"the file of features {text} has no line: write lines name = formula (docs/features.md).")
    return lines


@lru_cache(maxsize=64)
def read_lines(lines: str, agents: tuple[Agent, ...], known: Features) -> Features:
    """Per agent, the features that lines define for it; a formula may name lines above it and the `known` features."""
    own: list[dict[str, Derived]] = [{} for _ in agents]
    for number, name, text in _split(lines):
        problem: InputError | None = None
        taken = False
        for i, agent in enumerate(agents):
            above = (*own[i].values(), *known[i])
            scope = Scope(agents, tuple(above if k == i else () for k in range(len(agents))), ())
            try:
                feature = parse_formula(name, text, scope, i)
            except InputError as error:
                problem = problem or error
                continue
            if name in agent.features or name in own[i]:
                raise InputError(f"line {number} of the features: {agent.name} already has a feature {name!r}.")
            own[i][name], taken = feature, True
            if len(own[i]) > MOST:
                raise InputError(f"{agent.name} has more than {MOST} features of its own: write fewer lines.")
        if not taken and problem is not None:
            raise InputError(f"line {number} of the features: {problem}")
    return tuple(tuple(features.values()) for features in own)


def _split(lines: str) -> Iterator[tuple[int, str, str]]:
    """The number, the name and the formula of every line that is neither empty nor a comment."""
    for number, line in enumerate(lines.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, sign, text = line.partition("=")
        if not sign or not name.strip() or not text.strip():
            raise InputError(
                f"line {number} of the features is {line.strip()[:60]!r}: write name = formula, such as "
                "'gap = [x] - [y]'."
            )
        if any(character in name for character in "[]<>"):
            raise InputError(f"line {number} of the features: write the name {name.strip()!r} without brackets.")
        yield number, " ".join(name.split()), text
