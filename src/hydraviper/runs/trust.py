"""A path or code that a file names is opened or run only if a person has named it as well, on this machine."""

import json
import os
from collections.abc import Callable
from pathlib import Path

from hydraviper.data import InputError

OPTION = "--trust-path"  # of every command
Ask = Callable[[str], bool]  # puts a question to the user: yes or no


def remember(path: Path | str) -> None:
    """Remember that the user named a path or code."""
    if str(path) in _known():
        return
    try:
        _list().parent.mkdir(parents=True, exist_ok=True)
        with _list().open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(str(path)) + "\n")
    except OSError:
        pass  # nothing is lost but that the user will be asked


def check(path: Path | str, ask: Ask) -> None:
    """Refuse a path, or code (as text), that only a file has named, unless the user agrees."""
    if str(path) in _known():
        return
    where, verb = ("in the file", "Open") if isinstance(path, Path) else ("made by the code", "Run")
    if not ask(f"The trees are for a game {where} {path}, which you have not named before. {verb} it?"):
        raise InputError(
            f"the trees are for a game {where} {path}, which nobody has named on this machine: "
            f"add {OPTION} if you trust both."
        )
    remember(path)


def _list() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()) / "hydraviper" / "paths"


def _known() -> set[str]:
    try:
        return {str(json.loads(line)) for line in _list().read_text(encoding="utf-8").splitlines()}
    except (OSError, ValueError, TypeError):
        return set()
