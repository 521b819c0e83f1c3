"""Episodes that are watched: the same episodes, and what they tell of streets and phases."""

from __future__ import annotations

import numpy as np
import pytest

import hydraviper
from hydraviper.games import catalogue, streets
from hydraviper.rollout import Watched
from tests.helpers.street import street_with

SEEDS = np.arange(2, dtype=np.uint64)


def longest(game):
    return game.offers.scoring.yardsticks["longest queue"]


@pytest.mark.slow
@pytest.mark.parametrize("score", ["delay", "stopped"])
def test_watching_changes_nothing_else(score):
    game = hydraviper.make(street_with(score=score))
    plain, watched = (hydraviper.play(game, policy, SEEDS) for policy in (longest(game), Watched(longest(game))))
    again = hydraviper.play(game, longest(game), SEEDS)
    assert (plain.returns == watched.returns).all()
    assert again.measures.keys() == plain.measures.keys()
    assert streets.STREETS not in again.measures
    for name, values in plain.measures.items():
        np.testing.assert_allclose(watched.measures[name], values, rtol=1e-12)


@pytest.mark.slow
def test_a_street_is_called_as_people_would(street):
    names = [one.street for one in street.offers.scoring.closely.streets(_watched(street).measures)]
    assert "signal-1 from west (WA)" in names
    assert len(set(names)) == len(names)


def _watched(game, policy=None):
    return hydraviper.play(game, Watched(policy or longest(game)), SEEDS)


@pytest.mark.slow
def test_a_starved_street_is_seen():
    """Phase 1 for ever: nobody of the other streets gets through."""

    class Stubborn:
        def act(self, observations):
            return np.zeros((len(observations[0]), len(observations)), int)

    game = hydraviper.make(street_with(steps=60))
    played = _watched(game, Stubborn())
    table = game.offers.scoring.closely.streets(played.measures)
    starved = [one for one in table if one.level_of_service == "F"]
    assert starved
    assert all(one.served == 0 and one.longest_wait > 600 for one in starved)
    assert all(one.served > 0 for one in table if one.level_of_service in ("A", "B"))
    shown = game.offers.scoring.closely.shown(played.measures)
    assert all(list(shares.values()) == [1.0, *[0.0] * (len(shares) - 1)] for shares in shown.values())


@pytest.mark.slow
def test_workers_watch_as_well(street):
    with hydraviper.LocalEngine(catalogue.maker(street), workers=2) as engine:
        there = engine.play(Watched(longest(street)), SEEDS)
    here = _watched(street)
    for name, values in here.measures.items():
        np.testing.assert_array_equal(values, there.measures[name])


@pytest.mark.parametrize(
    ("delay", "letter"), [(0, "A"), (10, "A"), (10.1, "B"), (20, "B"), (35, "C"), (55, "D"), (80, "E"), (80.5, "F")]
)
def test_levels_of_service_are_the_manuals(delay, letter):
    assert streets.level(delay) == letter


def test_episodes_that_nobody_watched_tell_nothing():
    assert streets.table((), (), {}) == ()
    assert streets.shown((), {}) == {}
