"""Which expert a study distils: the one place where names become networks."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hydraviper.data import InputError
from hydraviper.experts import store
from hydraviper.experts.worth import AnyExpert
from hydraviper.games import catalogue
from hydraviper.protocols import Game
from hydraviper.runs.opening import expert_named
from hydraviper.studies.study import Study

SHIPPED = "shipped"  # the expert of a study of one's own that names none

# (game's title, expert's name: the algorithm that trained it) -> what --expert takes
ExpertFiles = Mapping[tuple[str, str], Path | str]


def chosen(study: Study, words: Sequence[str]) -> tuple[list[str], ExpertFiles]:
    """What --expert says: names of experts that the study has, and files."""
    names = list(dict.fromkeys(name for of_game in study.experts.values() for name in of_game))
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
        key = (str(about.get("game")), str(about.get("algorithm")))
        if key in found:
            raise InputError(f"{file} and {found[key]} are both {key[1]} experts for {key[0]}: pass one of them.")
        found[key] = file
    return found


def find(game: Game, name: str, files: ExpertFiles) -> AnyExpert:
    """The expert of that name for a game: the one that was passed, else the one that ships."""
    passed = files.get((catalogue.title(game), name))
    return expert_named(game, passed if passed is not None or name == SHIPPED else name)
