"""settings.json, the recipe of a run, and the folder that is claimed for it."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec import structs

from hydraviper.data import InputError
from hydraviper.protocols import Expert, Game, offers
from hydraviper.records import ExpertReference, GameIdentity, Making, Plain, Recipe, encode, from_json, to_json
from hydraviper.runs import folder as folders
from hydraviper.runs.opening import EXPERT
from hydraviper.runs.run import expert_hash, read_recipe
from hydraviper.trees import file
from hydraviper.version import __version__

NOTE = "progress.json"  # how far a run under way is, for who follows it
JOURNAL = "rollouts.journal"  # rollouts of a run under way, so that it goes on where it was killed


def recipe_of(
    game: Game,
    expert: Expert | Making,
    expert_file: str | None,
    algorithm: str,
    settings: dict[str, Plain],
    **more: Any,
) -> Recipe:
    """What settings.json says about a run; `more` is what only some runs have. The expert may still have to be made."""
    return Recipe(
        game=identity(game),
        algorithm=algorithm,
        expert=reference(expert, expert_file),
        settings=settings,
        version=__version__,
        **more,
    )


def reference(expert: Expert | Making, file: str | None) -> ExpertReference:
    """An expert as a run's folder names it, so that later commands find it again."""
    if isinstance(expert, Making):
        return ExpertReference(hash="", file=EXPERT, made=expert)
    about = getattr(expert, "about", {})
    known = {key: about[key] for key in ("name", "contents", "values") if key in about}
    return ExpertReference(hash=expert_hash(expert), file=file, **known)


def identity(game: Game) -> GameIdentity:
    """A game by name, by parameters, and by the content of the files that it was made from."""
    return GameIdentity(name=game.name, parameters=dict(game.parameters), content=offers(game).content)


def subject(game: Game) -> str:
    """What rollouts of a game are remembered under."""
    return json.dumps([to_json(identity(game)), __version__], sort_keys=True)


@contextmanager
def claimed(recipe: Recipe, folder: Path | None) -> Iterator[Path]:
    """Hold a folder for a run, as given or runs/GAME-ALGORITHM-1, -2, ...; an impossible run leaves nothing behind."""
    if folder is None:
        folder = folders.numbered(Path("runs"), f"{recipe.game.name}-{recipe.algorithm}")
    with folders.as_input_error(folder):
        _check_folder(recipe, folder)
        folder.mkdir(parents=True, exist_ok=True)
        folders.check_file(folder / "settings.json")
    with folders.held(folder):
        _check_folder(recipe, folder)  # what another process left there meanwhile
        before = read_recipe(folder)
        resumed = (folder / "settings.json").is_file()
        if before is not None and recipe.expert.made is not None:  # what was found out about its expert still holds
            recipe = structs.replace(recipe, expert=before.expert)
        rewrite(folder, recipe)
        (folder / "ledger.jsonl").write_text("")
        try:
            yield folder
        except InputError:
            if not resumed:  # else what was played before is still worth something
                for name in ("settings.json", "ledger.jsonl", EXPERT, JOURNAL, NOTE):
                    (folder / name).unlink(missing_ok=True)
                with suppress(OSError):
                    folder.rmdir()  # only if nothing else is in it
            raise


def is_begun(folder: Path | None) -> bool:
    """Tell whether a run was begun in a folder, so that `claimed` would go on with it."""
    return folder is not None and os.path.isfile(folder / "settings.json")  # takes names of any length


def rewrite(folder: Path, recipe: Recipe) -> None:
    """Write settings.json, whole or not at all."""
    file.write_whole(folder / "settings.json", encode(recipe, indent=1))


def _asked(recipe: Recipe) -> Recipe:
    """The recipe as the user asked for it, before an expert was made for it."""
    expert = recipe.expert
    if expert.made is None:
        return recipe
    made = structs.replace(expert.made, episodes=None)
    return structs.replace(recipe, expert=structs.replace(expert, hash="", made=made))


def _check_folder(recipe: Recipe, folder: Path) -> None:
    """A new or empty folder, or the one where the same run was interrupted."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: pass a folder with --out.")
    if not folder.is_dir() or _is_unused(folder):
        return
    if not (folder / "settings.json").is_file():
        raise InputError(f"{folder} holds something that is not a run: pass an empty or a new folder with --out.")
    before = read_recipe(folder)
    if before is None or _asked(before) != _asked(from_json(Recipe, to_json(recipe), "the run")):
        raise InputError(f"{folder} already holds another run: pass a new folder with --out.")
    finished = "trees.json" if recipe.settings["learner"] == "tree" else "summary.json"  # what is written last
    if (folder / finished).exists():
        raise InputError(f"{folder} already holds this run, finished: pass a new folder with --out.")


def _is_unused(folder: Path) -> bool:
    """Tell whether nothing is in a folder, or only what a run leaves that was killed while it claimed it."""
    beginnings = {"ledger.jsonl", "settings.json.part"}
    inside = list(folder.iterdir())
    ledger = folder / "ledger.jsonl"
    return {path.name for path in inside} <= beginnings and not (ledger.is_file() and ledger.stat().st_size)
