"""Which expert a study distils: the one place where names become networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
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
    best, most = None, -1
    with resources.as_file(resources.files("hydraviper.experts") / "trained") as folder:
        for path in sorted(folder.glob(f"{game.name}*.safetensors")):
            expert = store.load(path)
            parameters = expert.about.get("parameters", {})
            same = len(game.parameters.items() & dict(parameters).items()) if isinstance(parameters, Mapping) else 0
            if expert.about.get("algorithm") == name and store.fits(expert, game) and same > most:
                best, most = expert, same
    if best is None:
        raise InputError(
            f"no {name} expert ships for {game.name}: make one with `hydraviper train {game.name} --algorithm {name}` "
            "and pass it with --expert FILE, or choose other --games."
        )
    return best
