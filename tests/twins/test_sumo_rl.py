"""Counts per lane against sumo-rl's SumoEnvironment over TraCI: the same seed and signals, step for step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import hydraviper

pytestmark = pytest.mark.slow

SEED = 42


def play_with_sumo_rl(game, states, seed=SEED, libsumo=False):
    """What sumo-rl counts on every lane after every step, when it shows the same states."""
    folder = game.scenario.file.parent
    sumo_home = Path(find_spec("sumo").origin).parent
    asked = {
        "net": str(folder / f"{folder.name}.net.xml"),
        "routes": str(folder / f"{folder.name}.rou.xml"),
        "begin": int(game._begin),
        "seed": seed,
        "states": states,
        "min_green": -3,  # else sumo-rl ignores the first change
    }
    environment = {**os.environ, "SUMO_HOME": str(sumo_home)} | ({"LIBSUMO_AS_TRACI": "1"} if libsumo else {})
    program = Path(__file__).parent / "sumo_rl_player.py"
    done = subprocess.run(
        [sys.executable, str(program)], input=json.dumps(asked), env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(("name", "steps"), [("cologne-corridor", 30), ("ingolstadt-corridor", 15)])
def test_every_lane_counts_as_in_sumo_rl(name, steps):
    game = hydraviper.make(f"{name}:steps={steps},reach=0,min_green=0,max_red=0,clearance=0")
    draws = np.random.default_rng(0)
    game.reset(np.array([SEED], np.uint64))
    states, lanes, queued = [], [], []
    for _ in range(steps):
        actions = np.array([[draws.integers(len(agent.actions)) for agent in game.agents]])
        for i, signal in enumerate(game.network.signals):
            # sumo-rl's file lacks this phase
            if signal.greens[actions[0, i]] == "rrrrrrGGGGrr":
                actions[0, i] = 0
        game.step(actions)
        signals = game.network.signals
        states.append({s.identifier: s.greens[a] for s, a in zip(signals, actions[0], strict=True)})
        lanes.append(game.lane_counts())
        into = {s.identifier: {lane for group in s.groups for lane in group.lanes} for s in signals}
        queued.append({name: sum(lanes[-1][lane] for lane in own) for name, own in into.items()})
    theirs = play_with_sumo_rl(game, states)
    assert theirs["queued"] == queued
    for ours, other in zip(lanes, theirs["lanes"], strict=True):
        assert {lane: ours[lane] for lane in other} == other
    assert sum(map(sum, (counts.values() for counts in lanes))) > 100
