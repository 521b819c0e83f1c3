"""Words for what an environment shows and does: from a user's file, for known environments from here, else plain ones.

A file of names (TOML) lists `features` and `actions` in their order, or says what some of them are called instead:

    actions = ["push left", "push right"]
    [features]
    "observation 2" = "angle"
    [agent.adversary]            # for adversary_0, adversary_1, ...; or the name of one agent
    features = ["speed x", "speed y"]
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hydraviper.data import InputError
from hydraviper.games.environments.known import Known, known
from hydraviper.games.environments.teams import group


@dataclass(frozen=True)
class Words:
    """What features and actions are called, by agents or groups of agents; "" stands for all of them."""

    game: str
    file: str | None = None
    given: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # group -> features, actions
    known: Known = field(default_factory=Known)
    digest: str | None = None  # of the file
    used: set[tuple[str, str, str]] = field(default_factory=set)  # what of the file has been found, see `check`

    def features(self, agent: str, plain: Sequence[str]) -> tuple[str, ...]:
        """The names of an agent's features, given the plain ones without those of a mask."""
        return self._named("features", agent, plain, self.known.features(agent))

    def actions(self, agent: str, plain: Sequence[str]) -> tuple[str, ...]:
        """The names of an agent's actions, given the plain ones."""
        return self._named("actions", agent, plain, self.known.actions(agent))

    def _named(self, what: str, agent: str, plain: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
        names = list(known if len(known) == len(plain) else plain)
        given = [(whose, self.given.get(whose, {}).get(what)) for whose in ("", group(agent), agent)]
        lists = [listed for _, listed in given if isinstance(listed, list)]
        if lists and len(lists[-1]) != len(plain):  # the last one is the most special
            raise InputError(
                f"{self.file} names {len(lists[-1])} {what} of {agent}, which has {len(plain)} in {self.game}: name "
                f"each of {', '.join(names[:3])}, ... in this order."
            )
        for whose, renamed in given:
            names = list(lists[-1]) if lists and renamed is lists[-1] else names
            for old, new in (renamed if isinstance(renamed, dict) else {}).items():
                places = [k for k, (name, first) in enumerate(zip(names, plain, strict=True)) if old in (name, first)]
                self.used.update((whose, what, old) for _ in places)
                for place in places:
                    names[place] = new
        return tuple(names)

    def check(self) -> None:
        """Refuse a file that names something anew which no agent has, once all agents are named."""
        for whose, parts in self.given.items():
            for what, renamed in parts.items():
                for old in renamed if isinstance(renamed, dict) else ():
                    if (whose, what, old) not in self.used:
                        raise InputError(
                            f"{self.file} names {old!r} anew, but no agent of {self.game} has it: write the {what} as "
                            "`hydraviper show` has them without this file."
                        )


def words_for(instance: object, game: str, path: str | None, agents: Sequence[str]) -> Words:
    """The words for an environment: those of a file first, then those that are known here."""
    about = known(instance)
    if path is None:
        return Words(game, known=about)
    content = _content(Path(path))
    try:
        document = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no TOML ({error}): see docs/games.md for a file of names.") from None
    given = {"": {name: value for name, value in document.items() if name != "agent"}, **document.get("agent", {})}
    _check(path, given, {*agents, *map(group, agents), ""})
    return Words(game, path, given, about, hashlib.sha256(content).hexdigest()[:16])


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"the file of names {path} cannot be read ({error.strerror}): pass names=FILE.toml.") from None


def _check(path: str, given: Mapping[str, object], whose: set[str]) -> None:
    """Refuse what is not part of a file of names."""
    for who, parts in given.items():
        if who not in whose:
            raise InputError(f"{path} names things of {who!r}, but there is no such agent: see docs/games.md.")
        tables = parts if isinstance(parts, dict) else {who: None}
        if wrong := [part for part in tables if part not in ("features", "actions")]:
            raise InputError(f"{path} says {wrong[0]!r}, but a file of names has features, actions and [agent.NAME].")
        for part, names in tables.items():
            texts = names.values() if isinstance(names, dict) else names if isinstance(names, list) else [None]
            if not all(isinstance(text, str) for text in texts):
                raise InputError(f"{path} must give {part} as a list of names, or as old = new.")
