"""Grids of signals by SUMO's own tools."""

from __future__ import annotations

import numpy as np
import pytest

import hydraviper
from hydraviper.games import catalogue, grids

pytestmark = pytest.mark.slow


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_a_grid_by_its_name_is_made_once_and_repeats(cache):
    game = hydraviper.make("traffic:grid,rows=1,columns=2,spacing=100,vehicles=300,steps=20")
    assert (game.name, len(game.agents)) == ("grid", 2)
    (folder,) = (cache / "hydraviper/grids").iterdir()
    made = (folder / "grid.rou.xml").stat().st_mtime_ns
    again = catalogue.maker(game)()
    assert (folder / "grid.rou.xml").stat().st_mtime_ns == made
    rule = game.offers.scoring.yardsticks["max-pressure"]
    seeds = np.arange(2, dtype=np.uint64)
    np.testing.assert_array_equal(*(hydraviper.play(one, rule, seeds).returns for one in (game, again)))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("rows=0", "rows must be at least 1, not 0"),
        ("columns=51", "columns must be at most 50, not 51"),
        ("spacing=10", "spacing must be at least 50"),
        ("lanes=9", "lanes must be at most 4"),
        ("vehicles=-5", "vehicles must be at least 1"),
        ("rows=x", "grid's rows must be a whole number, not 'x'"),
        ("row=3", "grid has no parameter 'row'"),
    ],
)
def test_bad_parameters(parameters, words):
    with pytest.raises(hydraviper.InputError, match=words):
        hydraviper.make(f"traffic:grid,{parameters}")


def test_without_sumos_programs(monkeypatch, cache):
    monkeypatch.setattr(grids, "find_spec", lambda name: None)
    with pytest.raises(hydraviper.InputError, match="pip install eclipse-sumo"):
        hydraviper.make("traffic:grid")
    assert not any((cache / "hydraviper/grids").iterdir())
