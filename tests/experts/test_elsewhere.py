"""Experts from elsewhere: names, sizes, masks, values, functions, files; what needs a framework is tested apart."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import hydraviper
from hydraviper.data import InputError
from hydraviper.experts import elsewhere, store, worth
from hydraviper.experts.adapted import CHOICES, PREFERENCES, VALUES, AdaptedQ
from hydraviper.experts.chains import Chain
from hydraviper.experts.exploring import RandomQ
from hydraviper.experts.local_q import LocalQExpert
from hydraviper.profile import Profile
from tests.helpers.foreign import Climber, climb, press
from tests.twins.test_chains import random_layers

LIGHTS, STAIRS = "python:tests.helpers.foreign:Lights", "python:tests.helpers.foreign:Stairs"
SEEDS = np.arange(20, dtype=np.uint64)


@pytest.fixture(scope="module")
def lights():
    return hydraviper.make(LIGHTS)


@pytest.fixture(scope="module")
def stairs():
    return hydraviper.make(STAIRS)


@pytest.fixture(scope="module")
def tag():
    return hydraviper.make("pettingzoo:mpe2.simple_tag_v3,max_cycles=10")


def chain_q(game, i=0, answers=PREFERENCES, seed=0, **changed):
    agent = game.agents[i]
    sizes = len(agent.features), len(agent.actions)
    chain = Chain.of(random_layers(sizes[0], 16, sizes[1], seed=seed), "relu")
    return AdaptedQ(chain, *sizes, answers, agent=i, foreign=game.offers.foreign, **changed)


# --------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("sb3:a.zip", [("*", "sb3", "a.zip", {})]),
        ("torch:a,b=c.pt,activation=tanh", [("*", "torch", "a,b=c.pt", {"activation": "tanh"})]),
        (
            "torch:a.pt,answers=values,activation=elu",
            [("*", "torch", "a.pt", {"activation": "elu", "answers": "values"})],
        ),
        ("agent_*=sb3:a.zip,adversary_0=random", [("agent_*", "sb3", "a.zip", {}), ("adversary_0", "random", "", {})]),
        (
            "x=torch:a.pt,activation=relu,*=python:m:f",
            [("x", "torch", "a.pt", {"activation": "relu"}), ("*", "python", "m:f", {})],
        ),
    ],
)
def test_names_of_experts(text, parts):
    found = elsewhere.parts_of(text)
    assert [(one.agents, one.kind, one.place, dict(one.options)) for one in found] == parts


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("sb4:a.zip", "no expert 'sb4:a.zip'"),
        ("sb3:", "no expert 'sb3:'"),
        ("agent_0=a.zip", "no expert 'a.zip'"),
        ("agent_0=sb3:a.zip,b.zip", "'b.zip' does not say who plays whom"),
        ("sb3:a.zip,activation=relu", "sb3 experts have no activation"),
        ("torch:a.pt,activation=cube", "activation 'cube' is unknown: choose one of identity, relu"),
        ("onnx:nowhere.onnx", "there is no file nowhere.onnx"),
        ("random", "at random, and there is nothing to distil"),
        ("other=random", "nobody plays agent"),
    ],
)
def test_names_that_say_nothing(stairs, text, sentence):
    with pytest.raises(InputError, match=sentence):
        elsewhere.load(text, stairs)


def test_a_file_of_ours_is_no_name(tmp_path):
    odd = tmp_path / "sb3:odd.safetensors"
    odd.touch()
    assert not elsewhere.is_name(str(odd))
    assert not elsewhere.is_name("maddpg-seed-1")
    assert elsewhere.is_name("sb3:even.zip")


def test_whole_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.onnx").touch()
    assert elsewhere.absolute("onnx:a.onnx") == f"onnx:{tmp_path}/a.onnx"
    assert elsewhere.absolute("x=onnx:a.onnx,answers=values,*=random") == (
        f"x=onnx:{tmp_path}/a.onnx,answers=values,*=random"
    )
    assert elsewhere.absolute("rollouts:some/data-v0") == "rollouts:some/data-v0"  # a name of Minari's


@pytest.mark.parametrize(
    ("text", "does"), [("sb3:a", False), ("python:m:f", True), ("x=random,y=rllib:d", True), ("rollouts:a", False)]
)
def test_what_runs_code(text, does):
    assert elsewhere.runs_code(text) is does


@pytest.mark.parametrize(
    ("kind", "package"), [("sb3", "torch"), ("torch", "torch"), ("rllib", "ray"), ("rollouts", "minari")]
)
def test_a_framework_that_is_not_installed(kind, package, stairs, tmp_path, monkeypatch):
    for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)  # an earlier test may have imported its parts
    (tmp_path / "module_state.pkl").touch()
    (tmp_path / "class_and_ctor_args.pkl").touch()
    (tmp_path / "a.zip").touch()
    place = tmp_path if kind in ("rllib", "rollouts") else tmp_path / "a.zip"
    with pytest.raises(InputError, match=rf"needs the package {package}.*install hydraviper\["):
        elsewhere.load(f"{kind}:{place}", stairs, trust=True)


# --------------------------------------------------------------------------- what answers are worth


def test_preferences_become_log_probabilities(tag):
    q = chain_q(tag)
    seen = np.random.default_rng(0).normal(size=(30, q.features)).astype(np.float32)
    values, told = q.values(seen), q.network(seen)
    np.testing.assert_allclose(np.exp(values).sum(axis=1), 1)
    np.testing.assert_array_equal(values.argmax(axis=1), told.argmax(axis=1))
    np.testing.assert_array_equal(replace(q, answers=VALUES).values(seen), told)
    chosen = replace(q, weighed=False).values(seen)
    np.testing.assert_array_equal(chosen, np.eye(q.actions)[told.argmax(axis=1)])


def test_what_a_mask_forbids_is_neither_chosen_nor_the_worst(lights):
    for answers in (PREFERENCES, VALUES):
        q = chain_q(lights, answers=answers)
        seen = hydraviper.play(lights, LocalQExpert((q,)), SEEDS, record=True).observations[0]
        allowed, values = lights.offers.foreign.allowed(0, seen), q.values(seen)
        assert allowed[np.arange(len(seen)), values.argmax(axis=1)].all()
        least = np.where(allowed, values, np.inf).min(axis=1)
        np.testing.assert_allclose(values.min(axis=1), least, rtol=1e-12, atol=1e-300)
    alone = np.array([[0, 1, 0, 0, 1, 0]], np.float32)  # only the second is allowed
    assert q.values(alone).argmax() == 1
    nobody = np.zeros((1, 6), np.float32)
    both = replace(q, network=lambda rows: pytest.fail("asked") if len(rows) != 1 else q.network(rows))
    np.testing.assert_array_equal(both.values(np.concatenate([nobody, alone])), [[0, 0, 0], *q.values(alone)])


def test_networks_are_shown_what_they_were_trained_on(lights, stairs):
    def fitted(game, inputs, outputs=3):
        found = elsewhere.Found(Chain.of(random_layers(inputs, outputs), "relu"), VALUES, "", inputs, outputs)
        return elsewhere._fitted_to(game, 0, elsewhere.parts_of("sb3:a.zip")[0], found)

    assert fitted(lights, 6).shown == "whole"
    assert fitted(lights, 3).shown == "observation"
    one_hot, number = fitted(stairs, 5), fitted(stairs, 1)
    assert (one_hot.shown, number.shown) == ("whole", "features")
    steps = np.array([[1.0], [5.0]], np.float32)
    np.testing.assert_array_equal(one_hot.values(steps), one_hot.network(np.eye(5, dtype=np.float32)[[0, 4]]))
    np.testing.assert_array_equal(number.values(steps), number.network(steps))
    for inputs, outputs in ((4, 3), (6, 2)):
        with pytest.raises(InputError, match=f"takes {inputs} numbers and chooses among {outputs} actions, but"):
            fitted(lights, inputs, outputs)


# --------------------------------------------------------------------------- functions


def test_functions_see_and_answer_in_the_environments_own_form(lights, stairs):
    for game, function, best in ((lights, press, 10), (stairs, climb, None)):
        expert = hydraviper.expert_from(game, function)
        played = hydraviper.play(game, expert, SEEDS)
        assert best is None or (played.returns == best).all()
    low = np.array([[1.0], [5.0]], np.float32)
    np.testing.assert_array_equal(expert.act([low])[:, 0], [2, 1])  # the game's numbers of 1 and 0
    same = hydraviper.expert_from(stairs, {stairs.agents[0].name: climb})
    np.testing.assert_array_equal(same.act([low]), expert.act([low]))
    again = pickle.loads(pickle.dumps(expert))
    np.testing.assert_array_equal(again.act([low]), expert.act([low]))


def test_a_function_that_fails_is_named_with_what_it_saw(stairs):
    def fails(observation):
        raise KeyError("no rule for this")

    with pytest.raises(InputError, match=r"the function for .* fails with KeyError: 'no rule for this' when it is sho"):
        hydraviper.play(stairs, hydraviper.expert_from(stairs, fails), SEEDS)


def test_packages_add_kinds_of_experts(stairs, monkeypatch):
    entry = EntryPoint("rule", "tests.helpers.foreign:rule", "hydraviper.experts")
    monkeypatch.setattr(elsewhere, "added", lambda group: {entry.name: entry} if group == entry.group else {})
    seen = [np.arange(1, 6, dtype=np.float32)[:, None]]
    for text, wanted in (("rule:climb", [2, 2, 2, 2, 1]), ("*=rule:stay", [1] * 5)):
        assert elsewhere.runs_code(text)
        expert = hydraviper.load_expert(text, stairs)
        np.testing.assert_array_equal(expert.act(seen)[:, 0], wanted)
    with pytest.raises(InputError, match=r"of the kinds sb3, .*, rule"):
        elsewhere.load("rules:climb", stairs)


def test_what_a_function_answers_must_be_an_action(stairs):
    for answer in (2, "up", None, [0, 1]):
        with pytest.raises(InputError, match="no action"):
            hydraviper.expert_from(stairs, lambda seen, answer=answer: answer).act([np.ones((1, 1), np.float32)])
    with pytest.raises(InputError, match="no policy for"):
        hydraviper.expert_from(stairs, {"nobody": climb})


def test_a_policy_with_values_needs_no_enumeration_of_its_own(navigation):
    expert = hydraviper.shipped_expert(navigation)
    made = hydraviper.expert_from(navigation, Profile(expert), q=expert.q)
    seen = hydraviper.play(navigation, made, SEEDS[:3], record=True).observations
    actions = made.act(seen)
    np.testing.assert_array_equal(actions, expert.act(seen))
    for team, judges in (((0, 1), None), ((2,), (0, 1))):
        np.testing.assert_allclose(
            made.worst_team_q(seen, actions, team, judges), expert.worst_team_q(seen, actions, team, judges), atol=1e-4
        )
    assert made.joint
    assert hydraviper.expert_from(navigation, expert) is expert
    with pytest.raises(InputError, match="one per agent"):
        hydraviper.expert_from(navigation, expert, q=lambda seen, actions: np.zeros(3)).q(seen, actions)
    with pytest.raises(InputError, match="not by both"):
        hydraviper.expert_from(navigation, Profile(expert), q=expert.q, values="none")


@pytest.mark.slow
def test_a_policy_without_values_weighs_everything_alike(stairs, small):
    class Walker:
        def act(self, observations):
            return Climber().act(observations)

    expert = hydraviper.expert_from(stairs, Walker())
    assert not expert.joint
    seen = [np.arange(1, 6, dtype=np.float32)[:, None]]
    actions = expert.act(seen)
    assert (expert.q(seen, actions) == expert.worst_team_q(seen, actions, (0,))).all()
    result = hydraviper.distill(stairs, expert, small)
    assert hydraviper.evaluate(result, episodes=20).difference.mean == 0


# --------------------------------------------------------------------------- values as asked for


def test_values_as_asked_for(stairs):
    preferring = LocalQExpert((chain_q(stairs),), {"game": stairs.name})
    assert worth.weighed(stairs, preferring, None) is preferring
    assert worth.weighed(stairs, preferring, "policy").about["values"] == "policy"
    seen = [np.arange(1, 6, dtype=np.float32)[:, None]]
    plain = worth.weighed(stairs, preferring, "none")
    np.testing.assert_array_equal(plain.act(seen), preferring.act(seen))
    assert set(plain.q(seen, plain.act(seen)).ravel()) == {1.0}
    with pytest.raises(InputError, match="--values 'more' is unknown"):
        worth.weighed(stairs, preferring, "more")
    for answers, sentence in ((VALUES, "has values of its own"), (CHOICES, "only chooses actions")):
        other = LocalQExpert((chain_q(stairs, answers=answers),))
        with pytest.raises(InputError, match=sentence):
            worth.weighed(stairs, other, "policy")


@pytest.mark.slow
def test_fitted_values_are_kept_in_a_file(stairs, tmp_path, monkeypatch):
    critics = pytest.importorskip("hydraviper.experts.critics", exc_type=ImportError)
    suiting = critics.settings_for(stairs, LocalQExpert((chain_q(stairs),), {"settings": {"gamma": 0.5}}))
    assert (suiting.rollouts, suiting.gamma) == (2000, 0.5)  # episodes of 8 steps
    small = critics.CriticSettings(rollouts=40, checks=4, updates=100, hidden=8)
    monkeypatch.setattr(critics, "settings_for", lambda *_, **__: small)
    expert = LocalQExpert((chain_q(stairs),), {"game": stairs.name, "name": "sb3:x", "contents": {}})
    fitted = worth.weighed(stairs, expert, "fitted")
    seen = [np.arange(1, 6, dtype=np.float32)[:, None]]
    np.testing.assert_array_equal(fitted.act(seen), expert.act(seen))
    assert fitted.about["values"] == "fitted"
    assert "fitted to 40 rollouts" in fitted.about["notes"][-1]
    store.save(fitted, tmp_path / "expert.safetensors")
    again = store.load(tmp_path / "expert.safetensors", stairs)
    np.testing.assert_array_equal(again.q(seen, again.act(seen)), fitted.q(seen, fitted.act(seen)))
    assert store.digest(again) == store.digest(fitted)
    assert store.policy_digest(again) == store.policy_digest(expert)


# --------------------------------------------------------------------------- some agents stay what they are


@pytest.mark.slow
def test_random_agents_depend_on_seed_and_step_alone(tag):
    count = len(tag.agents)
    q_functions = tuple(
        RandomQ(i, len(agent.features), len(agent.actions), tag.offers.foreign) for i, agent in enumerate(tag.agents)
    )
    expert = LocalQExpert(q_functions)
    whole = hydraviper.play(tag, Profile(expert), SEEDS, record=True)
    parts = [hydraviper.play(tag, Profile(expert), SEEDS[k : k + 7], record=True) for k in (0, 7, 14)]
    np.testing.assert_array_equal(hydraviper.Rollouts.join(parts).observations[0], whole.observations[0])
    begun = expert.begin(SEEDS)
    seen = [np.zeros((20, len(agent.features)), np.float32) for agent in tag.agents]
    taken = np.concatenate([begun.act(seen) for _ in range(100)])  # [S, N]: others though nothing changes
    for i in range(count):
        shares = np.bincount(taken[:, i], minlength=5) / len(taken)
        assert np.abs(shares - 0.2).max() < 0.04
    assert len({tuple(column) for column in taken.T}) == count
    assert (expert.act(seen) == expert.act(seen)).all()


def test_random_agents_keep_to_masks(lights):
    expert = LocalQExpert((RandomQ(0, 6, 3, lights.offers.foreign),))
    seen = hydraviper.play(lights, expert, SEEDS, record=True).observations[0]
    chosen = expert.begin(np.arange(len(seen), dtype=np.uint64)).act([seen])[:, 0]
    assert lights.offers.foreign.allowed(0, seen)[np.arange(len(seen)), chosen].all()


# --------------------------------------------------------------------------- files


@pytest.mark.slow
def test_chains_in_a_file_of_ours(tag, tmp_path):
    q_functions = [chain_q(tag, i, seed=i) for i in range(3)]
    agent = tag.agents[3]
    q_functions.append(RandomQ(3, len(agent.features), len(agent.actions), tag.offers.foreign))
    expert = LocalQExpert(tuple(q_functions), {"game": tag.name, "parameters": dict(tag.parameters)})
    hydraviper.save_expert(expert, tmp_path / "expert.safetensors")
    again = hydraviper.load_expert(tmp_path / "expert.safetensors", tag)
    played = [hydraviper.play(tag, Profile(one), SEEDS, record=True) for one in (expert, again)]
    np.testing.assert_array_equal(played[0].observations[0], played[1].observations[0])
    actions = expert.act(played[0].observations)
    for team in ((0, 1, 2), (1,)):
        np.testing.assert_array_equal(
            *(one.worst_team_q(played[0].observations, actions, team) for one in (expert, again))
        )
    assert store.digest(again) == store.digest(expert)
    other = replace(expert, q_functions=(chain_q(tag, 0, seed=9), *q_functions[1:]))
    assert store.digest(other) != store.digest(expert)


def test_policies_that_no_file_holds_are_known_by_name(stairs):
    def expert(digest):
        return LocalQExpert((replace(chain_q(stairs), network=press, digest=digest),))

    assert store.digest(expert("a")) == store.digest(expert("a")) != store.digest(expert("b"))
    assert store.policy_digest(expert("a")) != store.policy_digest(expert("b"))
    with pytest.raises(InputError, match="only experts made of networks"):
        store.digest(expert(""))


# --------------------------------------------------------------------------- recorded rollouts


def record(game, path, policy=press, keys=("observations", "actions", "rewards", "lengths"), seeds=60):
    played = hydraviper.play(game, hydraviper.expert_from(game, policy), np.arange(seeds, dtype=np.uint64), record=True)
    numbers = hydraviper.expert_from(game, policy).act(played.observations)[:, 0]
    arrays = {
        "observations": played.observations[0],
        "actions": numbers,
        "rewards": played.rewards[:, 0],
        "lengths": played.lengths,
    }
    np.savez(path, **{key: arrays[key] for key in keys})
    return arrays


@pytest.mark.slow
def test_a_network_imitates_what_was_recorded(lights, tmp_path):
    record(lights, tmp_path / "played.npz")
    expert = hydraviper.load_expert(f"rollouts:{tmp_path}/played.npz", lights)
    assert hydraviper.play(lights, expert, SEEDS).returns.mean() > 9.9
    note = expert.about["notes"][0]
    assert "imitates 600 recorded steps of 60 episodes with a mean return of 10; at 100.0% of held-out steps" in note
    again = hydraviper.load_expert(f"rollouts:{tmp_path}/played.npz", lights)
    assert store.digest(again) == store.digest(expert)


@pytest.mark.slow
def test_observations_may_be_recorded_in_the_environments_form(stairs, lights, tmp_path):
    places = np.arange(500) % 5 + 1
    actions = np.where(places < 5, 1, 0)  # the environment's own; -1 is never taken
    np.savez(tmp_path / "walk.npz", observations=places, actions=actions)
    expert = hydraviper.load_expert(f"rollouts:{tmp_path}/walk.npz", stairs)
    assert expert.q_functions[0].shown == "whole"
    np.testing.assert_array_equal(expert.act([np.arange(1, 6, dtype=np.float32)[:, None]])[:, 0], [2, 2, 2, 2, 1])
    name = lights.agents[0].name
    lamps = np.arange(300) % 3
    np.savez(tmp_path / "lamps.npz", **{f"{name}.observations": np.eye(3)[lamps], f"{name}.actions": lamps})
    inner = hydraviper.load_expert(f"rollouts:{tmp_path}/lamps.npz", lights)
    assert inner.q_functions[0].shown == "observation"
    assert hydraviper.play(lights, inner, SEEDS).returns.mean() == 10


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"observations": np.zeros((9, 6))}, "no observations or no actions"),
        ({"observations": np.zeros((9, 7)), "actions": np.zeros(9, int)}, "do not fit"),
        ({"observations": np.zeros((9, 6)), "actions": np.zeros(8, int)}, "one action per observation"),
        ({"observations": np.zeros((9, 6)), "actions": np.full(9, 3)}, "actions are 0 to 2"),
        ({"observations": np.zeros((9, 6)), "actions": np.zeros(9, int), "lengths": np.array([4])}, "episodes of 4 st"),
        ({"observations": np.array([{}] * 9, object), "actions": np.zeros(9, int)}, "cannot be read as an .npz"),
    ],
)
def test_records_that_do_not_fit(lights, tmp_path, arrays, sentence):
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(InputError, match=sentence):
        hydraviper.load_expert(f"rollouts:{tmp_path}/bad.npz", lights)


def test_pickles_in_records_are_not_opened(lights, tmp_path):
    (tmp_path / "bad.npz").write_bytes(pickle.dumps({"observations": 1}))
    with pytest.raises(InputError, match="cannot be read as"):
        hydraviper.load_expert(f"rollouts:{tmp_path}/bad.npz", lights)


@pytest.mark.slow
def test_one_action_only(stairs, tmp_path):
    np.savez(tmp_path / "up.npz", observations=np.arange(40) % 5 + 1, actions=np.ones(40, int))
    expert = hydraviper.load_expert(f"rollouts:{tmp_path}/up.npz", stairs)
    assert set(expert.act([np.arange(1, 6, dtype=np.float32)[:, None]]).ravel()) == {2}
