"""Pictures of traffic games: arrows point where the names say, maps and charts are sound, other games are as before."""

from __future__ import annotations

import json
import math
import pickle
import re
import sys
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import hydraviper
from hydraviper.data import Rollouts
from hydraviper.drawing import maps
from hydraviper.drawing.icons import CLOSED, GO, SIDE, draw_icons
from hydraviper.drawing.maps import draw_map
from hydraviper.drawing.timeline import time_chart
from hydraviper.drawing.trees import to_svg
from hydraviper.experts import store
from hydraviper.games import road_network
from hydraviper.games.road_network import COMPASS
from hydraviper.protocols import Drawing
from hydraviper.records import Course, OverTime
from hydraviper.runs.evaluate import over_time
from tests.helpers.command_line import QUICK, refuses
from tests.helpers.experts import random_expert
from tests.helpers.street import FOLDER, STREET, configuration
from tests.helpers.trees import random_tree

SEEDS = np.arange(3, dtype=np.uint64)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def street():
    return hydraviper.make(STREET)


@pytest.fixture(scope="module")
def corridors():
    return [hydraviper.make(f"{name}-corridor") for name in ("cologne", "ingolstadt")]


def icons_of(game, agent: int):
    return draw_icons(game.offers.drawing.intersections[game.agents[agent].name])


def map_of(game, teams) -> str:
    return draw_map(game.offers.drawing.road_map(), teams)


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def words(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in parsed(svg).iter(SVG + "text")]


# ------------------------------------------------------------------------------------------------ arrows


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


# ------------------------------------------------------------------------------------------------ map


def marks(svg: str) -> dict[int, tuple[float, float]]:
    """The numbered marks of a map: number -> where, y downwards."""
    found = {}
    for element in parsed(svg).iter(SVG + "text"):
        if (element.text or "").isdigit():
            found[int(element.text)] = (float(element.attrib["x"]), float(element.attrib["y"]))
    return found


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


# ------------------------------------------------------------------------------------------------ over time


def test_the_score_of_each_step_is_kept(street):
    rule = street.offers.scoring.yardsticks["longest queue"]
    here = hydraviper.play(street, rule, SEEDS)
    assert here.trace.shape == (3, 8)
    np.testing.assert_allclose(here.trace.mean(axis=1), street.score.of(here.returns))
    street.reset(SEEDS[:1])
    counted = []
    for _ in range(8):
        _, rewards, _ = street.step(np.zeros((1, 2), int))
        counted.append(-rewards.sum())
    always_first = hydraviper.play(street, First(), SEEDS[:1])
    np.testing.assert_allclose(always_first.trace[0], counted)
    parts = [pickle.loads(pickle.dumps(hydraviper.play(street, rule, SEEDS[k : k + 1]))) for k in range(3)]
    np.testing.assert_array_equal(Rollouts.join(parts).trace, here.trace)  # as worker processes send them


class First:
    def act(self, observations):
        return np.zeros((len(observations[0]), len(observations)), int)


def test_other_games_keep_no_trace(navigation):
    assert hydraviper.play(navigation, First(), SEEDS).trace is None
    assert navigation.offers.drawing == Drawing()


def test_lines_over_time_are_quantiles_of_smoothed_episodes(street):
    draws = np.random.default_rng(1)
    trace = draws.uniform(0, 30, size=(5, 125))
    game = hydraviper.make(STREET.replace("steps=8", "steps=125"))
    returns = -np.stack([trace.sum(axis=1), np.zeros(5)], axis=1)
    shown = over_time(game, 1 / 3, {"trees": Rollouts(returns, np.full(5, 125), trace=trace)})
    smooth = np.array([[row[max(0, k - 4) : k + 5].mean() for k in range(125)] for row in trace])
    course = shown.policies["trees"]
    assert shown.smoothed_minutes == pytest.approx(3)
    np.testing.assert_allclose(course.median, np.median(smooth, axis=0), atol=0.006)
    np.testing.assert_allclose(course.worst, smooth[trace.mean(axis=1).argmax()], atol=0.006)
    np.testing.assert_allclose(course.high, np.percentile(smooth, 90, axis=0), atol=0.006)
    trace[0, 100:] = np.nan  # an episode that ended early
    shown = over_time(game, 1 / 3, {"trees": Rollouts(returns, np.full(5, 125), trace=trace)})
    assert None not in shown.policies["trees"].median
    assert words(time_chart("Stopped vehicles", shown))


