"""RLlib's checkpoints as experts, against what RLlib itself answers."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-experts` brings it")
pytest.importorskip("ray.rllib", reason="RLlib is not installed: `make test-experts` brings it")

import gymnasium  # noqa: E402
from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import DefaultPPOTorchRLModule  # noqa: E402
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig  # noqa: E402

import hydraviper  # noqa: E402
from hydraviper.data import InputError  # noqa: E402
from hydraviper.experts.chains import Chain  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cartpole():
    return hydraviper.make("gymnasium:CartPole-v1")


def module(kind, folder, inputs=4, **config):
    space = gymnasium.spaces.Box(-np.inf, np.inf, (inputs,), np.float32)
    torch.manual_seed(0)
    made = kind(
        observation_space=space,
        action_space=gymnasium.spaces.Discrete(2),
        model_config=DefaultModelConfig(fcnet_hiddens=[16, 16], **config).__dict__,
    )
    made.save_to_path(folder)
    return made


def seen(rows=40):
    return np.random.default_rng(5).normal(size=(rows, 4)).astype(np.float32)


@pytest.mark.parametrize("config", [{}, {"vf_share_layers": True}, {"fcnet_activation": "relu"}])
def test_a_module_of_ppo(cartpole, tmp_path, config):
    made = module(DefaultPPOTorchRLModule, tmp_path / "module", **config)
    with pytest.raises(InputError, match=r"as every checkpoint of RLlib does.*add --trust"):
        hydraviper.load_expert(f"rllib:{tmp_path}/module", cartpole)
    expert = hydraviper.load_expert(f"rllib:{tmp_path}/module", cartpole, trust=True)
    assert isinstance(expert.q_functions[0].network, Chain)
    with torch.no_grad():
        told = made.forward_inference({"obs": torch.from_numpy(seen())})["action_dist_inputs"].numpy()
    np.testing.assert_array_equal(expert.act([seen()])[:, 0], told.argmax(axis=1))
    parts = [expert.q_functions[0].values(seen()[k : k + 7]) for k in range(0, 40, 7)]
    np.testing.assert_array_equal(np.concatenate(parts), expert.q_functions[0].values(seen()))


def test_a_checkpoint_with_several_modules(cartpole, tmp_path):
    place = tmp_path / "learner_group" / "learner" / "rl_module"
    module(DefaultPPOTorchRLModule, place / "left")
    with_one = hydraviper.load_expert(f"rllib:{tmp_path}", cartpole, trust=True)
    module(DefaultPPOTorchRLModule, place / "right", inputs=5)
    with pytest.raises(InputError, match=r"2 modules and none for .*: add module=NAME, one of left, right"):
        hydraviper.load_expert(f"rllib:{tmp_path}", cartpole, trust=True)
    chosen = hydraviper.load_expert(f"rllib:{tmp_path},module=left", cartpole, trust=True)
    np.testing.assert_array_equal(with_one.act([seen()]), chosen.act([seen()]))
    with pytest.raises(InputError, match="takes 5 numbers"):
        hydraviper.load_expert(f"rllib:{tmp_path},module=right", cartpole, trust=True)
    with pytest.raises(InputError, match="no module 'up'"):
        hydraviper.load_expert(f"rllib:{tmp_path},module=up", cartpole, trust=True)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no checkpoint of RLlib's new API stack"):
        hydraviper.load_expert(f"rllib:{tmp_path}/empty", cartpole, trust=True)
