"""The delay of a traffic game against SUMO's own file of trips, those unfinished and those outside included."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import hydraviper
from hydraviper.games import scenario, simulation
from tests.helpers.street import street_with

GAMES = {
    "street": (street_with(steps=20, reach=100, score="delay"), "fixed time"),
    "street, random flows, every 5 s": (
        street_with(steps=60, seconds_per_step=5, reach=100, score="delay", demand=1.7),
        "longest queue",
    ),
    "cologne": ("cologne-corridor:steps=60,score=delay", "longest queue"),
    "ingolstadt, many outside": ("ingolstadt-corridor:steps=40,score=delay", "longest queue"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_the_score_is_the_delay_that_sumo_writes(name, monkeypatch, tmp_path):
    spec, yardstick = GAMES[name]
    game = hydraviper.make(spec)
    written = tmp_path / "trips.xml"
    outputs = ("--tripinfo-output", str(written), "--precision", "6")
    unfinished = ("--tripinfo-output.write-unfinished", "true", "--tripinfo-output.write-undeparted", "true")
    monkeypatch.setattr(scenario, "OPTIONS", (*scenario.OPTIONS, *outputs, *unfinished))
    played = hydraviper.play(game, game.offers.scoring.yardsticks[yardstick], np.array([3], np.uint64), record=True)
    delay = game._delays.total / game._delays.due
    simulation.sumo().simulation.close()  # SUMO writes the end of the file
    trips = [trip.attrib for trip in ElementTree.parse(written).getroot() if _was_due(trip.attrib)]
    delays = [float(trip["timeLoss"]) + float(trip["departDelay"]) for trip in trips]
    assert played.measures["vehicles arrived"][0] == sum(float(trip["arrival"]) >= 0 for trip in trips)
    assert played.measures["stops per vehicle"][0] == pytest.approx(
        np.mean([float(trip["waitingCount"]) for trip in trips])
    )
    # SUMO writes milliseconds
    assert game.score.of(played.returns)[0] == pytest.approx(np.mean(delays), abs=1e-3)
    assert delay == pytest.approx(game.score.of(played.returns)[0])
    assert (game.score.of(played.rewards) > -1e-9).all()  # delay only grows


def _was_due(trip):
    """SUMO also tells of vehicles that are due in the second that is not played any more."""
    return float(trip["depart"]) >= 0 or float(trip["departDelay"]) > 0
