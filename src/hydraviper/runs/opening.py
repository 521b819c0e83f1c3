"""Where games, experts, algorithms and engines come from, by the names that people give them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from hydraviper.data import InputError
from hydraviper.engines.local import LocalEngine
from hydraviper.experts import store
from hydraviper.experts.algorithms import ALGORITHMS
from hydraviper.experts.store import StoredExpert
from hydraviper.games import catalogue
from hydraviper.protocols import Engine, Game, offers
from hydraviper.runs import trust
from hydraviper.variants import VARIANTS, Variant

SHIPPED = (*ALGORITHMS, "mplight-joint", "maddpg-seed-1", "maddpg-60000-episodes")  # names of experts, for some games
Tell = Callable[[str], None]  # gives the user a sentence to know beside the result


def game_named(spec: str) -> Game:
    """The game that the user names."""
    path = catalogue.named_file(spec)
    if path is not None:
        trust.remember(path)
    return catalogue.make(spec)


def expert_named(game: Game, name: Path | str | None, workers: int = 1) -> StoredExpert:
    """An expert for a game: from a file, by the name of one that ships, or the one that ships if there is no name."""
    if name is not None and is_file(name):
        expert = store.load(name, game)
    else:
        expert = store.shipped(game, None if name is None else str(name))
    return replace(expert, workers=workers)


def game_and_expert(spec: str, name: Path | str | None, *, workers: int, tell: Tell) -> tuple[Game, StoredExpert]:
    """The game of a name and its expert."""
    game = game_named(spec)
    return game, noted(game, expert_named(game, name, workers), tell)


def is_at_hand(game: Game, name: Path | str | None) -> bool:
    """Tell whether an expert is named or ships for a game."""
    return name is not None or bool(store.all_shipped(game))


def noted(game: Game, expert: StoredExpert, tell: Tell) -> StoredExpert:
    """The expert; the user is told if it was trained for a game with other parameters."""
    before, ignored = store.trained_with(expert, game), offers(game).search.varied
    other = [name for name in before if before[name] != game.parameters.get(name) and name not in ignored]
    if other:
        then, now = (", ".join(f"{name}={each.get(name)}" for name in other) for each in (before, game.parameters))
        tell(f"Note: the expert was trained with {then}, not {now}.")
    return expert


def is_file(name: Path | str) -> bool:
    """Tell whether --expert names a file rather than an expert that ships."""
    return Path(name).exists() or str(name) not in SHIPPED


def file_of(name: Path | str | None) -> str | None:
    """The whole path of an expert's file; None for one that ships."""
    return str(Path(name).resolve()) if name is not None and is_file(name) else None


def variant_named(name: str) -> Variant:
    """An algorithm by its name."""
    if name not in VARIANTS:
        raise InputError(f"there is no algorithm {name!r}: choose one of {', '.join(VARIANTS)}.")
    return VARIANTS[name]


def engine_for(game: Game, workers: int) -> LocalEngine:
    """An engine of this machine; a game that is not in the catalogue is played in this process."""
    try:
        catalogue.read(game.name, game.parameters)
    except InputError:
        return LocalEngine(lambda: game)
    return LocalEngine(catalogue.maker(game), workers)


@contextmanager
def playing(game: Game, engine: Engine | None, workers: int) -> Iterator[Engine]:
    """The given engine, or one of this machine that is closed in the end."""
    if engine is not None:
        yield engine
        return
    with engine_for(game, workers) as local:
        yield local


def episodes_for(game: Game, episodes: int | None) -> int:
    """How many unseen episodes to score on; None: as many as suit the game."""
    return game.recommended.evaluation_episodes if episodes is None else episodes
