"""The games by name: `cooperative-navigation:agents=4`, `cologne-corridor`, `traffic:my.sumocfg,steps=60`, ..."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from hydraviper.data import InputError
from hydraviper.games import traffic_catalogue, traffic_options
from hydraviper.games.particle import CooperativeNavigation, PhysicalDeception
from hydraviper.protocols import Game

GAMES: dict[str, Callable[..., Game]] = {
    CooperativeNavigation.name: CooperativeNavigation,
    PhysicalDeception.name: PhysicalDeception,
    "cologne-corridor": traffic_catalogue.cologne_corridor,
    "ingolstadt-corridor": traffic_catalogue.ingolstadt_corridor,
}
# Games made from something that a user names: `NAME:SUBJECT,parameter=value`. The subject is the first parameter.
FAMILIES: dict[str, Callable[..., Game]] = {
    "resco": traffic_catalogue.resco,
    "traffic": traffic_catalogue.own_network,
}
FILES = {"traffic": "file"}  # which of their parameters is the path of a file
EXAMPLES = {"resco": "resco:grid4x4", "traffic": "traffic:PATH.sumocfg"}


def make(spec: str, parameters: Mapping[str, Any] | None = None) -> Game:
    """Make a game from its name, with optional parameters behind a colon or as a mapping."""
    name, options = read(spec, parameters)
    try:
        return (GAMES | FAMILIES)[name](**options)
    except TypeError as error:
        raise InputError(f"{name} cannot be made with {options} ({error}): check its parameters.") from None


def whole(spec: str) -> tuple[str, dict[str, Any]]:
    """A game's name and all of its parameters, without making the game."""
    name, options = read(spec)
    accepted = inspect.signature((GAMES | FAMILIES)[name]).parameters.items()
    defaults = {key: each.default for key, each in accepted if each.default is not inspect.Parameter.empty}
    if name in FILES:
        options[FILES[name]] = str(traffic_catalogue.place(str(options[FILES[name]])))
    return name, {**defaults, **options}


def titled(name: str, parameters: Mapping[str, Any]) -> str:
    """A game without its options: `resco:grid4x4`, `cologne-corridor`."""
    if name not in FAMILIES:
        return name
    return f"{name}:{parameters.get(next(iter(inspect.signature(FAMILIES[name]).parameters)))}"


def completed(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that a file recorded, with those that did not exist yet as they were played at the time."""
    accepted = inspect.signature((GAMES | FAMILIES)[name]).parameters if name in GAMES | FAMILIES else {}
    return {**{key: value for key, value in traffic_options.BEFORE.items() if key in accepted}, **parameters}


def named_file(spec: str, parameters: Mapping[str, Any] | None = None) -> Path | None:
    """The file that a game is made from, if the user names one."""
    name, options = read(spec, parameters)
    return traffic_catalogue.place(str(options[FILES[name]])) if name in FILES else None


def read(spec: str, parameters: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
    """Check a game's name and its parameters without making the game."""
    name, _, text = spec.partition(":")
    makers = GAMES | FAMILIES
    if name not in makers:
        close = difflib.get_close_matches(name, makers, n=1)
        choices = ", ".join([*GAMES, *EXAMPLES.values()])
        raise InputError(
            f"there is no game {name!r}: {f'did you mean {close[0]}?' if close else f'choose one of {choices}.'}"
        )
    accepted = inspect.signature(makers[name]).parameters
    options = {**_parse(name, text, accepted), **(parameters or {})}
    if unknown := [key for key in options if key not in accepted]:
        raise InputError(f"{name} has no parameter {unknown[0]!r}: it knows {', '.join(accepted)}.")
    if name in FAMILIES and next(iter(accepted)) not in options:
        raise InputError(f"{name} needs a {next(iter(accepted))}: write {EXAMPLES[name]}.")
    return name, options


def maker(game: Game) -> Callable[[], Game]:
    """A function that makes the same game again; it can be sent to another process."""
    return partial(make, game.name, dict(game.parameters))


def _parse(name: str, text: str, accepted: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """Read `agents=4,physics=mpe2`, with the types of the parameters' defaults; a family's subject comes first."""
    options: dict[str, Any] = {}
    parts = list(filter(None, text.split(",")))
    if name in FAMILIES and parts and ("=" not in parts[0] or parts[0].partition("=")[0] not in accepted):
        options[next(iter(accepted))] = parts.pop(0)
    for part in parts:
        key, equals, value = part.partition("=")
        if key not in accepted:
            raise InputError(f"{name} has no parameter {key!r}: it knows {', '.join(accepted)} (as name=value).")
        if not equals or key in options:
            problem = "is given twice" if key in options else "has no value"
            raise InputError(f"{name}'s {key} {problem}: write {key}=VALUE once.")
        options[key] = _value(name, accepted[key], value)
    return options


def _value(name: str, parameter: inspect.Parameter, text: str) -> Any:
    """What a user wrote, with the type of the parameter's default, or as a number or a word where it may be either."""
    default, either = parameter.default, str(parameter.annotation) == "int | str"
    kind = int if either else str if default is inspect.Parameter.empty else type(default)
    try:
        return kind(text)
    except ValueError:
        if either:
            return text
        words = {int: "a whole number", float: "a number"}.get(kind, f"of type {kind.__name__}")
        raise InputError(f"{name}'s {parameter.name} must be {words}, not {text!r}.") from None
