"""ONNX models as experts."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx makes the models of these tests")
pytest.importorskip("onnxruntime", reason="ONNX experts need onnxruntime")

import hydraviper  # noqa: E402
from hydraviper.data import InputError  # noqa: E402
from hydraviper.experts import store  # noqa: E402
from tests.twins.test_chains import forward, random_layers  # noqa: E402

LAYERS = random_layers(4, 32, 2)


@pytest.fixture(scope="module")
def cartpole():
    return hydraviper.make("gymnasium:CartPole-v1")


def model(path, batch="batch", choose=False, layers=LAYERS, inputs=("seen",)):
    """A network with one hidden layer; with `choose`, its first output is the action."""
    helper, kinds = onnx.helper, onnx.TensorProto
    (w0, b0), (w1, b1) = layers
    weights = {"w0": w0, "b0": b0, "w1": w1, "b1": b1}
    tensors = [onnx.numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    nodes = [
        helper.make_node("Gemm", ["seen", "w0", "b0"], ["sums"], transB=1),
        helper.make_node("Tanh", ["sums"], ["hidden"]),
        helper.make_node("Gemm", ["hidden", "w1", "b1"], ["told"], transB=1),
    ]
    outputs = [helper.make_tensor_value_info("told", kinds.FLOAT, [batch, len(w1)])]
    if choose:
        nodes.append(helper.make_node("ArgMax", ["told"], ["action"], axis=1, keepdims=0))
        outputs.insert(0, helper.make_tensor_value_info("action", kinds.INT64, [batch]))
    shown = [helper.make_tensor_value_info(name, kinds.FLOAT, [batch, w0.shape[1]]) for name in inputs]
    graph = helper.make_graph(nodes, "policy", shown, outputs, tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path.write_bytes(made.SerializeToString())
    return path


def seen(rows=40):
    return np.random.default_rng(5).normal(size=(rows, 4)).astype(np.float32)


@pytest.mark.parametrize("batch", ["batch", 1])
def test_a_model_plays(cartpole, tmp_path, batch):
    path = model(tmp_path / "policy.onnx", batch)
    expert = hydraviper.load_expert(f"onnx:{path}", cartpole)
    wanted = forward(LAYERS, "tanh", seen()).argmax(axis=1)
    np.testing.assert_array_equal(expert.act([seen()])[:, 0], wanted)
    parts = [expert.q_functions[0].values(seen()[k : k + 3]) for k in range(0, 40, 3)]
    np.testing.assert_array_equal(np.concatenate(parts), expert.q_functions[0].values(seen()))
    values = hydraviper.load_expert(f"onnx:{path},answers=values", cartpole)
    np.testing.assert_allclose(values.q_functions[0].values(seen()), forward(LAYERS, "tanh", seen()), atol=1e-5)
    assert store.digest(values) != store.digest(expert)


def test_a_model_that_chooses(cartpole, tmp_path):
    path = model(tmp_path / "policy.onnx", choose=True)
    choosing, telling = (hydraviper.load_expert(f"onnx:{path}{output}", cartpole) for output in ("", ",output=told"))
    np.testing.assert_array_equal(choosing.act([seen()]), telling.act([seen()]))
    assert set(choosing.q_functions[0].values(seen()).ravel()) == {0.0, 1.0}
    with pytest.raises(InputError, match="no output 'more': choose one of action, told"):
        hydraviper.load_expert(f"onnx:{path},output=more", cartpole)


def test_models_that_do_not_fit(cartpole, tmp_path):
    wide = model(tmp_path / "wide.onnx", layers=random_layers(5, 8, 2))
    with pytest.raises(InputError, match="takes 5 numbers and chooses among 2 actions, but agent"):
        hydraviper.load_expert(f"onnx:{wide}", cartpole)
    many = model(tmp_path / "many.onnx", layers=random_layers(4, 8, 3))
    with pytest.raises(InputError, match="chooses among 3 actions"):
        hydraviper.load_expert(f"onnx:{many}", cartpole)
    (tmp_path / "bad.onnx").write_bytes(b"nothing")
    with pytest.raises(InputError, match="cannot be read as an ONNX model"):
        hydraviper.load_expert(f"onnx:{tmp_path}/bad.onnx", cartpole)


@pytest.mark.slow
def test_a_run_finds_its_model_again(call, tmp_path):
    model(tmp_path / "policy.onnx")
    budget = ["--iterations", 2, "--train-budget", 2, "--valid-budget", 4, "--episodes", 4, "--workers", 1]
    code, _, complaint = call(
        "distill", "gymnasium:CartPole-v1", "--expert", "onnx:policy.onnx", *budget, "--out", "run"
    )
    assert code == 0, complaint
    code, _, complaint = call("evaluate", "run", "--episodes", 4, "--workers", 1)
    assert code == 0, complaint
    assert "another expert" not in complaint
    model(tmp_path / "policy.onnx", layers=random_layers(4, 32, 2, seed=1))
    code, _, complaint = call("evaluate", "run", "--episodes", 4, "--workers", 1)
    assert code == 0
    assert "another expert" in complaint
