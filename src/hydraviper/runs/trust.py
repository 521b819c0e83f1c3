"""A path that a file names is opened only if a person has named it as well, on this machine."""

import json
import os
from collections.abc import Callable
from pathlib import Path

from hydraviper.data import InputError

OPTION = "--trust-path"  # of every command
Ask = Callable[[str], bool]  # puts a question to the user: yes or no


def remember(path: Path) -> None:
    """Remember that the user named a path."""
    if path in _known():
        return
    try:
        _list().parent.mkdir(parents=True, exist_ok=True)
        with _list().open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(str(path)) + "\n")
    except OSError:
        pass  # nothing is lost but that the user will be asked


def check(path: Path, ask: Ask) -> None:
    """Refuse a path that only a file has named, unless the user agrees."""
    if path in _known():
        return
    if not ask(f"The trees are for a game in the file {path}, which you have not named before. Open it?"):
        raise InputError(
            f"the trees are for a game in the file {path}, which nobody has named on this machine: "
            f"add {OPTION} if you trust both."
        )
    remember(path)


def _list() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()) / "hydraviper" / "paths"


def _known() -> set[Path]:
    try:
        return {Path(json.loads(line)) for line in _list().read_text(encoding="utf-8").splitlines()}
    except (OSError, ValueError, TypeError):
        return set()
