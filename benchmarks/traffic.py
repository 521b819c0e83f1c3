"""Measure the traffic games against bare libsumo, sumo-rl and themselves: `python -m benchmarks.traffic [--quick]`.

Both sides alternate in one run on one machine, and the quickest repetition of each counts. Exit code 1 if a
requirement is missed.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from tests.twins.test_sumo_rl import play_with_sumo_rl

import hydraviper
from hydraviper.games import catalogue, simulation
from hydraviper.games.traffic import Traffic
from hydraviper.seeding import practice

SEED = 5
MOST_OVER_BARE, LEAST_OVER_TRACI, LEAST_OF_TWO_WORKERS = 1.2, 2.5, 1.6
RESTARTS, MOST_GROWTH = 200, 20.0  # megabytes


class Noted:
    """A policy that writes down what it does."""

    def __init__(self, policy: hydraviper.Policy) -> None:
        self.policy, self.actions = policy, []

    def act(self, observations):
        actions = self.policy.act(observations)
        self.actions.append(actions)
        return actions


class Replayed:
    """A policy that does what was written down."""

    def __init__(self, actions: list[np.ndarray]) -> None:
        self.left = iter(actions)

    def act(self, observations):
        return next(self.left)


Lights = list[tuple[float, str, str]]  # second, signal, what it shows from then on


def lights_of(game: Traffic, actions: list[np.ndarray], seeds: np.ndarray) -> Lights:
    """What every signal shows in an episode, as the game tells SUMO."""
    library, shown = simulation.sumo(), []
    show = library.trafficlight.setRedYellowGreenState

    def note(signal: str, lights: str) -> None:
        shown.append((library.simulation.getTime(), signal, lights))
        show(signal, lights)

    library.trafficlight.setRedYellowGreenState = note
    try:
        hydraviper.play(game, Replayed(actions), seeds)
    finally:
        library.trafficlight.setRedYellowGreenState = show
    return shown


def bare(game: Traffic, shown: Lights, seed: int) -> None:
    """The same lights in libsumo, so the same traffic, and nothing read."""
    library = simulation.sumo()
    library.load(game.scenario.arguments(seed, replace(game._day(seed), trips=False, keep=0)))
    for phase in game.scenario.extra_phases:
        simulation._add(library, phase)
    begin = now = library.simulation.getTime()
    for second, signal, lights in shown:
        if second > now:
            library.simulationStep(second)
            now = second
        library.trafficlight.setRedYellowGreenState(signal, lights)
    library.simulationStep(begin + game.options.steps * game.options.seconds_per_step)


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def rollout_ratios(name: str, repetitions: int) -> list[tuple[str, float, float, str]]:
    """One rollout of training against bare libsumo, and one of an evaluation against sumo-rl over TraCI."""
    game = hydraviper.make(name)
    assert isinstance(game, Traffic)
    evaluation = np.array([SEED], np.uint64)
    training = practice(game, evaluation)
    signals, longest_queue = game.network.signals, game.offers.scoring.yardsticks["longest queue"]
    actions, shown = {}, {}
    for seeds in (evaluation, training):
        noted = Noted(longest_queue)
        hydraviper.play(game, noted, seeds)
        actions[int(seeds[0])] = chosen = [np.where(_unknown(game, one), 0, one) for one in noted.actions]
        shown[int(seeds[0])] = lights_of(game, chosen, seeds)
    states = [{s.identifier: s.greens[a] for s, a in zip(signals, one[0], strict=True)} for one in actions[SEED]]
    trained = int(training[0])
    ours, theirs, evaluated, traci = [], [], [], []
    for _ in range(repetitions):
        ours.append(seconds(lambda: hydraviper.play(game, Replayed(actions[trained]), training, record=True)))
        theirs.append(seconds(lambda: bare(game, shown[trained], trained)))
        evaluated.append(seconds(lambda: hydraviper.play(game, Replayed(actions[SEED]), evaluation)))
    for _ in range(max(1, repetitions // 3)):
        traci.append(play_with_sumo_rl(game, states, SEED)["seconds"])
    over_bare, over_ours = min(ours) / min(theirs), min(traci) / min(evaluated)
    return [
        (f"{name}: one training rollout over bare libsumo", over_bare, MOST_OVER_BARE, f"{min(ours):.2f} s"),
        (f"{name}: sumo-rl over TraCI over ours", -over_ours, -LEAST_OVER_TRACI, f"{min(traci):.2f} s"),
    ]


def _unknown(game: Traffic, chosen: np.ndarray) -> np.ndarray:
    """Which signals were shown the phase that sumo-rl's file of Ingolstadt lacks."""
    signals = zip(game.network.signals, chosen[0], strict=True)
    return np.array([[signal.greens[action] == "rrrrrrGGGGrr" for signal, action in signals]])


def worker_ratio(name: str, episodes: int) -> tuple[str, float, float, str]:
    """Two workers against one process, warm."""
    game = hydraviper.make(name)
    assert isinstance(game, Traffic)
    rule, seeds = game.offers.scoring.yardsticks["longest queue"], np.arange(episodes, dtype=np.uint64)
    ones, twos = [], []
    with hydraviper.LocalEngine(catalogue.maker(game), workers=2) as engine:
        engine.play(rule, seeds[:2])
        for _ in range(3):
            twos.append(seconds(lambda: engine.play(rule, seeds)))
            ones.append(seconds(lambda: hydraviper.play(game, rule, seeds)))
    one, two = min(ones), min(twos)
    return f"{name}: two workers over one", -one / two, -LEAST_OF_TWO_WORKERS, f"{two:.1f} s for {episodes}"


def growth(name: str, restarts: int) -> tuple[str, float, float, str]:
    """Megabytes by which the process grows over many restarts, the first ones apart."""
    game = hydraviper.make(f"{name}:steps=5")
    assert isinstance(game, Traffic)
    rule = game.offers.scoring.yardsticks["longest queue"]
    hydraviper.play(game, rule, np.arange(20, dtype=np.uint64))
    before = _megabytes()
    hydraviper.play(game, rule, np.arange(restarts, dtype=np.uint64))
    grown = _megabytes() - before
    return f"{name}: growth over {restarts} restarts", grown, MOST_GROWTH, "MB"


def _megabytes() -> float:
    """What this process holds in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def main() -> None:
    """Print the table; requirements that are a least ratio are kept as negative numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    rows = []
    for name in ("cologne-corridor", "ingolstadt-corridor"):
        rows += rollout_ratios(name, 3 if quick else 9)
    rows.append(worker_ratio("cologne-corridor", 4 if quick else 12))
    rows.append(growth("cologne-corridor", 40 if quick else RESTARTS))
    table = Table("what", "measured", "required", "note", "")
    for what, value, limit, note in rows:
        bound = f"at most {limit:g}" if limit > 0 else f"at least {-limit:g}"
        table.add_row(what, f"{abs(value):.2f}", bound, note, "ok" if value <= limit else "MISSED")
    Console(width=140).print(table)
    sys.exit(any(value > limit for _, value, limit, _ in rows))


if __name__ == "__main__":
    main()
