"""Whether whole controllers can starve anybody: proofs against everything that can happen, counterexamples played."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hydraviper
from hydraviper.controllers import NONE, Controller, Timing, longest_red
from hydraviper.data import Agent, InputError
from hydraviper.games import traffic_facts
from hydraviper.games.signal_control import SignalControl
from hydraviper.runs import trust
from hydraviper.trees.file import save
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.verify import properties
from hydraviper.verify.obligations import _serving, obligations_for, resolve
from hydraviper.verify.prover import machine
from hydraviper.verify.prover.deadline import Deadline, OutOfTime
from hydraviper.verify.prover.machine import Machine, State, keeps_max_red
from hydraviper.verify.prover.proof import verify
from hydraviper.verify.scene import Scene
from hydraviper.verify.verdicts import BROKEN, HOLDS, UNDECIDED, Verdict
from tests.helpers.command_line import refuses
from tests.helpers.signals import agent_of, lights_by_hand, lights_of, longest_wait, small_signals, state_of, step
from tests.helpers.street import FOLDER, queue_trees, street_with

NEVER_STARVES = "[[property]]\nname = 'served'\nnever_starves = true\n"


def controller_of(served: np.ndarray, timing: Timing, memory: bool = False) -> Controller:
    first = len(served) * (1 + memory)
    seen_by = tuple(first + m for m in range(served.shape[1]))
    return Controller(tuple(lights_of(served)), ("?",) * sum(served.shape), served, seen_by, timing, memory)


def unchecked(greens, served, timing):
    """A state machine whose maximum red may be too short to be kept."""
    control = SignalControl(greens, served, replace(timing, max_red=0))
    control.timing = timing
    return control


@pytest.mark.slow
def test_proofs_against_everything_that_can_happen():
    """What is proved is true in every state that can be reached; what can be kept is proved; all else is not."""
    draws, proved, refused = np.random.default_rng(3), 0, 0
    for served, seconds in itertools.islice(small_signals(draws), 15):
        controller = controller_of(served, Timing(**seconds))
        least = longest_red(controller.phase_of, controller.timing)
        for more in (0, int(draws.integers(-8, 0))):
            timing = replace(controller.timing, max_red=max(least + more, 1))
            answer = keeps_max_red(replace(controller, timing=timing), Deadline.after(60))
            worst, _ = longest_wait(served, timing, 2_000, unchecked)
            assert worst <= timing.max_red or not answer, (served, timing)
            assert answer or more < 0
            proved, refused = proved + answer, refused + (worst > timing.max_red)
    assert proved >= 15
    assert refused > 8  # the search finds who waits too long, so it would have found what a proof overlooks


@pytest.mark.slow
def test_a_signal_of_many_phases_is_proved_as_far_as_the_time_goes():
    """Seven phases take seconds; a search without time says nothing."""
    controller = controller_of(np.eye(7, dtype=bool), Timing(5, 3, min_green=5, clearance=10))
    least = longest_red(controller.phase_of, controller.timing)
    controller = replace(controller, timing=replace(controller.timing, max_red=least))
    assert keeps_max_red(controller, Deadline.after(300))
    with pytest.raises(OutOfTime):
        keeps_max_red(controller, Deadline.after(0))


@pytest.mark.slow
def test_the_model_can_do_whatever_the_state_machine_does():
    """Random walks of the state machine are steps of what is proved, number by number."""
    draws, changes = np.random.default_rng(4), 0
    for served, seconds in itertools.islice(small_signals(draws), 12):
        timing = Timing(**seconds)
        timing = replace(timing, max_red=longest_red(controller_of(served, timing).phase_of, timing) + 3)
        model, control = Machine(controller_of(served, timing)), SignalControl(lights_of(served), served, timing)
        red, solver = [0] * served.shape[1], model.z3.Solver()
        for _ in range(12):
            before = state_in(model, control, red)
            choice, waiting = int(draws.integers(len(served))), tuple((draws.random(len(red)) < 0.8).tolist())
            red, _ = step(control, choice, waiting, red, int(draws.integers(timing.step + 1)))
            after = state_in(model, control, red)
            assert solver.check(model.z3.Not(model.invariant(before))) == model.z3.unsat
            assert any(solver.check(*fits(model, one, waiting, after)) == model.z3.sat for one in model.steps(before))
            changes += after.goal != before.goal
    assert changes > 30


def state_in(model: Machine, control: SignalControl, red: list[int]) -> State:
    """A state of the real controller in the model's numbers."""
    _, goal, _, until_green, put_off, green_for, waited = state_of(control)
    number = model.z3.IntVal
    at_most = until_green + model.timing.clearance - put_off if until_green > 0 else 0
    return State(goal, number(at_most), number(green_for), [*map(number, waited)], [*map(number, red)])


