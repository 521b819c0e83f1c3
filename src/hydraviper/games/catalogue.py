"""The games by name: `cooperative-navigation:agents=4`, `traffic:my.sumocfg,steps=60`, `gymnasium:CartPole-v1`, ..."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from hydraviper import outside
from hydraviper.data import InputError
from hydraviper.games import traffic_catalogue, traffic_options
from hydraviper.games.environments import by_name
from hydraviper.games.environments.game import Environments
from hydraviper.games.environments.repeats import check_repeats
from hydraviper.games.particle import CooperativeNavigation, PhysicalDeception
from hydraviper.protocols import Game, spec_of

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
    "gymnasium": by_name.gymnasium,
    "pettingzoo": by_name.pettingzoo,
    "python": by_name.python,
}
GENERATED: dict[str, Callable[..., Game]] = {"grid": traffic_catalogue.grid}  # whose parameters make them
OTHER_NAMES = {"traffic:grid": "grid"}  # what people may write in a game's place
FILES = {"traffic": "file"}  # which of their parameters is the path of a file
EXAMPLES = {
    "resco": "resco:grid4x4",
    "traffic": "traffic:PATH.sumocfg",
    "grid": "traffic:grid,rows=10,columns=10",
    "gymnasium": "gymnasium:CartPole-v1",
    "pettingzoo": "pettingzoo:mpe2.simple_tag_v3",
    "python": "python:PACKAGE.MODULE:CALLABLE",
}
MAKERS = {**GAMES, **FAMILIES, **GENERATED}
# Packages of environments that we know; code of others runs only if a person has named it.
WELL_KNOWN = ("mpe2", "pettingzoo")


def make(spec: str, parameters: Mapping[str, object] | None = None) -> Game:
    """Make a game from its name, with optional parameters behind a colon or as a mapping."""
    game = _made(spec, parameters)
    if isinstance(game, Environments):
        check_repeats(game)
    return game


def _made(spec: str, parameters: Mapping[str, object] | None = None) -> Game:
    """The same, without playing an environment to see whether it repeats itself."""
    name, options = read(spec, parameters)
    try:
        if name not in MAKERS:
            return by_name.made_by(name, outside.loaded(outside.added(outside.GAMES)[name]), options)
        return MAKERS[name](**options)
    except TypeError as error:
        raise InputError(f"{name} cannot be made with {options} ({error}): check its parameters.") from None


def whole(spec: str) -> tuple[str, dict[str, object]]:
    """A game's name and all of its parameters, without making the game."""
    name, options = read(spec)
    accepted = inspect.signature(MAKERS[name]).parameters.items()
    defaults = {key: each.default for key, each in accepted if each.default is not inspect.Parameter.empty}
    if name in FILES:
        options[FILES[name]] = str(traffic_catalogue.place(str(options[FILES[name]])))
    return name, {**defaults, **options}


def title(game: Game) -> str:
    """A game as people write it: its name, with the parameters that differ from their defaults."""
    defaults = inspect.signature(MAKERS[game.name]).parameters if game.name in GAMES | GENERATED else {}
    changed = {
        key: value for key, value in game.parameters.items() if key not in defaults or defaults[key].default != value
    }
    return spec_of(game.name, changed)


def without_options(name: str, parameters: Mapping[str, object]) -> str:
    """A game's name, and what a family makes it from: `resco:grid4x4`, `cologne-corridor`."""
    return name if name not in FAMILIES else f"{name}:{parameters.get(_subject(name))}"


def completed(name: str, parameters: Mapping[str, object]) -> dict[str, object]:
    """The parameters that a file recorded, with those that did not exist yet as they were played at the time."""
    accepted = inspect.signature(MAKERS[name]).parameters if name in MAKERS else {}
    return {**{key: value for key, value in traffic_options.BEFORE.items() if key in accepted}, **parameters}


def named_source(spec: str, parameters: Mapping[str, object] | None = None) -> Path | str | None:
    """The file that a game is made from, or the code of which we know no package, if the user names one."""
    name, options = read(spec, parameters)
    if name in FILES:
        return traffic_catalogue.place(str(options[FILES[name]]))
    subject = str(options[_subject(name)]) if name in ("gymnasium", "pettingzoo", "python") else ""
    registered = ":" not in subject if name == "gymnasium" else "/" in subject
    if not subject or (name != "python" and registered):
        return None  # what installed packages have registered
    known = name != "python" and re.split("[.:]", subject)[0] in WELL_KNOWN
    return None if known else f"{name}:{subject}"


def read(spec: str, parameters: Mapping[str, object] | None = None) -> tuple[str, dict[str, object]]:
    """Check a game's name and its parameters without making the game."""
    first, _, rest = spec.partition(",")
    name, _, text = (f"{OTHER_NAMES[first]}:{rest}" if first in OTHER_NAMES else spec).partition(":")
    if name not in MAKERS and name not in outside.added(outside.GAMES):
        raise InputError(_unknown(name))
    accepted = _accepted(name)
    options = {**_parse(name, text, accepted), **(parameters or {})}
    if accepted is not None and (unknown := [key for key in options if key not in accepted]):
        raise InputError(f"{name} has no parameter {unknown[0]!r}: it knows {', '.join(accepted)}.")
    if name in FAMILIES and not options.get(_subject(name)):
        raise InputError(f"{name} needs a {_subject(name)}: write {EXAMPLES[name]}.")
    return name, options


def maker(game: Game) -> Callable[[], Game]:
    """A function that makes the same game again; it can be sent to another process."""
    return partial(_made, game.name, dict(game.parameters))


def _unknown(name: str) -> str:
    makers = [*MAKERS, *outside.added(outside.GAMES)]
    close = difflib.get_close_matches(name, makers, n=1)
    choices = ", ".join([*GAMES, *EXAMPLES.values()])
    return f"there is no game {name!r}: {f'did you mean {close[0]}?' if close else f'choose one of {choices}.'}"


def _subject(name: str) -> str:
    """The parameter of a family that comes first."""
    return next(iter(inspect.signature(FAMILIES[name]).parameters))


def _accepted(name: str) -> Mapping[str, inspect.Parameter] | None:
    """The parameters of a game; None if only what it is made by knows them."""
    if name not in MAKERS:
        return None
    accepted = inspect.signature(MAKERS[name]).parameters
    return None if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in accepted.values()) else accepted


def _parse(name: str, text: str, accepted: Mapping[str, inspect.Parameter] | None) -> dict[str, object]:
    """Read `agents=4,physics=mpe2`, with the types of the parameters' defaults; a family's subject comes first."""
    options: dict[str, object] = {}
    parts = list(filter(None, text.split(",")))
    if name in FAMILIES and parts and ("=" not in parts[0] or parts[0].partition("=")[0] not in (accepted or ())):
        options[_subject(name)] = parts.pop(0)
    for part in parts:
        key, equals, value = part.partition("=")
        if accepted is not None and key not in accepted:
            raise InputError(f"{name} has no parameter {key!r}: it knows {', '.join(accepted)} (as name=value).")
        if not equals or key in options:
            problem = "is given twice" if key in options else "has no value"
            raise InputError(f"{name}'s {key} {problem}: write {key}=VALUE once.")
        options[key] = _literal(value) if accepted is None else _value(name, accepted[key], value)
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


def _literal(text: str) -> Any:
    """A number, true, false, none, or else the text itself."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text
