"""The games by name: `cooperative-navigation`, `cooperative-navigation:agents=4,physics=mpe2`, ..."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from hydraviper.data import InputError
from hydraviper.games.particle import CooperativeNavigation, PhysicalDeception
from hydraviper.protocols import Game

GAMES: dict[str, Callable[..., Game]] = {
    CooperativeNavigation.name: CooperativeNavigation,
    PhysicalDeception.name: PhysicalDeception,
}


def make(spec: str, parameters: Mapping[str, Any] | None = None) -> Game:
    """Make a game from its name, with optional parameters behind a colon or as a mapping."""
    name, _, text = spec.partition(":")
    if name not in GAMES:
        close = difflib.get_close_matches(name, GAMES, n=1)
        hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(GAMES)}."
        raise InputError(f"there is no game {name!r}: {hint}")
    options = {**_parse(name, text), **(parameters or {})}
    return GAMES[name](**options)


def spec_of(game: Game) -> str:
    """The name with every parameter, from which `make` makes the same game."""
    return game.name + "".join(
        (":" if k == 0 else ",") + f"{key}={value}" for k, (key, value) in enumerate(game.parameters.items())
    )


def _parse(name: str, text: str) -> dict[str, Any]:
    """Read `agents=4,physics=mpe2` by the types of the game's own parameters."""
    known = inspect.signature(GAMES[name]).parameters
    options: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if not equals or key not in known:
            raise InputError(f"{name} has no parameter {part!r}: it knows {', '.join(known)} (as name=value).")
        kind = type(known[key].default)
        try:
            options[key] = kind(value)
        except ValueError:
            raise InputError(f"{name}'s {key} must be of type {kind.__name__}, not {value!r}.") from None
    return options
