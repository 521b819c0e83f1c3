"""Which expert a study distils: the one place where names become networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hydraviper.data import InputError
from hydraviper.experts import store
from hydraviper.experts.store import StoredExpert
from hydraviper.protocols import Game

Given = Mapping[tuple[str, str], Path]  # (game, algorithm that trained it) -> file


def read(files: Sequence[Path]) -> Given:
    """Expert files by the game and the algorithm that their heads name."""
    given: dict[tuple[str, str], Path] = {}
    for file in files:
        about = store.load(file).about
        key = (str(about.get("game")), str(about.get("algorithm")))
        if key in given:
            raise InputError(f"{file} and {given[key]} are both {key[1]} experts for {key[0]}: pass one of them.")
        given[key] = file
    return given


def find(game: Game, name: str, given: Given) -> StoredExpert:
    """The expert of that name for a game: the file that was given, else the one that ships."""
    if (game.name, name) in given:
        return store.load(given[game.name, name], game)
    return store.shipped(game, name)
