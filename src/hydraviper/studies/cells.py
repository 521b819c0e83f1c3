"""One job of a study and its result: records that a file of JSON holds, checked when they are read.

`python -m hydraviper.studies.cells` writes the schema of a result into hydraviper/schema after a record has changed.
"""

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, structs

from hydraviper.data import InputError
from hydraviper.games import catalogue
from hydraviper.protocols import Game, spec_of
from hydraviper.records import schema_of
from hydraviper.runs.folder import plain
from hydraviper.settings import ROLLOUTS, Settings
from hydraviper.studies.design import Arm, settings_of
from hydraviper.studies.summaries import Amount, Count, CriticFit, Episodes, Rollouts, Summary
from hydraviper.variants import VARIANTS

BUSY = 0.5  # load beyond a cell's own cores that tells of other work
LONGEST = 160  # letters of a problem that are told
LEAST_SEARCH = int(ROLLOUTS.least)  # episodes of a search, however small the scale
MOST_LETTERS = 60  # of a game's title in a file's name


class GameName(Struct, frozen=True):
    """Which game, with all of its parameters."""

    name: str
    parameters: dict[str, Any]

    @property
    def title(self) -> str:
        """The game without its options."""
        return catalogue.without_options(self.name, self.parameters)

    @property
    def key(self) -> str:
        """Equal for equal games."""
        return json.dumps([self.name, self.parameters], sort_keys=True)


class ExpertName(Struct, frozen=True):
    """Which expert: what it is called, and the hash of its networks."""

    name: Annotated[str, Meta(pattern=r"\S")]  # maddpg, mplight, idqn, ...
    hash: str


class Cell(Struct, frozen=True):
    """One job. Whatever decides its result is a field here; two cells with equal fields are the same job."""

    game: GameName
    algorithm: str
    settings: Settings  # the seed included
    expert: ExpertName
    episodes: Episodes  # unseen ones, for the score
    scale: Annotated[float, Meta(gt=0, le=1)] = 1.0
    refine: Amount = 0.0  # seconds of direct search over the trees afterwards
    refine_rollouts: Rollouts = 0  # the same, limited by episodes

    def __post_init__(self) -> None:
        if self.algorithm not in VARIANTS:
            raise ValueError(f"the algorithm {self.algorithm!r} is unknown")

    def to_json(self) -> dict[str, object]:
        """The cell as result files have it."""
        kind = "refined" if self.refine or self.refine_rollouts else "distill"
        settings = self.settings.to_json()  # with defaults that its file did not have
        values = {"kind": kind, **msgspec.to_builtins(self), "settings": settings, "seed": self.seed}
        if not self.refine_rollouts:  # keys of cells that are older than it stay as they are
            del values["refine_rollouts"]
        return values

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.settings.seed

    @property
    def key(self) -> str:
        """Equal for equal cells; an expert is its networks, not its name."""
        return json.dumps({**self.to_json(), "expert": self.expert.hash}, sort_keys=True)

    @property
    def name(self) -> str:
        """A file's name that people can read and that no other cell has."""
        budget = f"{self.settings.train_budget}-{self.settings.valid_budget}"
        digest = hashlib.sha256(self.key.encode()).hexdigest()[:10]
        game = plain(self.game.title)[-MOST_LETTERS:]  # a title may be a path
        return f"{game}.{plain(self.expert.name)}.{self.algorithm}.{budget}.seed-{self.seed}.{digest}"

    def command(self, expert: Path | str | None = None) -> str:
        """The call of `distill` that makes the same trees; a scaled cell's warm-up is beyond its options.

        A search that is limited by episodes is a second call. `expert` is what --expert takes; None: its name.
        """
        spec = spec_of(self.game.name, self.game.parameters)
        default, names = Settings().to_json(), {"most_leaves": "leaves"}
        values = {"algorithm": self.algorithm, **self.settings.to_json(), "episodes": self.episodes}
        values.pop("rollouts_per_iteration")
        always = ("seed", "ucb_scale", "features")  # games have defaults of their own
        changed = [
            f"--{names.get(name, name).replace('_', '-')} {value}"
            for name, value in values.items()
            if value is not None and (name in always or value != default.get(name))
        ]
        named = (
            []
            if expert is None and self.expert.name == "maddpg"
            else [f"--expert {shlex.quote(str(expert or self.expert.name))}"]
        )
        refine = [f"--refine {self.refine:g}"] if self.refine else []
        scaled = [] if self.scale == 1 else [f"# {self.settings.rollouts_per_iteration} rollouts per iteration"]
        if self.refine_rollouts:
            refine += [f"--out RUN && hydraviper refine RUN --rollouts {self.refine_rollouts} --seed {self.seed}"]
        return " ".join(["hydraviper distill", spec, *named, *changed, *refine, *scaled])


