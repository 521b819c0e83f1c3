"""One whole distillation by this package in a process of its own, so that its time and memory are nobody else's.

`python -m benchmarks.distillation '{"train_budget": 500}'` prints one JSON object on stdout.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydraviper.algorithm import Distilled, distill
from hydraviper.engines.local import LocalEngine
from hydraviper.experts import store
from hydraviper.experts.networks import NetworkExpert
from hydraviper.games.catalogue import make
from hydraviper.ledger import Ledger
from hydraviper.protocols import Game
from hydraviper.settings import Settings

GAME = "cooperative-navigation"
SMALL = {"iterations": 4, "train_budget": 60, "valid_budget": 40}  # runs every kernel, and little else


def find_expert(path: str | None, game: Game) -> NetworkExpert:
    """The expert of a file, or the one that comes with the package; its critics use every core."""
    expert = store.load(Path(path), game) if path else store.shipped(game)
    return replace(expert, workers=os.cpu_count() or 1)


def run(settings: Settings, expert: NetworkExpert) -> Distilled:
    """Distil on all cores, as the command line does."""
    game = make(GAME)
    with LocalEngine(lambda: make(GAME), os.cpu_count() or 1) as engine:
        return distill(game, expert, settings, engine=engine, ledger=Ledger())


def peak_megabytes() -> float:
    """The most memory this process ever held, or its largest child if that is larger.

    Linux counts the parent's memory at the start into `ru_maxrss`; VmHWM begins anew with the program.
    """
    unit = 1024 if sys.platform == "darwin" else 1  # ru_maxrss is in bytes there, in kilobytes elsewhere
    own, children = (
        resource.getrusage(who).ru_maxrss / unit for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    status = Path("/proc/self/status")
    if status.is_file():
        own = float(status.read_text().split("VmHWM:")[1].split()[0])
    return max(own, children) / 1024


def measure(settings: Settings, expert: NetworkExpert, repetitions: int) -> dict[str, Any]:
    """The quickest of some equal runs: seconds, where they went, rollouts of each iteration, memory."""
    quickest: dict[str, Any] = {}
    for _ in range(repetitions):
        start = time.perf_counter()
        ledger = run(settings, expert).ledger
        seconds = time.perf_counter() - start
        if not quickest or seconds < quickest["seconds"]:
            quickest = {"seconds": seconds, "steps": ledger.seconds, "rollouts": ledger.rollouts}
            quickest["per_iteration"] = [line.rollouts for line in ledger.lines]
    return quickest | {"megabytes": peak_megabytes()}


def main() -> None:
    """Measure the run that the arguments describe."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("settings", help="settings as JSON; what is left out keeps its default")
    parser.add_argument("--expert", help="an expert's file; default: the one that comes with the package")
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--cold", action="store_true", help="do not compile or load the kernels beforehand")
    options = parser.parse_args()
    expert = find_expert(options.expert, make(GAME))
    if not options.cold:
        run(Settings(**SMALL), expert)
    print(json.dumps(measure(Settings(**json.loads(options.settings)), expert, options.repetitions)))


if __name__ == "__main__":
    main()
