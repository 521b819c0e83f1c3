"""What an environment shows, as numbers with names, and back: the observation spaces of Gymnasium."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from hydraviper.data import Domain, InputError

MASK = "action_mask"  # the key under which environments say which actions are allowed
MOST_FEATURES = 10_000  # nobody reads a tree over more
NUMBER, FLAGS = "number", "flags"  # ways to show one of several values


@dataclass(frozen=True)
class Part:
    """A space without spaces inside, as columns of a row of features."""

    path: tuple[Any, ...]  # keys and indices that lead to it
    columns: slice
    shape: tuple[int, ...]
    dtype: np.dtype
    domain: tuple[str, float | None, float | None]  # values, least and most, as in `Domain`
    start: int = 0  # the first value of a Discrete space
    flags: bool = False  # one column per value, of which one is 1

    @property
    def name(self) -> str:
        """Its path in words."""
        words = [str(word) for word in self.path] or ["observation"]
        return re.sub(r"[\s<>=\[\]*]+", " ", " ".join(words)).strip() or "observation"

    @property
    def names(self) -> list[str]:
        """A name for every column."""
        if self.flags:
            return [f"{self.name} is {self.start + k}" for k in range(self.columns.stop - self.columns.start)]
        if not self.shape:
            return [self.name]
        return [" ".join([self.name, *map(str, place)]) for place in np.ndindex(*self.shape)]

    def write(self, row: np.ndarray, value: Any, whose: str) -> None:
        """Put a value into its columns of a row [F]."""
        value = np.asarray(value)
        if value.shape != self.shape:
            raise InputError(
                f"{whose} was shown {self.name!r} of shape {value.shape}, but its space says {self.shape}: trees need "
                "the same features in every step, so pad what the environment shows."
            )
        if self.flags:
            row[self.columns] = 0
            row[self.columns.start + int(value) - self.start] = 1
        else:
            row[self.columns] = value.ravel()

    def read(self, features: np.ndarray) -> np.ndarray:
        """The values [B, *shape] that stand in rows of features [B, F]."""
        columns = features[:, self.columns]
        if self.flags:
            return (columns.argmax(axis=1) + self.start).astype(self.dtype)
        return columns.reshape(len(features), *self.shape).astype(self.dtype)


@dataclass(frozen=True)
class Sight:
    """How one agent's observations become a row of features, and back."""

    whose: str
    space: Any  # the environment's own
    parts: tuple[Part, ...]
    mask: slice | None = None  # columns that say which actions are allowed
    told: bool = False  # whether the mask comes beside the observation, in an info

    @staticmethod
    def of(whose: str, space: object, discrete: str) -> Sight:
        """The sight of an agent whose observations lie in a space."""
        parts: list[Part] = []
        for path, inner in sorted(_leaves(space, (), whose), key=lambda leaf: leaf[0] == (MASK,)):  # a mask comes last
            start = parts[-1].columns.stop if parts else 0
            parts.append(_part(path, inner, start, discrete))
        size = parts[-1].columns.stop if parts else 0
        if not 0 < size <= MOST_FEATURES:
            raise InputError(
                f"{whose} is shown {size:,} numbers: trees read 1 to {MOST_FEATURES:,}, so wrap the environment to "
                "show what matters in words of its own."
            )
        return Sight(whose, space, tuple(parts))

    def with_mask(self, actions: int, info: object) -> Sight:
        """The sight with its mask, if there is one: in the observation, or in the info that came with the first one."""
        inside = next((part.columns for part in self.parts if part.path == (MASK,)), None)
        told = info.get(MASK) if isinstance(info, dict) and inside is None else None
        if told is not None:
            inside = slice(self.size, self.size + np.size(told))
        if inside is None:
            return self
        if inside.stop - inside.start != actions:
            entries = inside.stop - inside.start
            raise InputError(f"{self.whose} has {actions} actions, but its {MASK} has {entries} entries: one each.")
        return replace(self, mask=inside, told=told is not None)

    @cached_property
    def size(self) -> int:
        """How many features there are."""
        return self.mask.stop if self.mask is not None and self.told else self.parts[-1].columns.stop

    @cached_property
    def plain(self) -> tuple[int, ...] | None:
        """The shape of a space that is one list of numbers, which needs no taking apart; else None."""
        one = self.parts[0]
        return one.shape if len(self.parts) == 1 and not one.path and len(one.shape) == 1 and not self.told else None

    @property
    def names(self) -> list[str]:
        """A name for every feature but those of the mask, as its space gives it."""
        names = [name for part in self.parts for name in part.names]
        return names if self.mask is None else names[: self.mask.start]

    def domains(self, names: Sequence[str], agent: str) -> Iterator[Domain]:
        """What is true of the features of spaces that hold whole numbers; bounds of others are not always kept."""
        for part in self.parts:
            values, least, most = part.domain
            if values != "real" and part.columns != self.mask:
                yield Domain(tuple(names[part.columns]), values, least, most, (agent,))
        if self.mask is not None:
            yield Domain(tuple(names[self.mask]), "flag", agent=(agent,))

    def write(self, row: np.ndarray, observation: Any, info: Any = None) -> None:
        """Put an observation, and the mask of an info, into a row of features [F]."""
        if self.plain is not None and isinstance(observation, np.ndarray) and observation.shape == self.plain:
            row[:] = observation
            return
        for part in self.parts:
            value = observation
            try:
                for key in part.path:
                    value = value[key]
            except (KeyError, IndexError, TypeError):
                raise InputError(f"{self.whose} was not shown {part.name!r}, though its space has it.") from None
            part.write(row, value, self.whose)
        if self.told and self.mask is not None and isinstance(info, dict) and MASK in info:
            row[self.mask] = np.asarray(info[MASK]).ravel()

    def read(self, features: np.ndarray) -> Any:
        """Observations in the environment's own structure, one array [B, ...] per part, from features [B, F]."""
        return _nested(self.space, (), {part.path: part.read(features) for part in self.parts})

    def allowed(self, features: np.ndarray, actions: int) -> np.ndarray:
        """The actions that the mask allows, bool [B, A]; all of them without a mask."""
        if self.mask is None:
            return np.ones((len(features), actions), bool)
        return features[:, self.mask] > 0.5


