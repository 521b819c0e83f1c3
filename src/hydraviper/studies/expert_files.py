"""Which expert a study distils: the one place where names become networks."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hydraviper.data import InputError
from hydraviper.experts import store
from hydraviper.experts.worth import AnyExpert
from hydraviper.games import catalogue
from hydraviper.protocols import Game
from hydraviper.runs.opening import SHIPPED, expert_named
from hydraviper.studies.study import Study

UNNAMED = "shipped"  # the expert of a study of one's own that names none

# (game without its options, algorithm that trained it) -> file; of a study of one's own,
# (game's title, the expert's name there) -> what --expert takes
ExpertFiles = Mapping[tuple[str, str], Path | str]


def chosen(study: Study, words: Sequence[str]) -> tuple[list[str], ExpertFiles]:
    """What --expert says: names of experts that the study has, and files."""
    named = [study.experts.get(game) or SHIPPED for game in study.games]
    names = list(dict.fromkeys(name for of_game in named for name in of_game))
    files = [Path(word) for word in words if word not in names]
    for file in files:
        if not file.suffix and not file.exists():
            raise InputError(
                f"{study.name} has no expert {str(file)!r}: choose among {', '.join(names)}, or pass a file."
            )
    return [word for word in words if word in names], read(files)


def read(files: Iterable[Path]) -> ExpertFiles:
    """Expert files by the game and the algorithm that their heads name."""
    found: dict[tuple[str, str], Path | str] = {}
    for file in files:
        about = store.load(file).about
        parameters = about.get("parameters")
        game = catalogue.without_options(str(about.get("game")), parameters if isinstance(parameters, Mapping) else {})
        key = (game, str(about.get("algorithm")))
        if key in found:
            raise InputError(f"{file} and {found[key]} are both {key[1]} experts for {key[0]}: pass one of them.")
        found[key] = file
    return found


def find(game: Game, name: str | None, files: ExpertFiles) -> AnyExpert:
    """The expert of that name for a game: the one that was passed, else the one that ships; without a name, any."""
    place = passed(game, name, files)
    return store.shipped(game, None if name == UNNAMED else name) if place is None else expert_named(game, place)


def passed(game: Game, name: str | None, files: ExpertFiles) -> Path | str | None:
    """Where the expert of that name lies, if one was passed for the game."""
    for title in (catalogue.title(game), catalogue.without_options(game.name, game.parameters)):
        places = [place for (whose, expert), place in files.items() if whose == title and name in (None, expert)]
        if len(places) > 1:
            raise InputError(f"{places[0]} and {places[1]} are both experts for {title}: pass one of them.")
        if places:
            return places[0]
    return None