def test_the_chart_tells_policies_apart_without_colour():
    course = Course(low=(1, 2), median=(2, 3), high=(3, 4), worst=(3, 40))
    names = ("trees", "expert", "fixed time", "longest queue", "max-pressure")
    svg = time_chart("Stopped vehicles", OverTime(step_minutes=1, policies=dict.fromkeys(names, course)))
    assert all(words(svg).count(name) == 2 for name in names)  # in the common chart, and above its own
    strokes = [
        (path.attrib["stroke-width"], path.attrib["stroke-dasharray"])
        for path in parsed(svg).iter(SVG + "path")
        if path.attrib["d"].endswith("h18")
    ]
    assert len(set(strokes)) == len(names)


# ------------------------------------------------------------------------------------------------ commands


@pytest.mark.slow
def test_a_run_draws_everything(call, street, monkeypatch):
    store.save(random_expert(street), Path("expert.safetensors"))
    budget = ["--iterations", 2, "--train-budget", 2, "--valid-budget", 2, "--episodes", 2, "--workers", 1]
    split = ["--partition", "contiguous", "--teams", 2, "--expert", "expert.safetensors", "--out", "run", "--json"]
    code, printed, complaint = call("distill", STREET, *budget, *split)
    assert code == 0, complaint
    shown = json.loads(printed)["over_time"]["policies"]
    assert list(shown) == ["trees", "expert", "fixed time", "longest queue", "max-pressure"]
    page = Path("run/report.html").read_text()
    for part in ("<h2>The map</h2>", "team 2", "Through the episode", "north is up", "two teams"):
        assert part in page
    assert not re.search(r"https?:|src=|url\(|nan", page)
    tree, drawn, queues = (call("show", "run", *options)[1] for options in SHOWN)
    assert GO in tree
    assert list(marks(drawn)) == [1, 2]
    assert "team 1" in words(drawn)
    assert "max-pressure" in words(queues)

    Path("run/trees.json").rename("alone.json")
    code, printed, _ = call("show", "alone.json", "--format", "map")
    assert code == 0
    assert "team 1" not in words(printed)  # the game's own team
    refuses(call, "holds no queues over time", "show", "alone.json", "--format", "queues")
    monkeypatch.setitem(sys.modules, "libsumo", None)
    code, printed, complaint = call("show", "alone.json", "--format", "svg", "--agent", "signal-1")
    assert code == 0
    assert "hydraviper[traffic]" in complaint
    assert GO not in printed
    assert "signal-1" in words(printed)[0]
    refuses(call, "hydraviper[traffic]", "show", "alone.json", "--format", "map")


SHOWN = (("--format", "svg", "--agent", "signal-1"), ("--format", "map"), ("--format", "queues"))


def test_particle_games_are_shown_as_before(call):
    code, printed, _ = call("distill", "cooperative-navigation", *QUICK, "--json", "--out", "run")
    assert code == 0
    assert "over_time" not in json.loads(printed)
    page = Path("run/report.html").read_text()
    assert "The map" not in page
    assert "Through the episode" not in page
    refuses(call, "has no map", "show", "run", "--format", "map")
    refuses(call, "holds no queues over time", "show", "run", "--format", "queues")
    code, printed, complaint = call("show", "run", "--format", "svg", "--agent", "agent-0")
    assert code == 0
    assert complaint == ""
    trees = hydraviper.load_trees(Path("run"))
    drawn = re.sub("<desc>.*?</desc>\n", "", printed.strip(), flags=re.DOTALL)
    assert drawn == to_svg(trees.agents[0], trees.trees[0])


def test_a_map_needs_no_run(call, tmp_path):
    file = configuration(tmp_path, additional_files=FOLDER / "one-phase.add.xml")
    code, printed, _ = call("map", f"traffic:{file},steps=3")
    assert code == 0
    assert list(marks(printed)) == [1]  # the other signal has one phase
    refuses(call, "has no map", "map", "cooperative-navigation")
