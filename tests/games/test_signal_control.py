"""The rules that no policy can break: minimum green, yellow, all-red and maximum red, second by second."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hydraviper.data import InputError
from hydraviper.games.signal_control import SignalControl, Timing, designated, longest_red, yellow_for
from tests.helpers.signals import lights_of, longest_wait, small_signals

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


def test_a_green_waits_for_the_junction_to_clear():
    control = SignalControl(GREENS, SERVED, Timing(step=10, yellow=2, all_red=1, clearance=3))
    for seconds_inside, wait in ((0, 0), (2, 0), (3, 1), (4, 2), (9, 3)):
        control.choose(1, [False, False])
        lights = []
        for second in range(10):
            lights.append(control.lights)
            control.tick(occupied=second + 1 <= seconds_inside)
        assert lights == ["yyrr"] * 2 + ["rrrr"] * (1 + wait) + ["rrGG"] * (7 - wait)
        control.choose(0, [False, False])
        shown(control, 10)
    assert control.cleared == 3


def test_a_green_lasts_a_second_even_where_clearing_takes_until_the_next_choice():
    served = np.array([[False], [True]])
    control = SignalControl(lights_of(served), served, Timing(step=4, yellow=0, all_red=3, max_red=12, clearance=1))
    waited = longest = 0
    for _ in range(20):
        control.choose(0, [True])
        for _ in range(4):
            waited = 0 if control.lights[0] == "G" else waited + 1
            longest = max(longest, waited)
            control.tick(occupied=True)
    assert longest <= 12


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
    timing = Timing(step, yellow, all_red, draw(st.integers(0, 15)), clearance=draw(st.integers(0, 4)))
    max_red = longest_red(designated(served), timing) + draw(st.integers(0, 30))
    choices = draw(st.lists(st.integers(0, phases - 1), min_size=60, max_size=60))
    empty = draw(st.lists(st.sets(st.integers(0, groups - 1)), min_size=60, max_size=60))
    occupied = draw(st.lists(st.booleans(), min_size=7, max_size=7))
    return served, replace(timing, max_red=max_red), choices, empty, itertools.cycle(occupied)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(streets())
def test_nobody_waits_longer_than_the_maximum_red(street):
    """Whatever is chosen and wherever vehicles come and go."""
    served, timing, choices, empty, occupied = street
    control = SignalControl(lights_of(served), served, timing)
    waited = np.zeros(served.shape[1], int)
    for choice, nobody in zip(choices, empty, strict=True):
        waited[list(nobody)] = 0
        control.choose(choice, [group not in nobody for group in range(len(waited))])
        for _ in range(timing.step):
            green = np.array([light in "Gg" for light in control.lights[: len(waited)]])
            waited = np.where(green, 0, waited + 1)
            assert waited.max() <= timing.max_red
            control.tick(occupied=next(occupied))


def test_a_phase_that_serves_some_of_those_who_wait_for_another():
    """Phase 4 serves the one who waits longest, but not the other that phase 3 is for: the longest comes first."""
    served = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 0, 0]], bool)
    control = SignalControl(lights_of(served), served, Timing(step=5, yellow=2, max_red=22))
    for waiting in ((True, False, False), (True, True, True), (True, True, True)):
        control.choose(0, waiting)
        assert control.lights[:3] == "rrr"
        control.tick(5)
    control.choose(3, (True, True, True))  # they have waited for 20, 15 and 15 s
    assert control.until_change == 2
    control.tick(2)
    assert control.lights[:3] == "GrG"


@pytest.mark.slow
def test_every_choice_and_every_waiting_of_small_signals():
    """What the least maximum red promises is kept in every state that can be reached, and some come close to it."""
    tightest, whole = 1.0, 0
    for served, timing in itertools.islice(small_signals(np.random.default_rng(1)), 30):
        least = longest_red(designated(served), Timing(**timing))
        worst, states = longest_wait(served, Timing(**timing, max_red=least), most=2_000)
        assert worst <= least, (served, timing)
        whole += states < 2_000
        tightest = min(tightest, 1 - worst / least)
    assert whole > 10  # of these, nothing was left out
    assert tightest == 0


def test_a_maximum_red_that_cannot_be_kept():
    with pytest.raises(InputError, match="max_red must be at least 43 seconds"):
        SignalControl(GREENS, SERVED, Timing(step=20, yellow=3, max_red=42))


def test_yellow_by_speed():
    assert [yellow_for(kilometres / 3.6) for kilometres in (30, 50, 60, 80, 100, 200)] == [3, 3, 4, 5, 6, 6]
