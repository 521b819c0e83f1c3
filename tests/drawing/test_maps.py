"""Maps of road networks: signals lie where they are, numbered, in their teams."""

from __future__ import annotations

import math
import re
from itertools import combinations

import numpy as np
import pytest

import hydraviper
from hydraviper.drawing import maps
from tests.helpers.drawings import map_of, marks, parsed, words

SEEDS = np.arange(3, dtype=np.uint64)


def test_ingolstadt_is_numbered_from_south_to_north_and_shows_its_teams(corridors):
    game = corridors[1]
    plain, split = map_of(game, game.teams), map_of(game, ((0, 1, 2), (3, 4, 5, 6)))
    for svg in (plain, split):
        heights = [y for _, (_, y) in sorted(marks(svg).items())]
        assert len(heights) == 7
        assert heights == sorted(heights, reverse=True)
    assert not any("team" in word for word in words(plain))
    assert {"team 1", "team 2"} <= set(words(split))
    shown = [word for word in words(split) if word.startswith("signal-")]
    assert shown[0].startswith("signal-1cluster_1757124350")  # with SUMO's name
    assert len(shown) == 7
    first, second = (maps._shape(k, 0, 0, 10, "#fff") for k in (0, 1))
    assert (first.startswith("<circle"), second.startswith("<path")) == (True, True)  # told apart without colour


def test_maps_lie_right_and_to_scale(street):
    svg = map_of(street, street.teams)
    (x, y), (u, v) = (marks(svg)[k] for k in (1, 2))  # A at (0, 0) and B at (200, 0), about
    near = street.network.signals
    metres = math.dist(near[0].position, near[1].position)
    assert u > x
    assert abs(v - y) < 0.05 * (u - x)
    bar = re.search(r"v8h([\d.]+)v-8", svg)
    shown = next(word for word in words(svg) if word.endswith(" m"))
    assert float(bar[1]) / float(shown.split()[0]) == pytest.approx((u - x) / metres, rel=0.02)
    root = parsed(svg)
    for left, top in marks(svg).values():
        assert 0 < left < float(root.attrib["width"])
        assert 0 < top < float(root.attrib["height"])


def test_marks_never_overlap():
    draws = np.random.default_rng(0)
    homes = [tuple(point) for point in draws.uniform(0, 120, size=(12, 2))]
    spots = maps._apart([*homes, homes[0]], 25, (400, 400))
    assert min(math.dist(a, b) for a, b in combinations(spots, 2)) > 24
    far = [(20.0, 20.0), (200.0, 50.0)]
    assert maps._apart(far, 25, (400, 400)) == far


def test_drawing_ends_an_episode_and_says_so(street):
    street.reset(SEEDS[:1])
    map_of(street, street.teams)
    with pytest.raises(hydraviper.JobError, match="took over SUMO"):
        street.step(np.zeros((1, 2), int))
