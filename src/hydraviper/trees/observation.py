"""An agent's observation from a file: JSON by names or in order, or a row of CSV."""

import csv
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hydraviper.data import Agent, InputError
from hydraviper.trees.file import place_of, shortened


def read_observation(text: str, agent: Agent) -> np.ndarray:
    """The features [F] in the agent's order, from one of

    - a JSON object by feature names, all of them,
    - a JSON list in the order of the features,
    - CSV: a line of numbers in that order, or a line of feature names and a line of numbers.
    """
    if text.lstrip()[:1] in ("{", "["):
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"the observation is not JSON ({error}): write an object by feature names.") from None
        return from_values(values, agent)
    try:
        rows = list(csv.reader(text.splitlines(), skipinitialspace=True))
    except csv.Error as error:
        raise InputError(f"the observation is not CSV ({error}): write a line of numbers.") from None
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if len(rows) == 1:
        return _from_list(rows[0], agent)
    if len(rows) == 2:
        if len(rows[0]) != len(rows[1]):
            raise InputError(
                f"the observation has {len(rows[0])} names and {len(rows[1])} numbers: write one for each."
            )
        return _from_names(dict(zip((name.strip() for name in rows[0]), rows[1], strict=True)), agent)
    raise InputError(f"the observation has {len(rows)} lines: write one, or one of names and one of numbers.")


def from_values(values: Mapping[str, object] | Sequence[object], agent: Agent) -> np.ndarray:
    """The features [F] in the agent's order, from values by feature names or in that order."""
    return _from_names(values, agent) if isinstance(values, Mapping) else _from_list(values, agent)


def _from_names(values: Mapping[str, object], agent: Agent) -> np.ndarray:
    for name in values:
        place_of(name, agent.features, f"{agent.name} has no feature")
    missing = [name for name in agent.features if name not in values]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(f"the observation lacks {missing[0]!r}{more}: it needs all {len(agent.features)} features.")
    return _from_list([values[name] for name in agent.features], agent)


def _from_list(values: Sequence[Any], agent: Agent) -> np.ndarray:
    if len(values) != len(agent.features):
        raise InputError(f"the observation has {len(values)} numbers: {agent.name} sees {len(agent.features)}.")
    out = np.zeros(len(values), np.float32)
    for k, (name, value) in enumerate(zip(agent.features, values, strict=True)):
        try:
            with np.errstate(over="ignore"):
                out[k] = float(value)
        except (TypeError, ValueError, OverflowError):
            out[k] = np.nan
        if not np.isfinite(out[k]):
            raise InputError(
                f"the observation's {name!r} is {shortened(value)}: write a number that single precision can hold."
            )
    return out
