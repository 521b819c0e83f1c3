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
from typing import Any

from hydraviper.data import InputError
from hydraviper.games.environments.known import Known, known
from hydraviper.games.environments.teams import group


@dataclass(frozen=True)
class Words:
    """What features and actions are called, by agents or groups of agents; "" stands for all of them."""

    game: str
    file: str | None = None
    given: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # group -> features, actions
    known: Known = field(default_factory=Known)
    digest: str | None = None  # of the file

    def features(self, agent: str, plain: Sequence[str]) -> tuple[str, ...]:
        """The names of an agent's features, given the plain ones without those of a mask."""
        return self._named("features", agent, plain, self.known.features(agent))

    def actions(self, agent: str, plain: Sequence[str]) -> tuple[str, ...]:
        """The names of an agent's actions, given the plain ones."""
        return self._named("actions", agent, plain, self.known.actions(agent))

    def _named(self, what: str, agent: str, plain: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
        names = list(known if len(known) == len(plain) else plain)
        for whose in ("", group(agent), agent):
            given = self.given.get(whose, {}).get(what)
            if isinstance(given, list):
                if len(given) != len(plain):
                    raise InputError(
                        f"{self.file} names {len(given)} {what} of {agent}, which has {len(plain)} in {self.game}: "
                        f"name each of {', '.join(names[:3])}, ... in this order."
                    )
                names = given
            for old, new in (given if isinstance(given, dict) else {}).items():
                if old not in plain and old not in names:
                    raise InputError(
                        f"{self.file} names {old!r} anew, which {agent} of {self.game} does not have: it has "
                        f"{', '.join(names[:6])}{', ...' if len(names) > 6 else ''}."
                    )
                names = [new if old in (name, first) else name for name, first in zip(names, plain, strict=True)]
        return tuple(names)


def words_for(instance: Any, game: str, path: str | None, agents: Sequence[str]) -> Words:
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


def _check(path: str, given: Mapping[str, Any], whose: set[str]) -> None:
    """Refuse what is not part of a file of names."""
    for who, parts in given.items():
        if who not in whose:
            raise InputError(f"{path} names things of {who!r}, but there is no such agent: see docs/games.md.")
        wrong = [part for part in parts if part not in ("features", "actions")] if isinstance(parts, dict) else [who]
        if wrong:
            raise InputError(f"{path} says {wrong[0]!r}, but a file of names has features, actions and [agent.NAME].")
        for part, names in parts.items():
            texts = names.values() if isinstance(names, dict) else names if isinstance(names, list) else [None]
            if not all(isinstance(text, str) for text in texts):
                raise InputError(f"{path} must give {part} as a list of names, or as old = new.")
