"""Python functions as policies: `python:PACKAGE.MODULE:NAME`, or any callable. Naming one runs its module's code."""

import hashlib
import inspect
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hydraviper.data import InputError
from hydraviper.experts.adapted import CHOICES, OWN, AdaptedQ, RowByRow
from hydraviper.outside import callable_named
from hydraviper.protocols import Foreign, Game, offers


def named(place: str) -> Any:
    """What PACKAGE.MODULE:NAME stands for: a function, or an object of a class, made without arguments."""
    found = callable_named(place)
    return found() if inspect.isclass(found) else found


def contents(place: str) -> str:
    """A hash of the module's source, and the name in it."""
    file = getattr(sys.modules.get(place.partition(":")[0]), "__file__", None)
    source = Path(file).read_bytes() if file is not None and Path(file).is_file() else b""
    return hashlib.sha256(source + place.encode()).hexdigest()


def adapt(game: Game, i: int, load: Callable[[], Callable[..., Any]], digest: str) -> AdaptedQ:
    """A function of one observation, or of one observation and its agent's name, as agent i's policy.

    It is called for one observation at a time and answers with an action, both in the environment's own form. `load`
    gives the function, once in every process.
    """
    agent, foreign = game.agents[i], offers(game).foreign
    sizes = len(agent.features), len(agent.actions)
    network = RowByRow(partial(_choosing, load, agent.name, i, foreign))
    return AdaptedQ(network, *sizes, CHOICES, shown=OWN, agent=i, foreign=foreign, digest=digest)


def itself(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function: `partial(itself, function)` loads what is there already."""
    return function


def _choosing(
    load: Callable[[], Callable[..., Any]], name: str, i: int, foreign: Foreign | None
) -> Callable[[Any], int]:
    """What answers an observation with the number of an action."""
    function = load()
    name = name if foreign is None else foreign.agents[i]
    more = (name,) if _positional(function) > 1 else ()

    def choose(observation: object) -> int:
        try:
            answer = function(observation, *more)
        except Exception as error:
            what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise InputError(f"the function for {name} fails with {what} when it is shown {observation!r}.") from error
        action = np.asarray(answer[0] if isinstance(answer, tuple) else answer)  # SB3's predict adds a state
        try:
            number = (action if foreign is None else foreign.numbers(i, action[None])).item()
            if int(number) != number:
                raise ValueError("an action is a whole number")
            return int(number)
        except (TypeError, ValueError, IndexError):
            raise InputError(f"the function for {name} answered {answer!r}, which is no action.") from None

    return choose


def _positional(function: Callable[..., Any]) -> int:
    """How many arguments a function must be given."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in kinds and one.default is inspect.Parameter.empty for one in parameters)
