"""A run in a process of its own, which goes on when whoever started it ends."""

import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from hydraviper.data import InputError
from hydraviper.games import catalogue
from hydraviper.runs import trust
from hydraviper.runs.following import is_finished, read_note
from hydraviper.runs.run import read_recipe
from hydraviper.settings import FEATURES, PARTITIONS, Settings
from hydraviper.variants import VARIANTS


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
    more: dict[str, object] = field(default_factory=dict)  # other options of `distill`, by name

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
    recipe, note = read_recipe(folder), read_note(folder)
    if recipe is None:
        raise InputError(f"{folder} has no settings.json that can be read: start a new run.")
    if is_finished(folder):
        raise InputError(f"{folder} holds a finished run: start a new one.")
    settings = Settings.from_json(dict(recipe.settings))
    parameters = catalogue.completed(recipe.game.name, recipe.game.parameters)
    if (source := catalogue.named_source(recipe.game.name, parameters)) is not None:
        trust.check(source, lambda question: False)
    if recipe.constraints not in (None, "shipped") or recipe.expert.name is not None:
        raise InputError(f"{folder} was made with files of yours: repeat its command to go on with it.")
    own = {"max_joint_actions", "learner", "selection", "ucb_scale", "drop_quantile"}
    more: dict[str, object] = {name: getattr(settings, name) for name in own}
    if recipe.expert.made is not None:
        more["expert_minutes"] = recipe.expert.made.minutes
    if (price := note.get("price")) in ("each", "all", "none"):
        more["price"] = price
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


def _spec(name: str, parameters: dict[str, object]) -> str:
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