def fits(model: Machine, one, waiting, after: State) -> list:
    """That a step of the model ends in a state; it may take longer waits for possible than there really are."""
    seen = [model.z3.Bool(f"here{m}") == waits for m, waits in enumerate(waiting)]
    alike = [a == b for a, b in zip(one.after.waited, after.waited, strict=True)]
    longer = [a >= b for a, b in zip(one.after.red, after.red, strict=True)]
    least = model.timing.min_green
    green_for = model.z3.If(one.after.green_for > least, least, one.after.green_for)
    same = [one.after.until_green == after.until_green, green_for == after.green_for]
    return [one.possible, one.safe, *seen, *alike, *longer, *same, model.z3.BoolVal(one.after.goal == after.goal)]


# --------------------------------------------------------------------------- without a maximum red, the trees decide

THREE = np.eye(3, dtype=bool)


def tree_of(*questions: tuple[int, float, int]) -> Tree:
    """A chain: at most a threshold of a feature gives an action, else the next question; in the end the last action."""
    size = 2 * len(questions) - 1
    inner = (np.arange(size) % 2 == 0) & (np.arange(size) < size - 1)
    feature, threshold, action = np.full(size, LEAF), np.zeros(size, np.float32), np.zeros(size, int)
    for k, (asked, border, answer) in enumerate(questions):
        last = k == len(questions) - 1
        if not last:
            feature[2 * k], threshold[2 * k] = asked, border
        action[2 * k if last else 2 * k + 1] = answer
    left, right = (np.where(inner, np.arange(size) + more, LEAF) for more in (1, 2))
    return Tree(feature, threshold, left, right, action, np.ones((size, 3)))


def answer_of(controller: Controller, tree: Tree) -> tuple[Verdict, Agent]:
    agent = agent_of("signal-1", controller)
    knowledge = traffic_facts.knowledge([agent])
    scene = Scene((agent,), ((),), (0,), (controller.served,), knowledge, (controller,))
    (verdict,) = verify(resolve(properties.read(NEVER_STARVES, "the test"), scene), {0: tree})
    return verdict, agent


def test_a_leaf_that_never_yields():
    """Phase 1 stays as long as the first queue is there: the others starve, and an hour of lights shows it."""
    controller = controller_of(THREE, Timing(step=10, yellow=3, min_green=5))
    tree = tree_of((3, 0.5, 1), (4, 9.5, 0), (0, 0, 2))
    verdict, _ = answer_of(controller, tree)
    assert (verdict.outcome, verdict.cases, verdict.broken) == (BROKEN, 3, 3)
    assert "max_red is 0" in verdict.problems[0]
    for example in verdict.counterexamples:
        seen = example.observations[0]
        assert tree.predict(seen[None])[0] == example.actions[0] == int(seen[:3].argmax())
        green = controller.greens[example.actions[0]]
        lights, _ = lights_by_hand(controller, tree, green, [seen[3:]] * 360, [False] * 3600)
        assert set(lights) == {green}
        (starved,) = (m for m in range(3) if f"'queue from {m}'" in example.obligation.description)
        assert seen[3 + starved] >= 1
        assert lights[-1][starved] == "r"


def test_trees_that_take_turns_starve_nobody():
    controller = controller_of(THREE, Timing(step=10, yellow=3))
    verdict, _ = answer_of(controller, tree_of((0, 0.5, 0), (0, 0, 1)))  # phases 1 and 2 in turn; never phase 3
    assert verdict.outcome == UNDECIDED
    turns = tree_of((0, 0.5, 0), (0, 0, 1))
    verdict, _ = answer_of(
        controller_of(THREE[:2, :2], Timing(step=10, yellow=3)), replace(turns, counts=turns.counts[:, :2])
    )
    assert verdict.outcome == HOLDS
    assert verdict.problems == ()


