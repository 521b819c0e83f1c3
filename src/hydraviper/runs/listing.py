"""The runs of a folder in a few words each."""

from dataclasses import dataclass, replace
from pathlib import Path

from hydraviper.data import Estimate, InputError
from hydraviper.records import Recipe, ScoreRecord, Summary
from hydraviper.runs.following import FINISHED, RUNNING, STOPPED, is_finished, is_running
from hydraviper.runs.run import read_recipe, read_summary
from hydraviper.trees import file


@dataclass(frozen=True)
class Listed:
    """A run in a few words."""

    name: str  # of its folder
    state: str
    game: str = "?"
    algorithm: str = "?"
    seed: int | None = None
    depth: int | None = None
    features: str = ""
    score: ScoreRecord | None = None
    expert: Estimate | None = None
    seconds: float | None = None
    changed: float = 0.0  # when, in seconds since 1970
    problem: str = ""  # why its files cannot be read


def list_runs(folder: Path) -> list[Listed]:
    """The runs that lie in a folder, the newest first; one that cannot be read says why."""
    if not folder.is_dir():
        return []
    places = [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    return sorted(map(listed, filter(is_run, places)), key=lambda run: (-run.changed, run.name))


def is_run(folder: Path) -> bool:
    """Tell whether a folder holds a run, finished or not."""
    return any((folder / name).is_file() for name in ("settings.json", "trees.json"))


def listed(folder: Path) -> Listed:
    """A run's folder in a few words."""
    changed = max((path.stat().st_mtime for path in folder.iterdir()), default=0.0)
    try:
        summary, recipe = read_summary(folder), read_recipe(folder)
        state = FINISHED if is_finished(folder) else RUNNING if is_running(folder) else STOPPED
        return _in_words(folder, state, changed, summary, recipe)
    except (InputError, OSError) as error:
        return Listed(folder.name, STOPPED, changed=changed, problem=str(error))


def _in_words(folder: Path, state: str, changed: float, summary: Summary | None, recipe: Recipe | None) -> Listed:
    if summary is None and recipe is None:
        trees = file.load(folder)
        algorithm = str(trees.made.get("algorithm", "?"))
        return Listed(folder.name, state, trees.game, algorithm, changed=changed, score=trees.score)
    settings = {**(recipe.settings if recipe else {}), **(summary.settings if summary else {})}
    seed, depth = (value if isinstance(value, int) else None for value in map(settings.get, ("seed", "depth")))
    known = Listed(
        folder.name, state, seed=seed, depth=depth, features=str(settings.get("features", "")), changed=changed
    )
    if summary is None:
        assert recipe is not None
        return replace(known, game=recipe.game.name, algorithm=recipe.algorithm)
    return replace(
        known,
        game=summary.game,
        algorithm=summary.algorithm,
        score=summary.score,
        expert=summary.expert,
        seconds=summary.seconds.get("total"),
    )
