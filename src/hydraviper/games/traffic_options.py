"""The parameters of every traffic game, their ranges, and what their absence from an older record means."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import wraps
from typing import Any

from hydraviper.data import InputError
from hydraviper.settings import Range

STEPS = Range(1, 10_000, "an episode has a step", "nobody waits for longer episodes")
SECONDS_PER_STEP = Range(1, 3600, "a signal needs time to switch", "a signal that chooses once an hour is of no use")
YELLOW = Range(0, 60, "0 is no yellow at all", "nobody drives meanwhile")
REACH = Range(0, 10_000, "it is in metres", "no queue is as long as 10 km")
SWITCH = Range(0, 1, "0 switches it off", "1 switches it on")
DEMAND = Range(0.01, 100, "somebody has to drive", "no road takes a hundred times its traffic")
SCORES = ("delay", "stopped")


@dataclass(frozen=True)
class Options:
    """How a traffic game is played. These are the defaults of a game that asks for nothing else."""

    steps: int = 125  # decisions in an episode
    seconds_per_step: int = 20  # between two decisions of a signal
    yellow: int = 3  # seconds
    reach: int = 0  # metres before the stop line that a signal sees; 0: the last piece of road, however long
    moving: int = 1  # 1: a signal also sees the vehicles that roll; 0: only those that stand
    score: str = "stopped"  # delay: seconds lost per vehicle that was due; stopped: vehicles that stand in sight
    demand: float = 1.0  # times the traffic of the scenario

    def __post_init__(self) -> None:
        STEPS.check("steps", self.steps)
        SECONDS_PER_STEP.check("seconds_per_step", self.seconds_per_step)
        YELLOW.check("yellow", self.yellow)
        REACH.check("reach", self.reach)
        SWITCH.check("moving", self.moving)
        DEMAND.check("demand", self.demand)
        if self.score not in SCORES:
            raise InputError(f"there is no score {self.score!r}: choose one of {', '.join(SCORES)}.")
        if self.yellow >= self.seconds_per_step:
            raise InputError(
                f"yellow must be less than the {self.seconds_per_step} seconds of a step, not {self.yellow}."
            )

    def to_json(self) -> dict[str, Any]:
        """Every parameter by its name."""
        return asdict(self)


DEFAULTS = Options()
OWN_NETWORK = replace(DEFAULTS, reach=100)  # maps that people make cut roads into pieces
# Records that were written before a parameter existed were played with these.
BEFORE: Mapping[str, Any] = {"score": "stopped", "demand": 1.0}


def parametrised(defaults: Options) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let the maker of a game, whose last argument is its options, take each of them by name."""

    def decorate(make: Callable[..., Any]) -> Callable[..., Any]:
        own = [parameter for name, parameter in inspect.signature(make).parameters.items() if name != "options"]
        names = {parameter.name for parameter in own}
        options = [
            inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=getattr(defaults, field.name))
            for field in fields(Options)
        ]

        @wraps(make)
        def made(*subject: Any, **given: Any) -> Any:
            named = {name: value for name, value in given.items() if name in names}
            chosen = {name: value for name, value in given.items() if name not in names}
            return make(*subject, **named, options=replace(defaults, **chosen))

        made.__signature__ = inspect.Signature([*own, *options])  # pyright: ignore[reportAttributeAccessIssue]
        return made

    return decorate
