"""The parameters of every game that is an environment of another package, beside the environment's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from hydraviper.data import InputError
from hydraviper.games.environments.spaces import FLAGS, NUMBER
from hydraviper.games.environments.teams import SCORES
from hydraviper.settings import Range

STEPS = Range(1, 1_000_000, "an episode has a step", "nobody waits for longer episodes")
INSTANCES = Range(1, 2048, "somebody has to play", "each takes memory of its own")
OWN = "env."  # before a parameter of the environment that is called like one of these


@dataclass(frozen=True)
class EnvironmentOptions:
    """How an environment is played as a game."""

    steps: int | None = None  # an episode's most steps; None: the environment's own limit
    distil: str | None = None  # who gets trees: names or their beginnings, + within a team, / between teams
    score: str = "mean"  # mean or total of the distilled agents' returns, penalty, or lead over the others
    names: str | None = None  # a TOML file with names of features and actions
    discrete: str = NUMBER  # a Discrete observation is one number, or one flag per value
    instances: int = 32  # environments that one process steps in turn

    def __post_init__(self) -> None:
        for name, allowed in (("steps", STEPS), ("instances", INSTANCES)):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
                raise InputError(f"{name} must be a whole number, not {value!r}.")
            allowed.check(name, value)
        for name, known in (("score", SCORES), ("discrete", (NUMBER, FLAGS))):
            if getattr(self, name) not in known:
                raise InputError(f"there is no {name} {getattr(self, name)!r}: choose one of {', '.join(known)}.")
        for name in ("distil", "names"):
            if not isinstance(getattr(self, name), str | None):
                raise InputError(f"{name} must be a word, not {getattr(self, name)!r}.")

    @staticmethod
    def of(values: Mapping[str, Any]) -> EnvironmentOptions:
        """The options of these names; a value of the wrong kind is refused."""
        return EnvironmentOptions(**values)

    def changed(self) -> dict[str, object]:
        """What differs from the defaults, by name."""
        return {name: getattr(self, name) for name in NAMES if getattr(self, name) != getattr(DEFAULTS, name)}


NAMES = tuple(field.name for field in fields(EnvironmentOptions))
DEFAULTS = EnvironmentOptions()


def divided(parameters: Mapping[str, object]) -> tuple[EnvironmentOptions, dict[str, object]]:
    """Which of a game's parameters are options, and which the environment's own, by the names that it knows."""
    options = {name: value for name, value in parameters.items() if name in NAMES}
    own = {name.removeprefix(OWN): value for name, value in parameters.items() if name not in NAMES}
    return EnvironmentOptions.of(options), own


def joined(options: EnvironmentOptions, own: Mapping[str, object]) -> dict[str, object]:
    """The parameters that `divided` takes apart."""
    return {**{f"{OWN}{name}" if name in NAMES else name: value for name, value in own.items()}, **options.changed()}
