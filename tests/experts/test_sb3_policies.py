"""Stable-Baselines3's files as experts, against what Stable-Baselines3 itself answers."""

from __future__ import annotations

import hashlib
import json
import zipfile

import gymnasium
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-experts` brings it")
sb3 = pytest.importorskip(
    "stable_baselines3", reason="Stable-Baselines3 is not installed: `make test-experts` brings it"
)

import hydraviper  # noqa: E402
from hydraviper.experts.adapted import RowByRow  # noqa: E402
from hydraviper.experts.chains import Chain  # noqa: E402
from tests.helpers.command_line import refuses  # noqa: E402
from tests.helpers.foreign import Lights, Stairs  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

BUDGET = ["--iterations", 2, "--train-budget", 2, "--valid-budget", 4, "--episodes", 4, "--workers", 1]
CARTPOLE = "gymnasium:CartPole-v1"


@pytest.fixture(scope="module")
def cartpole():
    return hydraviper.make(CARTPOLE)


def untrained(kind, path, environment="CartPole-v1", **policy):
    model = kind("MlpPolicy", environment, policy_kwargs=policy, seed=1, device="cpu")
    model.save(path)
    return model


def seen(rows=60):
    return np.random.default_rng(5).normal(size=(rows, 4)).astype(np.float32)


@pytest.mark.parametrize("kind", ["DQN", "PPO", "A2C"])
@pytest.mark.parametrize(
    "policy",
    [
        {},
        {"net_arch": [8]},
        {"net_arch": [16, 16, 8], "activation_fn": torch.nn.ELU},
        {"activation_fn": torch.nn.LeakyReLU},
    ],
)
def test_answers_are_those_of_the_model(cartpole, tmp_path, kind, policy):
    model = untrained(getattr(sb3, kind), tmp_path / "model.zip", **policy)
    expert = hydraviper.load_expert(f"sb3:{tmp_path}/model.zip", cartpole)
    (q,) = expert.q_functions
    assert isinstance(q.network, Chain)
    tensor = torch.from_numpy(seen())
    with torch.no_grad():
        if kind == "DQN":
            told = model.q_net(tensor).numpy()
        else:
            told = model.policy.get_distribution(tensor).distribution.logits.numpy()  # log-probabilities
    np.testing.assert_allclose(q.values(seen()), told, atol=1e-5)
    np.testing.assert_array_equal(expert.act([seen()])[:, 0], model.predict(seen(), deterministic=True)[0])


def test_nothing_is_unpickled(cartpole, tmp_path, monkeypatch):
    untrained(sb3.PPO, tmp_path / "model.zip", activation_fn=torch.nn.ReLU)
    for module in ("pickle", "cloudpickle"):
        monkeypatch.setattr(f"{module}.loads", lambda *_: pytest.fail("something was unpickled"))
        monkeypatch.setattr(f"{module}.load", lambda *_: pytest.fail("something was unpickled"))
    hydraviper.load_expert(f"sb3:{tmp_path}/model.zip", cartpole)


def test_discrete_observations_and_actions_from_another_number(tmp_path):
    class Number(gymnasium.ObservationWrapper):  # Stable-Baselines3 wants to count from 0
        observation_space = gymnasium.spaces.Discrete(5)

        def observation(self, observation):
            return observation - 1

    class Action(gymnasium.ActionWrapper):
        action_space = gymnasium.spaces.Discrete(3)

        def action(self, action):
            return action - 1

    model = untrained(sb3.PPO, tmp_path / "model.zip", Action(Number(Stairs())))
    expert = hydraviper.load_expert(f"sb3:{tmp_path}/model.zip", hydraviper.make("python:tests.helpers.foreign:Stairs"))
    wanted = [model.predict(place, deterministic=True)[0] for place in range(5)]
    np.testing.assert_array_equal(expert.act([np.arange(1, 6, dtype=np.float32)[:, None]])[:, 0], wanted)


def test_masks(tmp_path):
    contrib = pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed: `make test-experts` brings it")

    class Plain(gymnasium.ObservationWrapper):  # as PettingZoo's tutorial does it
        observation_space = gymnasium.spaces.Box(0, 1, (3,), np.float32)

        def observation(self, observation):
            self.seen = observation
            return observation["observation"]

        def action_masks(self):
            return self.seen["action_mask"].astype(bool)

    model = untrained(contrib.MaskablePPO, tmp_path / "model.zip", Plain(Lights()))
    game = hydraviper.make("python:tests.helpers.foreign:Lights")
    expert = hydraviper.load_expert(f"sb3:{tmp_path}/model.zip", game)
    rows = hydraviper.play(game, expert, np.arange(9, dtype=np.uint64), record=True).observations[0]
    native, allowed = game.offers.foreign.unflatten(0, rows), game.offers.foreign.allowed(0, rows)
    wanted = model.predict(native["observation"], action_masks=allowed, deterministic=True)[0]
    np.testing.assert_array_equal(expert.act([rows])[:, 0], wanted)


class Doubling(sb3.common.torch_layers.BaseFeaturesExtractor):
    """Something between observation and layers that only code can tell."""

    def __init__(self, space):
        super().__init__(space, 4)

    def forward(self, observations):
        return 2 * observations


def test_what_only_a_pickle_can_bring_back(call, cartpole, tmp_path):
    model = untrained(sb3.PPO, tmp_path / "model.zip", features_extractor_class=Doubling)
    spec = f"sb3:{tmp_path}/model.zip"
    refuses(call, "add --trust", "distill", CARTPOLE, "--expert", spec, *BUDGET, "--out", "run")
    expert = hydraviper.load_expert(spec, cartpole, trust=True)
    assert isinstance(expert.q_functions[0].network, RowByRow)
    np.testing.assert_array_equal(expert.act([seen()])[:, 0], model.predict(seen(), deterministic=True)[0])
    code, _, complaint = call("distill", CARTPOLE, "--expert", spec, *BUDGET, "--out", "run", "--trust")
    assert code == 0, complaint
    refuses(call, "add --trust", "evaluate", "run", "--episodes", 4, "--workers", 1)
    assert call("evaluate", "run", "--episodes", 4, "--workers", 1, "--trust")[0] == 0


def test_files_that_do_not_fit(call, tmp_path):
    untrained(sb3.DQN, tmp_path / "acrobot.zip", "Acrobot-v1")
    sentence = "takes 6 numbers and chooses among 3 actions, but agent of gymnasium:CartPole-v1 sees 4 and has 2"
    refuses(call, sentence, "distill", CARTPOLE, "--expert", "sb3:acrobot.zip", *BUDGET, "--out", "run", "--json")
    (tmp_path / "bad.zip").write_bytes(b"nothing")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as file:
        file.writestr("data", json.dumps({}))
    for name in ("bad.zip", "other.zip"):
        refuses(call, "pass what `model.save` wrote", "distill", CARTPOLE, "--expert", f"sb3:{name}", *BUDGET)


def test_a_run_keeps_its_expert(call, tmp_path):
    untrained(sb3.DQN, tmp_path / "model.zip")
    code, _, complaint = call("distill", CARTPOLE, "--expert", "sb3:model.zip", *BUDGET, "--out", "run")
    assert code == 0, complaint
    settings = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert settings["expert"]["name"] == f"sb3:{tmp_path}/model.zip"
    sha = hashlib.sha256((tmp_path / "model.zip").read_bytes()).hexdigest()
    assert settings["expert"]["contents"] == {f"sb3:{tmp_path}/model.zip": sha}
    (tmp_path / "model.zip").unlink()
    (tmp_path / "run").rename(tmp_path / "moved")
    for command in (
        ["evaluate", "moved"],
        ["refine", "moved", "--rollouts", 200, "--out", "better"],
        ["evaluate", "better"],
    ):
        code, _, complaint = call(*command, "--episodes", 4, "--workers", 1)
        assert code == 0, complaint
        assert "another expert" not in complaint


def test_one_file_each(call, tmp_path):
    spaces = gymnasium.spaces

    class Shape(gymnasium.Env):
        action_space = spaces.Discrete(5)

        def __init__(self, size):
            self.observation_space = spaces.Box(-np.inf, np.inf, (size,), np.float32)

    untrained(sb3.PPO, tmp_path / "hunter.zip", Shape(16))
    game = "pettingzoo:mpe2.simple_tag_v3,max_cycles=10"
    refuses(call, "say who plays whom", "distill", game, "--expert", "sb3:hunter.zip", *BUDGET, "--out", "run")
    spec = "adversary_*=sb3:hunter.zip,agent_0=random"
    code, printed, complaint = call("distill", game, "--expert", spec, *BUDGET, "--out", "run", "--json")
    assert code == 0, complaint
    assert json.loads(printed)["teams"] == [["adversary_0", "adversary_1", "adversary_2"]]
    code, _, complaint = call("evaluate", "run", "--episodes", 4, "--workers", 1)
    assert code == 0, complaint
    assert "another expert" not in complaint
    refuses(call, "nothing to distil", "distill", f"{game},distil=all", "--expert", spec, *BUDGET, "--out", "run2")
