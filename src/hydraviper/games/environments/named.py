"""A user's own game under the name by which it can be made again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from hydraviper.protocols import Game


def named(game: Game, name: str, parameters: Mapping[str, object]) -> Game:
    """The same game under a name, with the parameters that it was made with."""
    return cast("Game", _NamedGame(game, name, parameters))


class _NamedGame:
    """Has all that a game has, but for its name and its parameters."""

    def __init__(self, game: Game, name: str, parameters: Mapping[str, object]) -> None:
        # Python 3.12 and later look for a protocol's members here and in the class, not through __getattr__
        self.__dict__.update({member: getattr(game, member) for member in vars(Game) if not member.startswith("_")})
        self._game, self.name, self.parameters = game, name, dict(parameters)

    def __getattr__(self, name: str) -> Any:
        if name == "_game":  # while it is being copied
            raise AttributeError(name)
        return getattr(self._game, name)
