"""A signal's controller, followed through every choice and every pattern of waiting vehicles."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from hydraviper.controllers import Controller, Timing, designated, longest_red
from hydraviper.data import Agent
from hydraviper.games.signal_control import SignalControl
from hydraviper.trees.tree import Tree

State = tuple


def lights_of(served: np.ndarray) -> list[str]:
    """Lights of each phase, first one letter per movement, then letters that tell any two phases apart."""
    shown = np.hstack([served, np.eye(len(served), dtype=bool)])
    return ["".join(row) for row in np.where(shown, "G", "r")]


def state_of(control: SignalControl) -> State:
    """All that the rules of safety go by; longer greens than the least one are alike."""
    green_for = min(control._green_for, control.timing.min_green)
    seconds = control._until_red, control._until_green, control._put_off, green_for
    return control.lights, control._goal, *seconds, tuple(control._waited)


def put(control: SignalControl, state: State) -> None:
    """Bring a controller into a state."""
    control.lights, control._goal, control._until_red, control._until_green, *seconds, waited = state
    control._put_off, control._green_for = seconds
    control._waited = list(waited)


def step(
    control: SignalControl, choice: int, waiting: tuple[bool, ...], red: list[int], occupied: int = 0
) -> tuple[list[int], int]:
    """One choice and the seconds until the next; in the first `occupied` of them, vehicles are in the junction.

    `red` are the seconds that each movement may have waited at red, at the end of the last step; they are told after
    this step, with the longest of them on the way. Whoever is not seen may come the second after.
    """
    groups = len(red)
    red = [0 if not waiting[k] or control.lights[k] == "G" else red[k] for k in range(groups)]
    control.choose(choice, waiting)
    longest = 0
    for second in range(control.timing.step):
        red = [0 if control.lights[k] == "G" else red[k] + 1 for k in range(groups)]
        longest = max(longest, *red)
        control.tick(occupied=second < occupied)
    return red, longest


def longest_wait(
    served: np.ndarray, timing: Timing, most: int, make: Callable[..., SignalControl] = SignalControl
) -> tuple[int, int]:
    """The longest wait at red that any choices and any waiting can bring about, and how many states were seen.

    It stops at the first wait above max_red, and after `most` states.
    """
    phases, groups = served.shape
    control = make(lights_of(served), served, timing)
    first = state_of(control), (0,) * groups
    seen, left, worst = {first}, [first], 0
    while left and len(seen) < most and worst <= timing.max_red:
        state, red = left.pop()
        patterns = itertools.product((False, True), repeat=groups)
        inside = (0, timing.step) if timing.clearance else (0,)
        for choice, waiting, occupied in itertools.product(range(phases), patterns, inside):
            put(control, state)
            after, longest = step(control, choice, waiting, list(red), occupied)
            worst = max(worst, longest)
            found = state_of(control), tuple(after)
            if found not in seen:
                seen.add(found)
                left.append(found)
    return worst, len(seen)


def small_signals(draws: np.random.Generator) -> Iterator[tuple[np.ndarray, dict[str, int]]]:
    """Signals of few phases and movements, every movement served by some phase, and their timing without max_red."""
    while True:
        served = draws.random((draws.integers(2, 5), draws.integers(1, 5))) < 0.45
        served[draws.integers(len(served)), ~served.any(axis=0)] = True
        ranges = {"step": (2, 6), "yellow": (0, 3), "all_red": (0, 2), "min_green": (0, 8), "clearance": (0, 3)}
        yield served, {name: int(draws.integers(*bounds)) for name, bounds in ranges.items()}


def lights_by_hand(
    controller: Controller, tree: Tree, before: str, detectors: Sequence[np.ndarray], occupied: Sequence[bool]
) -> tuple[list[str], SignalControl]:
    """What a signal shows in every second with a tree in charge, told its detectors at every choice; its end.

    `occupied` tells, at the end of every second, whether vehicles are in the junction.
    """
    control = SignalControl(controller.greens, controller.served, controller.timing)
    control.take_over(before)
    lights = []
    for given in detectors:
        known = [control.lights == green for green in control.greens]
        seen = np.array([*known, *(control.red_for if controller.memory else ()), *given], np.float32)
        waiting = [bool(seen[feature] > 0) for feature in controller.seen_by] if controller.timing.max_red else ()
        control.choose(int(tree.predict(seen[None])[0]), waiting)
        for _ in range(controller.timing.step):
            lights.append(control.lights)
            control.tick(occupied=bool(occupied[len(lights) - 1]))
    return lights, control


def random_controller(draws: np.random.Generator) -> Controller:
    """Any phases, lights, lane groups that movements share, and seconds; half of them without a maximum red."""
    phases, movements, links = draws.integers(2, 6), draws.integers(1, 8), draws.integers(3, 10)
    served = draws.random((phases, movements)) < 0.4
    greens = np.empty(0)
    while len(set(greens)) < phases:
        greens = ["".join(row) for row in draws.choice(list("GGgrrrs"), (phases, links))]
    timing = Timing(*(int(draws.integers(*bounds)) for bounds in ((2, 21), (0, 6), (0, 4), (0, 16))))
    timing = replace(timing, clearance=int(draws.integers(0, 6)))
    if draws.random() < 0.7:
        most = longest_red(designated(served), timing) + int(draws.integers(0, 60))
        timing = replace(timing, max_red=max(most, 1))
    memory = bool(draws.random() < 0.5)
    first = phases * (1 + memory)
    seen_by = tuple(sorted(int(first + draws.integers(movements)) for _ in range(movements)))
    words = tuple(f"link {k}" for k in range(links))
    return Controller(tuple(greens), words, served, seen_by, timing, memory)


def agent_of(name: str, controller: Controller) -> Agent:
    """An agent with as many detectors as movements, and one more."""
    phases = range(1, len(controller.greens) + 1)
    memory = [f"phase {k} has been red for, s" for k in phases] if controller.memory else []
    seen = [f"queue from {k}" for k in range(len(controller.seen_by))]
    features = (*(f"phase {k} is green" for k in phases), *memory, *seen, "standing in the junction")
    return Agent(name, features, tuple(f"phase {k}" for k in phases))