def _leaves(space: object, path: tuple[object, ...], whose: str) -> Iterator[tuple[tuple[Any, ...], Any]]:
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        for key, inner in space.spaces.items():
            yield from _leaves(inner, (*path, key), whose)
    elif isinstance(space, spaces.Tuple):
        for key, inner in enumerate(space.spaces):
            yield from _leaves(inner, (*path, key), whose)
    elif isinstance(space, spaces.Box | spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary):
        yield path, space
    else:
        raise InputError(
            f"{whose} is shown a {type(space).__name__}, which has no fixed list of numbers: wrap the environment to "
            "show a Box, Discrete, MultiDiscrete, MultiBinary, Dict or Tuple."
        )


def _part(path: tuple[Any, ...], space: Any, start: int, discrete: str) -> Part:
    from gymnasium import spaces

    size = math.prod(space.shape)
    if isinstance(space, spaces.Discrete):
        first, count = int(space.start), int(space.n)
        if discrete == FLAGS:
            domain = ("flag", None, None)
            return Part(path, slice(start, start + count), (), np.dtype(np.int64), domain, first, flags=True)
        domain = ("whole", first, first + count - 1)
        return Part(path, slice(start, start + 1), (), np.dtype(np.int64), domain, first)
    if isinstance(space, spaces.MultiBinary):
        domain = ("flag", None, None)
    elif isinstance(space, spaces.MultiDiscrete) or np.issubdtype(space.dtype, np.integer):
        low = space.start if isinstance(space, spaces.MultiDiscrete) else space.low
        high = space.start + space.nvec - 1 if isinstance(space, spaces.MultiDiscrete) else space.high
        domain = ("whole", float(np.min(low)), float(np.max(high)))
    else:
        domain = ("real", None, None)
    return Part(path, slice(start, start + size), tuple(space.shape), np.dtype(space.dtype), domain)


def _nested(space: object, path: tuple[object, ...], values: Mapping[tuple[object, ...], np.ndarray]) -> Any:
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        return {key: _nested(inner, (*path, key), values) for key, inner in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_nested(inner, (*path, key), values) for key, inner in enumerate(space.spaces))
    return values[path]
