"""Runs that are there or under way: list them, follow one from another process, start one, stop it, go on with it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydraviper.data import Estimate, InputError, Progress
from hydraviper.games import catalogue
from hydraviper.records import Recipe, ScoreRecord, Summary
from hydraviper.runs import trust
from hydraviper.runs.folder import held
from hydraviper.runs.recipe import NOTE
from hydraviper.runs.run import read_ledger, read_recipe, read_summary
from hydraviper.settings import FEATURES, PARTITIONS, Settings
from hydraviper.trees import file
from hydraviper.variants import VARIANTS

EVERY = 0.5  # seconds between two notes
FINISHED, RUNNING, STOPPED = "finished", "running", "stopped"


# --------------------------------------------------------------------------- what a run says of itself


@contextmanager
def noted(folder: Path, progress: Progress, **facts: Any) -> Iterator[Progress]:
    """Keep a note of how far a run is in its folder while it is under way; `facts` are what its settings do not say.

    A run that ends takes the note away; one that was killed leaves it.
    """
    start, last = time.time(), 0.0

    def write(step: str, done: int, of: int) -> None:
        known = {"pid": os.getpid(), "began": start, "step": step, "done": done, "of": of, **facts}
        with suppress(OSError):  # a full disk is found out by what matters more
            file.write_whole(folder / NOTE, json.dumps(known))

    def show(step: str, done: int, of: int) -> None:
        nonlocal last
        progress(step, done, of)
        if done == of or time.time() - last >= EVERY:
            last = time.time()
            write(step, done, of)

    write("begins", 0, 1)
    yield show
    (folder / NOTE).unlink(missing_ok=True)


@dataclass(frozen=True)
class Status:
    """How far a run is."""

    state: str  # finished, running or stopped
    step: str = ""  # what it does just now
    iteration: int = 0
    iterations: int = 0
    rollouts: int = 0
    scores: Sequence[float | None] = ()  # per iteration, of the episodes that it collected
    agreement: Sequence[float] = ()  # per iteration, with the expert: mean over the agents
    seconds: float = 0.0  # since it began, or as long as it took
    left: float | None = None  # seconds until the last iteration, by the pace so far


def status(folder: Path) -> Status:
    """How far the run in a folder is, whoever started it."""
    summary, lines, note = read_summary(folder), read_ledger(folder), _note(folder)
    recipe = read_recipe(folder)
    total = int(recipe.settings.get("iterations") or 0) if recipe is not None else 0  # type: ignore[arg-type]
    agreement = [
        sum(shares) / len(shares)
        for line in lines
        if (shares := [share for share in line.accuracy.values() if share is not None])
    ]
    known: dict[str, Any] = {
        "iteration": len(lines),
        "iterations": total or len(lines),
        "rollouts": sum(line.rollouts for line in lines),
        "scores": [line.score for line in lines],
        "agreement": agreement,
    }
    if summary is not None and _is_finished(folder):
        return Status(FINISHED, seconds=summary.seconds.get("total", 0.0), **known)
    if not is_running(folder):
        return Status(STOPPED, **known)
    seconds = max(0.0, time.time() - float(note.get("began", time.time())))
    spent = sum(sum(line.seconds.values()) for line in lines)
    left = spent / len(lines) * (total - len(lines)) if lines and total else None
    return Status(RUNNING, step=str(note.get("step", "")), seconds=seconds, left=left, **known)


def is_running(folder: Path) -> bool:
    """Tell whether a process is making the run in a folder."""
    pid = _note(folder).get("pid")
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
        with held(folder):  # the process of that number may be another one, long after
            return False
    except InputError:
        return True
    except OSError:
        return False


def _is_finished(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("trees.json", "report.html"))


def _note(folder: Path) -> dict[str, Any]:
    try:
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return note if isinstance(note, dict) else {}


# --------------------------------------------------------------------------- the runs of a folder


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
        state = FINISHED if _is_finished(folder) else RUNNING if is_running(folder) else STOPPED
        return _in_words(folder, state, changed, summary, recipe)
    except (InputError, OSError) as error:
        return Listed(folder.name, STOPPED, changed=changed, problem=str(error))


def _in_words(folder: Path, state: str, changed: float, summary: Summary | None, recipe: Recipe | None) -> Listed:
    settings: dict[str, Any] = dict(recipe.settings) if recipe is not None else {}
    if summary is None and recipe is None:
        trees = file.load(folder)
        known: dict[str, Any] = {"game": trees.game, "algorithm": str(trees.made.get("algorithm", "?"))}
        return Listed(folder.name, state, changed=changed, score=trees.score, **known)
    if summary is None:
        assert recipe is not None
        known = {"game": recipe.game.name, "algorithm": recipe.algorithm}
    else:
        known = {"game": summary.game, "algorithm": summary.algorithm, "score": summary.score}
        known |= {"expert": summary.expert, "seconds": summary.seconds.get("total")}
        settings |= summary.settings
    known |= {"seed": settings.get("seed"), "depth": settings.get("depth")}
    return Listed(folder.name, state, features=str(settings.get("features", "")), changed=changed, **known)


# --------------------------------------------------------------------------- a run in a process of its own


@dataclass(frozen=True)
class NewRun:
    """What somebody asks for; None stands for what suits the game. The words are those of `hydraviper distill`."""

    game: str
    algorithm: str = "hydraviper"
    expert: str | None = None
    budget: str = "low"
    train_budget: int | None = None
    valid_budget: int | None = None
    iterations: int | None = None
    depth: int | None = None
    leaves: int | None = None
    features: str | None = None
    partition: str | None = None
    teams: int | None = None
    constraints: str | None = None
    seed: int = 0
    refine: float | None = None
    episodes: int | None = None
    more: dict[str, Any] = field(default_factory=dict)  # other options of `distill`, by name

    def call(self, out: Path) -> list[str]:
        """The words behind `hydraviper`, which make the run in a folder."""
        for name, value in vars(self).items():
            if isinstance(value, str) and value.startswith("-"):
                raise InputError(f"{value!r} is no {name}: it begins with a dash.")
        asked = {name: value for name, value in vars(self).items() if name not in ("game", "more")} | self.more
        words = [[f"--{name.replace('_', '-')}", str(value)] for name, value in asked.items() if value is not None]
        return ["distill", self.game, *(word for pair in words for word in pair), "--out", str(out)]


def choices() -> dict[str, tuple[str, ...]]:
    """What a new run can be made of: games by name, algorithms, features and partitions."""
    return {
        "games": tuple(catalogue.GAMES),
        "families": tuple(catalogue.EXAMPLES.values()),
        "algorithms": tuple(VARIANTS),
        "features": FEATURES,
        "partitions": PARTITIONS,
    }


def again(folder: Path) -> NewRun:
    """What it takes to go on with a run that was stopped, from its settings.json."""
    recipe, note = read_recipe(folder), _note(folder)
    if recipe is None:
        raise InputError(f"{folder} has no settings.json that can be read: start a new run.")
    if _is_finished(folder):
        raise InputError(f"{folder} holds a finished run: start a new one.")
    settings = Settings.from_json(dict(recipe.settings))
    parameters = catalogue.completed(recipe.game.name, recipe.game.parameters)
    if (source := catalogue.named_source(recipe.game.name, parameters)) is not None:
        trust.check(source, lambda question: False)
    if recipe.constraints not in (None, "shipped") or recipe.expert.name is not None:
        raise InputError(f"{folder} was made with files of yours: repeat its command to go on with it.")
    own = {"max_joint_actions", "learner", "selection", "ucb_scale", "drop_quantile"}
    more: dict[str, Any] = {name: getattr(settings, name) for name in own}
    if recipe.expert.made is not None:
        more["expert_minutes"] = recipe.expert.made.minutes
    more |= {name: note[name] for name in ("price",) if note.get(name) in ("each", "all", "none")}
    episodes = note.get("episodes")
    return NewRun(
        game=_spec(recipe.game.name, parameters),
        algorithm=recipe.algorithm,
        expert=recipe.expert.file if recipe.expert.made is None else None,
        train_budget=settings.train_budget,
        valid_budget=settings.valid_budget,
        iterations=settings.iterations,
        depth=settings.depth,
        leaves=settings.most_leaves,
        features=settings.features,
        partition=settings.partition,
        teams=settings.teams,
        constraints=recipe.constraints,
        seed=settings.seed,
        refine=settings.refine_seconds,
        episodes=episodes if isinstance(episodes, int) else None,
        more=more,
    )


def _spec(name: str, parameters: dict[str, Any]) -> str:
    """A game as a command names it."""
    family = name.partition(":")[0]
    subject = next(iter(parameters), None) if family in catalogue.FAMILIES and ":" not in name else None
    head = name if subject is None else f"{name}:{parameters[subject]}"
    rest = ",".join(f"{key}={value}" for key, value in parameters.items() if key != subject)
    return f"{head}{',' if subject is not None or ',' in head else ':'}{rest}" if rest else head


@dataclass
class Started:
    """A process that makes a run; it goes on when whoever started it ends."""

    folder: Path
    log: Path  # what it says
    process: subprocess.Popen[bytes] = field(repr=False)

    @property
    def failed(self) -> str | None:
        """The sentence that it ended with; None if it is under way, done, or was stopped."""
        if self.process.poll() in (None, 0, 130, -signal.SIGINT, -signal.SIGTERM, -signal.SIGKILL):
            return None
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or [
            "it ended without a word"
        ]
        return lines[-1].removeprefix("hydraviper: ")


def start(wish: NewRun, folder: Path, log: Path) -> Started:
    """Make a run in a process of its own, by the command line; what it says goes to a file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    call = [sys.executable, "-m", "hydraviper.cli", *wish.call(folder)]
    with log.open("wb") as said:
        process = subprocess.Popen(
            call, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )
    return Started(folder, log, process)


def stop(folder: Path) -> None:
    """Stop the run in a folder as Ctrl-C does; `again` and `start` go on with it."""
    if not is_running(folder):
        raise InputError(f"no process is making {folder.name}: there is nothing to stop.")
    os.kill(int(_note(folder)["pid"]), signal.SIGINT)
