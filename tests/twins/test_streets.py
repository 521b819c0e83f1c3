"""Street by street against a slow way: every second, everybody's next signal looked up anew along the route."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

import hydraviper
from hydraviper.games import streets
from hydraviper.rollout import Watched
from tests.helpers.street import FOLDER

GAMES = {
    "street": (f"traffic:{FOLDER / 'street.sumocfg'},steps=60,seconds_per_step=5,score=delay,demand=1.7", "fixed time"),
    "ingolstadt, many outside": ("ingolstadt-corridor:steps=30,score=stopped,reach=0", "longest queue"),
}
SEED = np.array([3], np.uint64)


class SlowStreets:
    """Keeps all that it is told in dictionaries, by the edge that leads into a signal."""

    def __init__(self, game):
        self.ends = {edges: (game._streets[k].signal, game._streets[k].edge) for edges, k in game._turns.items()}
        self.where, self.delay = {}, {}  # by vehicle
        self.delayed, self.longest = defaultdict(float), defaultdict(float)
        self.came, self.passed = defaultdict(set), defaultdict(set)
        self.outside = {}

    def street(self, route, index):
        turns = ((k, self.ends.get(edges)) for k, edges in enumerate(pairwise(route)))
        return next((found for k, found in turns if k >= index and found), None)

    def each_second(self, sumo, seen):
        """Who passes which signal."""
        for name in sumo.vehicle.getIDList():
            route, index = sumo.vehicle.getRoute(name), sumo.vehicle.getRouteIndex(name)
            for k in range(seen.get(name, -1), index):
                if k >= 0 and (street := self.ends.get((route[k], route[k + 1]))):
                    self.passed[street].add(name)
            seen[name] = index

    def each_step(self, sumo, arrived):
        """What everybody lost since the last step belongs to where they were then."""
        vehicle, outside = sumo.vehicle, sumo.simulation.getPendingVehicles()
        self.outside = defaultdict(int)
        for name in (*arrived, *vehicle.getIDList(), *outside):
            route = vehicle.getRoute(name)
            index = 0 if name in outside else len(route) - 1 if name in arrived else vehicle.getRouteIndex(name)
            delay = vehicle.getDepartDelay(name) + (0 if name in outside else vehicle.getTimeLoss(name))
            before = self.where.get(name, self.street(route, 0))
            self.delayed[before] += delay - self.delay.get(name, 0.0)
            self.delay[name], here = delay, self.street(route, index)
            if name not in outside:  # whoever is outside may get another route
                self.where[name] = here
            for k in range(index + 1):
                self.came[self.street(route, k)].add(name)
            if name not in arrived:
                wait = vehicle.getDepartDelay(name) if name in outside else vehicle.getWaitingTime(name)
                self.longest[here] = max(self.longest[here], wait)
            self.outside[here] += name in outside


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_streets_are_those_of_a_slow_way(name, monkeypatch):
    spec, rule = GAMES[name]
    game = hydraviper.make(spec)
    slow, seen, arrived = SlowStreets(game), {}, []
    look = streets.StreetDelays.look

    def second_by_second(time):
        while game._sumo.simulation.getTime() < time:
            game._sumo.simulationStep()
            gone = game._sumo.simulation.getArrivedIDList()
            game._delays.note_arrivals(gone)
            arrived.extend(gone)
            slow.each_second(game._sumo, seen)

    def looked(self):
        found = look(self)
        slow.each_step(game._sumo, tuple(arrived))
        arrived.clear()
        return found

    monkeypatch.setattr(game, "_advance", second_by_second)
    monkeypatch.setattr(streets.StreetDelays, "look", looked)
    policy = game.offers.scoring.yardsticks[rule]
    played = hydraviper.play(game, Watched(policy), SEED)
    kept = played.measures[streets.STREETS][0]
    for street, (delayed, came, passed, longest, outside) in zip(game._streets, kept, strict=True):
        key = street.signal, street.edge
        assert delayed == pytest.approx(slow.delayed[key], abs=1e-6)
        assert (came, longest, outside) == (len(slow.came[key]), slow.longest[key], slow.outside[key])
        # those who arrived since the last step passed their last signals without being seen there every second
        gone = {one for one in slow.came[key] if slow.where.get(one, key) != key}
        assert passed == len(gone | slow.passed[key])
    table = game.offers.scoring.closely.streets(played.measures)
    assert sum(row.outside for row in table) <= played.measures["vehicles that could not enter"][0]
    assert max(row.longest_wait for row in table) <= played.measures["longest wait, s"][0]
