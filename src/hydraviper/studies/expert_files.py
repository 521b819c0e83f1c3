"""Which expert a study distils: the one place where names become networks."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hydraviper.data import InputError
from hydraviper.experts import store
from hydraviper.experts.store import StoredExpert
from hydraviper.games import catalogue
from hydraviper.protocols import Game
from hydraviper.runs.opening import SHIPPED
from hydraviper.studies.study import Study

ExpertFiles = Mapping[tuple[str, str], Path]  # (game without its options, algorithm that trained it) -> file


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
    found: dict[tuple[str, str], Path] = {}
    for file in files:
        about = store.load(file).about
        parameters = about.get("parameters")
        game = catalogue.titled(str(about.get("game")), parameters if isinstance(parameters, Mapping) else {})
        key = (game, str(about.get("algorithm")))
        if key in found:
            raise InputError(f"{file} and {found[key]} are both {key[1]} experts for {key[0]}: pass one of them.")
        found[key] = file
    return found


def find(game: Game, name: str | None, files: ExpertFiles) -> StoredExpert:
    """The expert of that name for a game: the file that was passed, else the one that ships; without a name, any."""
    title = catalogue.titled(game.name, game.parameters)
    passed = [path for (whose, algorithm), path in files.items() if whose == title and name in (None, algorithm)]
    if len(passed) > 1:
        raise InputError(f"{passed[0]} and {passed[1]} are both experts for {title}: pass one of them.")
    return store.load(passed[0], game) if passed else store.shipped(game, name)
