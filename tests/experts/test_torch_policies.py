"""Torch modules as experts: state dicts and TorchScript as they are, everything else only if it is trusted."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-experts` brings it")

import hydraviper  # noqa: E402
from hydraviper.data import InputError  # noqa: E402
from hydraviper.experts.adapted import RowByRow  # noqa: E402
from hydraviper.experts.chains import Chain  # noqa: E402


@pytest.fixture(scope="module")
def cartpole():
    return hydraviper.make("gymnasium:CartPole-v1")


def network(activation=torch.nn.Tanh, inputs=4, outputs=2):
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(inputs, 32), activation(), torch.nn.Linear(32, 16), activation(), torch.nn.Linear(16, outputs)
    )


class Gated(torch.nn.Module):
    """No chain of layers."""

    def __init__(self):
        super().__init__()
        self.one, self.two = torch.nn.Linear(4, 2), torch.nn.Linear(2, 2)

    def forward(self, seen):
        told = self.one(seen)
        return self.two(told) * torch.sigmoid(told)


def seen(rows=60):
    return np.random.default_rng(5).normal(size=(rows, 4)).astype(np.float32)


def answers(module):
    with torch.no_grad():
        return module(torch.from_numpy(seen())).numpy()


def same(expert, module):
    np.testing.assert_array_equal(expert.act([seen()])[:, 0], answers(module).argmax(axis=1))
    parts = [expert.q_functions[0].values(seen()[k : k + 7]) for k in range(0, 60, 7)]
    np.testing.assert_array_equal(np.concatenate(parts), expert.q_functions[0].values(seen()))


def test_a_state_dict(cartpole, tmp_path):
    module, path = network(), tmp_path / "policy.pt"
    torch.save(module.state_dict(), path)
    expert = hydraviper.load_expert(f"torch:{path},activation=tanh", cartpole)
    same(expert, module)
    torch.save({"state_dict": module.state_dict(), "epoch": 3}, path)
    same(hydraviper.load_expert(f"torch:{path},activation=tanh,answers=values", cartpole), module)
    with pytest.raises(InputError, match=r"does not say what lies between its layers: write torch:.*activation=relu"):
        hydraviper.load_expert(f"torch:{path}", cartpole)


def test_layers_that_are_no_chain(cartpole, tmp_path):
    both = torch.nn.ModuleDict({"policy": network(), "value": network(outputs=1)})
    torch.save(both.state_dict(), tmp_path / "both.pt")
    with pytest.raises(InputError, match="no single chain"):
        hydraviper.load_expert(f"torch:{tmp_path}/both.pt,activation=tanh", cartpole)
    torch.save(network(inputs=5).state_dict(), tmp_path / "wide.pt")
    with pytest.raises(InputError, match="takes 5 numbers and chooses among 2 actions"):
        hydraviper.load_expert(f"torch:{tmp_path}/wide.pt,activation=tanh", cartpole)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("made", "kind"), [(network, Chain), (Gated, RowByRow)])
def test_torchscript(cartpole, tmp_path, made, kind):
    module, path = made(), tmp_path / "policy.pt"
    torch.jit.save(torch.jit.script(module), path)
    expert = hydraviper.load_expert(f"torch:{path}", cartpole)
    assert isinstance(expert.q_functions[0].network, kind)
    same(expert, module)
    same(pickle.loads(pickle.dumps(expert)), module)


def test_a_program_of_export(cartpole, tmp_path):
    module, path = network(torch.nn.ReLU), tmp_path / "policy.pt2"
    torch.export.save(torch.export.export(module, (torch.zeros(1, 4),)), path)
    with pytest.raises(InputError, match="runs code of whoever made it: add --trust"):
        hydraviper.load_expert(f"torch:{path}", cartpole)
    expert = hydraviper.load_expert(f"torch:{path}", cartpole, trust=True)
    np.testing.assert_array_equal(expert.act([seen()])[:, 0], answers(module).argmax(axis=1))


class Evil:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (self.mark,)


def test_pickles_run_no_code_unless_they_are_trusted(cartpole, tmp_path):
    mark, path = tmp_path / "mark", tmp_path / "policy.pt"
    torch.save(Evil(str(mark)), path)
    with pytest.raises(InputError, match="a pickle runs code of whoever made it: add --trust"):
        hydraviper.load_expert(f"torch:{path}", cartpole)
    path.write_bytes(pickle.dumps(Evil(str(mark))))
    with pytest.raises(InputError, match=r"--trust|cannot be read"):
        hydraviper.load_expert(f"torch:{path}", cartpole)
    assert not mark.exists()


def test_a_whole_module_if_it_is_trusted(cartpole, tmp_path):
    module, path = network(), tmp_path / "policy.pt"
    torch.save(module, path)
    with pytest.raises(InputError, match="add --trust"):
        hydraviper.load_expert(f"torch:{path}", cartpole)
    expert = hydraviper.load_expert(f"torch:{path}", cartpole, trust=True)
    assert isinstance(expert.q_functions[0].network, Chain)
    same(expert, module)


@pytest.mark.parametrize("content", [b"", b"nothing", b"PK\x03\x04"])
def test_files_that_are_nothing(cartpole, tmp_path, content):
    (tmp_path / "bad.pt").write_bytes(content)
    with pytest.raises(InputError, match=r"cannot be read by torch|--trust"):
        hydraviper.load_expert(f"torch:{tmp_path}/bad.pt", cartpole)
