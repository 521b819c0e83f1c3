"""The values that travel between the rooms: frozen, checked, shapes written beside the fields.

B = episodes played at once, E = episodes, T = steps of an episode, S = samples (rows), N = agents,
F_i = features of agent i, A = agents of a team.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from msgspec import Struct

Team = tuple[int, ...]  # indices into a game's agents
Observations = Sequence[np.ndarray]  # one float32 array [B, F_i] per agent
Plain = bool | int | float | str | None  # what settings are, and JSON's values that are not made of others
Progress = Callable[[str, int, int], None]  # told the step, how much of it is done, and of how much

STEPS = ("partition", "collect", "resample", "train", "select", "refine")


class InputError(ValueError):
    """The call or its input is wrong; the message is one sentence that says what to do."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the file's name to errors of the file system that lack it, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


class JobError(RuntimeError):
    """The job failed though the call was right; the message is one sentence that says what happened."""


# control characters, line separators, marks that turn the direction of writing, halves of characters, no characters
UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def check_names(whose: str, names: Iterable[str]) -> None:
    """Refuse names that a terminal, a drawing or another language could not show as they are."""
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"{whose} has the name {name!r}: write a name that people can read.")
        if found := UNWRITABLE.search(name):
            raise InputError(f"{whose} has the name {name!r}: write it without {found.group()!r}.")


KINDS = ("real", "whole", "count", "flag")  # of values: any; whole numbers; whole and not negative; 0 or 1


@dataclass(frozen=True)
class Values:
    """Which values a feature takes, and how people say them; words and drawings of trees go by it."""

    kind: str = "real"  # one of KINDS
    unit: str = ""  # behind its numbers; a name that ends with it ("red for, s") is said without
    nought: str = ""  # how people say that it is 0: "phase 1 is red"; for a flag, the name says that it is 1
    own: bool = False  # it tells of the agent itself, not of what the agent sees

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"features cannot have {self.kind!r} values: choose real, whole, count or flag.")
        check_names("the value of a feature", filter(None, (self.unit, self.nought)))


@dataclass(frozen=True)
class Agent:
    """An agent: its name, and names for what it observes and what it can do."""

    name: str
    features: tuple[str, ...]  # F_i names, in the order of the observation
    actions: tuple[str, ...]  # names; an action is an index into this
    values: tuple[Values, ...] = field(default=(), compare=False)  # F_i; none: any numbers

    def __post_init__(self) -> None:
        check_names("an agent", [self.name])
        if len(self.values) not in (0, len(self.features)):
            raise InputError(
                f"agent {self.name} has {len(self.features)} features, but values for {len(self.values)}: one for each."
            )
        for what, names in (("features", self.features), ("actions", self.actions)):
            check_names(f"one of the {what} of agent {self.name}", names)
            if not names:
                raise InputError(f"agent {self.name} has no {what}: a game must name at least one.")
            if len(set(names)) != len(names):
                raise InputError(f"agent {self.name} has {what} of the same name: every name must be unique.")


@dataclass(frozen=True)
class Term:
    """A step in computing a derived feature: a summand of one, two or four features, a number, or an operation.

    Steps work on a pile of numbers, at first one that is still empty. A summand is added to the topmost one, or is it
    where that is still empty; `open` puts an empty one on top; other operations take the topmost one or two away and
    put their result there.
    """

    kind: str  # value: x; size: |x|; distance: the length of (x, y), or of (x - u, y - v); number; or one of OPERATIONS
    inputs: tuple[int, ...] = ()  # features: (x,), (x,), (x, y) or (x, y, u, v)
    sign: int = 1  # of a summand: 1 adds it, -1 takes it away
    number: float = 0.0  # of the kind number, a float32

    def __post_init__(self) -> None:
        if len(self.inputs) not in TERM_INPUTS.get(self.kind, ()) or self.sign not in (1, -1):
            raise InputError(f"a derived feature cannot be made of {self.kind!r} of {len(self.inputs)} features.")
        if not (self.kind == "number" or self.number == 0) or float(np.float32(self.number)) != self.number:
            raise InputError(f"a derived feature cannot hold the number {self.number}: single precision has no such.")


# Of how many of the topmost numbers. plus, minus, times: the lower one and the upper one; min, max: the upper one where
# it is smaller or larger, else the lower one; absolute: without its sign; length: of the two as (x, y).
OPERATIONS = {"open": 0, "absolute": 1, "plus": 2, "minus": 2, "times": 2, "min": 2, "max": 2, "length": 2}
TERM_INPUTS = {"value": (1,), "size": (1,), "distance": (2, 4), "number": (0,), **dict.fromkeys(OPERATIONS, (0,))}
HIGHEST = 8  # numbers on the pile


