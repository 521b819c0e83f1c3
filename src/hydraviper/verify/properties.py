"""A file of properties (TOML), read and checked for form; what its names mean is settled in `resolve`."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from hydraviper.data import Domain, Each, Fact, InputError, Knowledge
from hydraviper.expressions.names import nearest

VALUES = ("real", "whole", "count", "flag")
LARGEST = 1e30  # of the numbers that limit a domain
Names = tuple[str, ...]


@dataclass(frozen=True)
class RuleText:
    """When some conditions hold, these actions or never those; for several agents, by their names."""

    when: Names
    action: Names | Mapping[str, Names] | None
    never: Names | Mapping[str, Names] | None
    serves: str | None


@dataclass(frozen=True)
class Property:
    """What must be true of trees: rules, and limits of form."""

    name: str
    for_each: Mapping[str, Each]
    agent: Names  # patterns: it must hold for each of these agents
    agents: Names  # or: it is about these agents together
    rules: tuple[RuleText, ...]
    never_asks: Names
    most_leaves: int | None
    most_depth: int | None


@dataclass(frozen=True)
class Properties:
    """A whole file."""

    properties: tuple[Property, ...]
    knowledge: Knowledge  # what the file itself says about values
    game_facts: bool  # whether what the game knows about its values holds as well
    source: str  # the file's text


def load(path: Path) -> Properties:
    """Read a file of properties."""
    try:
        return read(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise InputError(f"{path} cannot be read ({why}): pass a file of properties (docs/verify.md).") from None


def shipped(game: str, signals: bool) -> Properties | None:
    """The properties that ship for a game, by its name; games of signals share one file."""
    folder = resources.files("hydraviper.verify") / "shipped"
    for name in (game, "signals") if signals else (game,):
        file = folder / f"{name}.toml"
        if file.is_file():
            return read(file.read_text(encoding="utf-8"), f"the properties of {name}")
    return None


def read(text: str, where: str) -> Properties:
    """Read properties from text; `where` names it in complaints."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where} is not TOML ({error}): correct that line.") from None
    try:
        _check_keys(document, ("property", "domain", "fact", "game_facts"), "the file")
        properties = tuple(_property(entry, k + 1) for k, entry in enumerate(_tables(document, "property")))
        names = [one.name for one in properties]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"two properties are called {name!r}: give each a name of its own.")
        return Properties(
            properties,
            Knowledge(tuple(map(_domain, _tables(document, "domain"))), tuple(map(_fact, _tables(document, "fact")))),
            _typed(document, "game_facts", bool, "the file", True),
            text,
        )
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _tables(document: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    tables = document.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"write [[{key}]] above each {key}.")
    return tables


def _property(table: Mapping[str, Any], number: int) -> Property:
    where = f"property {table['name']!r}" if isinstance(table.get("name"), str) else f"property {number}"
    rule_keys = ("when", "action", "never", "serves")
    own = ("name", "for_each", "agent", "agents", "rules", "never_asks", "most_leaves", "most_depth")
    _check_keys(table, own + rule_keys, where)
    name = _typed(table, "name", str, where)
    rules = table.get("rules", [])
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise InputError(f"{where}: rules must be a list of tables, like [{{ when = ..., never = ... }}].")
    if any(key in table for key in rule_keys):
        rules = [*rules, {key: table[key] for key in rule_keys if key in table}]
    made = Property(
        name,
        _for_each(table, where),
        _names(table, "agent", where, ("*",)),
        _names(table, "agents", where),
        tuple(_rule(rule, where) for rule in rules),
        _names(table, "never_asks", where),
        _positive(table, "most_leaves", where, 1),
        _positive(table, "most_depth", where, 0),
    )
    if not (made.rules or made.never_asks or made.most_leaves is not None or made.most_depth is not None):
        raise InputError(
            f"{where} demands nothing: give it action, never, serves, never_asks, most_leaves or most_depth."
        )
    if len(set(made.agents)) != len(made.agents):
        raise InputError(f"{where} names an agent twice in agents: name each once.")
    if made.agents and (made.never_asks or made.most_leaves is not None or made.most_depth is not None):
        raise InputError(f"{where} limits the form of trees: say whose with agent, not with agents.")
    if made.agents and "agent" in table:
        raise InputError(f"{where} has both agent and agents: agent is for each by itself, agents for them together.")
    for rule in made.rules:
        if made.agents and rule.serves is not None:
            raise InputError(f"{where}: serves is about one signal: write agent = ... instead of agents.")
        if made.agents and any(isinstance(part, tuple) for part in (rule.action, rule.never)):
            raise InputError(f"{where}: with agents, write actions by agent, like never = {{ agent-0 = 'right' }}.")
        if not made.agents and any(isinstance(part, Mapping) for part in (rule.action, rule.never)):
            raise InputError(f"{where}: actions by agent need agents = [...], those that it is about together.")
    return made


