"""A file of properties (TOML): read, and checked for form. `obligations` resolves the names in it."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from hydraviper.data import Agent, Domain, Each, Fact, InputError, Knowledge
from hydraviper.expressions.names import nearest

VALUES = ("real", "whole", "count", "flag")
LARGEST = 1e30  # least or most of a domain
Texts = tuple[str, ...]
_CLAUSE_KEYS = ("when", "action", "never", "serves")
_PROPERTY_KEYS = (
    *("name", "for_each", "agent", "agents", "rules", "never_asks", "most_leaves", "most_depth"),
    "never_starves",
)


@dataclass(frozen=True)
class Clause:
    """One entry of `rules`: when all conditions hold, required or forbidden actions; by agent if there are several."""

    when: Texts
    action: Texts | Mapping[str, Texts] | None
    never: Texts | Mapping[str, Texts] | None
    serves: str | None


@dataclass(frozen=True)
class Property:
    """What must be true of trees: clauses about their actions, and limits of their shape."""

    name: str
    for_each: Mapping[str, Each]
    agent: Texts  # patterns: it must hold for each of these agents by itself
    agents: Texts  # if not empty, it is about these agents together
    clauses: tuple[Clause, ...]
    never_asks: Texts
    most_leaves: int | None
    most_depth: int | None
    never_starves: bool = False  # it is about a signal's whole controller: whoever waits gets green within max_red


@dataclass(frozen=True)
class Properties:
    """A file of properties."""

    properties: tuple[Property, ...]
    knowledge: Knowledge  # what the file itself says about observations
    game_facts: bool  # whether the game's own knowledge holds as well
    source: str  # the file's text


def load(path: Path) -> Properties:
    """Read a file of properties."""
    try:
        return read(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise InputError(f"{path} cannot be read ({why}): pass a file of properties (docs/verify.md).") from None


def shipped(game: str, signals: Sequence[Agent] = ()) -> Properties | None:
    """The properties that ship for a game, by its name; games whose agents are traffic signals share two files.

    One is for signals that count queues, one for all others.
    """
    folder = resources.files("hydraviper.verify") / "shipped"
    queues = any(name.startswith("queue from ") for agent in signals for name in agent.features)
    for name in (game, "signals" if queues else "loops") if signals else (game,):
        file = folder / f"{name}.toml"
        if file.is_file():
            return read(file.read_text(encoding="utf-8"), f"the properties of {name}")
    return None


def read(text: str, where: str) -> Properties:
    """Read properties from text; `where` names the text in errors."""
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


def _tables(document: Mapping[str, object], key: str) -> list[dict[str, object]]:
    tables = document.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"write [[{key}]] above each {key}.")
    return tables


def _property(table: Mapping[str, object], number: int) -> Property:
    where = f"property {table['name']!r}" if isinstance(table.get("name"), str) else f"property {number}"
    _check_keys(table, _PROPERTY_KEYS + _CLAUSE_KEYS, where)
    name = _typed(table, "name", str, where)
    clauses = table.get("rules", [])
    if not isinstance(clauses, list) or not all(isinstance(clause, dict) for clause in clauses):
        raise InputError(f"{where}: rules must be a list of tables, like [{{ when = ..., never = ... }}].")
    if any(key in table for key in _CLAUSE_KEYS):
        clauses = [*clauses, {key: table[key] for key in _CLAUSE_KEYS if key in table}]
    one = Property(
        name=name,
        for_each=_for_each(table, where),
        agent=_texts(table, "agent", where, ("*",)),
        agents=_texts(table, "agents", where),
        clauses=tuple(_clause(clause, where) for clause in clauses),
        never_asks=_texts(table, "never_asks", where),
        most_leaves=_at_least(table, "most_leaves", where, 1),
        most_depth=_at_least(table, "most_depth", where, 0),
        never_starves=_typed(table, "never_starves", bool, where, False),
    )
    limits_shape = bool(one.never_asks) or one.most_leaves is not None or one.most_depth is not None
    if one.never_starves:
        if one.clauses or limits_shape or one.agents or one.for_each:
            raise InputError(f"{where}: never_starves stands alone: beside it only name and agent are known.")
        return one
    if not one.clauses and not limits_shape:
        raise InputError(
            f"{where} demands nothing: give it action, never, serves, never_asks, most_leaves, most_depth or "
            "never_starves."
        )
    if one.agents:
        _check_joint(one, table, limits_shape, where)
    elif any(isinstance(part, Mapping) for clause in one.clauses for part in (clause.action, clause.never)):
        raise InputError(f"{where}: actions by agent need agents = [...], those that it is about together.")
    return one


def _check_joint(one: Property, table: Mapping[str, object], limits_shape: bool, where: str) -> None:
    """Refuse what makes no sense in a property about several agents together."""
    if len(set(one.agents)) != len(one.agents):
        raise InputError(f"{where} names an agent twice in agents: name each once.")
    if limits_shape:
        raise InputError(f"{where} limits the form of trees: say whose with agent, not with agents.")
    if "agent" in table:
        raise InputError(f"{where} has both agent and agents: agent is for each by itself, agents for them together.")
    for clause in one.clauses:
        if clause.serves is not None:
            raise InputError(f"{where}: serves is about one signal: write agent = ... instead of agents.")
        if any(isinstance(part, tuple) for part in (clause.action, clause.never)):
            raise InputError(f"{where}: with agents, write actions by agent, like never = {{ agent-0 = 'right' }}.")


def _clause(table: Mapping[str, object], where: str) -> Clause:
    _check_keys(table, _CLAUSE_KEYS, where)
    if sum(key in table for key in ("action", "never", "serves")) != 1:
        raise InputError(f"{where}: a rule needs one of action (must be), never (must not be) and serves.")
    serves = None if "serves" not in table else _typed(table, "serves", str, where)
    return Clause(
        _texts(table, "when", where), _actions(table, "action", where), _actions(table, "never", where), serves
    )


def _actions(table: Mapping[str, object], key: str, where: str) -> Texts | dict[str, Texts] | None:
    if key not in table:
        return None
    value = table[key]
    if isinstance(value, dict):
        return {agent: _texts(value, agent, where) for agent in value}
    return _texts(table, key, where)


def _domain(table: Mapping[str, object]) -> Domain:
    where = "a domain"
    _check_keys(table, ("agent", "features", "values", "least", "most"), where)
    values = _typed(table, "values", str, where, "real")
    if values not in VALUES:
        raise InputError(f"{where} has values {values!r}: {nearest(values, VALUES)}")
    least, most = (_limit(table, key, where) for key in ("least", "most"))
    features = _texts(table, "features", where, ("*",))
    return Domain(features, values, least, most, _texts(table, "agent", where, ("*",)))


def _limit(table: Mapping[str, object], key: str, where: str) -> float | None:
    if key not in table:
        return None
    value = _typed(table, key, (int, float), where)
    if not math.isfinite(value) or abs(value) > LARGEST:
        raise InputError(f"{where}: {key} must lie between -{LARGEST:g} and {LARGEST:g}, not {value}.")
    return float(value)


def _fact(table: Mapping[str, object]) -> Fact:
    where = "a fact"
    _check_keys(table, ("for_each", "agent", "holds", "either"), where)
    if ("holds" in table) == ("either" in table):
        raise InputError(f"{where} needs either holds (conditions) or either (lists of conditions, one of them true).")
    if "holds" in table:
        either = (_texts(table, "holds", where),)
    elif isinstance(table["either"], list) and table["either"]:
        either = tuple(_texts({"either": part}, "either", where) for part in table["either"])
    else:
        raise InputError(f"{where}: either must be a list of lists of conditions.")
    return Fact(either, _texts(table, "agent", where, ("*",)), _for_each(table, where))


def _for_each(table: Mapping[str, object], where: str) -> dict[str, Each]:
    variables = {}
    for name, value in _typed(table, "for_each", dict, where, {}).items():
        if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in ("feature", "agent"):
            kind = next(iter(value))
            patterns = _texts(value, kind, where)
            if any(pattern.count("*") != 1 for pattern in patterns):
                raise InputError(f"{where}: for_each {name} needs patterns with one *, which it stands for.")
            variables[name] = Each(kind, patterns)
        elif isinstance(value, list):
            variables[name] = Each("word", _texts({name: value}, name, where))
        else:
            raise InputError(
                f"{where}: for_each {name} must be a list, {{ feature = PATTERN }} or {{ agent = PATTERN }}."
            )
    return variables


def _texts(table: Mapping[str, object], key: str, where: str, default: Texts = ()) -> Texts:
    value = table.get(key, list(default))
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise InputError(f"{where}: {key} must be text or a list of texts.")
    return tuple(value)


def _at_least(table: Mapping[str, object], key: str, where: str, least: int) -> int | None:
    if key not in table:
        return None
    value = _typed(table, key, int, where)
    if value < least:
        raise InputError(f"{where}: {key} must be at least {least}, not {value}.")
    return value


def _typed(table: Mapping[str, object], key: str, kind: Any, where: str, default: Any = None) -> Any:
    value = table.get(key, default)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        names = {str: "text", int: "a whole number", bool: "true or false", dict: "a table"}
        raise InputError(
            f"{where}: {key} must be {names.get(kind, 'a number')}{'' if key in table else ', and is missing'}."
        )
    return value


def _check_keys(table: Mapping[str, object], allowed: Texts, where: str) -> None:
    for key in table:
        if key not in allowed:
            raise InputError(f"{where} has no {key!r}: {nearest(key, allowed)}")
