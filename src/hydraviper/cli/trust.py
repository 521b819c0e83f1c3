"""A path that a file names is opened only if a person has named it as well, on this machine."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import typer

from hydraviper.data import InputError

OPTION = "--trust-path"  # of every command


def named(path: Path) -> None:
    """Remember that the user named a path."""
    if path in _known():
        return
    try:
        _list().parent.mkdir(parents=True, exist_ok=True)
        with _list().open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(str(path)) + "\n")
    except OSError:
        pass  # nothing is lost but that the user will be asked


def ask(path: Path) -> None:
    """Refuse a path that only a file has named, unless the user agrees: at the terminal, or by the option."""
    if path in _known():
        return
    if OPTION not in sys.argv:
        is_terminal = sys.stdin.isatty() and sys.stderr.isatty()
        question = f"The trees are for a game in the file {path}, which you have not named before. Open it?"
        if not is_terminal or not typer.confirm(question, err=True):
            raise InputError(
                f"the trees are for a game in the file {path}, which nobody has named on this machine: "
                f"add {OPTION} if you trust both."
            )
    named(path)


def _list() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()) / "hydraviper" / "paths"


def _known() -> set[Path]:
    try:
        return {Path(json.loads(line)) for line in _list().read_text(encoding="utf-8").splitlines()}
    except (OSError, ValueError, TypeError):
        return set()
