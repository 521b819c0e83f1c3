"""Play a run's trees in another version of SUMO: `python -m benchmarks.other_sumo RUN ... --sumo DIR`.

RESCO's figures were made with a SUMO of 2021, in which the same plan on the same map costs drivers more than in
today's. DIR holds another version, e.g. `pip install --no-deps --target DIR eclipse-sumo==1.9.1`. It is called as RESCO
calls it, over TraCI, and delays are read from its own trip information: time lost and time waited to enter.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import subprocess
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import traci

import hydraviper
from hydraviper.data import Estimate
from hydraviper.games import catalogue, simulation
from hydraviper.games.traffic import Traffic
from hydraviper.games.window import _free_port
from hydraviper.profile import Profile

FIRST = 1_000_000  # seeds that no training saw


class Other:
    """Another SUMO over TraCI, with the names of libsumo, so that a game does not notice."""

    def __init__(self, folder: Path, scenario: Path, trips: Path) -> None:
        self._program, self._scenario, self._trips = folder / "sumo" / "bin" / "sumo", scenario, trips
        self.seed, self._runs = 0, False
        os.environ["SUMO_HOME"] = str(folder / "sumo")

    def __getattr__(self, name: str) -> Any:
        return getattr(traci if hasattr(traci, name) else traci.constants, name)

    def isLoaded(self) -> bool:  # noqa: N802 (libsumo's name)
        """No: every episode has a process of its own."""
        return False

    def start(self, command: list[str]) -> None:
        """Begin an episode as RESCO does."""
        self.close()
        resco = ["--seed", str(self.seed), "--time-to-teleport", "-1", "--no-step-log", "True", "--no-warnings", "True"]
        trips = ["--tripinfo-output", str(self._trips), "--tripinfo-output.write-unfinished"]
        command = [str(self._program), "-c", str(self._scenario), *resco, *trips]
        with redirect_stdout(io.StringIO()):  # it tells how often it tries to connect
            traci.start(command, port=_free_port(), stdout=subprocess.DEVNULL)
        self._runs = True

    def close(self) -> None:
        """End the episode, so that SUMO writes its trips."""
        if self._runs:
            traci.close()
        self._runs = False


class Unread:
    """In the place of the delays, which an older SUMO cannot tell while it plays."""

    def __init__(self, streets: int) -> None:
        self.stopped, self.due = np.zeros(streets + 1), 1

    def note_arrivals(self, names: object) -> None:
        """Nothing."""

    def look(self) -> np.ndarray:
        """Nothing."""
        return np.zeros_like(self.stopped)


def delay(game: Traffic, other: Other, policy: hydraviper.Policy, seed: int, trips: Path) -> float:
    """Seconds per vehicle that was due, of one episode."""
    other.seed = seed
    observations = game.reset(np.array([seed], np.uint64))
    for _ in range(game.horizon):
        observations, _, _ = game.step(policy.act(observations))
    other.close()
    text = trips.read_text()
    lost, outside = (map(float, re.findall(rf'{name}="([^"]+)"', text)) for name in ("timeLoss", "departDelay"))
    return (sum(lost) + sum(outside)) / text.count("<tripinfo ")


def measure(run: Path, folder: Path, episodes: int) -> dict[str, Estimate]:
    """The delay of the trees and of everything else that names phases, and of the network's own plan."""
    trees = hydraviper.load_trees(run)
    game = catalogue.make(trees.game, trees.parameters)
    assert isinstance(game, Traffic)
    expert = hydraviper.shipped_expert(game)
    scripts = game.offers.scoring.yardsticks
    policies = {"trees": Profile(expert, trees.students(game)), "expert": expert}
    policies |= {name: scripts[name] for name in ("fixed time", "longest queue", "max-pressure")}
    vars(game).update(_followed=lambda library: Unread(len(game._streets)), _check_demand=lambda: None)
    with tempfile.TemporaryDirectory() as scratch:
        trips = Path(scratch) / "trips.xml"
        other = Other(folder, game.scenario.file, trips)
        with simulation.played_by(other):
            seeds = range(FIRST, FIRST + episodes)
            return {
                name: Estimate.of(np.array([delay(game, other, policy, seed, trips) for seed in seeds]))
                for name, policy in policies.items()
            }


def main() -> None:
    """Print a table, and keep it as JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--sumo", type=Path, required=True, help="a folder into which eclipse-sumo was installed")
    parser.add_argument("--episodes", type=int, default=30)
    parser.add_argument("--out", type=Path)
    call = parser.parse_args()
    if not (call.sumo / "sumo" / "bin" / "sumo").is_file():
        parser.error(
            f"{call.sumo} has no sumo/bin/sumo: pip install --no-deps --target {call.sumo} eclipse-sumo==1.9.1"
        )
    found: dict[str, dict[str, dict[str, float]]] = {}
    for run in call.runs:
        measured = measure(run, call.sumo, call.episodes)
        found[run.name] = {name: {"mean": one.mean, "ci95": one.ci95} for name, one in measured.items()}
        print(run.name, ", ".join(f"{name} {one:.2f}" for name, one in measured.items()), flush=True)
    if call.out is not None:
        call.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
