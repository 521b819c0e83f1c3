"""Traffic signals in SUMO: what is named, what is counted, what is repeated, and what bad input says."""

from __future__ import annotations

import json
import multiprocessing
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import hydraviper
from hydraviper.experts import store
from hydraviper.games import catalogue, demand, programs, sight, simulation, traffic, traffic_catalogue
from hydraviper.games.road_network import LaneDemand, LaneGroup, Signal
from hydraviper.games.scenario import Scenario
from hydraviper.games.signal_control import Timing
from hydraviper.games.traffic_rules import LeaveTo
from hydraviper.ledger import Ledger
from hydraviper.runs.evaluate import jam_threshold, outcome, play_references
from hydraviper.seeding import Purpose, fraction, is_practice, practice, rollout_seeds
from hydraviper.steps.partition import graph_metis
from hydraviper.steps.task import Task
from hydraviper.verify.obligations import obligations_for
from tests.helpers.command_line import refuses
from tests.helpers.experts import random_expert
from tests.helpers.street import FOLDER, STREET, LongestQueue, configuration, street_with

pytestmark = pytest.mark.slow

SEEDS = np.arange(3, dtype=np.uint64)


def longest(game):
    return game.offers.scoring.yardsticks["longest queue"]


def same(first, second):
    assert (first.returns == second.returns).all()
    np.testing.assert_array_equal(first.trace, second.trace)
    for ours, theirs in zip(first.observations, second.observations, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert {name: values.tolist() for name, values in first.measures.items()} == {
        name: values.tolist() for name, values in second.measures.items()
    }


def test_engineers_words(street):
    first, second = street.agents
    assert first.name == "signal-1"
    assert first.actions == (
        "phase 1: east-west straight+right (left yields)",
        "phase 2: east-west left",
        "phase 3: north-south straight+right (left yields)",
    )
    queues = [name.removeprefix("queue from ") for name in first.features if name.startswith("queue")]
    shared = [f"{side}, left+straight+right" for side in ("north", "east", "south")]
    assert queues == [*shared, "west, straight+right", "west, left"]
    assert first.features[:3] == ("phase 1 is green", "phase 2 is green", "phase 3 is green")
    assert [name.replace("moving", "queue") for name in first.features[8:13]] == list(first.features[3:8])
    assert [name.replace("pressure", "queue") for name in first.features[13:]] == list(first.features[3:8])
    assert len(second.actions) == 2
    assert street.offers.graph.neighbours == ((0, 1),)
    assert street.offers.notes == (
        "street.sumocfg is played without tripinfo-output: rollouts write no files and open no ports.",
    )


def test_the_corridors_are_the_papers():
    cologne, ingolstadt = hydraviper.make("cologne-corridor"), hydraviper.make("ingolstadt-corridor")
    assert [len(agent.actions) for agent in cologne.agents] == [4, 4, 3]
    assert [len(agent.actions) for agent in ingolstadt.agents] == [3, 3, 3, 4, 2, 3, 3]
    assert cologne.recommended.ucb_scale == 16
    heights = [signal.position[1] for signal in ingolstadt.network.signals]
    assert heights == sorted(heights)
    engine, settings = hydraviper.LocalEngine(lambda: ingolstadt), hydraviper.Settings(teams=2)
    task = Task(ingolstadt, LongestQueue(longest(ingolstadt)), engine, settings, Ledger())
    assert graph_metis(task, ingolstadt.teams[0]) == [(0, 1, 2), (3, 4, 5, 6)]


@pytest.mark.parametrize("name", traffic_catalogue.MAPS)
def test_every_map_plays(name):
    game = hydraviper.make(f"resco:{name},steps=3")
    played = hydraviper.play(game, longest(game), SEEDS[:1])
    assert played.lengths.tolist() == [3]
    assert played.returns.shape == (1, len(game.agents))
    assert ("does not repeat" in " ".join(game.offers.notes)) == (name == "cologne1")


def test_a_seed_repeats_exactly(street):
    rule = longest(street)
    first = hydraviper.play(street, rule, SEEDS, record=True)
    other = hydraviper.make("cologne-corridor:steps=2")
    hydraviper.play(other, longest(other), SEEDS[:1])
    again = hydraviper.play(street, rule, SEEDS[::-1].copy(), record=True)
    turned = [
        hydraviper.Rollouts.join([_episode(again, k, street.horizon) for k in (2, 1, 0)]),
        hydraviper.Rollouts.join([_episode(first, k, street.horizon) for k in (0, 1, 2)]),
    ]
    same(*turned)
    assert (first.returns[0] != first.returns[1]).any()


def _episode(rollouts, k, steps):
    rows = slice(k * steps, (k + 1) * steps)
    return hydraviper.Rollouts(
        rollouts.returns[[k]],
        rollouts.lengths[[k]],
        tuple(seen[rows] for seen in rollouts.observations),
        {name: values[[k]] for name, values in rollouts.measures.items()},
    )


def test_what_is_seen_is_what_stands(street):
    """Features and rewards against counts read from SUMO one vehicle at a time."""
    rule, library = longest(street), simulation.sumo()
    observations = street.reset(SEEDS[:1])
    for _ in range(street.horizon):
        observations, rewards, _ = street.step(rule.act(observations))
        counts, rolling = dict.fromkeys(library.lane.getIDList(), 0), dict.fromkeys(library.lane.getIDList(), 0)
        for vehicle in library.vehicle.getIDList():
            stands = library.vehicle.getSpeed(vehicle) < 0.1
            (counts if stands else rolling)[library.vehicle.getLaneID(vehicle)] += 1
        assert street.lane_counts() == {lane: counts[lane] for lane in street.lane_counts()}
        for i, signal in enumerate(street.network.signals):
            state = library.trafficlight.getRedYellowGreenState(signal.identifier)
            queues = [sum(counts[lane] for lane in group.lanes) for group in signal.groups]
            behind = [sum(counts[lane] for lane in group.to_lanes) for group in signal.groups]
            pressures = [own - other for own, other in zip(queues, behind, strict=True)]
            moving = [sum(rolling[lane] for lane in group.lanes) for group in signal.groups]
            phases = [state == green for green in signal.greens]
            assert observations[i][0].tolist() == [*phases, *queues, *moving, *pressures]
        assert rewards.sum() == pytest.approx(-sum(counts.values()))  # nobody who stands is left out


def test_yellow_only_where_the_phase_changes(street, monkeypatch):
    street.reset(SEEDS[:1])
    library, shown = simulation.sumo(), []
    monkeypatch.setattr(library.trafficlight, "setRedYellowGreenState", lambda name, state: shown.append((name, state)))
    street.step(np.array([[0, 0]]))
    assert [state for _, state in shown] == ["rrrGGgrrrGGg", "rrGGGg"]  # taken over as they are
    shown.clear()
    street.step(np.array([[2, 0]]))
    assert shown == [("A", "rrryyyrrryyy"), ("A", "GGgrrrGGgrrr")]
    shown.clear()
    street.step(np.array([[2, 0]]))
    assert shown == []


def test_left_alone_a_signal_runs_its_own_plan(street):
    library = simulation.sumo()
    fixed = street.offers.scoring.yardsticks["fixed time"]
    observations = street.reset(SEEDS[:1])
    for _ in range(3):
        observations, _, _ = street.step(fixed.act(observations))
    assert library.trafficlight.getProgram("A") == "0"
    assert observations[0][0, :3].tolist() == [0, 0, 1]  # second 60 of 38 + 3 + 6 + 3 + 37 + 3
    street.step(np.array([[0, -1]]))
    assert library.trafficlight.getProgram("A") == "online"
    street.step(np.array([[-1, -1]]))
    assert library.trafficlight.getProgram("A") == "0"


def test_the_restored_phase_runs_in_the_fixed_plan():
    """15 s, yellow, then the 25 s that sumo-rl's file lacks: seconds 18 to 43 of a cycle of 90."""
    game = hydraviper.make("ingolstadt-corridor:steps=6")
    fixed = game.offers.scoring.yardsticks["fixed time"]
    played = hydraviper.play(game, fixed, SEEDS[:1], record=True)
    assert played.observations[3][:, :4].argmax(axis=1).tolist() == [0, 1, 1, 3, 3, 0]  # seconds 0, 20, ..., 100


def test_a_lane_into_two_signals_is_seen_by_both():
    def signal(name):
        return Signal(
            name, (0, 0), ("Gr", "rG"), ("a", "b"), (LaneGroup("west, left", ("shared",), ("out",), (), (0,)),)
        )

    signals = [signal("A"), signal("B")]
    lanes = sight.stretches(signals)
    own, ahead, _ = sight.counting(signals, lanes)
    assert lanes == [("shared", 0.0), ("out", 0.0)]
    assert [matrix.tolist() for matrix in own] == [[[1, 0]]] * 2
    assert [matrix.tolist() for matrix in ahead] == [[[0, 1]]] * 2


def test_an_approach_can_go_on_up_the_road():
    """East of Ingolstadt's second signal the map cuts the road a few metres before the stop line."""
    for reach, lane in ((0, None), (100, "10425609#0_1")):
        game = hydraviper.make(f"ingolstadt-corridor:reach={reach},steps=2")
        group = next(group for group in game.network.signals[1].groups if group.name == "east, right")
        assert (lane in group.before) == (lane is not None)
        assert (lane in game.lane_counts()) == (lane is not None)


def test_an_approach_goes_on_round_a_bend_that_is_a_lanes_only_way():
    """North of Cologne's first signal the left lane bends 13 m before the stop; the right one also goes elsewhere."""
    game = hydraviper.make("cologne-corridor:steps=2")
    north = [group for group in game.network.signals[0].groups if group.name.startswith("north")]
    assert {"319261593#12_1" in group.before for group in north} == {True, False}
    for group in north:
        if "319261593#12_1" in group.before:
            length = {lane: simulation.sumo().lane.getLength(lane) for lane, _ in group.in_sight}
            assert sum(length[lane] - start for lane, start in group.in_sight) == pytest.approx(200)


def test_sight_ends_where_it_reaches(street):
    """Vehicles further back on a long lane are not counted, round a bend they are."""
    near, far = (hydraviper.make(street_with(reach=reach)) for reach in (30, 400))
    seeds, library = SEEDS[:1], simulation.sumo()
    for game in (near, far):
        observations = game.reset(seeds)
        for _ in range(game.horizon):
            observations, _, _ = game.step(np.array([[2, 0]]))
        signal, reach = game.network.signals[0], game.options.reach
        for g, group in enumerate(signal.groups):
            seen = [
                name
                for name in library.vehicle.getIDList()
                if (lane := library.vehicle.getLaneID(name)) in group.lanes
                and library.lane.getLength(lane) - library.vehicle.getLanePosition(name) <= reach
                and library.vehicle.getSpeed(name) < 0.1
            ]
            assert observations[0][0, len(signal.greens) + g] == len(seen)
    assert near.network.signals[0].groups[0].starts != ()


def test_those_who_are_near_are_told_from_those_who_are_coming():
    """By the distance of every rolling vehicle from its stop line; together they are what is counted at once."""
    near, apart = 60, "cologne-corridor:steps=15,reach=200,near=60"
    seen = []
    for spec in (apart, "cologne-corridor:steps=15,reach=200"):
        game = hydraviper.make(spec)
        rows = game.reset(SEEDS[:1])
        for _ in range(game.horizon):
            rows, _, _ = game.step(np.zeros((1, 3), np.int64))
            names = (agent.features for agent in game.agents)
            seen.append([dict(zip(own, row[0].tolist(), strict=True)) for own, row in zip(names, rows, strict=True)])
            if spec != apart:
                continue
            library = simulation.sumo()
            for signal, counted in zip(game.network.signals, seen[-1], strict=True):
                for group in signal.groups:
                    if min(map(library.lane.getLength, group.lanes)) < near:
                        continue
                    close = [
                        name
                        for lane in group.lanes
                        for name in library.lane.getLastStepVehicleIDs(lane)
                        if library.lane.getLength(lane) - library.vehicle.getLanePosition(name) <= near
                        and library.vehicle.getSpeed(name) >= 0.1
                    ]
                    assert counted[f"moving from {group.name}"] == len(close)
    coming = 0
    for signals in zip(seen[:15], seen[15:], strict=True):
        for told, at_once in zip(*signals, strict=True):
            for name in (name for name in at_once if name.startswith("moving from ")):
                coming += (back := told[name.replace("moving", "coming")])
                assert told[name] + back == at_once[name]
            assert {name for name in told if name.startswith("coming")}
    assert coming > 20
    whole = game.lane_counts()
    apart = hydraviper.make(apart)
    apart.reset(SEEDS[:1])
    for _ in range(apart.horizon):
        apart.step(np.zeros((1, 3), np.int64))
    assert apart.lane_counts() == whole
    assert hydraviper.make("cologne-corridor:steps=1,near=200").agents == game.agents  # nobody is further away


def test_memory_of_phases_and_of_the_junction():
    game = hydraviper.make(street_with(memory=1, seconds_per_step=10))
    first = game.agents[0]
    assert first.features[3:6] == tuple(f"phase {k} has been red for, s" for k in (1, 2, 3))
    assert first.features[-6] == "standing in the junction"
    assert first.features[-5:] == tuple(name for name in first.features if name.startswith("pressure"))
    game.reset(SEEDS[:1])
    for _ in range(3):
        observations, _, _ = game.step(np.array([[2, 0]]))
    assert observations[0][0, 3:6].tolist() == [30, 30, 0]
    library = simulation.sumo()
    inside = game.network.signals[0].inside
    assert inside
    assert all(lane.startswith(":A_") for lane in inside)
    standing = [
        library.vehicle.getSpeed(name) < 0.1
        for name in library.vehicle.getIDList()
        if library.vehicle.getLaneID(name) in inside
    ]
    assert observations[0][0, -6] == sum(standing)


def test_safety_holds_for_every_policy():
    """A policy that never serves the side street is overruled, and the measures say how often."""
    game = hydraviper.make(street_with(steps=20, min_green=5, max_red=63, score="delay"))
    stubborn = np.array([[0, 0]])
    game.reset(SEEDS[:1])
    shown = []
    for _ in range(game.horizon):
        observations, _, _ = game.step(stubborn)
        shown.append(int(observations[0][0, :3].argmax()))
    measures = game.measures()
    assert measures["phases forced by max_red"][0] >= shown.count(2) > 0
    assert measures["longest wait, s"][0] <= 2 * 63  # a queue need not pass in one green
    with pytest.raises(hydraviper.InputError, match="max_red must be at least 63"):
        hydraviper.make(street_with(max_red=60))
    assert hydraviper.make(street_with(yellow="auto")).options.yellow == "auto"


def test_a_green_waits_for_vehicles_inside_the_junction(monkeypatch):
    """With clearance, nobody who lost the green is inside the junction when the next green comes."""
    monkeypatch.setattr(traffic, "SLOW", 50.0)  # nobody is that fast: everybody counts
    game = hydraviper.make(street_with(steps=30, yellow=1, clearance=10))
    library, signal, inside = simulation.sumo(), game.network.signals[0], []
    game.reset(SEEDS[:1])
    show = library.trafficlight.setRedYellowGreenState

    def watched(name, lights):
        if name == signal.identifier and lights in signal.greens:
            before = library.trafficlight.getRedYellowGreenState(name)
            ways = [lane for k, lanes in enumerate(signal.across) if before[k] not in "Gg" for lane in lanes]
            inside.append(sum(map(library.lane.getLastStepVehicleNumber, ways)))
        show(name, lights)

    monkeypatch.setattr(library.trafficlight, "setRedYellowGreenState", watched)
    for step in range(game.horizon):
        game.step(np.array([[2 * (step % 2), 0]]))
    assert len(inside) > 10
    assert not any(inside)
    assert game.measures()["changes put off by clearance"][0] > 0


def test_no_turn_of_a_shared_lane_is_starved(tmp_path):
    """Phase 2 lets only left-turners of the eastern lane go; all who come there go straight on."""
    routes = tmp_path / "straight.rou.xml"
    routes.write_text('<routes><flow id="f" begin="0" end="900" period="20"><route edges="EB BA AW"/></flow></routes>')
    plain = "steps=20,seconds_per_step=20,yellow=3,reach=0,memory=0,min_green=0,max_red=63,clearance=0"
    game = hydraviper.make(f"traffic:{configuration(tmp_path, route_files=routes)},{plain}")
    library, queue = simulation.sumo(), game.agents[0].features.index("queue from east, left+straight+right")
    straight = game.network.signals[0].links.index("east, straight (BA_0 to AW_0)")
    observations, red, served = game.reset(SEEDS[:1]), 0, 0
    for _ in range(game.horizon):
        waits = observations[0][0, queue] > 0
        observations, _, _ = game.step(np.array([[1, 0]]))
        green = library.trafficlight.getRedYellowGreenState("A")[straight] in "Gg"
        red = 0 if green or not waits else red + 20
        served += green
        assert red < 63
    assert served > 0


def test_what_runs_today_is_a_yardstick():
    """SUMO's own controllers and Webster's plan run as programs, from the first second to the last."""
    game = hydraviper.make(street_with(steps=20, score="delay"))
    rules, library, scores = game.offers.scoring.yardsticks, simulation.sumo(), {}
    assert set(rules) == {"fixed time", "longest queue", "max-pressure", "actuated", "delay-based", "Webster's plan"}
    for name, rule in rules.items():
        scores[name] = game.score.of(hydraviper.play(game, rule, SEEDS[:2]).returns).mean()
        running = {library.trafficlight.getProgram(signal) for signal in "AB"}
        expected = {"actuated": "hydraviper-actuated", "delay-based": "hydraviper-delay-based"}
        expected |= {"Webster's plan": "hydraviper-webster", "fixed time": "0"}
        assert running == {expected.get(name, "online")}
    assert scores["actuated"] < scores["fixed time"]
    assert scores["Webster's plan"] < scores["fixed time"]
    with pytest.raises(hydraviper.InputError, match="chose action -5 for signal-1"):
        hydraviper.play(game, LeaveTo(2, -5), SEEDS[:1])


def test_a_signal_can_be_given_and_taken_back():
    game = hydraviper.make(street_with(score="delay"))
    library = simulation.sumo()
    game.reset(SEEDS[:1])
    for action, program in ((-2, "hydraviper-actuated"), (0, "online"), (-1, "0"), (-2, "hydraviper-actuated")):
        game.step(np.array([[action, -1]]))
        assert library.trafficlight.getProgram("A") == program


def test_websters_plan_by_hand():
    """Two phases, 600 vehicles an hour against 300 on one lane each: 1/3 and 1/6 of the cycle are needed."""
    lanes = [LaneDemand(600, "Gr"), LaneDemand(300, "rG")]
    timing = Timing(step=20, yellow=3)
    lost = 2 * 4
    cycle = (1.5 * lost + 5) / (1 - 1 / 3 - 1 / 6)
    greens = programs.webster(lanes, 1.0, np.eye(2, dtype=bool), timing)
    assert greens == [round((cycle - lost) * share) for share in (2 / 3, 1 / 3)]


def test_demand_is_read_from_the_routes(tmp_path):
    game = hydraviper.make(street_with(score="delay"))
    asked_for = demand.read(game.scenario, 0, 100, 1.0)
    assert asked_for.due == pytest.approx(60)  # 0.25 + 0.15 + 0.1 + 0.1 a second
    turns = asked_for.turns(simulation.sumo())
    assert turns["WA", "AB"] == pytest.approx(25)
    routes = """<routes><route id="east" edges="WA AB BE"/>
        <flow id="e" begin="0" end="50" number="4" route="east"/><vehicle id="a" route="east" depart="5"/>
        <vehicle id="b" depart="0:00:07"><route edges="WA AAN"/></vehicle><trip id="d" from="WA" to="BE" depart="9"/>
        <vehicle id="c" depart="200" route="east"/></routes>"""
    (tmp_path / "own.rou.xml").write_text(routes)
    scenario = Scenario(configuration(tmp_path, route_files=tmp_path / "own.rou.xml"))
    asked_for = demand.read(scenario, 0, 100, 2.0)
    assert asked_for.due == pytest.approx(14)
    assert asked_for.turns(simulation.sumo()) == {("WA", "AB"): 12, ("AB", "BE"): 12, ("WA", "AAN"): 2}


def test_more_demand_more_vehicles():
    due = []
    for factor in (0.5, 1.0, 2.0):
        game = hydraviper.make(f"cologne-corridor:steps=10,score=delay,demand={factor}")
        hydraviper.play(game, game.offers.scoring.yardsticks["fixed time"], SEEDS[:1])
        due.append(game._delays.due)
        assert due[-1] == pytest.approx(game._nominal, abs=1)
    assert due[1] == pytest.approx(due[2] / 2, abs=1) == pytest.approx(2 * due[0], abs=2)


def test_days_vary_where_trees_are_made_and_nowhere_else():
    """Marked seeds play with other demand, the same for the same seed; all others, an evaluation's, as they are."""
    plain, varied = (hydraviper.make(street_with(score="delay", steps=20, variation=v)) for v in (0, 0.5))
    marked = practice(varied, SEEDS)
    assert practice(plain, SEEDS) is SEEDS
    assert [is_practice(seed) for seed in (*SEEDS, *marked)] == [False] * 3 + [True] * 3
    due = {
        name: [_due(game, seed) for seed in seeds]
        for name, game, seeds in (
            ("plain", plain, SEEDS),
            ("unmarked", varied, SEEDS),
            ("marked", varied, marked),
            ("again", varied, marked),
        )
    }
    assert due["plain"] == due["unmarked"] != due["marked"] == due["again"]
    factors = [1 + 0.5 * (2 * fraction(seed) - 1) for seed in marked]
    assert np.argsort(factors).tolist() == np.argsort(due["marked"]).tolist()
    assert max(factors) > 1 > min(factors)
    task = Task(
        varied, LongestQueue(longest(varied)), hydraviper.LocalEngine(lambda: varied), hydraviper.Settings(), Ledger()
    )
    assert all(map(is_practice, task.seeds(Purpose.SELECT, 0, 3)))


@pytest.mark.parametrize("game", ["street", "cologne-corridor:steps=30"])
def test_practice_follows_no_trips_and_plays_the_same_traffic(game, monkeypatch):
    """What only SUMO's own device knows is missing; what every vehicle does is the same with and without the device."""
    game = hydraviper.make(street_with(score="delay", steps=20, variation=0.5) if game == "street" else game)
    marked, day = practice(game, SEEDS[:1]), game._day
    quick = hydraviper.play(game, longest(game), marked, record=True)
    monkeypatch.setattr(game, "_day", lambda seed: replace(day(seed), trips=True))
    whole = hydraviper.play(game, longest(game), marked, record=True)
    assert quick.returns.tolist() == whole.returns.tolist()
    assert all((one == other).all() for one, other in zip(quick.observations, whole.observations, strict=True))
    missing = {"stops per vehicle", "mean time loss, s", "mean travel time, s", "vehicles arrived"}
    assert set(whole.measures) - set(quick.measures) == {*missing, "vehicles that could not enter"}
    assert all(quick.measures[name] == whole.measures[name] for name in quick.measures)


def _due(game, seed):
    hydraviper.play(game, longest(game), np.array([seed], np.uint64))
    return game._delays.due


def test_loops_tell_what_loops_tell():
    """Against vehicles that are followed second by second."""
    game = hydraviper.make(street_with(detectors="loops", seconds_per_step=10, score="delay"))
    first, signal = game.agents[0], game.network.signals[0]
    assert set(game.offers.scoring.yardsticks) == {"fixed time", "actuated", "delay-based", "Webster's plan"}
    assert "loop at the stop line from west, left: occupied" in first.features
    assert not any(name.startswith(("queue", "moving", "pressure")) for name in first.features)
    group = next(group for group in signal.groups if group.name == "west, straight+right")
    library, passed, advance = simulation.sumo(), [], game._advance

    def followed(time):
        lane, (length,) = group.lanes[0], {library.lane.getLength(lane) for lane in group.lanes}
        while library.simulation.getTime() < time:
            before = {v: library.vehicle.getLanePosition(v) for v in library.lane.getLastStepVehicleIDs(lane)}
            advance(library.simulation.getTime() + 1)
            for vehicle, position in before.items():
                gone = vehicle not in library.lane.getLastStepVehicleIDs(lane)
                now = length if gone else library.vehicle.getLanePosition(vehicle)
                passed.append(position < length - 40 <= now)

    game._advance = followed
    observations = game.reset(SEEDS[:1])
    counted = first.features.index(f"loop 40 m back from {group.name}: vehicles in the last step")
    for _ in range(6):
        passed.clear()
        observations, _, _ = game.step(np.array([[0, 0]]))
        # a vehicle counts once it has left the loop
        assert abs(observations[0][0, counted] - sum(passed)) <= 1
    assert (
        observations[0][0, first.features.index(f"loop 40 m back from {group.name}: seconds since the last vehicle")]
        >= 0
    )


def test_loops_tell_nothing_of_the_junction_and_of_queues():
    """So nothing is cleared unless somebody asks for it, and only the whole controller has properties that ship."""
    loops = f"traffic:{FOLDER / 'street.sumocfg'},detectors=loops,seconds_per_step=10,steps=6"
    asked = [hydraviper.make(f"{loops}{more}").options for more in ("", ",clearance=7", ",all_red=0")]
    assert [(one.clearance, one.all_red) for one in asked] == [(0, 2), (7, 2), (0, 0)]
    promised = "whoever waits gets green within max_red, whatever the tree asks for"
    assert obligations_for(hydraviper.make(loops)).names == (promised,)
    assert obligations_for(hydraviper.make(street_with())).names[-1] == promised


def test_loops_need_room(call):
    refuses(call, "is too short for a loop 40 m before", "distill", "cologne-corridor:detectors=loops")
    refuses(call, "there is no detectors 'eyes'", "distill", "cologne-corridor:detectors=eyes")


def test_an_expert_must_have_seen_the_same(call, street):
    about = {"game": street.name, "parameters": dict(street.parameters)}
    store.save(replace(random_expert(street), about=about), Path("expert.safetensors"))
    for name, value in {"moving": 0, "reach": 200, "score": "delay", "seconds_per_step": 5}.items():
        spec = street_with(**{name: value})
        refuses(call, f"was trained with {name}=", "distill", spec, "--expert", "expert.safetensors")
    assert hydraviper.shipped_expert(hydraviper.make("cologne-corridor:steps=1"))
    with pytest.raises(hydraviper.InputError, match="no expert ships"):
        hydraviper.shipped_expert(hydraviper.make("cologne-corridor:steps=1,reach=100"))


def test_an_own_network_is_played_for_an_hour(tmp_path):
    """Decisions every 5 s, with rules of safety; a configuration that ends earlier is played to its end."""
    game = hydraviper.make(f"traffic:{configuration(tmp_path)}")
    wanted = {"steps": 720, "seconds_per_step": 5, "yellow": "auto", "reach": 200, "score": "delay", "memory": 1}
    assert game.parameters.items() >= {**wanted, "near": 100, "min_green": 5, "max_red": "auto"}.items()
    assert {controller.timing.max_red for controller in game.offers.controllers} == {120}
    assert hydraviper.make(f"traffic:{configuration(tmp_path)},seconds_per_step=10").horizon == 360
    short = configuration(tmp_path, begin="100", end="0:09:59")
    assert hydraviper.make(f"traffic:{short}").horizon == 99
    assert hydraviper.make(f"traffic:{short},steps=200").horizon == 200
    assert hydraviper.make(f"traffic:{configuration(tmp_path, end=7200)}").horizon == 720
    assert hydraviper.make(f"traffic:{configuration(tmp_path, end=-1)}").horizon == 720


def test_a_corridor_lasts_as_long_however_often_it_decides():
    usual, often = hydraviper.make("cologne-corridor"), hydraviper.make("cologne-corridor:seconds_per_step=5")
    assert often.horizon * 5 == usual.horizon * usual.parameters["seconds_per_step"]


def test_two_games_in_one_process_do_not_mix(street):
    street.reset(SEEDS[:1])
    hydraviper.make("cologne-corridor:steps=2")
    with pytest.raises(hydraviper.JobError, match="another traffic game"):
        street.step(np.array([[0, 0]]))


def test_workers_give_the_same_trees_and_leave(street, monkeypatch):
    expert = LongestQueue(longest(street))
    settings = hydraviper.Settings(
        iterations=3, train_budget=4, valid_budget=6, rollouts_per_iteration=2, depth=3, drop_quantile=0.5
    )
    alone = hydraviper.distill(street, expert, settings)
    here, reset = [], traffic.Traffic.reset
    monkeypatch.setattr(traffic.Traffic, "reset", lambda self, seeds: here.append(1) or reset(self, seeds))
    with hydraviper.LocalEngine(catalogue.maker(street), workers=2) as engine:
        together = hydraviper.distill(street, expert, settings, engine=engine)
        singles = sum(line.rollouts == 1 for line in together.ledger.lines)
        assert len(here) == singles  # everything else is played in the workers
        scores = hydraviper.evaluate(together, episodes=3, engine=engine)
    assert multiprocessing.active_children() == []
    for i, tree in alone.profile.students.items():
        assert tree.to_json() == together.profile.students[i].to_json()
    programs = {"fixed time", "actuated", "delay-based", "Webster's plan"}
    assert set(scores.yardsticks) == {"longest queue", "max-pressure"} | programs
    for row in (scores.score, scores.expert, *scores.yardsticks.values()):
        assert None not in (row.median, row.worst, row.jammed)
    assert scores.expert.mean == scores.yardsticks["longest queue"].mean
    assert set(scores.measures) >= {
        "mean time loss, s",
        "mean travel time, s",
        "longest wait, s",
        "vehicles arrived",
    }


def test_jammed_is_three_times_the_best_yardsticks_median(street):
    engine = hydraviper.LocalEngine(lambda: street)
    references = play_references(street, LongestQueue(longest(street)), engine, 3)
    medians = [np.median(street.score.of(played.returns)) for played in references.yardsticks.values()]
    assert jam_threshold(street, references) == pytest.approx(3 * min(medians))


def test_drivers_measures(street):
    played = hydraviper.play(street, longest(street), SEEDS[:1]).measures
    library = simulation.sumo()
    entered = int(library.simulation.getParameter("", "stats.vehicles.inserted"))
    assert played["vehicles arrived"][0] + len(library.vehicle.getIDList()) == entered
    assert 0 < played["mean time loss, s"][0] < played["mean travel time, s"][0]
    assert played["longest wait, s"][0] > 0
    assert played["waits above 240 s, % of episodes"][0] == 0


def test_whoever_waits_for_ever_is_told():
    """Without a longest red, a phase that never ends shuts the side street out; a mean over all vehicles hides that."""
    game = hydraviper.make(street_with(steps=20, min_green=5, max_red=0, score="delay"))
    game.reset(SEEDS[:1])
    for _ in range(game.horizon):
        game.step(np.array([[0, 0]]))
    measures = game.measures()
    assert measures["longest wait, s"][0] > 240
    assert measures["waits above 240 s, % of episodes"][0] == 100


def test_from_distilling_to_evaluating(call, street):
    store.save(random_expert(street), Path("expert.safetensors"))
    budget = ["--iterations", 2, "--train-budget", 2, "--valid-budget", 2, "--episodes", 2, "--workers", 2]
    code, printed, complaint = call(
        "distill", STREET, *budget, "--expert", "expert.safetensors", "--out", "run", "--json"
    )
    assert code == 0, complaint
    score = json.loads(printed)["score"]
    assert (score["jammed"] > 0) == (score["worst"] > score["jam_threshold"])
    assert len(json.loads(printed)["over_time"]["policies"]["trees"]["median"]) == 8
    assert "fixed time" in Path("run/report.html").read_text()
    code, printed, complaint = call("evaluate", "run", "--episodes", 2)
    assert code == 0, complaint
    assert "jammed" in printed
    _with_more_and_less_traffic(call, street)
    code, printed, _ = call("show", "run", "--agent", "signal-1")
    assert "phase" in printed
    assert not list(FOLDER.glob("trips.xml"))  # a user's own output files are not written by rollouts


def _with_more_and_less_traffic(call, street):
    """`evaluate --demand`: a table per factor, each as a game of that demand scores, once as without the option."""
    code, printed, complaint = call("evaluate", "run", "--episodes", 2, "--demand", "0.5,1.0", "--workers", 1, "--json")
    assert code == 0, complaint
    told = json.loads(printed)
    half, once = told["demand"]
    assert (half["factor"], once["factor"]) == (0.5, 1.0)
    assert once["score"] == told["score"]
    assert once["yardsticks"] == told["yardsticks"]
    game = hydraviper.make(street_with(demand=0.5))
    seeds = rollout_seeds(0, Purpose.EVALUATE, 0, 2)
    scores = game.score.of(hydraviper.play(game, longest(game), seeds).returns)
    assert half["yardsticks"]["longest queue"]["mean"] == pytest.approx(scores.mean())
    assert hydraviper.evaluate("run", episodes=2, demand=(0.5,)).demand[0].score.mean == half["score"]["mean"]
    code, printed, _ = call("evaluate", "run", "--episodes", 2, "--demand", "0.5", "--workers", 1)
    assert "traffic with 0.5 times the traffic" in printed
    numbers = "must be numbers with commas"
    for wrong, sentence in (("much", numbers), ("", numbers), ("nan", "a number from"), ("0", "at least 0.01")):
        refuses(call, sentence, "evaluate", "run", "--demand", wrong)


def test_jams_and_near_jams_beside_the_mean(street):
    scores = np.array([1.0, 1.4, 1.6, 2.9, 3.1])
    returns = np.repeat(-street.horizon * scores[:, None] / 2, 2, axis=1)
    found = outcome(street, hydraviper.Rollouts(returns, np.full(5, 8)), jam=3.0)
    assert (found.jammed, found.nearly_jammed, found.median) == (1, 2, 1.6)


# ------------------------------------------------------------------------------------------------ bad input


def test_networks_that_cannot_be_played(call, tmp_path):
    refuses(call, "has no traffic signals", "distill", f"traffic:{configuration(tmp_path, 'unsignalled.net.xml')}")
    refuses(call, "there is no file", "distill", "traffic:nothing.sumocfg")
    refuses(call, "traffic needs a file", "distill", "traffic")
    missing = configuration(tmp_path, route_files="nowhere.rou.xml")
    refuses(call, "nowhere.rou.xml' is not accessible", "distill", f"traffic:{missing}")
    rejected = configuration(tmp_path, step_length="often")
    refuses(call, "Invalid Number Format (double) often", "distill", f"traffic:{rejected}")
    (tmp_path / "own.sumocfg").write_text("<configuration><net-file")
    refuses(call, "it is no sound XML", "distill", f"traffic:{tmp_path / 'own.sumocfg'}")
    refuses(call, "there is no RESCO map 'paris'", "distill", "resco:paris")
    refuses(call, "yellow must be", "distill", "cologne-corridor:yellow=20")
    refuses(call, "must be a whole number", "distill", "cologne-corridor:steps=many")
    refuses(call, "yellow must be a whole number of seconds or auto", "distill", "cologne-corridor:yellow=long")
    refuses(call, "there is no score 'joy'", "distill", "cologne-corridor:score=joy")
    refuses(call, "demand must be a number", "distill", "cologne-corridor:demand=much")
    refuses(call, "demand must be a number", "distill", "cologne-corridor:demand=nan")
    refuses(call, "demand must be at least", "distill", "cologne-corridor:demand=-1")
    refuses(call, "max_red must be at least", "distill", "cologne-corridor:max_red=40")


def test_a_signal_with_one_phase_is_left_alone_and_said(tmp_path):
    file = configuration(tmp_path, additional_files=FOLDER / "one-phase.add.xml")
    game = hydraviper.make(f"traffic:{file},steps=3")
    assert [agent.name for agent in game.agents] == ["signal-1"]
    assert game.offers.notes == ("1 signal has only one green phase and keeps its own program: B.",)
    settings = hydraviper.Settings(iterations=1, train_budget=1, valid_budget=1, rollouts_per_iteration=1)
    assert game.offers.notes[0] in hydraviper.distill(game, LongestQueue(longest(game)), settings).ledger.notes


def with_crossings(folder, *options):
    """The street with sidewalks and pedestrian crossings."""
    program = Path(pytest.importorskip("sumo").SUMO_HOME) / "bin" / "netconvert"
    net = folder / "crossings.net.xml"
    sidewalks = ["--sidewalks.guess.min-speed", "1", "--sidewalks.guess.max-speed", "50", "--crossings.guess"]
    command = [program, "-s", FOLDER / "street.net.xml", "--sidewalks.guess", *sidewalks, *options, "-o", net]
    subprocess.run(command, check=True, capture_output=True)
    return configuration(folder, net_file=net)


def test_signals_with_crossings_keep_their_program(call, tmp_path):
    """Trees know nothing of those who walk: they would shut them out, and cut the seconds that they have to clear."""
    file = with_crossings(tmp_path, "--sidewalks.guess.exclude", "BE,EB,BNB,BBN")
    game = hydraviper.make(f"traffic:{file},steps=12")
    assert [signal.identifier for signal in game.network.signals] == ["B"]
    words = "1 signal has pedestrian crossings, which are not modelled, and keeps its own program: A."
    assert game.offers.notes == (words,)
    rule, shown = longest(game), set()
    observations, done = game.reset(SEEDS[:1]), False
    library = simulation.sumo()
    own = {phase.state for phase in simulation.active_program(library, "A").phases}
    while not done:
        observations, _, (done,) = game.step(rule.act(observations))
        shown.add(library.trafficlight.getRedYellowGreenState("A"))
    assert len(shown) > 1
    assert shown <= own
    refuses(call, "build the network without them", "map", f"traffic:{with_crossings(tmp_path)},steps=3")


def test_greens_that_let_nobody_go_are_no_phases(tmp_path):
    """SUMO takes a program that is green for letters without links alone; its signal has nothing to choose."""
    states = ("rrrrrrGr", "rrrrrryr", "rrrrrrrG", "rrrrrrry")
    phases = "".join(f'<phase duration="30" state="{state}"/>' for state in states)
    program = f'<additional><tlLogic id="B" type="static" programID="spare" offset="0">{phases}</tlLogic></additional>'
    (tmp_path / "spare.add.xml").write_text(program)
    game = hydraviper.make(f"traffic:{configuration(tmp_path, additional_files=tmp_path / 'spare.add.xml')},steps=3")
    assert [signal.identifier for signal in game.network.signals] == ["A"]
    assert game.network.alone == ("B",)


def test_a_timetable_of_programs_does_not_end_a_yardstick(tmp_path):
    """A WAUT changes a signal's program by the clock; the network's own plan follows it, and no other one does."""
    timetable = """<additional>
        <tlLogic id="A" type="static" programID="day" offset="0"><phase duration="60" state="{}"/></tlLogic>
        <WAUT id="week" refTime="0" startProg="0"><wautSwitch time="33" to="day"/></WAUT>
        <wautJunction wautID="week" junctionID="A"/></additional>"""
    state = next(re.finditer(r'<tlLogic id="A".*?state="(\w+)"', (FOLDER / "street.net.xml").read_text(), re.S))[1]
    (tmp_path / "week.add.xml").write_text(timetable.format(state))
    game = hydraviper.make(f"traffic:{configuration(tmp_path, additional_files=tmp_path / 'week.add.xml')},steps=12")
    running, at = simulation.sumo().trafficlight.getProgram, game.options.seconds_per_step
    for name, own in {
        "fixed time": "0",
        "actuated": "hydraviper-actuated",
        "Webster's plan": "hydraviper-webster",
    }.items():
        rule, seen, told = game.offers.scoring.yardsticks[name], game.reset(SEEDS[:1]), []
        for _ in range(game.horizon):
            seen, _, _ = game.step(rule.act(seen))
            told.append(running("A"))
        late = told[33 // at + 2 :]
        assert told[0] == own
        assert set(late) == ({"day"} if name == "fixed time" else {own})


def test_an_episode_without_anybody_counts_as_one(tmp_path):
    """Where few vehicles come by chance, some episodes have none; where nobody is due at all, that is a slip."""
    routes, folder = tmp_path / "few.rou.xml", tmp_path
    routes.write_text('<routes><flow id="few" begin="0" end="60" probability="0.01" from="WA" to="BE"/></routes>')
    game = hydraviper.make(f"traffic:{configuration(folder, route_files=routes)},steps=12")
    played = [hydraviper.play(game, longest(game), np.array([k], np.uint64)) for k in range(6)]
    empty = [float(one.measures["vehicles arrived"][0]) == 0 for one in played]
    assert 0 < sum(empty) < 6
    assert {float(game.score.of(one.returns)[0]) for one, alone in zip(played, empty, strict=True) if alone} == {0.0}
    routes.write_text('<routes><flow id="late" begin="90" end="99" probability="1" from="WA" to="BE"/></routes>')
    game = hydraviper.make(f"traffic:{configuration(folder, route_files=routes)},steps=12")
    with pytest.raises(hydraviper.InputError, match="no vehicle enters"):
        hydraviper.play(game, longest(game), SEEDS[:1])


def test_lights_of_more_letters_than_links(tmp_path):
    """SUMO plays such programs, and warns."""
    longer = re.sub(r'(<phase.* state="\w+)"', r'\1r"', (FOLDER / "street.net.xml").read_text())
    (tmp_path / "longer.net.xml").write_text(longer)
    (tmp_path / "longer").mkdir()
    file = configuration(tmp_path / "longer", net_file=tmp_path / "longer.net.xml")
    played = [
        hydraviper.play(game := hydraviper.make(f"traffic:{name},steps=60"), longest(game), SEEDS)
        for name in (file, configuration(tmp_path))
    ]
    np.testing.assert_array_equal(*(rollouts.returns for rollouts in played))
    assert played[0].measures["changes put off by clearance"].sum() > 0


def test_demand_that_no_car_can_drive(call, tmp_path):
    """A bus of its own lane, a road that nobody knows: Webster's plan does without, and SUMO has the word."""
    own = re.sub(r'(<lane id="BNB_0")', r'\1 allow="bus"', (FOLDER / "street.net.xml").read_text())
    (tmp_path / "bus.net.xml").write_text(own)
    bus = '<vType id="line" vClass="bus"/><trip id="bus" type="line" depart="1" from="BNB" to="BA"/>'
    car = '<trip id="car" depart="2" from="WA" to="BE"/>'
    (tmp_path / "own.rou.xml").write_text(f"<routes>{bus}{car}</routes>")
    files = {"net_file": tmp_path / "bus.net.xml", "route_files": tmp_path / "own.rou.xml"}
    game = hydraviper.make(f"traffic:{configuration(tmp_path, **files)},steps=20")
    assert hydraviper.play(game, longest(game), SEEDS[:1]).measures["vehicles arrived"].tolist() == [2]
    (tmp_path / "own.rou.xml").write_text(f'<routes>{car}<trip id="lost" depart="3" from="NOPE" to="BE"/></routes>')
    game = hydraviper.make(f"traffic:{configuration(tmp_path, **files)},steps=20")
    with pytest.raises(hydraviper.InputError, match="NOPE"):
        hydraviper.play(game, longest(game), SEEDS[:1])


def test_demand_that_sumo_leaves_out_is_told(tmp_path):
    """Of a file that is not sorted SUMO leaves out whoever departs before those above; additional files may be."""
    departures = {"a": 9, "b": 5, "c": 9, "d": 40, "e": 30}
    trips = "".join(f'<trip id="{name}" depart="{at}" from="WA" to="BE"/>' for name, at in departures.items())
    flow = '<flow id="f" begin="20" end="100" period="10" from="WA" to="BE"/>'
    (tmp_path / "own.rou.xml").write_text(f"<routes>{trips}{flow}</routes>")
    more = '<trip id="x" depart="8" from="WA" to="BE"/><trip id="y" depart="7" from="WA" to="BE"/>'
    (tmp_path / "more.add.xml").write_text(f"<additional>{more}</additional>")
    files = {"route_files": tmp_path / "own.rou.xml", "additional_files": tmp_path / "more.add.xml"}
    game = hydraviper.make(f"traffic:{configuration(tmp_path, **files)},steps=40")
    (note,) = game.offers.notes
    assert note.startswith("SUMO leaves out 3 of the vehicles and flows in own.rou.xml, b first")
    played = hydraviper.play(game, longest(game), SEEDS[:1])
    assert played.measures["vehicles arrived"].tolist() == [5]
    asked_for = demand.read(game.scenario, 0, 200, 1.0)
    assert asked_for.due == 5
    assert asked_for.ignored == {"own.rou.xml": ["b", "e", "f"]}


def test_a_plan_that_adapts_is_told(tmp_path):
    adapting = (FOLDER / "street.net.xml").read_text().replace('type="static"', 'type="actuated"', 1)
    (tmp_path / "adapting.net.xml").write_text(adapting)
    file = configuration(tmp_path, net_file=tmp_path / "adapting.net.xml")
    notes = hydraviper.make(f"traffic:{file},steps=3").offers.notes
    assert notes == ("The network's own program, called fixed time, is not fixed but adapts to traffic at A.",)


def test_what_stands_inside_a_junction_is_not_what_stands_in_another_of_a_like_name(tmp_path):
    renamed = re.sub(r'(?<=[":])B(?=["_])', "A_2", (FOLDER / "street.net.xml").read_text())
    renamed = renamed.replace(":B_", ":A_2_")
    (tmp_path / "alike.net.xml").write_text(renamed)
    inside = []
    for net in (tmp_path / "alike.net.xml", FOLDER / "street.net.xml"):
        game = hydraviper.make(f"traffic:{configuration(tmp_path, net_file=net)},steps=3")
        inside.append([len(signal.inside) for signal in game.network.signals])
    assert inside[0] == inside[1]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_demand_that_never_arrives(call, tmp_path, workers):
    spec = f"traffic:{configuration(tmp_path, begin='10000')},steps=2"
    store.save(random_expert(hydraviper.make(spec)), Path("expert.safetensors"))
    options = ["--expert", "expert.safetensors", "--workers", workers, "--out", "run", "--episodes", 2]
    refuses(call, "no vehicle enters", "distill", spec, *options)
    assert not Path("run").exists()
    assert multiprocessing.active_children() == []


def test_without_sumo_the_sentence_says_what_to_install(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "libsumo", None)
    refuses(call, "pip install 'hydraviper[traffic]'", "distill", "cologne-corridor")
    code, printed, _ = call("games", "--json")
    assert code == 0
    assert "hydraviper[traffic]" in json.loads(printed)["missing"]["cologne-corridor"]
    monkeypatch.setattr(traffic_catalogue, "find_spec", lambda name: None)
    refuses(call, "sumo-rl", "distill", "ingolstadt-corridor")


def test_a_sumo_that_does_not_load_is_told_from_one_that_is_missing(call, monkeypatch, tmp_path):
    missing = "libX11.so.6: cannot open shared object file"
    (tmp_path / "libsumo.py").write_text(f"raise ImportError({missing!r})")
    monkeypatch.delitem(sys.modules, "libsumo", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    refuses(call, f"does not load ({missing}): install the missing library", "distill", "cologne-corridor")


def test_the_game_can_be_made_in_another_process(street):
    made = catalogue.maker(street)
    assert isinstance(made, partial)
    assert made().agents == street.agents


@pytest.mark.parametrize(("name", "algorithm"), [("cologne-corridor", "linear"), ("ingolstadt-corridor", "idqn")])
def test_an_expert_ships_for_each_corridor(name, algorithm):
    game = hydraviper.make(f"{name}:steps=1")
    expert = hydraviper.shipped_expert(game)
    assert expert.about["algorithm"] == algorithm
    assert store.digest(hydraviper.shipped_expert(game, algorithm)) == store.digest(expert)
    validated = [other.about["validation"]["score"] for other in store.all_shipped(game) if "validation" in other.about]
    assert len(validated) > 1
    assert expert.about["validation"]["score"] == min(validated)
    hydraviper.play(game, hydraviper.shipped_expert(game, "mplight"), SEEDS[:1])
    hydraviper.play(game, expert, SEEDS[:1])
    with pytest.raises(hydraviper.InputError, match="no expert of maddpg ships"):
        hydraviper.shipped_expert(game, "maddpg")
