"""A study of a user's own games, in one small file (TOML); docs/studies.md has an example."""

import difflib
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from hydraviper.data import InputError
from hydraviper.games import catalogue
from hydraviper.runs.opening import game_named
from hydraviper.settings import EPISODES, ROLLOUTS, SOME_SECONDS, Settings
from hydraviper.studies.cells import GameName
from hydraviper.studies.design import Arm
from hydraviper.studies.expert_files import UNNAMED, ExpertFiles
from hydraviper.studies.study import Study
from hydraviper.variants import VARIANTS

LEVELS = ("low", "mid", "high")
ALGORITHMS = ("imitation", "iviper", "hydraviper")  # of a file that names none
SETTINGS = tuple(one.name for one in fields(Settings) if one.name not in ("seed", "refine_seconds"))


class _ArmTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An `[[arm]]`, beside its settings."""

    algorithm: str
    name: str = ""
    group: str = ""
    budget: str = "low"
    refine: float = 0.0
    refine_rollouts: int = 0


class _GameTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `[[game]]`."""

    game: str
    expert: str | dict[str, str] = ""


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    game: list[_GameTable]
    arm: list[dict[str, Any]] = []
    title: str = ""
    about: str = ""
    reference: str = ""
    episodes: int | None = None
    timed: bool = False


def is_file(name: str) -> bool:
    """Tell whether a study is named by its file."""
    return name.endswith(".toml") or Path(name).is_file()


def read(path: Path) -> tuple[Study, ExpertFiles]:
    """The study that a file describes, and where its experts are."""
    document = _document(path)
    whole = _converted(path, document, _File)
    EPISODES.check("episodes", whole.episodes)
    arms = tuple(_arm(path, one) for one in whole.arm) or tuple(Arm(name, "low", "low") for name in ALGORITHMS)
    keys = [arm.key for arm in arms]
    if twice := [arm.name for arm in arms if keys.count(arm.key) > 1]:
        raise InputError(f"{path} has two arms called {twice[0]!r}: give each a name of its own.")
    names = [arm.name for arm in arms]
    if whole.reference and whole.reference not in names:
        raise InputError(f"{path} compares with {whole.reference!r}, which is no arm of it: {_hint('', names)}")
    experts: dict[str, tuple[str, ...]] = {}
    identities: dict[str, GameName] = {}
    files: dict[tuple[str, str], Path | str] = {}
    for table in whole.game:
        game = game_named(table.game)
        title = catalogue.title(game)
        identities[title] = GameName(game.name, dict(game.parameters))
        if title in experts:
            raise InputError(f"{path} has the game {title} twice: give it all its experts in one place.")
        given = table.expert if isinstance(table.expert, dict) else {_short(table.expert): table.expert}
        experts[title] = tuple(given)
        files |= {(title, name): place for name, place in given.items() if place}
    usual = "hydraviper" if "hydraviper" in names else names[-1]
    study = Study(
        name=path.stem,
        title=whole.title or path.stem,
        about=whole.about or f"The games and algorithms of {path.name}.",
        arms=arms,
        games=tuple(experts),
        experts=experts,
        identities=identities,
        reference=whole.reference or usual,
        episodes=whole.episodes,
        timed=whole.timed,
    )
    return study, files


def _document(path: Path) -> dict[str, object]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"the study {path} cannot be read ({error.strerror}): pass its file, or a study's name."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no TOML ({error}): see docs/studies.md.") from None
    if not document.get("game"):
        raise InputError(f"{path} names no game: write [[game]] with game = and expert = (docs/studies.md).")
    return document


def _arm(path: Path, table: Mapping[str, object]) -> Arm:
    own = {key: value for key, value in table.items() if key not in SETTINGS}
    arm = _converted(path, own, _ArmTable)
    if arm.algorithm not in VARIANTS:
        raise InputError(f"{path} has no algorithm {arm.algorithm!r} to run: {_hint(arm.algorithm, VARIANTS)}")
    train, _, valid = arm.budget.partition("/")
    if not {train, valid or train} <= set(LEVELS):
        raise InputError(f"{path} has the budget {arm.budget!r}: write {', '.join(LEVELS)}, or e.g. high/low.")
    settings = {key: value for key, value in table.items() if key in SETTINGS}
    _converted(path, settings, Settings)  # only to see whether they are right
    if arm.refine:
        SOME_SECONDS.check("refine", arm.refine)
    if arm.refine_rollouts:
        ROLLOUTS.check("refine_rollouts", arm.refine_rollouts)
    if arm.refine and arm.refine_rollouts:
        raise InputError(f"{path} limits a search by seconds and by rollouts: write refine or refine_rollouts.")
    return Arm(arm.algorithm, train, valid or train, settings, arm.name, arm.group, arm.refine, arm.refine_rollouts)


def _converted(path: Path, values: Mapping[str, object], kind: object) -> Any:
    """Values as a record; refuses what it does not know, and values of the wrong kind."""
    try:
        return msgspec.convert(dict(values), kind)
    except msgspec.ValidationError as error:
        reason = str(error.__cause__ if isinstance(error.__cause__, InputError) else error).rstrip(".")
        raise InputError(f"{path} is no study ({reason}): see docs/studies.md.") from None


def _hint(word: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean {close[0]}?" if close else f"choose among {', '.join(known)}."


def _short(expert: str) -> str:
    """What an expert is called in tables: its file without the folder, or `shipped`."""
    kind, colon, place = expert.rpartition(":")
    return f"{kind}{colon}{Path(place).name}" if expert else UNNAMED
