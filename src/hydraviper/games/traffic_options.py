"""The parameters of every traffic game, their ranges, and what their absence from an older record means."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import wraps
from typing import Any

from hydraviper.data import InputError
from hydraviper.settings import DEMAND, Range

STEPS = Range(1, 10_000, "an episode has a step", "nobody waits for longer episodes")
SECONDS_PER_STEP = Range(1, 3600, "a signal needs time to switch", "a signal that chooses once an hour is of no use")
YELLOW = Range(0, 60, "0 is no yellow at all", "nobody drives meanwhile")
NEAR = Range(0, 10_000, "it is in metres", "no queue is as long as 10 km")
REACH = Range(0, 10_000, "it is in metres", "no queue is as long as 10 km")
SWITCH = Range(0, 1, "0 switches it off", "1 switches it on")
VARIATION = Range(0, 0.9, "it is a share", "somebody has to drive every day")
ALL_RED = Range(0, 60, "it is in seconds", "nobody drives meanwhile")
MIN_GREEN = Range(0, 600, "it is in seconds", "a signal has to react")
MAX_RED = Range(0, 3600, "0 is no limit", "nobody waits for an hour")
CLEARANCE = Range(0, 60, "0 waits for nobody", "nobody drives meanwhile")
SCORES = ("delay", "stopped")
LOOPS = "loops"
DETECTORS = ("full", LOOPS)
AUTO = "auto"  # yellow by the speed that is allowed on a signal's approaches; max_red as below
LONGEST_RED = 120  # seconds of max_red=auto, where a signal's phases need no more to take turns


@dataclass(frozen=True)
class Options:
    """How a traffic game is played. These are the defaults of a game that asks for nothing else."""

    steps: int = 125  # decisions in an episode
    seconds_per_step: int = 20  # between two decisions of a signal
    yellow: int | str = 3  # seconds, or auto
    reach: int = 200  # metres before the stop line that a signal sees; 0: the last piece of road, however long
    near: int = 0  # metres within which rolling vehicles are told from those that are still coming; 0: no difference
    moving: int = 1  # 1: a signal also sees the vehicles that roll; 0: only those that stand
    score: str = "delay"  # delay: seconds lost per vehicle that was due; stopped: vehicles that stand, anywhere
    demand: float = 1.0  # times the traffic of the scenario
    variation: float = 0.2  # share by which demand differs from day to day in the episodes that trees are made by
    memory: int = 1  # 1: a signal also knows how long its phases have been red, and who stands in its junction
    detectors: str = "full"  # full: every vehicle in sight is counted; loops: what induction loops tell
    min_green: int = 5  # seconds that a phase stays green at least
    all_red: int = 0  # seconds between yellow and the next green
    max_red: int | str = AUTO  # seconds within which a movement with waiting vehicles gets green; 0: no limit
    clearance: int = 10  # seconds that a green waits at most for slow vehicles that are still inside the junction

    def __post_init__(self) -> None:
        STEPS.check("steps", self.steps)
        SECONDS_PER_STEP.check("seconds_per_step", self.seconds_per_step)
        for name, range_ in (("yellow", YELLOW), ("max_red", MAX_RED)):
            value = getattr(self, name)
            if value != AUTO and not isinstance(value, int):
                raise InputError(f"{name} must be a whole number of seconds or {AUTO}, not {value!r}.")
            range_.check(name, None if isinstance(value, str) else value)
        REACH.check("reach", self.reach)
        NEAR.check("near", self.near)
        SWITCH.check("moving", self.moving)
        SWITCH.check("memory", self.memory)
        ALL_RED.check("all_red", self.all_red)
        MIN_GREEN.check("min_green", self.min_green)
        CLEARANCE.check("clearance", self.clearance)
        DEMAND.check("demand", self.demand)
        VARIATION.check("variation", self.variation)
        for name, known in (("score", SCORES), ("detectors", DETECTORS)):
            if getattr(self, name) not in known:
                raise InputError(f"there is no {name} {getattr(self, name)!r}: choose one of {', '.join(known)}.")
        if isinstance(self.yellow, int) and self.yellow >= self.seconds_per_step:
            raise InputError(
                f"yellow must be less than the {self.seconds_per_step} seconds of a step, not {self.yellow}."
            )

    def to_json(self) -> dict[str, object]:
        """Every parameter by its name."""
        return asdict(self)


DEFAULTS = Options()
# For signals on a street: an episode is an hour.
OWN_NETWORK = Options(steps=720, seconds_per_step=5, yellow=AUTO, near=100)
WITH_LOOPS: Mapping[str, Any] = {"clearance": 0, "all_red": 2}
# As RESCO plays its maps: an hour each, and one of them with other seconds.
RESCO = Options(steps=360, seconds_per_step=10)
RESCO_DIFFERENCES: Mapping[str, Mapping[str, object]] = {"arterial4x4": {"seconds_per_step": 5, "yellow": 2}}
# Records that were written before a parameter existed were played with these.
BEFORE: Mapping[str, object] = {
    **{"score": "stopped", "demand": 1.0, "variation": 0.0, "memory": 0, "detectors": "full", "near": 0},
    **{"min_green": 0, "all_red": 0, "max_red": 0, "clearance": 0},
}


def parametrised(
    defaults: Options,
    most_seconds: Callable[..., float] = lambda *subject, **named: math.inf,
    differences: Callable[..., Mapping[str, object]] = lambda *subject, **named: {},
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let the maker of a game, whose last argument is its options, take each of them by name.

    An episode takes as long as by default, however often signals decide, unless its steps are given. `most_seconds`
    tells, from what else the maker is given, how long it can take, and `differences` which other defaults it has.
    Loops do not tell who is inside a junction: there all-red takes the place of clearance, unless these are given.
    """

    def decorate(make: Callable[..., Any]) -> Callable[..., Any]:
        own = [parameter for name, parameter in inspect.signature(make).parameters.items() if name != "options"]
        names = {parameter.name for parameter in own}
        options = [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=getattr(defaults, field.name),
                annotation=field.type,
            )
            for field in fields(Options)
        ]

        @wraps(make)
        def made(*subject: object, **given: object) -> Any:
            named = {name: value for name, value in given.items() if name in names}
            chosen = {name: value for name, value in given.items() if name not in names}
            options = replace(defaults, **{**differences(*subject, **named), **chosen})
            if options.detectors == LOOPS:
                options = replace(options, **{k: v for k, v in WITH_LOOPS.items() if k not in chosen})
            if "steps" not in chosen:
                length = min(defaults.steps * defaults.seconds_per_step, most_seconds(*subject, **named))
                options = replace(options, steps=max(1, int(length // options.seconds_per_step)))
            return make(*subject, **named, options=options)

        made.__signature__ = inspect.Signature([*own, *options])  # pyright: ignore[reportAttributeAccessIssue]
        return made

    return decorate