def _rule(table: Mapping[str, Any], where: str) -> RuleText:
    _check_keys(table, ("when", "action", "never", "serves"), where)
    if sum(key in table for key in ("action", "never", "serves")) != 1:
        raise InputError(f"{where}: a rule needs one of action (must be), never (must not be) and serves.")
    serves = None if "serves" not in table else _typed(table, "serves", str, where)
    return RuleText(
        _names(table, "when", where), _actions(table, "action", where), _actions(table, "never", where), serves
    )


def _actions(table: Mapping[str, Any], key: str, where: str) -> Names | dict[str, Names] | None:
    if key not in table:
        return None
    if isinstance(table[key], dict):
        return {agent: _names(table[key], agent, where) for agent in table[key]}
    return _names(table, key, where)


def _domain(table: Mapping[str, Any]) -> Domain:
    where = "a domain"
    _check_keys(table, ("agent", "features", "values", "least", "most"), where)
    values = _typed(table, "values", str, where, "real")
    if values not in VALUES:
        raise InputError(f"{where} has values {values!r}: {nearest(values, VALUES)}")
    least, most = (_limit(table, key, where) for key in ("least", "most"))
    features = _names(table, "features", where, ("*",))
    return Domain(features, values, least, most, _names(table, "agent", where, ("*",)))


def _limit(table: Mapping[str, Any], key: str, where: str) -> float | None:
    if key not in table:
        return None
    value = _typed(table, key, (int, float), where)
    if not math.isfinite(value) or abs(value) > LARGEST:
        raise InputError(f"{where}: {key} must lie between -{LARGEST:g} and {LARGEST:g}, not {value}.")
    return float(value)


def _fact(table: Mapping[str, Any]) -> Fact:
    where = "a fact"
    _check_keys(table, ("for_each", "agent", "holds", "either"), where)
    if ("holds" in table) == ("either" in table):
        raise InputError(f"{where} needs either holds (conditions) or either (lists of conditions, one of them true).")
    if "holds" in table:
        either = (_names(table, "holds", where),)
    elif isinstance(table["either"], list) and table["either"]:
        either = tuple(_names({"either": part}, "either", where) for part in table["either"])
    else:
        raise InputError(f"{where}: either must be a list of lists of conditions.")
    return Fact(either, _names(table, "agent", where, ("*",)), _for_each(table, where))


def _for_each(table: Mapping[str, Any], where: str) -> dict[str, Each]:
    made = {}
    for name, value in _typed(table, "for_each", dict, where, {}).items():
        if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in ("feature", "agent"):
            kind = next(iter(value))
            patterns = _names(value, kind, where)
            if any(pattern.count("*") != 1 for pattern in patterns):
                raise InputError(f"{where}: for_each {name} needs patterns with one *, which it stands for.")
            made[name] = Each(kind, patterns)
        elif isinstance(value, list):
            made[name] = Each("word", _names({name: value}, name, where))
        else:
            raise InputError(
                f"{where}: for_each {name} must be a list, {{ feature = PATTERN }} or {{ agent = PATTERN }}."
            )
    return made


def _names(table: Mapping[str, Any], key: str, where: str, default: Names = ()) -> Names:
    value = table.get(key, list(default))
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise InputError(f"{where}: {key} must be text or a list of texts.")
    return tuple(value)


def _positive(table: Mapping[str, Any], key: str, where: str, least: int) -> int | None:
    if key not in table:
        return None
    value = _typed(table, key, int, where)
    if value < least:
        raise InputError(f"{where}: {key} must be at least {least}, not {value}.")
    return value


def _typed(table: Mapping[str, Any], key: str, kind: Any, where: str, default: Any = None) -> Any:
    value = table.get(key, default)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        names = {str: "text", int: "a whole number", bool: "true or false", dict: "a table"}
        raise InputError(
            f"{where}: {key} must be {names.get(kind, 'a number')}{'' if key in table else ', and is missing'}."
        )
    return value


def _check_keys(table: Mapping[str, Any], known: Names, where: str) -> None:
    for key in table:
        if key not in known:
            raise InputError(f"{where} has no {key!r}: {nearest(key, known)}")
