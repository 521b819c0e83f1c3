"""The exported C controllers of a run against its game, second for second: `python -m benchmarks.controllers RUN`.

SUMO plays with the trees in charge. Every second its lights are read. The exported controllers, compiled by gcc, get
the detector values that the game saw at each choice, and in between only whether the junction is occupied.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

import hydraviper
from hydraviper.controllers import Controller
from hydraviper.export import to_c_controllers
from hydraviper.export.common import identifiers
from hydraviper.games import catalogue, simulation
from hydraviper.games.traffic import Traffic
from hydraviper.trees.file import TreesFile

GCC = ("gcc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2")


@dataclass(frozen=True)
class Shown:
    """What a signal showed, and what it was told."""

    before: str  # the lights that were shown when its controller took over
    lights: list[str]  # [seconds]
    detectors: list[np.ndarray]  # [steps], each float32
    occupied: list[bool]  # [seconds], whether slow vehicles were inside the junction at the end of each


def controllers_of(game: Traffic) -> dict[str, Controller]:
    """A game's controllers by the names of their agents."""
    return {agent.name: one for agent, one in zip(game.agents, game.offers.controllers, strict=True)}


def shown_by_game(game: Traffic, trees: TreesFile, seed: int = 0) -> list[Shown]:
    """Let trees play an episode, and read from SUMO what every signal shows in every second."""
    observations = game.reset(np.array([seed], np.uint64))
    library, advance = simulation.sumo(), game._advance
    names = [signal.identifier for signal in game.network.signals]
    light_of = library.trafficlight.getRedYellowGreenState
    shown = [Shown(light_of(name), [], [], []) for name in names]

    def second_by_second(time: float) -> None:
        now = library.simulation.getTime()
        while now < time:
            for one, name in zip(shown, names, strict=True):
                one.lights.append(light_of(name))
            now += 1
            advance(now)
            for i, one in enumerate(shown):
                one.occupied.append(game._occupied(i, one.lights[-1]))

    game._advance = second_by_second
    try:
        done = False
        while not done:
            for one, seen, controller in zip(shown, observations, game.offers.controllers, strict=True):
                one.detectors.append(seen[0, controller.own :])
            actions = [tree.predict(seen)[0] for tree, seen in zip(trees.trees, observations, strict=True)]
            observations, _, ended = game.step(np.array([actions]))
            done = bool(ended[0])
    finally:
        del game._advance  # the method of the class is there again
    return shown


class Compiled:
    """Exported C controllers, compiled and loaded into this process."""

    def __init__(self, trees: TreesFile, controllers: Mapping[str, Controller]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "trees.c").write_text(to_c_controllers(trees, controllers), encoding="utf-8")
            subprocess.run([*GCC, "-shared", "-fPIC", "trees.c", "-o", "trees.so"], cwd=folder, check=True)
            self._library = ctypes.CDLL(str(Path(folder, "trees.so")))
        self._names = identifiers(agent.name for agent in trees.agents)

    def lights(
        self, i: int, before: str, detectors: Sequence[np.ndarray], step: int, occupied: Sequence[bool]
    ) -> list[str]:
        """What a signal shows in every second, its detectors told every `step` seconds and NaN in between."""
        start = getattr(self._library, f"{self._names[i]}_start")
        second = getattr(self._library, f"{self._names[i]}_second")
        second.restype = ctypes.c_char_p
        state = (ctypes.c_long * 1024)()  # more than any signal needs
        start(state, before.encode())
        shown: list[str] = []
        for given in detectors:
            for number in range(step):
                values = np.ascontiguousarray(given if number == 0 else np.full_like(given, np.nan), np.float32)
                inside = int(occupied[len(shown) - 1]) if shown else 0  # at the end of the second before
                shown.append(second(state, values.ctypes.data_as(ctypes.c_void_p), inside).decode())
        return shown


def main() -> None:
    """Compare; exit code 1 if a light differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--episodes", type=int, default=1)
    asked = parser.parse_args()
    run = hydraviper.load_run(asked.run, trust_path=True)
    parameters = dict(run.game.parameters)
    step = parameters["seconds_per_step"]
    game = catalogue.make(run.trees.game, {**parameters, "steps": -(-asked.seconds // step)})
    assert isinstance(game, Traffic)
    compiled = Compiled(run.trees, controllers_of(game))
    wrong = seconds = changes = 0
    for seed in range(asked.episodes):
        for i, one in enumerate(shown_by_game(game, run.trees, seed)):
            lights = compiled.lights(i, one.before, one.detectors, step, one.occupied)
            seconds += len(lights)
            changes += sum(a != b for a, b in pairwise(lights))
            wrong += sum(ours != theirs for ours, theirs in zip(lights, one.lights, strict=True))
    print(
        f"{run.trees.game}: {len(game.agents)} signals, {asked.episodes} x {game.horizon * step:,} s, "
        f"{changes:,} changes of lights; {wrong:,} of {seconds:,} seconds differ."
    )
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