def test_memory_that_ends_a_red():
    """What a tree does after a long red counts, and so does how the red can become that long."""
    controller = controller_of(THREE[:2, :2], Timing(step=20, yellow=3), memory=True)
    served = tree_of((3, 100.5, 0), (0, 0, 1))  # phase 1 until phase 2 has been red for 100 s
    stays = tree_of((1, 0.5, 0), (0, 0, 1))
    never = tree_of((0, 0.5, 0), (3, 200.5, 1), (0, 0, 0))  # phase 1 would stay after 200 s, which never come to pass
    for tree, outcome in ((served, HOLDS), (stays, BROKEN), (never, UNDECIDED)):
        verdict, _ = answer_of(controller, replace(tree, counts=tree.counts[:, :2]))
        assert verdict.outcome == outcome


def test_a_movement_without_a_phase():
    served = np.array([[1, 0, 0], [0, 1, 0]], bool)
    timing = Timing(step=10, yellow=3, max_red=60)
    tree = tree_of((0, 0.5, 0), (0, 0, 1))
    verdict, _ = answer_of(controller_of(served, timing), replace(tree, counts=tree.counts[:, :2]))
    assert (verdict.outcome, verdict.cases, verdict.broken) == (BROKEN, 3, 1)
    assert verdict.problems == ("signal-1: no phase lets somebody in 'queue from 2' go",)


def test_without_z3_it_is_undecided_and_said(monkeypatch):
    def missing():
        raise InputError("this property can only be decided with the package z3-solver: install hydraviper[verify].")

    monkeypatch.setattr(machine, "z3_package", missing)
    tree = tree_of((0, 0.5, 0), (0, 0, 1))
    verdict, _ = answer_of(controller_of(THREE, Timing(step=10, yellow=3, max_red=60)), tree)
    assert verdict.outcome == UNDECIDED
    assert "install hydraviper[verify]" in verdict.problems[0]


def test_states_of_somebody_else_are_where_a_controller_begins():
    model = Machine(controller_of(THREE, Timing(step=10, yellow=3, max_red=33)))
    for goal in (NONE, 0, 1, 2):
        assert model.z3.is_true(model.z3.simplify(model.invariant(model.start(goal))))


@pytest.mark.parametrize("sight", [{}, {"memory": 1}, {"moving": 0, "memory": 1}])
def test_what_serves_a_movement_whatever_else_is_seen(sight):
    """Against the lane groups themselves; features of phases and of the junction are no movements."""
    game = hydraviper.make(street_with(**sight))
    scene = Scene.of(game)
    for i, signal in enumerate(game.network.signals):
        for kind in ("queue", "pressure"):
            for group in signal.groups:
                assert _serving(scene, i, f"{kind} from {group.name}") == set(group.phases)
    others = ["phase 1 is green", *(["standing in the junction", "phase 1 has been red for, s"] if sight else [])]
    for name in others:
        with pytest.raises(InputError, match="is no movement"):
            _serving(scene, 0, name)


# --------------------------------------------------------------------------- as a user types it


@pytest.mark.slow
def test_what_ships_for_signals_is_about_whole_controllers(call):
    trust.remember(FOLDER / "street.sumocfg")
    Path("never.toml").write_text(NEVER_STARVES)
    for limit, code, answer in ((63, 0, HOLDS), (0, 1, BROKEN)):
        game = hydraviper.make(street_with(max_red=limit, memory=1, min_green=5))
        trees = queue_trees(game)
        save(trees, Path("trees.json"))
        ended, printed, _ = call("verify", "trees.json", "never.toml", "--json")
        told = json.loads(printed)
        assert (ended, told["holds"]) == (code, code == 0)
        (served,) = told["properties"]
        assert served["answer"] == answer
        assert served["cases"] == 10  # turns of the eight lane groups: two lanes have turns of two kinds
        if limit == 0:
            assert served["counterexamples"][0]["actions"].keys() <= {"signal-1", "signal-2"}
            assert "max_red=120" in call("verify", "trees.json", "never.toml")[1]
        shipped = obligations_for(game)
        assert len(shipped.services) == 2
        assert len(shipped.of_trees().names) == len(shipped.names) - 1  # what trees are grown or repaired to keep
    refuses(call, "has no property to repair", "repair", "trees.json", "never.toml")
