"""Replaying an episode: as a film, and in SUMO's window, where the same traffic must flow."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from PIL import Image

import hydraviper
from hydraviper.experts import store
from hydraviper.games import filming, window
from hydraviper.rollout import play
from hydraviper.runs import replay, trust
from hydraviper.runs.episodes import episode
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.trees.file import TreesFile, save
from tests.helpers.command_line import refuses
from tests.helpers.experts import random_expert
from tests.helpers.street import FOLDER
from tests.helpers.trees import MADE, leaf, save_constant_trees

pytestmark = pytest.mark.slow
SPEC = f"traffic:{FOLDER / 'street.sumocfg'},steps=6,score=delay,seconds_per_step=10"


@pytest.fixture
def run(tmp_path):
    """Two signals that always show phase 1, in a folder; no expert is needed to replay them."""
    game = hydraviper.make(SPEC)
    trees = tuple(leaf(0, len(agent.actions)) for agent in game.agents)
    save(TreesFile(game.name, dict(game.parameters), game.agents, trees, MADE), tmp_path / "run" / "trees.json")
    return hydraviper.load_run(tmp_path / "run", trust_path=True)


def expected(run, episode: int) -> float:
    seeds = rollout_seeds(0, Purpose.EVALUATE, 0, 1, episode)
    return float(run.game.score.of(play(run.game, replay.TreesAlone(run.students), seeds).returns)[0])


def test_a_film_shows_the_episode_of_evaluate(run, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    shown = hydraviper.replay(run, episode=1)
    assert shown.out == run.folder / "replay-0-1.gif"
    with Image.open(shown.out) as film:
        assert film.n_frames == 1 + 60 // replay.EVERY
    assert shown.score == expected(run, 1)
    assert hydraviper.replay(run, episode=1).out == shown.out  # the same film again
    assert run.game._camera is None
    with pytest.raises(hydraviper.InputError, match="already exists"):
        hydraviper.replay(run, out=shown.out)
    near = hydraviper.replay(run, agent="signal-2", out=run.folder / "near.gif")
    assert near.out.is_file()


def test_an_expert_that_does_not_fit_is_refused_although_trees_play(run, call):
    trust.remember(FOLDER / "street.sumocfg")
    about = {"game": run.game.name, "parameters": {**run.game.parameters, "reach": 100}}
    store.save(replace(random_expert(run.game), about=about), Path("near.safetensors"))
    refuses(call, "was trained with reach=100", "replay", run.folder, "--expert", "near.safetensors")


def test_a_parameter_of_a_wrong_kind_is_one_sentence(run, call):
    trust.remember(FOLDER / "street.sumocfg")
    path = run.folder / "trees.json"
    path.write_text(path.read_text().replace('"demand": 1.0', '"demand": "abc"'))
    refuses(call, "demand must be a number, not 'abc'", "replay", run.folder)


def test_an_episode_for_people_has_a_picture_of_every_step(run):
    played = episode(run, 1)
    assert sum(played.scores) == pytest.approx(expected(run, 1))
    assert len(played) == 6
    assert all(played.picture(step).startswith("<svg") for step in range(7))
    assert played.picture(0) != played.picture(6)
    assert not played.expert  # nobody knows where these trees come from
    assert run.game._camera is None


def test_pictures_hold_every_vehicle_and_every_light(run):
    frames = []
    run.game.offers.drawing.film(frames.append, 7)
    expected(run, 0)
    assert [frame.seconds for frame in frames] == [0, *range(7, 61, 7)]
    lanes = run.game.offers.drawing.road_map().lanes
    for frame in frames:
        assert set(frame.lights) <= set(lanes)
        assert set(frame.lights.values()) <= set("Ggyr")
    assert frames[-1].cars


def test_the_freest_of_several_lights_is_shown():
    class Lights:
        def getRedYellowGreenState(self, name):  # noqa: N802
            return "rGy"

    class Nobody:
        trafficlight = Lights()

        def __getattr__(self, name):
            return self

        def __call__(self, *arguments):
            return ()

        def getTime(self):  # noqa: N802
            return 0.0

    camera = filming.Camera(lambda frame: None, 1)
    camera._lanes, camera._begin = {"A": [["one", "two"], ["one"], ["two"]]}, 0.0
    assert camera._frame(Nobody()).lights == {"one": "G", "two": "y"}


@pytest.fixture
def headless(tmp_path, monkeypatch):
    """A sumo-gui without a screen: SUMO itself, which knows nothing of windows."""
    spec = find_spec("sumo")
    sumo = Path(spec.submodule_search_locations[0]) / "bin" / "sumo"
    program = tmp_path / "sumo-gui"
    program.write_text(
        f'#!/bin/sh\nfor word; do shift; case "$word" in --start|--quit-on-end) ;; --delay|--window-size) skip=1 ;; '
        f'*) if [ "$skip" ]; then skip=; else set -- "$@" "$word"; fi ;; esac; done\nexec {sumo} "$@"\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(window, "_program", lambda: str(program))
    views = []
    for name in ("setSchema", "setBoundary"):
        monkeypatch.setattr(f"traci.gui.{name}", lambda *words, name=name: views.append((name, *words)))
    monkeypatch.setenv("DISPLAY", ":99")
    return views


def test_a_window_shows_the_same_traffic(run, headless):
    shown = hydraviper.replay(run, episode=1)
    assert (shown.out, shown.score) == (None, pytest.approx(expected(run, 1), abs=1e-9))
    hydraviper.replay(run, agent="signal-2")
    x, y = run.game.network.signals[1].position
    assert headless[-1] == ("setBoundary", "View #0", x - 90, y - 90, x + 90, y + 90)


def test_a_window_that_is_closed_ends_the_episode(run, headless, monkeypatch, call):
    traci = pytest.importorskip("traci")
    step, steps = traci.simulationStep, []

    def closed(*arguments):
        steps.append(1)
        if len(steps) > 3:
            raise traci.FatalTraCIError("connection closed by SUMO")
        return step(*arguments)

    monkeypatch.setattr(traci, "simulationStep", closed)
    assert hydraviper.replay(run).score is None
    steps.clear()
    code, printed, _ = call("replay", run.path, "--trust-path")
    assert (code, printed) == (0, "the window was closed before the episode had ended\n")
    assert expected(run, 0) > 0  # libsumo is back


def test_a_window_that_does_not_open_is_told(run, monkeypatch, call, tmp_path):
    program = tmp_path / "sumo-gui"
    program.write_text("#!/bin/sh\necho unable to open display >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(window, "_program", lambda: str(program))
    monkeypatch.setenv("DISPLAY", ":99")
    refuses(call, "window did not open: check the screen (DISPLAY is :99)", "replay", run.path, "--trust-path")


def test_where_there_is_no_program(monkeypatch):
    monkeypatch.setattr(window, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(hydraviper.InputError, match="there is no sumo-gui here: run pip install"):
        window._program()


def test_calls_that_are_wrong(run, call, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    refuses(call, "there is no tree for 'signal-9'", "replay", run.path, "--agent", "signal-9", "--trust-path")
    refuses(call, "is no film", "replay", run.path, "--out", "film.avi", "--trust-path")
    save_constant_trees(Path("still"))
    refuses(call, "there is nothing to replay of cooperative-navigation", "replay", "still")
