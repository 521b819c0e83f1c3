"""Print safely on any terminal: of any encoding and width, and names that hold control characters."""

import codecs
import io
import os
import sys
import unicodedata
from typing import Any

from rich.console import Console

_NARROWEST = 20  # columns; some programs set COLUMNS to 0, with which rich would print nothing
_PLAIN = {
    "≤": "<=", "≥": ">=", "→": "->", "±": "+-", "−": "-", "–": "-", "·": "|", "…": "...", "×": "x", "“": '"', "”": '"',
    "├": "|", "└": "`", "│": "|", "─": "-", "■": "#",
}  # fmt: skip


class _Console(Console):
    """A console that shows control characters instead of obeying them."""

    def print(self, *objects: Any, **how: Any) -> None:
        super().print(*(shown(one) if isinstance(one, str) else one for one in objects), **how)


def console(stderr: bool = False) -> Console:
    """A console for messages; it ignores a COLUMNS that is too narrow for anything."""
    width = os.environ.get("COLUMNS", "")
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    if width.isdecimal() and int(width) >= _NARROWEST:
        environment["COLUMNS"] = width
    return _Console(stderr=stderr, markup=False, highlight=False, _environ=environment)


def prepare() -> None:
    """Replace characters that the terminal's encoding lacks by plain signs, instead of failing on them."""
    codecs.register_error("hydraviper", _in_plain_signs)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="hydraviper")


def print_document(text: str) -> None:
    """Print the content of a file in UTF-8, whatever the terminal's encoding."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="hydraviper")
    print(text, end="" if text.endswith("\n") else "\n")


def shown(text: str) -> str:
    """The text with control characters written out, as \\x1b; line breaks and tabs stay."""
    return "".join(c if c in "\n\t" or unicodedata.category(c) != "Cc" else f"\\x{ord(c):02x}" for c in text)


def _in_plain_signs(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    escaped = (_PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in missing)
    return "".join(escaped), error.end
