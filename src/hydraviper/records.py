"""What the files of a run and `--json` say: frozen records, one codec, a published JSON schema.

`python -m hydraviper.records` writes the schemas into hydraviper/schema after a record has changed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from hydraviper.data import Estimate, InputError, Plain, StreetRecord

Decoded = TypeVar("Decoded")


class Record(Struct, frozen=True, omit_defaults=True):
    """A field that has its default is not written; one that is not known is ignored when read."""


# --------------------------------------------------------------------------- scores


class Outcome(Estimate, frozen=True, kw_only=True, omit_defaults=True):
    """How a policy scored; games that can jam also say how bad it gets."""

    median: float | None = None
    worst: float | None = None
    jammed: int | None = None  # episodes
    nearly_jammed: int | None = None  # episodes that are not jammed, but whose score is above half of the threshold


class ScoreRecord(Outcome, frozen=True, kw_only=True, omit_defaults=True):
    """How the trees scored, and what the number means."""

    name: str
    episodes: int = 0
    lower_is_better: bool
    jam_threshold: float | None = None  # the score above which an episode is jammed
    unit: str | None = None  # where the name does not say it


class Course(Record, frozen=True, kw_only=True):
    """A policy's score after each step: over the episodes the median, the middle 80 %, and the worst episode."""

    low: tuple[float | None, ...]  # [T], null after an episode's end
    median: tuple[float | None, ...]
    high: tuple[float | None, ...]
    worst: tuple[float | None, ...]


class OverTime(Record, frozen=True, kw_only=True):
    """How the score runs through an episode."""

    step_minutes: float
    smoothed_minutes: float | None = None  # of the running mean; 0 without one
    policies: dict[str, Course]


Sides = dict[str, Estimate]  # trees, expert, and scripts by name
UNSCORED = ScoreRecord(name="score", mean=math.nan, ci95=math.nan, lower_is_better=False)


class Evaluation(Record, frozen=True, kw_only=True):
    """Trees, expert and scripted policies on the same unseen episodes."""

    score: ScoreRecord = UNSCORED  # the trees', or the expert's where there are no trees
    expert: Outcome | None = None
    difference: Estimate | None = None  # trees minus expert, episode by episode
    differences: dict[str, Estimate] = {}  # trees minus each scripted policy, episode by episode
    measures: dict[str, Sides] = {}  # what else the game measures, by name
    yardsticks: dict[str, Outcome] = {}  # scripted policies
    opponents: dict[str, dict[str, Outcome]] = {}  # script of the other side -> trees and expert against it
    over_time: OverTime | None = None
    streets: dict[str, tuple[StreetRecord, ...]] = {}  # policy -> what happened on each road into a signal
    shown: dict[str, dict[str, float]] = {}  # agent -> action -> share of the steps at whose end the trees showed it


class AtDemand(Evaluation, frozen=True, kw_only=True):
    """An evaluation with less or more traffic."""

    factor: float  # times the game's own demand


# --------------------------------------------------------------------------- parts of a run


class Paired(Record, frozen=True, kw_only=True):
    """Scores on the same episodes without and with something; a cost above 0 is a loss, whichever way is better."""

    without: Estimate
    with_: Estimate = field(name="with")
    cost: Estimate


class PropertyPrice(Record, frozen=True, kw_only=True):
    """What one property costs, and whether trees that were not asked to keep it have it."""

    holds_without: bool | None = field(name="holds without")
    answer_without: str | None = field(name="answer without", default=None)
    without: Estimate | None = None
    with_: Estimate | None = field(name="with", default=None)
    cost: Estimate | None = None


class Prices(Record, frozen=True, kw_only=True):
    """What constraints cost: all together, and each by itself."""

    all: Paired
    each: dict[str, PropertyPrice]
    episodes: int


class ConstraintsRecord(Record, frozen=True, kw_only=True):
    """Which properties the trees were grown to have (null: undecided), and what that costs."""

    properties: dict[str, bool | None]
    price: Prices | None = None


class Spent(Record, frozen=True, kw_only=True):
    """What a search took."""

    seconds: float
    rollouts: int


class Gain(Record, frozen=True, kw_only=True):
    """Scores before and after a search on the same episodes; a gain above 0 is better, whichever way the score runs."""

    episodes: int
    before: Estimate
    after: Estimate
    gain: Estimate


class Refinement(Record, frozen=True, kw_only=True):
    """A search for better trees: its limits, what it took, and what it gained."""

    seconds: float | None  # the limit, if it was one of time
    rollouts: int | None  # the limit, if it was one of episodes
    features: str
    seed: int
    spent: Spent
    start: str  # where the best trees came from
    kept: bool  # False: nothing better was found
    held_out: Gain  # on episodes of the search that it did not learn from
    unseen: Gain | None = None  # on the episodes of the evaluation