@dataclass(frozen=True)
class Derived:
    """A feature that is computed from others and that people can still read: a sum of terms, or any expression.

    Every step gives a float32, so that each sum is rounded after each of its terms, from left to right; only the inside
    of a distance or length (squares, sum and root) is computed in double precision. So every language gets the same
    bits.
    """

    name: str
    terms: tuple[Term, ...]
    formula: str = field(default="", compare=False)  # as people wrote it; empty: the name says it

    def __post_init__(self) -> None:
        check_names("a derived feature", [self.name])
        if not self.terms:
            raise InputError(f"the derived feature {self.name!r} has no terms.")
        height, empty = 1, [True]
        for term in self.terms:
            needed = OPERATIONS.get(term.kind)
            if needed is None:
                empty[-1] = False
            elif term.kind == "open":
                empty.append(True)
            elif len(empty) < needed or any(empty[-needed:]):
                raise InputError(f"the derived feature {self.name!r} has no numbers for {term.kind!r}.")
            elif needed == 2:
                empty.pop()
            height = max(height, len(empty))
        if empty != [False]:
            raise InputError(f"the derived feature {self.name!r} does not end with one number.")
        if height > HIGHEST:
            raise InputError(f"the derived feature {self.name!r} nests too deeply: write it as several shorter ones.")

    @property
    def inputs(self) -> tuple[int, ...]:
        """The plain features that it is computed from, each once."""
        return tuple(dict.fromkeys(number for term in self.terms for number in term.inputs))

    @property
    def is_sum(self) -> bool:
        """Whether it is a sum of features and their distances, without further operations."""
        return all(term.kind not in OPERATIONS and term.kind != "number" for term in self.terms)


@dataclass(frozen=True)
class Each:
    """A variable of a property or fact: what the * of a pattern matches, among features or agents, or given words."""

    kind: str  # feature, agent or word
    words: tuple[str, ...]  # patterns, or the words themselves

    def __post_init__(self) -> None:
        if self.kind not in ("feature", "agent", "word"):
            raise InputError(f"a variable cannot stand for a {self.kind!r}: choose feature, agent or word.")


@dataclass(frozen=True)
class Domain:
    """Which values some features take."""

    features: tuple[str, ...]  # names or patterns
    values: str = "real"  # one of KINDS
    least: float | None = None
    most: float | None = None
    agent: tuple[str, ...] = ("*",)  # whose

    def __post_init__(self) -> None:
        Values(self.values)  # refuses what there is not


@dataclass(frozen=True)
class Fact:
    """What is true of every observation up to rounding: in one of several lists, all conditions hold."""

    either: tuple[tuple[str, ...], ...]  # conditions as in a file of properties (docs/verify.md)
    agent: tuple[str, ...] = ("*",)  # whose, where the conditions name no agent
    for_each: Mapping[str, Each] = field(default_factory=dict)


@dataclass(frozen=True)
class Knowledge:
    """What is known about the values of a game's features; proofs rely on it."""

    domains: tuple[Domain, ...] = ()
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class Score:
    """How an episode is scored: a weighted sum of the agents' returns plus a constant."""

    name: str
    unit: str
    lower_is_better: bool
    weights: tuple[float, ...]  # [N], times each agent's return
    offset: float = 0.0

    def of(self, returns: np.ndarray) -> np.ndarray:
        """Score every episode from its agents' returns, [E, N] -> [E]."""
        total = np.zeros(len(returns))
        for weight, column in zip(self.weights, np.asarray(returns, np.float64).T, strict=True):
            total += weight * column  # one after the other: the order in a matrix product depends on the processor
        return total + self.offset

    def better(self, first: float, second: float) -> bool:
        """Tell whether the first score beats the second."""
        return first < second if self.lower_is_better else first > second


@dataclass(frozen=True)
class Recommended:
    """Settings that suit a game; `low` and `high` are budgets of (training, validation) rollouts."""

    low: tuple[int, int] = (500, 1500)
    high: tuple[int, int] = (5000, 5000)
    rollouts_per_iteration: int = 50
    ucb_scale: float = 4.0
    evaluation_episodes: int = 2000
    features: str = "plain"  # what trees may ask for: plain, or derived


