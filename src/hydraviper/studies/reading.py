"""Reads results that may be broken: every fault is one sentence, and what comes through can be computed with."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

import jsonschema

from hydraviper.data import InputError
from hydraviper.settings import Settings
from hydraviper.variants import VARIANTS

LONGEST = 160  # letters of a problem that are told


def document(text: bytes) -> Any:
    """The value of a JSON text; what is not a number is no value here."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise InputError("it is nested too deeply") from None
    except ValueError as error:
        raise InputError(f"it is not JSON: {_short(error)}") from None


def result(text: bytes) -> dict[str, Any]:
    """A result file's document, once it is known to hold all that reports compute with."""
    values = document(text)
    if (error := next(_validator().iter_errors(values), None)) is not None:
        where = "/".join(map(str, error.absolute_path)) or "the document"
        raise InputError(f"at {where}, {_short(error.message)}")
    cell = values["cell"]
    if cell["algorithm"] not in VARIANTS:
        raise InputError(f"at cell/algorithm, {_short(repr(cell['algorithm']))} is unknown")
    _check_settings(cell["settings"])
    return values


def _check_settings(values: dict[str, Any]) -> None:
    """Settings check ranges; that a number is a number has to be known before."""
    for name, default in Settings().to_json().items():
        value, kind = values.get(name, default), type(default)
        if default is None or isinstance(default, float):
            fits = (value is None and default is None) or (isinstance(value, int | float) and abs(value) < 1e15)
        else:
            fits = isinstance(value, kind)
        if not fits or (isinstance(value, bool) and kind is not bool):
            raise InputError(f"at cell/settings/{name}, {_short(repr(value))} is no value of it")
    Settings.from_json(values)


@cache
def _validator() -> jsonschema.Draft202012Validator:
    schema = json.loads((resources.files("hydraviper.studies") / "schema.json").read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator(schema)


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number")


def _short(problem: object) -> str:
    words = " ".join(str(problem).split()).rstrip(".")
    return words if len(words) <= LONGEST else words[: LONGEST - 3] + "..."
