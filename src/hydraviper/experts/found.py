"""What an adapter finds in a file of another framework, and what all adapters share."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from hydraviper.data import InputError
from hydraviper.protocols import Game, offers


@dataclass(frozen=True)
class Wanted:
    """What an adapter is asked for: the policy of one agent."""

    game: Game
    agent: int
    options: Mapping[str, str]  # what the user wrote behind the file's name
    trust: bool  # whether the file may run code

    @property
    def name(self) -> str:
        """The agent's name, as the environment calls it."""
        foreign = offers(self.game).foreign
        return self.game.agents[self.agent].name if foreign is None else foreign.agents[self.agent]


@dataclass(frozen=True)
class Found:
    """A policy of one agent, not yet fitted to a game."""

    network: Callable[[Any], np.ndarray]  # what it is shown, a batch -> answers [B, A], or chosen actions [B]
    answers: str  # what they are: VALUES, PREFERENCES or CHOICES of experts/adapted.py
    contents: str  # a hash of the files that it was made from
    inputs: int | None = None  # how many numbers it must be shown; None if it does not say
    outputs: int | None = None  # how many actions it knows; None if it does not say
    shown: str | None = None  # what it is shown (see there); None: what has that many numbers
    gamma: float | None = None  # the discount that it was trained with, if it says so
    note: str = ""  # a sentence for the user


def needed(package: str, extra: str) -> Any:
    """A package of another framework, or one sentence about how to install it."""
    try:
        return import_module(package)
    except ImportError as error:
        top = package.partition(".")[0]
        why = "" if error.name == top else f" ({error})"
        raise InputError(f"this expert needs the package {top}{why}: install hydraviper[{extra}].") from None


def refuse_pickle(path: Path | str, what: str) -> NoReturn:
    """Say that a file can only be opened by running code of whoever made it."""
    raise InputError(f"{path} holds {what}, and a pickle runs code of whoever made it: add --trust if you trust it.")


def contents(path: Path) -> str:
    """A hash of a file, as `sha256sum` prints it; of a folder, of all files in it and their names."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    files = sorted(file for file in path.rglob("*") if file.is_file())
    lines = (f"{contents(file)} {file.relative_to(path)}" for file in files)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