def cell_of(
    arm: Arm,
    game: Game,
    expert: ExpertName,
    seed: int,
    scale: float,
    there: Mapping[str, object] | None = None,
    episodes: int | None = None,
) -> Cell:
    """The cell of an arm in a game, with an expert and a seed; `there` is what the study changes in this game.

    It is scored on so many unseen episodes; None: as many as suit the game.
    """
    settings = replace(settings_of(arm, game, there or {}), seed=seed)
    episodes = game.recommended.evaluation_episodes if episodes is None else episodes
    if scale != 1:
        settings, episodes = _scaled(settings, scale, len(game.agents)), max(10, round(scale * episodes))
    name = GameName(game.name, dict(game.parameters))
    rollouts = arm.refine_rollouts and max(LEAST_SEARCH, round(scale * arm.refine_rollouts))
    return Cell(name, arm.algorithm, settings, expert, episodes, scale, arm.refine * scale, rollouts)


def _scaled(settings: Settings, scale: float, agents: int) -> Settings:
    """A quick look: the same run with fewer iterations and rollouts, and still one rollout per agent and iteration."""
    iterations = max(2, round(scale * settings.iterations))
    least = {"train_budget": agents * iterations, "valid_budget": iterations, "rollouts_per_iteration": 2}
    counts = {name: max(count, round(scale * getattr(settings, name))) for name, count in least.items()}
    return replace(settings, iterations=iterations, **counts)


# --------------------------------------------------------------------------- results


class Timing(Struct, frozen=True):
    """Whether a result's seconds may be trusted."""

    alone: bool | None  # no other cell ran beside it
    workers: Count | None  # cores inside the cell
    load: Annotated[float, Meta(ge=0, le=1e6)] | None  # of the machine, when it began
    wall: Amount  # seconds, the final evaluation included


class Machine(Struct, frozen=True):
    """What a cell ran on, without any name of it."""

    processor: str
    cores: Count | None
    system: str = ""
    python: str = ""
    numpy: str | None = None
    numba: str | None = None
    libsumo: str | None = None


class Result(Struct, frozen=True):
    """A finished cell."""

    cell: Cell
    arm: str  # the key of its arm in the study
    summary: Summary
    timing: Timing
    commit: str | None
    machine: Machine
    command: str
    critics: CriticFit | None = None  # of an expert with joint critics

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.cell.seed

    @property
    def score(self) -> float:
        """The trees' mean score."""
        return self.summary.score.mean

    @property
    def quiet(self) -> bool:
        """Whether its seconds were measured without another cell or other work beside it."""
        timing = self.timing
        return bool(timing.alone) and timing.load is not None and timing.load <= (timing.workers or 1) + BUSY


class _CellNames(Struct):
    settings: dict[str, Any]


class _Names(Struct):
    cell: _CellNames


_RESULT, _NAMES = msgspec.json.Decoder(Result), msgspec.json.Decoder(_Names)
_SETTINGS = {field.name for field in fields(Settings)}


def decode(text: bytes) -> Result:
    """Read a result; settings and parameters of games that are newer than the file take their defaults."""
    try:
        result = _RESULT.decode(text)
        unknown = sorted(_NAMES.decode(text).cell.settings.keys() - _SETTINGS)
    except RecursionError:
        raise InputError("it is nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(short(error)) from None
    if unknown:
        raise InputError(f"its settings {', '.join(unknown)} are unknown")
    cell, game = result.cell, result.cell.game
    whole = GameName(game.name, dict(catalogue.completed(game.name, game.parameters)))
    return structs.replace(result, cell=structs.replace(cell, game=whole))


def short(problem: object) -> str:
    """A problem in one line that is not too long."""
    words = " ".join(str(problem).split()).rstrip(".")
    return words if len(words) <= LONGEST else words[: LONGEST - 3] + "..."


if __name__ == "__main__":
    file = Path(__file__).parents[1] / "schema" / "cell.json"
    file.write_text(json.dumps(schema_of(Result), indent=1) + "\n")
