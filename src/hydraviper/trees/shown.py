"""How notebooks show trees: `drawing/notebooks.py` lends the functions, as trees know nothing of drawing."""

from collections.abc import Callable
from typing import Any

drawers: dict[type, Callable[[Any], str]] = {}


def html_of(value: object) -> str | None:
    """The drawing of a value as HTML; None, and notebooks show its text, where nothing has been lent."""
    draw = drawers.get(type(value))
    return None if draw is None else draw(value)