class Selection(Record, frozen=True, kw_only=True):
    """How a team's students were told apart."""

    team: tuple[str, ...]
    chosen: int  # iteration, from 1
    means: tuple[float | None, ...]  # [iterations] return per step; null if never played
    pulls: tuple[int, ...]  # [iterations] validation rollouts


class Summary(Evaluation, frozen=True, kw_only=True):
    """summary.json: what a run has to say, whichever command made it."""

    game: str
    algorithm: str
    seed: int | None = None
    rollouts: dict[str, int] = {}  # by purpose
    seconds: dict[str, float] = {}  # by step, and in total
    megabytes: dict[str, float] = {}  # the most memory held, by the process and by its workers together
    out: str | None = None  # the run's folder
    run: str | None = None  # what was evaluated
    teams: tuple[tuple[str, ...], ...] = ()
    selection: tuple[Selection, ...] = ()
    settings: dict[str, Plain] = {}
    notes: tuple[str, ...] | None = None
    version: str | None = None
    expert_hash: str | None = None
    command: str | None = None
    constraints: ConstraintsRecord | None = None
    refined: Refinement | None = None
    demand: tuple[AtDemand, ...] = ()  # of an evaluation with less and more traffic
    # of a repair
    before: Estimate | None = None
    cost: Estimate | None = None
    changed: dict[str, float] = {}  # agent -> share of its observations that get another action
    nodes: dict[str, tuple[int, int]] = {}  # agent -> before and after
    smallest: bool | None = None  # no smaller change would do, for certain
    properties: tuple[str, ...] = ()
    # of edits by hand
    before_edits: tuple[Summary, ...] = ()  # the summary before each edit that can be undone

    @property
    def title(self) -> str:
        """The game as the command names it, up to the first comma: a network with its file, a map with its name."""
        words = (word for word in (self.command or "").split() if word.startswith(f"{self.game}:"))
        return next((word.split(",")[0] for word in words), self.game)


class Iteration(Struct, frozen=True, kw_only=True):
    """A line of ledger.jsonl: what one iteration of the algorithm took and gave."""

    iteration: int
    rollouts: int = 0
    samples: int | None = None  # that the team's trees learn from
    dropped: int | None = None  # rollouts' worth of samples that resampling leaves out
    accuracy: dict[str, float | None] = {}  # agent -> agreement with the expert
    score: float | None = None  # mean of the episodes that it collected, which the students before it played
    seconds: dict[str, float] = {}  # by step
    megabytes: dict[str, float] = {}  # the most memory held so far, by the process and by its workers together


class GameIdentity(Record, frozen=True, kw_only=True):
    """A game by name, by parameters, and by a hash of the files that it was made from."""

    name: str
    parameters: dict[str, Any]
    content: str | None = None


class Making(Record, frozen=True, kw_only=True):
    """How a run makes an expert for itself."""

    minutes: float  # of training, at most
    episodes: int | None = None  # as many as fitted into them; null until that is known


class ExpertReference(Record, frozen=True, kw_only=True):
    """An expert by its hash, and by its file if it does not ship; one in the run's own folder by its name."""

    hash: str  # empty until it is made
    file: str | None  # a path, in the run's folder if it is not a whole one, or the name of an expert from elsewhere
    name: str | None = None  # as the user named an expert from elsewhere
    contents: dict[str, str] = {}  # the hash of each file that such an expert was made from
    values: str | None = None  # how its actions were valued: fitted, policy or none; null: as it values them itself
    made: Making | None = None  # by the run itself


class Recipe(Record, frozen=True, kw_only=True):
    """settings.json: what it takes to make a run again."""

    game: GameIdentity
    algorithm: str
    expert: ExpertReference
    settings: dict[str, Plain]
    version: str
    constraints: str | None = None
    refined: Refinement | None = None


# --------------------------------------------------------------------------- other commands


class EditScore(Record, frozen=True, kw_only=True):
    """Scores before and after an edit on the same episodes; the difference is after minus before."""

    name: str
    episodes: int
    seed: int
    lower_is_better: bool
    before: Estimate
    after: Estimate
    difference: Estimate


class Agreement(Record, frozen=True, kw_only=True):
    """The share of the same observations at which the expert agrees with the tree before and after an edit."""

    observations: int
    before: float
    after: float


class Undo(Record, frozen=True, kw_only=True):
    """What an edit replaced, and a mark of what it put there."""

    tree: dict[str, list[Any]]
    score: ScoreRecord | None
    mark: str


class Edit(Record, frozen=True, kw_only=True):
    """A change that somebody made to a tree by hand, and what it cost."""

    agent: str
    node: int
    what: str  # threshold, feature, action, cut or split
    before: str  # the node in words
    after: str
    counts: str  # where the counts of the edited tree come from
    score: EditScore
    agreement: Agreement | None = None  # unknown of edits by older versions
    undo: Undo | None = None
    version: str | None = None


