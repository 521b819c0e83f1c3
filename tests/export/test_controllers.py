"""Exported controllers show what the game shows, second for second: compiled C, and interpreted Structured Text."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.controllers import Compiled, controllers_of, shown_by_game
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hydraviper
from hydraviper.controllers import Controller
from hydraviper.export import only, to_c, to_structured_text, to_structured_text_controllers
from hydraviper.export.structured_text import KEYWORDS
from hydraviper.export.structured_text_controller import _OWN, LIGHTS
from hydraviper.runs import trust
from hydraviper.trees.file import TreesFile, save
from tests.export import structured_text
from tests.helpers.signals import agent_of, lights_by_hand, random_controller
from tests.helpers.street import FOLDER, STREET, queue_trees, street_with
from tests.helpers.trees import MADE, random_tree

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc to compile the C file with")
SIGNALS = 20


@pytest.fixture(scope="module")
def random_signals() -> tuple[TreesFile, dict[str, Controller]]:
    """Signals of all kinds, with trees that ask for everything that can be seen."""
    draws = np.random.default_rng(5)
    controllers = {f"signal-{i + 1}": random_controller(draws) for i in range(SIGNALS)}
    agents = tuple(agent_of(name, one) for name, one in controllers.items())

    def thresholds(size: int) -> np.ndarray:
        return draws.choice([0, 0.5, 1, 3, 20, 60, 239], size)

    trees = tuple(random_tree(agent, draws, 5, thresholds=thresholds) for agent in agents)
    return TreesFile("signals", {}, agents, trees, MADE), controllers


def some_traffic(one: Controller, draws: np.random.Generator, steps: int) -> tuple[str, list[np.ndarray], list[bool]]:
    """The lights at the beginning, queues that stay for a while, and whether somebody is in the junction."""
    before = str(draws.choice([*one.greens, "r" * len(one.links), "y" * len(one.links), one.greens[0][::-1]]))
    queues, told = draws.integers(0, 6, len(one.seen_by) + 1), []
    for _ in range(steps):
        queues = np.where(draws.random(len(queues)) < 0.2, draws.integers(0, 6, len(queues)), queues)
        told.append(queues.astype(np.float32))
    return before, told, (draws.random(steps * one.timing.step) < 0.6).tolist()


@pytest.fixture(scope="module")
def compiled(random_signals) -> Compiled:
    return Compiled(*random_signals)


@pytest.mark.slow
@needs_gcc
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(signal=st.integers(0, SIGNALS - 1), seed=st.integers(0, 2**32 - 1))
def test_c_against_the_state_machine(random_signals, compiled, signal, seed):
    trees, controllers = random_signals
    one = controllers[trees.agents[signal].name]
    before, told, occupied = some_traffic(one, np.random.default_rng(seed), 40)
    lights, _ = lights_by_hand(one, trees.trees[signal], before, told, occupied)
    assert compiled.lights(signal, before, told, one.timing.step, occupied) == lights


def test_the_rules_do_step_in(random_signals):
    """Else the comparison would say little of them."""
    trees, controllers = random_signals
    held = forced = cleared = 0
    for tree, one in zip(trees.trees, controllers.values(), strict=True):
        _, control = lights_by_hand(one, tree, *some_traffic(one, np.random.default_rng(1), 40))
        held, forced, cleared = held + control.held, forced + control.forced, cleared + control.cleared
    assert held > 30
    assert forced > 30
    assert cleared > 30


class Interpreted:
    """Exported controllers in Structured Text."""

    def __init__(self, trees: TreesFile, controllers: dict[str, Controller]) -> None:
        self._blocks = structured_text.load(to_structured_text_controllers(trees, controllers))
        self._names = [name for name in self._blocks if name.endswith("_control")]

    def lights(self, i: int, before: str, detectors: list[np.ndarray], step: int, occupied: list[bool]) -> list[str]:
        """As `Compiled.lights`."""
        block = self._blocks[self._names[i]]
        memory, shown = block.memory(), []
        _, _, _, *inputs = block.inputs
        block_before = [LIGHTS.index(light) for light in before]
        for given_now in detectors:
            for number in range(step):
                values = given_now if number == 0 else np.full_like(given_now, np.nan)
                given_all = dict(zip(inputs, values, strict=True))
                inside = bool(shown) and occupied[len(shown) - 1]
                block.call(memory, restart=False, lights_before=block_before, occupied=inside, **given_all)
                shown.append("".join(LIGHTS[light] for light in memory["lights"]))
        return shown


@pytest.mark.slow
def test_structured_text_against_the_state_machine(random_signals):
    trees, controllers = random_signals
    interpreted = Interpreted(trees, controllers)
    for i, (tree, one) in enumerate(zip(trees.trees, controllers.values(), strict=True)):
        before, told, occupied = some_traffic(one, np.random.default_rng(i), 15)
        lights, _ = lights_by_hand(one, tree, before, told, occupied)
        assert interpreted.lights(i, before, told, one.timing.step, occupied) == lights


def test_a_block_begins_again_when_it_is_told(random_signals):
    trees, controllers = only(random_signals[0], 0), random_signals[1]
    one = controllers["signal-1"]
    block = structured_text.load(to_structured_text_controllers(trees, controllers))["signal_1_control"]
    begun, fresh = block.memory(), block.memory()
    queues = dict.fromkeys(block.inputs[3:], 3) | {"occupied": False}
    for _ in range(one.timing.step + 2):
        block.call(begun, restart=False, lights_before=[0] * len(one.links), **queues)
    green = [LIGHTS.index(light) for light in one.greens[1]]
    block.call(begun, restart=True, lights_before=green, **queues)
    block.call(fresh, restart=False, lights_before=green, **queues)
    assert begun["lights"] == fresh["lights"]
    assert begun["waited"] == fresh["waited"]


def test_names_of_detectors_that_the_block_uses_itself():
    """Whatever a detector is called, nothing is declared twice; and no name of ours is a word of the language."""
    assert not _OWN & KEYWORDS
    one = random_controller(np.random.default_rng(2))
    agent = agent_of("signal-1", one)
    names = sorted(_OWN)[: len(agent.features) - one.own]
    agent = type(agent)(agent.name, (*agent.features[: one.own], *names), agent.actions)
    tree = random_tree(agent, np.random.default_rng(0), 3)
    trees = TreesFile("names", {}, (agent,), (tree,), MADE)
    before, told, occupied = some_traffic(one, np.random.default_rng(0), 3)
    told = [values[: len(names)] for values in told]
    lights, _ = lights_by_hand(one, tree, before, told, occupied)
    assert Interpreted(trees, {"signal-1": one}).lights(0, before, told, one.timing.step, occupied) == lights


OFTEN = {"steps": 30, "seconds_per_step": 5, "reach": 200, "demand": 3}
OPTIONS = (
    street_with(steps=30, min_green=5, max_red=63, memory=1),
    street_with(
        steps=30,
        yellow="auto",
        all_red=2,
        min_green=6,
        max_red=62,
        seconds_per_step=5,
        reach=200,
        clearance=3,
        demand=3,
    ),
    street_with(steps=30, yellow=0, moving=0),
    street_with(steps=30, detectors="loops", max_red=65),
)


@pytest.mark.slow
@pytest.mark.parametrize("spec", OPTIONS, ids=["memory", "steps of 5 s", "no yellow", "loops"])
def test_the_street_second_for_second(spec):
    game = hydraviper.make(spec)
    trees = queue_trees(game) if game.options.detectors == "full" else loop_trees(game)
    shown = shown_by_game(game, trees)
    for kind in (Compiled, Interpreted) if shutil.which("gcc") else (Interpreted,):
        made = kind(trees, controllers_of(game))
        for i, one in enumerate(shown):
            assert len(set(one.lights)) >= 2  # phases at least
            step = game.options.seconds_per_step
            assert made.lights(i, one.before, one.detectors, step, one.occupied) == one.lights


def loop_trees(game) -> TreesFile:
    draws = np.random.default_rng(0)
    trees = tuple(random_tree(agent, draws, 3, thresholds=lambda size: np.full(size, 0.5)) for agent in game.agents)
    return TreesFile(game.name, dict(game.parameters), game.agents, trees, MADE)


@pytest.mark.slow
@needs_gcc
@pytest.mark.parametrize("name", ["cologne-corridor", "ingolstadt-corridor"])
def test_an_hour_of_a_corridor_second_for_second(name):
    """`python -m benchmarks.controllers RUN` does the same with the trees of a run."""
    game = hydraviper.make(f"{name}:max_red=93,steps=180")
    trees = queue_trees(game)
    compiled = Compiled(trees, controllers_of(game))
    for i, one in enumerate(shown_by_game(game, trees, seed=1)):
        assert len(one.lights) == 3600
        assert compiled.lights(i, one.before, one.detectors, 20, one.occupied) == one.lights
    assert game.measures()["phases forced by max_red"][0] > 0


@pytest.mark.slow
def test_the_command_writes_controllers_for_signals(call, monkeypatch):
    trees = queue_trees(hydraviper.make(STREET))
    save(trees, Path("trees.json"))
    trust.remember(FOLDER / "street.sumocfg")
    to_st = to_structured_text(trees)
    for to, plain in (("c", to_c(trees)), ("st", to_st)):
        code, printed, noted = call("export", "trees.json", "--to", to)
        assert (code, noted) == (0, "")
        for part in plain.rstrip().split("\n\n"):
            assert part in printed  # the trees' own functions stay as they were
        assert "the whole controller" in printed
        one = ("--agent", "signal-2", "--out", f"one.{to}", "--json")
        code, printed, _ = call("export", "trees.json", "--to", to, *one)
        assert code == 0
        assert json.loads(printed)["agents"] == ["signal-2"]
        assert json.loads(printed)["controllers"]
        assert "signal_1" not in Path(f"one.{to}").read_text()
        assert "signal-2: the whole controller" in Path(f"one.{to}").read_text()
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "libsumo", None)
        code, printed, told = call("export", "trees.json", "--to", "c", "--out", "unsafe.c")
        assert (code, printed, Path("unsafe.c").exists()) == (2, "", False)
        for words in ("whole controllers need the game", "pip install 'hydraviper[traffic]'", "--trees-only"):
            assert words in " ".join(told.split())
        for to, opening, plain in (("c", "/* The trees alone: ", to_c(trees)), ("st", "(* The trees alone: ", to_st)):
            code, printed, _ = call("export", "trees.json", "--to", to, "--trees-only")
            assert code == 0
            assert printed.startswith(opening)
            assert printed.partition("\n")[2] == plain
        code, printed, _ = call("export", "trees.json", "--to", "c", "--trees-only", "--out", "bare.c", "--json")
        assert (code, json.loads(printed)["controllers"]) == (0, False)
    code, printed, noted = call("export", "trees.json", "--to", "python")
    assert (code, noted) == (0, "")
