"""Code of other people by name: `python:PACKAGE.MODULE:CALLABLE`, and what installed packages add (entry points)."""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from hydraviper.data import InputError

GAMES, EXPERTS = "hydraviper.games", "hydraviper.experts"  # groups of entry points


def callable_named(path: str) -> Callable[..., Any]:
    """The function or class PACKAGE.MODULE:CALLABLE; modules of the working folder are found as well."""
    name, _, inside = path.partition(":")
    if not name or not inside:
        raise InputError(f"python:{path} names no callable: write python:PACKAGE.MODULE:CALLABLE.")
    found: Any = module_named(name, f"python:{path}")
    for part in inside.split("."):
        if not hasattr(found, part):
            raise InputError(f"the module {name} has no {inside!r}: write python:PACKAGE.MODULE:CALLABLE.")
        found = getattr(found, part)
    if not callable(found):
        raise InputError(f"{inside} in {name} cannot be called: name a function or a class.")
    return found


def module_named(name: str, wanted_by: str) -> ModuleType:
    """A module, of an installed package or of the working folder."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # last, so that no file there takes the place of an installed package
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # pygame prints a greeting, which would spoil --json
    try:
        return import_module(name)
    except ImportError as error:
        missing = error.name or name
        if name == missing or name.startswith(f"{missing}."):
            raise InputError(
                f"{wanted_by} needs the module {missing}, which is not here: install its package, or call from the "
                "folder that it lies in."
            ) from None
        raise InputError(
            f"{wanted_by} needs the module {name}, which cannot be imported ({error}): install what it needs."
        ) from None
    except (ValueError, TypeError):
        raise InputError(f"{name!r} is no name of a module: write it as in an import, for {wanted_by}.") from None


def added(group: str) -> dict[str, EntryPoint]:
    """What installed packages add to a group, by name."""
    return {entry.name: entry for entry in entry_points(group=group)}


def loaded(entry: EntryPoint) -> Any:
    """What an entry point names."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        package = entry.dist.name if entry.dist is not None else "its package"
        raise InputError(f"{entry.name} cannot be loaded ({error}): install {package} again.") from None
