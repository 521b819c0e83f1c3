"""What agents see, put back on the game's own picture."""

from __future__ import annotations

import numpy as np
import pytest

import hydraviper
from hydraviper.games import queues
from hydraviper.games.road_network import LaneGroup, Signal
from hydraviper.geometry import Lane, MapSignal, RoadMap


@pytest.mark.parametrize("name", ["cooperative-navigation", "physical-deception"])
def test_the_scene_that_agents_see_is_the_scene_that_is(name):
    game = hydraviper.make(name)
    rows = game.reset(np.array([3]))
    for _ in range(4):
        rows, _, _ = game.step(np.array([[1, 4, 2]]))
    drawing = game.offers.drawing
    there = {mark.name: mark for mark in drawing.scene().marks}
    for first in range(1, len(game.agents)):  # of the deceivers, the adversary does not see the goal
        seen = {
            game.agents[i].name: dict(zip(game.agents[i].features, map(float, rows[i][0]), strict=True))
            for i in (first, 0)
        }
        found = {mark.name: mark for mark in drawing.scene_of(seen).marks}
        assert found.keys() == there.keys()
        shift = np.subtract(found["landmark 0"].position, there["landmark 0"].position)
        for key, mark in there.items():
            assert np.allclose(np.subtract(found[key].position, mark.position), shift, atol=1e-5)
            assert (found[key].kind, found[key].size) == (mark.kind, mark.size)
        if name == "cooperative-navigation":  # agents know their own place
            assert np.allclose(shift, 0, atol=1e-5)


def test_queues_stand_before_the_stop_line_and_lights_show_the_phase():
    west = LaneGroup("west, straight", ("w0", "w1"), (), (), (0,))
    south = LaneGroup("south, left", ("s0",), (), (), (1,))
    signal = Signal("j", (0.0, 0.0), ("Gr", "rG"), ("west", "south"), (west, south))
    lanes = {
        "w0": Lane(((-100.0, 0.0), (-10.0, 0.0)), 3.0),
        "w1": Lane(((-100.0, 3.0), (-10.0, 3.0)), 3.0),
        "s0": Lane(((0.0, -14.0), (0.0, -10.0)), 3.0),
    }
    road_map = RoadMap(lanes, (), (MapSignal("signal-1", "j", (0.0, 0.0), ("west", "south"), tuple(lanes)),))
    names = ("phase 1 is green", "phase 2 is green", "queue from west, straight", "moving from west, straight")
    agent = hydraviper.Agent("signal-1", (*names, "queue from south, left"), ("phase 1", "phase 2"))
    seen = {"signal-1": dict(zip(agent.features, (1.0, 0.0, 3.0, 2.0, 5.0), strict=True))}
    frame = queues.frame_of((agent,), (signal,), seen, road_map)
    assert frame.lights == {"w0": "G", "w1": "G", "s0": "r"}
    standing = [car.position for car in frame.cars if car.speed == 0]
    assert standing[:3] == [(-10.0, 0.0), (-10.0, 3.0), (-17.5, 0.0)]
    assert standing[3:] == [(0.0, -10.0)]  # the lane has room for one of five
    rolling = [car for car in frame.cars if car.speed > 0]
    assert [car.position for car in rolling] == [(-27.5, 3.0), (-35.0, 0.0)]
    assert {car.angle for car in rolling} == {90.0}
