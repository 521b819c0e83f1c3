"""What a file names is opened only if a person has named it as well, on this machine."""

import json
import os
from collections.abc import Callable
from pathlib import Path

from hydraviper.data import InputError

OPTION = "--trust-path"  # of every command: open what a run's files name
CODE = "--trust"  # of every command: run code that an expert's file holds
Ask = Callable[[str], bool]  # puts a question to the user: yes or no


def remember(what: Path | str) -> None:
    """Remember that the user named a path, or code (as `from_here` has it)."""
    if str(what) in _known():
        return
    try:
        _list().parent.mkdir(parents=True, exist_ok=True)
        with _list().open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(str(what)) + "\n")
    except OSError:
        pass  # nothing is lost but that the user will be asked


def check(source: Path | str, ask: Ask) -> None:
    """Refuse a file, or code (as text), that a game is made from if only trees.json names it and no user agrees."""
    named = source if isinstance(source, Path) else from_here(source)
    if str(named) in _known():
        return
    where, verb = ("in the file", "Open") if isinstance(source, Path) else ("made by the code", "Run")
    if not ask(f"The trees are for a game {where} {source}, which you have not named before. {verb} it?"):
        raise InputError(
            f"the trees are for a game {where} {source}, which nobody has named on this machine: "
            f"add {OPTION} if you trust both."
        )
    remember(named)


def check_expert(name: str, ask: Ask) -> None:
    """Refuse an expert that runs code and that only a file has named, unless the user agrees."""
    if from_here(name) in _known():
        return
    if not ask(f"The trees were made from the expert {name}, which you have not named before. Run its code?"):
        raise InputError(
            f"the trees were made from the expert {name}, whose code nobody has asked for on this machine: add "
            f"{OPTION} if you trust both, or pass an expert with --expert."
        )
    remember(from_here(name))


def from_here(name: str) -> str:
    """A game or an expert that runs code, as it is remembered: elsewhere its name may stand for another module."""
    return f"{name} from {Path.cwd()}"


def _list() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()) / "hydraviper" / "paths"


def _known() -> set[str]:
    try:
        return {str(json.loads(line)) for line in _list().read_text(encoding="utf-8").splitlines()}
    except (OSError, ValueError, TypeError):
        return set()