class Difference(Estimate, frozen=True, kw_only=True):
    """A score minus that of another algorithm, seed by seed."""

    from_: str = field(name="from")


class AlgorithmScores(Outcome, frozen=True, kw_only=True, omit_defaults=True):
    """An algorithm in a comparison: mean and interval are over seeds."""

    seconds: Estimate
    rollouts: dict[str, int]
    scores: tuple[float, ...]  # [seeds]
    measures: dict[str, dict[str, float]] = field(default_factory=dict)
    opponents: dict[str, dict[str, float]] = field(default_factory=dict)
    difference: Difference | None = None  # none for the algorithm that the others are compared with


class ScoreMeaning(Record, frozen=True, kw_only=True):
    """A score's name and direction, and how many episodes it is the mean of."""

    name: str
    lower_is_better: bool
    episodes: int


class Comparison(Record, frozen=True, kw_only=True):
    """Algorithms side by side, several seeds each, all scored on the same unseen episodes."""

    game: str
    seeds: int
    settings: dict[str, Plain]
    algorithms: dict[str, AlgorithmScores]
    expert: Outcome | None = None
    yardsticks: dict[str, Outcome] = {}
    score: ScoreMeaning
    command: str | None = None


class Counterexample(Record, frozen=True, kw_only=True):
    """Observations at which trees break a property."""

    case: str
    observations: dict[str, dict[str, float]]  # agent -> feature -> value
    actions: dict[str, str]
    words: str = ""  # the same in a sentence, without what neither the property nor a tree looks at


class PropertyAnswer(Record, frozen=True, kw_only=True):
    """What the prover says about one property."""

    property: str
    answer: str
    holds: bool | None  # null: undecided
    cases: int
    broken: int
    nowhere: int  # cases whose conditions no observation meets
    problems: tuple[str, ...]
    seconds: float
    counterexamples: tuple[Counterexample, ...]


class Verification(Record, frozen=True, kw_only=True):
    """Whether trees have properties."""

    game: str
    run: str
    holds: bool
    facts_checked_on: int = field(name="facts checked on")
    properties: tuple[PropertyAnswer, ...]


PUBLISHED = {
    "summary": Summary,
    "iteration": Iteration,
    "settings": Recipe,
    "edit": Edit,
    "comparison": Comparison,
    "verification": Verification,
}

# --------------------------------------------------------------------------- the codec


def to_json(record: object) -> Any:
    """A record as dictionaries, lists and plain values; what is not a number is null."""
    return _written(msgspec.to_builtins(record))


def encode(record: object, indent: int | None = None) -> str:
    """A record as JSON."""
    return json.dumps(to_json(record), indent=indent)


def from_json(kind: type[Decoded], value: object, whose: str) -> Decoded:
    """The record that `to_json` wrote; one sentence about `whose` if it does not fit."""
    try:
        return msgspec.convert(_read(value), kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise InputError(f"{whose} does not fit this version of hydraviper: {str(error).rstrip('.')}.") from None


def decode(kind: type[Decoded], text: str, whose: str) -> Decoded:
    """The record that `encode` wrote; old files may say NaN, which JSON does not have."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{whose} is not JSON ({error}).") from None
    return from_json(kind, value, whose)


def _written(value: object) -> Any:
    if isinstance(value, dict):  # an estimate's count stands elsewhere, as episodes or seeds
        return {key: _written(one) for key, one in value.items() if key != "count" or "ci95" not in value}
    if isinstance(value, list | tuple):
        return [_written(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _read(value: object) -> Any:
    if isinstance(value, Mapping):
        fields = {key: _read(one) for key, one in value.items()}
        return fields | {key: math.nan for key in ("mean", "ci95") if key in fields and fields[key] is None}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_read(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def schemas() -> dict[str, dict[str, object]]:
    """The JSON schema of every published record, by the name of its file."""
    return {name: schema_of(kind) for name, kind in PUBLISHED.items()}


def schema_of(kind: type) -> dict[str, object]:
    """The JSON schema of a record."""
    schema = msgspec.json.schema(kind)
    for record in schema["$defs"].values():
        properties = record["properties"]
        if "ci95" in properties and properties.pop("count", None):
            properties |= {"mean": {"type": ["number", "null"]}, "ci95": {"type": ["number", "null"]}}
        if properties.get("score", {}).get("default") is not None:
            del properties["score"]["default"]
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.loads(json.dumps(whole))  # tuples as lists


def write_schemas(folder: Path) -> None:
    """Write the schemas that the package publishes."""
    folder.mkdir(exist_ok=True)
    for name, schema in schemas().items():
        (folder / f"{name}.json").write_text(json.dumps(schema, indent=1) + "\n")


if __name__ == "__main__":
    write_schemas(Path(__file__).with_name("schema"))
