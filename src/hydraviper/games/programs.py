"""What runs at signals today, as programs of SUMO: its gap-based and delay-based controllers, and Webster's plan.

A policy leaves a signal to one of them by an action below 0; SUMO then decides by itself, every second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hydraviper.controllers import Timing, designated
from hydraviper.games.road_network import LaneDemand, Signal
from hydraviper.games.signal_control import yellow_between
from hydraviper.games.simulation import active_program
from hydraviper.games.sumo import Sumo

OWN, ACTUATED, DELAY_BASED, WEBSTER = -1, -2, -3, -4  # actions; the network's own plan first
NAMES = {ACTUATED: "hydraviper-actuated", DELAY_BASED: "hydraviper-delay-based", WEBSTER: "hydraviper-webster"}
SHORTEST, LONGEST = 5.0, 50.0  # seconds of green of SUMO's own controllers
SATURATION = 1800.0  # vehicles per hour and lane that pass at green; assumed, not measured
_CAPACITY = {"G": 1.0, "g": 0.5, "r": 0.0}  # how much of that is left to those who yield, or wait
CYCLES = 30.0, 120.0  # seconds of Webster's cycle


def start(library: Sumo, signal: Signal, action: int, plan: Sequence[float], timing: Timing) -> None:
    """Let SUMO run a program at a signal; `plan` has the seconds of green of every phase, for Webster's."""
    lights = library.trafficlight
    name = NAMES[action]
    if any(logic.programID == name for logic in lights.getAllProgramLogics(signal.identifier)):
        lights.setProgram(signal.identifier, name)
        return
    if action == WEBSTER:
        kind, phases = library.TRAFFICLIGHT_TYPE_STATIC, _plan_phases(library, signal, plan, timing)
    else:
        kinds = {ACTUATED: library.TRAFFICLIGHT_TYPE_ACTUATED, DELAY_BASED: library.TRAFFICLIGHT_TYPE_DELAYBASED}
        kind, phases = kinds[action], _free_phases(library, signal)
    lights.setProgramLogic(signal.identifier, lights.Logic(name, kind, 0, phases))


def _free_phases(library: Sumo, signal: Signal) -> list[Any]:
    """The phases of the signal's own program, its greens as short or long as the controller likes."""
    make = library.trafficlight.Phase
    return [
        make(phase.duration, phase.state, SHORTEST, LONGEST)
        if phase.state in signal.greens
        else make(phase.duration, phase.state, phase.duration, phase.duration)
        for phase in active_program(library, signal.identifier).phases
    ]


def _plan_phases(library: Sumo, signal: Signal, plan: Sequence[float], timing: Timing) -> list[Any]:
    """The greens of a plan in their order, with yellow and all-red between."""
    make, shown = library.trafficlight.Phase, [k for k, green in enumerate(plan) if green > 0]
    phases = []
    for k, following in zip(shown, [*shown[1:], shown[0]], strict=True):
        phases.append(make(plan[k], signal.greens[k], plan[k], plan[k]))
        between = yellow_between(signal.greens[k], signal.greens[following])
        for seconds, state in ((timing.yellow, between), (timing.all_red, between.replace("y", "r"))):
            if seconds and following != k:
                phases.append(make(seconds, state, seconds, seconds))
    return phases


def webster(lanes: Sequence[LaneDemand], hours: float, served: np.ndarray, timing: Timing) -> list[float]:
    """Seconds of green of every phase, timed for the vehicles that pass each lane in so many hours (Webster 1958).

    The shares of the cycle are the least ones that give every lane what its vehicles need.
    """
    from scipy.optimize import linprog

    need = np.array([lane.vehicles / hours / SATURATION for lane in lanes])
    gives = np.array([[_CAPACITY[light] for light in lane.lights] for lane in lanes])
    least = np.zeros(gives.shape[1])
    least[[phase for phase in designated(served) if phase >= 0]] = 0.01  # somebody depends on these phases
    some = gives.any(axis=1)
    found = linprog(np.ones(len(least)), -gives[some], -need[some], bounds=[(share, None) for share in least])
    shares = np.where(found.x > 1e-6, found.x, 0.0)
    lost = np.count_nonzero(shares) * (timing.change + 1)  # seconds of a cycle; one more to start at each green
    cycle = np.clip((1.5 * lost + 5) / max(1 - shares.sum(), 0.05), *CYCLES)
    greens = np.maximum(shares / shares.sum() * (cycle - lost), max(SHORTEST, timing.min_green))
    return np.where(shares > 0, greens.round(), 0.0).tolist()