@dataclass(frozen=True)
class Rollouts:
    """Episodes that were played; rows are in the order of the episodes."""

    returns: np.ndarray  # [E, N] summed rewards
    lengths: np.ndarray  # [E] steps
    observations: tuple[np.ndarray, ...] | None = None  # per agent [S, F_i], S = lengths.sum()
    measures: Mapping[str, np.ndarray] = field(default_factory=dict)  # beside the score: name -> [E]
    rewards: np.ndarray | None = None  # [S, N], kept with the observations
    # [E, T] the score of each step, if the game has a clock; not a number after an episode's end
    trace: np.ndarray | None = None
    acting: np.ndarray | None = None  # bool [S, N] whose actions counted, kept with the observations; None: everybody's
    cut: np.ndarray | None = None  # bool [E] ended by a time limit, not by the game itself; see `ended`

    def __post_init__(self) -> None:
        shapes = {"returns": self.returns, "trace": self.trace, "cut": self.cut, **self.measures}
        wrong = [name for name, array in shapes.items() if array is not None and len(array) != self.episodes]
        samples = int(self.lengths.sum())
        rows = {
            "rewards": self.rewards,
            "acting": self.acting,
            **{f"observations {i}": seen for i, seen in enumerate(self.observations or ())},
        }
        wrong += [name for name, array in rows.items() if array is not None and len(array) != samples]
        if wrong:
            raise ValueError(f"{self.episodes} episodes of {samples} steps do not fit {', '.join(wrong)}")

    @property
    def episodes(self) -> int:
        """How many episodes there are."""
        return len(self.lengths)

    @staticmethod
    def join(parts: Sequence[Rollouts]) -> Rollouts:
        """Put several batches of rollouts behind each other; there must be at least one."""
        if len(parts) == 1:
            return parts[0]
        observations = None
        if parts[0].observations is not None:
            columns = zip(*(part.observations or () for part in parts), strict=True)
            observations = tuple(np.concatenate(column) for column in columns)

        def joined(name: str) -> np.ndarray | None:
            arrays = [getattr(part, name) for part in parts]
            return None if any(array is None for array in arrays) else np.concatenate(arrays)

        return Rollouts(
            returns=np.concatenate([part.returns for part in parts]),
            lengths=np.concatenate([part.lengths for part in parts]),
            observations=observations,
            measures={name: np.concatenate([part.measures[name] for part in parts]) for name in parts[0].measures},
            **{name: joined(name) for name in ("trace", "rewards", "acting", "cut")},
        )

    def each(self) -> Iterator[Rollouts]:
        """The episodes one by one."""
        ends = np.cumsum(self.lengths)
        for k, (start, end) in enumerate(zip(ends - self.lengths, ends, strict=True)):
            rows, own = slice(start, end), slice(k, k + 1)
            yield Rollouts(
                self.returns[own],
                self.lengths[own],
                None if self.observations is None else tuple(seen[rows] for seen in self.observations),
                {name: values[own] for name, values in self.measures.items()},
                None if self.rewards is None else self.rewards[rows],
                None if self.trace is None else self.trace[own],
                None if self.acting is None else self.acting[rows],
                None if self.cut is None else self.cut[own],
            )

    def moments(self, agent: int) -> np.ndarray:
        """The rows in which an agent's action counted, bool [S]."""
        return np.ones(int(self.lengths.sum()), bool) if self.acting is None else self.acting[:, agent]

    def ended(self, horizon: int) -> np.ndarray:
        """Which episodes the game ended and no time limit, bool [E]; if it does not tell: those before the horizon."""
        return self.lengths < horizon if self.cut is None else ~self.cut


class Estimate(Struct, frozen=True):
    """A mean with its 95 % interval."""

    mean: float
    ci95: float  # half the width of the interval; not a number if it is not known
    count: int = 0  # independent values behind the mean; files do not say it

    @staticmethod
    def of(values: np.ndarray | Sequence[float]) -> Estimate:
        """Estimate the mean of independent values by Student's t; fewer than two have no interval (not a number).

        To compare two policies on common seeds, pass the differences seed by seed.
        """
        from scipy.special import stdtrit  # scipy takes longer to import than all else here

        values = np.asarray(values, float)
        count = len(values)
        half = stdtrit(count - 1, 0.975) * values.std(ddof=1) / np.sqrt(count) if count > 1 else math.nan
        return Estimate(float(values.mean()) if count else math.nan, float(half), count)

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - self.ci95

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + self.ci95

    def among(self, comparisons: int) -> Estimate:
        """With an interval so wide that so many of them are all right at once with 95 % confidence (Bonferroni)."""
        from scipy.special import stdtrit

        if comparisons < 2 or self.count < 2:
            return self
        wider = stdtrit(self.count - 1, 1 - 0.025 / comparisons) / stdtrit(self.count - 1, 0.975)
        return Estimate(self.mean, float(self.ci95 * wider), self.count)

    def __format__(self, spec: str) -> str:
        """Write `145.2 ± 0.6`; the format (default: .2f) is for both numbers, a sign in it for the mean alone."""
        spec = spec or ".2f"
        mean, half = format(self.mean, f"z{spec}" if spec[0] != "+" else f"+z{spec[1:]}"), spec.lstrip("+")
        return f"{mean} ± {self.ci95:{half}}" if math.isfinite(self.ci95) else mean

    def __str__(self) -> str:
        return format(self)


class StreetRecord(Struct, frozen=True, kw_only=True):
    """What happened on a road into a signal, over some episodes."""

    street: str  # "signal-2 from west (Station Road)"
    agent: str  # the signal's
    served: float  # vehicles that passed the signal, per episode
    mean_wait: float  # seconds that its vehicles lost on the way to the signal, waiting to enter included
    longest_wait: float  # seconds that anybody stood still or waited to enter, in any episode
    level_of_service: str | None  # A to F, by the mean wait; null if nobody came
    outside: float  # vehicles that could not enter behind it, at the end of an episode
