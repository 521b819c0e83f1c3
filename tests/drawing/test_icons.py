"""Icons of phases: arrows point where the names of the phases say."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import numpy as np

from hydraviper.drawing.icons import CLOSED, SIDE
from hydraviper.drawing.trees import to_svg
from hydraviper.games import road_network
from hydraviper.games.road_network import COMPASS
from tests.helpers.drawings import SVG, icons_of, parsed, words
from tests.helpers.trees import random_tree

SEEDS = np.arange(3, dtype=np.uint64)


def direction(path: str) -> float:
    """Where a path begins, in degrees clockwise from north as seen from the middle of an icon."""
    x, y = (float(part) - SIDE / 2 for part in re.match(r"M([-\d.]+) ([-\d.]+)", path).groups())
    return math.degrees(math.atan2(x, -y)) % 360


def point(angle: float) -> str:
    return "NESW"[round(angle / 90) % 4]


def arrows(icon: str) -> list[tuple[float, float, bool]]:
    """Every arrow of an icon: whence, whither, and whether it yields; the line comes first and then its head."""
    paths = [element.attrib for element in parsed(icon).iter("path")]
    return [
        (direction(line["d"]), direction(head["d"]), "stroke-dasharray" in line)
        for line, head in pairwise(paths)
        if "C" in line["d"]
    ]


def test_arrows_of_the_street_point_as_the_phases_say(street):
    first = icons_of(street, 0).drawings
    assert len(first) == len(street.agents[0].actions) == 3
    shown = [{(point(start) + point(end), yields) for start, end, yields in arrows(icon)} for icon in first]

    def ways(free: str, yielding: str = "") -> set[tuple[str, bool]]:
        return {(way, False) for way in free.split()} | {(way, True) for way in yielding.split()}

    assert shown == [
        ways("EW WE EN WS", "ES WN"),  # east-west straight+right (left yields)
        ways("ES WN"),  # east-west left
        ways("NS SN NW SE", "NE SW"),  # north-south straight+right (left yields)
    ]


def test_turns_go_the_right_way_round(street, corridors):
    degrees = {"straight": 180, "left": 90, "right": 270}  # clockwise from where one comes from to where one goes
    for game in (street, *corridors):
        for signal in game.network.signals:
            for way in signal.movements:
                if way.turn in degrees:
                    off = (way.target - way.source - degrees[way.turn] + 180) % 360 - 180
                    # one left turn of Cologne goes into the other half of the road that it comes from
                    assert abs(off) < (70 if way.turn == "left" and way.side == "north" else 35), way


def test_approaches_lie_where_their_names_say(street, corridors):
    for game in (street, *corridors):
        for signal in game.network.signals:
            for way in signal.movements:
                named = 45 * COMPASS.index(way.side.split()[0])
                assert abs((way.source - named + 180) % 360 - 180) <= 45


def test_every_phase_shows_exactly_the_approaches_and_yields_that_it_names(street, corridors):
    for game in (street, *corridors):
        for i, signal in enumerate(game.network.signals):
            sources = {way.side: way.source for way in signal.movements}
            for name, icon in zip(signal.phases, icons_of(game, i).drawings, strict=True):
                named = {side for side in sources if re.search(rf"(^|[-, ]){side}[- ]", name)}
                nearest = [
                    min(sources, key=lambda side: abs((sources[side] - start + 180) % 360 - 180))
                    for start, _, _ in arrows(icon)
                ]
                assert set(nearest) == named, name
                assert any(yields for _, _, yields in arrows(icon)) == ("yield" in name)
                assert icon.count(CLOSED) == len(sources) - len(named)


class Mirrored:
    """A library of lanes that sees the world in a mirror, where everybody drives on the left."""

    def __init__(self, lane):
        self._lane = lane

    def __getattr__(self, name):
        return getattr(self._lane, name)

    def getShape(self, lane):  # noqa: N802
        return tuple((-x, y) for x, y in self._lane.getShape(lane))


def test_driving_on_the_left_is_noticed(street):
    street.reset(SEEDS[:1])
    library = street._sumo
    for signal in street.network.signals:
        assert not signal.keeps_left
        links = road_network._links(library, signal.identifier)
        mirrored = type("Library", (), {"lane": Mirrored(library.lane)})
        assert road_network._keeps_left(mirrored, links)


def test_trees_show_an_icon_in_every_leaf_and_the_legend(street):
    agent, icons = street.agents[0], icons_of(street, 0)
    tree = random_tree(agent, np.random.default_rng(1), 3)
    svg = to_svg(agent, tree, icons)
    moved = [g for g in parsed(svg).iter(SVG + "g") if "translate" in g.attrib.get("transform", "")]
    assert len(moved) == tree.leaves + len(agent.actions)
    assert "north is up" in " ".join(words(svg))
    assert "phase 1: east-west straight+right (left yields)" in svg  # in the legend; leaves say "phase 1"
    assert any(word in ("phase 1", "phase 2", "phase 3") for word in words(svg))
