"""The rules that no policy can break: minimum green, yellow, all-red and maximum red, second by second."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hydraviper.data import InputError
from hydraviper.games.signal_control import SignalControl, Timing, designated, longest_red, yellow_for

GREENS = ("GGrr", "rrGG")
SERVED = np.eye(2, dtype=bool)


def shown(control, seconds):
    """The lights of the next seconds."""
    lights = []
    for _ in range(seconds):
        lights.append(control.lights)
        control.tick()
    return lights


def test_yellow_then_all_red_then_green():
    control = SignalControl(GREENS, SERVED, Timing(step=5, yellow=2, all_red=1))
    control.choose(1, [False, False])
    assert shown(control, 5) == ["yyrr", "yyrr", "rrrr", "rrGG", "rrGG"]
    control.choose(1, [False, False])
    assert shown(control, 2) == ["rrGG", "rrGG"]
    assert control.red_for == [7, 0]


def test_who_keeps_green_sees_no_yellow():
    control = SignalControl(("GGr", "GrG"), np.array([[1, 1, 0], [1, 0, 1]], bool), Timing(step=5, yellow=2, all_red=1))
    control.choose(1, [False] * 3)
    assert shown(control, 4) == ["Gyr", "Gyr", "Grr", "GrG"]


def test_minimum_green_holds_a_phase():
    control = SignalControl(GREENS, SERVED, Timing(step=5, yellow=3, min_green=6))
    control.choose(1, [False, False])  # whoever takes over need not wait
    shown(control, 5)
    control.choose(0, [False, False])  # green for 2 s
    assert shown(control, 5) == ["rrGG"] * 5
    assert control.held == 1
    control.choose(0, [False, False])  # 7 s
    assert control.lights == "rryy"


def test_maximum_red_serves_who_waits():
    control = SignalControl(GREENS, SERVED, Timing(step=10, yellow=3, max_red=40))
    seconds = 0
    while control.lights != "rrGG":
        if seconds % 10 == 0:
            control.choose(0, [True, True])
        control.tick()
        seconds += 1
    assert seconds <= 40
    assert control.forced == 1


@st.composite
def streets(draw):
    """Phases, timing that can be kept, and what a policy and the traffic do at every choice."""
    phases, groups = draw(st.integers(2, 5)), draw(st.integers(1, 6))
    bits = draw(st.lists(st.booleans(), min_size=phases * groups, max_size=phases * groups))
    served = np.array(bits).reshape(phases, groups)
    served[draw(st.integers(0, phases - 1)), ~served.any(axis=0)] = True
    step, yellow, all_red = draw(st.integers(4, 20)), draw(st.integers(0, 3)), draw(st.integers(0, 3))
    timing = Timing(step, yellow, all_red, draw(st.integers(0, 15)))
    max_red = longest_red(designated(served), timing) + draw(st.integers(0, 30))
    choices = draw(st.lists(st.integers(0, phases - 1), min_size=60, max_size=60))
    empty = draw(st.lists(st.sets(st.integers(0, groups - 1)), min_size=60, max_size=60))
    return served, Timing(step, yellow, all_red, timing.min_green, max_red), choices, empty


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(streets())
def test_nobody_waits_longer_than_the_maximum_red(street):
    """Whatever is chosen and wherever vehicles come and go."""
    served, timing, choices, empty = street
    marks = np.eye(len(served), dtype=bool)  # so that no two phases look alike
    lights = np.where(np.hstack([served, marks]), "G", "r")
    greens = ["".join(row) for row in lights]
    control = SignalControl(greens, served, timing)
    waited = np.zeros(served.shape[1], int)
    for choice, nobody in zip(choices, empty, strict=True):
        waited[list(nobody)] = 0
        control.choose(choice, [group not in nobody for group in range(len(waited))])
        for _ in range(timing.step):
            green = np.array([light in "Gg" for light in control.lights[: len(waited)]])
            waited = np.where(green, 0, waited + 1)
            assert waited.max() <= timing.max_red
            control.tick()


def test_a_maximum_red_that_cannot_be_kept():
    with pytest.raises(InputError, match="max_red must be at least 63 seconds"):
        SignalControl(GREENS, SERVED, Timing(step=20, yellow=3, max_red=60))


def test_yellow_by_speed():
    assert [yellow_for(kilometres / 3.6) for kilometres in (30, 50, 60, 80, 100, 200)] == [3, 3, 4, 5, 6, 6]
