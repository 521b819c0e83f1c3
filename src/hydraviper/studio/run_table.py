"""The list of runs on a page, as one element."""

import time
from collections.abc import Callable, Sequence

from nicegui.element import Element

from hydraviper.runs.following import FINISHED
from hydraviper.runs.listing import Listed
from hydraviper.studio.frame import address

HEADS = ("compare", "run", "state", "game", "algorithm", "depth", "seed", "score", "expert", "when")


class RunTable(Element, component="run_table.js"):
    """A row per run; `chosen` is told the names of those that are to be compared."""

    def __init__(self, found: Sequence[Listed], chosen: Callable[[list[str]], object]) -> None:
        super().__init__()
        self._props |= {"heads": list(HEADS), "rows": [_row(one) for one in found]}
        self.on("chosen", lambda event: chosen([str(name) for name in event.args]))


def _row(one: Listed) -> dict[str, object]:
    score = "" if one.score is None else f"{one.score.name} {one.score.mean:.2f} ± {one.score.ci95:.2f}"
    expert = "" if one.expert is None else f"{one.expert.mean:.2f}"
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.changed))
    depth, seed = ("" if value is None else str(value) for value in (one.depth, one.seed))
    return {
        "name": one.name,
        "address": address(one.name, "trees" if one.state == FINISHED else "follow"),
        "scored": one.score is not None,
        "cells": [one.problem or one.state, one.game, one.algorithm, depth, seed, score, expert, when],
    }
