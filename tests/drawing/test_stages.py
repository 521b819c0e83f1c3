"""The episode of a report as the page holds it: every step is there, and it takes little room."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import hydraviper
from hydraviper.data import Agent
from hydraviper.drawing import stages
from hydraviper.drawing.pages.episode import Deeds, Episode, player
from hydraviper.drawing.pages.report import render_report
from hydraviper.geometry import Car, Frame, Lane, MapSignal, Mark, RoadMap, Scene
from hydraviper.records import Summary, from_json
from hydraviper.rollout import play
from hydraviper.runs.pictured import pictured
from hydraviper.runs.replay import TreesAlone
from hydraviper.seeding import Purpose, rollout_seeds
from tests.helpers.street import queue_trees
from tests.helpers.trees import CASES, leaf

ROADS = RoadMap(
    {"in": Lane(((0.0, 0.0), (400.0, 0.0)), 3.2)},
    (),
    (MapSignal("signal-1", "A", (400.0, 0.0), ("phase 1",), ("in",)),),
)
AGENT = Agent("one", ("x",), ("go", "stop"))


def moving(seconds: float, cars: int = 1) -> Frame:
    """Cars that stand, and one that rolls half a metre each second; all within the part of the map that is shown."""
    rolling = Car((270.0 + seconds / 2, 0.0), 90.0, 5.0, 1.0)
    return Frame(seconds, (rolling, *[Car((300.0 + k % 90, 0.0), 90.0, 5.0, 0.0) for k in range(cars)]), {"in": "G"}, 0)


def data_of(html: str) -> dict:
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.S)[1])


def test_vehicles_lie_where_they_are():
    stage = stages.road_stage(ROADS, [moving(0), moving(20)], 20, 1, "roads")
    first, last = stage.frames
    assert (first["step"], last["step"]) == (0, 1)
    assert (first["lights"], first["words"]) == ("G", "00:00   2 vehicles, 1 standing (orange)")
    starts = [
        [int(way) for way in re.match(r"M(\d+) (\d+)l(-?\d+) (-?\d+)$", frame["d"][0]).groups()]
        for frame in stage.frames
    ]
    place, scale, _ = stages.placed(ROADS)
    assert starts[0][:2] == [round(4 * way) for way in place((270.0, 0.0))]
    assert starts[1][0] - starts[0][0] == pytest.approx(4 * 10 * scale, abs=1)
    assert starts[0][2] == pytest.approx(-4 * 5 * scale, abs=1)  # its back lies behind it
    assert first["d"][1] == last["d"][1]  # who stands
    assert stage.near["signal-1"].count(" ") == 3


def test_vehicles_that_take_too_much_room_are_seen_less_often_but_in_every_step(monkeypatch):
    frames = [moving(float(second), cars=50) for second in range(0, 201, 5)]
    whole = stages.road_stage(ROADS, frames, 20, 10, "roads")
    assert len(whole.frames) == 41
    monkeypatch.setattr(stages, "_LONGEST", 8000)
    fewer = stages.road_stage(ROADS, frames, 20, 10, "roads")
    assert len(fewer.frames) < 20
    assert sorted({frame["step"] for frame in fewer.frames}) == list(range(11))
    firsts = {frame["step"]: frame for frame in reversed(whole.frames)}
    assert all(frame in fewer.frames for frame in firsts.values())


def test_pictures_that_take_too_much_room_are_fewer(monkeypatch):
    noise = np.random.default_rng(0).integers(0, 255, (21, 20, 30, 3), np.uint8)
    taken = [(step, picture) for step, picture in enumerate(noise)]
    stage = stages.picture_stage(taken, 20)
    assert (len(stage.pictures), [frame["picture"] for frame in stage.frames]) == (21, list(range(21)))
    monkeypatch.setattr(stages, "_LONGEST", 5 * len(stage.pictures[0]))
    fewer = stages.picture_stage(taken, 20)
    assert len(fewer.pictures) <= 5
    assert [frame["step"] for frame in fewer.frames] == list(range(21))
    assert fewer.frames[7] == {"step": 7, "picture": 1, "words": "picture of step 5"}


def test_nothing_in_an_episode_ends_its_element():
    bad = '</script><script>alert("1")</script>'
    stage = stages.plane_stage([Scene((Mark(bad, "agent", (0.0, 0.0), 0.1),))] * 2, bad)
    html = player(Episode(0, bad, [bad] * 2, [Deeds(bad, (bad,), [0], [0])], stage))
    assert html.count("</script>") == html.count("<script") == 1
    assert data_of(html)["agents"][0]["name"] == bad


def test_trees_stand_before_charts_but_for_games_with_measures_of_their_own():
    score = {"name": "delay", "mean": 3.0, "ci95": 0.1, "episodes": 9, "lower_is_better": True}
    summary = from_json(Summary, {"game": "a", "algorithm": "b", "score": score}, "the summary")
    for foremost, wanted in (
        ((), ["The tree", "How good the trees are"]),
        (("wait",), ["How good the trees are", "The tree"]),
    ):
        html = render_report(summary, agents=[AGENT], trees=[leaf(0, 2)], foremost=foremost)
        assert re.findall("<h2>(.*?)</h2>", html)[:2] == wanted


def test_the_episode_is_the_first_that_nothing_was_chosen_by(navigation):
    trees, expert = CASES["derived"], hydraviper.shipped_expert(navigation)
    episode = pictured(navigation, trees, lambda: expert)
    students = dict(enumerate(trees.trees))
    seeds = rollout_seeds(0, Purpose.EVALUATE, 0, 1)
    played = play(navigation, hydraviper.Profile(expert, students), seeds, record=True)
    for k, deeds in enumerate(episode.deeds):
        assert deeds.leaves == [students[k].path(row)[-1] for row in played.observations[k]]
        assert deeds.expert == expert.act(played.observations)[:, k].tolist()
    assert len(episode.stage.frames) == len(episode.scores) == navigation.horizon + 1
    marks = episode.stage.frames[-1]["at"]
    assert len(marks) == 6
    assert len(player(episode)) < 20_000


@pytest.mark.slow
def test_trees_play_without_an_expert_and_runs_without_an_episode(street, monkeypatch):
    def nobody():
        raise hydraviper.InputError("the expert is gone")

    trees = queue_trees(street)
    episode = pictured(street, trees, nobody)
    played = play(
        street, TreesAlone(dict(enumerate(trees.trees))), rollout_seeds(0, Purpose.EVALUATE, 0, 1), record=True
    )
    assert [deeds.expert for deeds in episode.deeds] == [None, None]
    assert episode.deeds[0].leaves == trees.trees[0].apply(played.observations[0]).tolist()
    assert {frame["step"] for frame in episode.stage.frames} == set(range(9))
    assert len(episode.stage.frames) == 1 + 8 * 4  # a picture every 5 s of steps of 20 s

    def broken(seeds):
        raise RuntimeError("the <street> is closed")

    monkeypatch.setattr(street, "reset", broken)
    episode = pictured(street, trees, nobody)
    assert episode.stage is None
    summary = from_json(Summary, {"game": "a", "algorithm": "b"}, "the summary")
    html = render_report(summary, agents=trees.agents, trees=trees.trees, episode=episode)
    assert "could not be shown: RuntimeError: the &lt;street&gt; is closed" in html


def test_a_game_that_cannot_be_drawn_still_tells_its_steps(navigation, monkeypatch):
    offered = navigation.offers
    monkeypatch.setattr(navigation, "offers", replace(offered, drawing=replace(offered.drawing, scene=None)))
    episode = pictured(navigation, CASES["plain"], lambda: hydraviper.shipped_expert(navigation))
    html = player(episode)
    assert [frame["step"] for frame in data_of(html)["frames"]] == list(range(26))
