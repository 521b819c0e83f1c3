"""Trees as an ONNX model: a TreeEnsembleClassifier per agent, behind the nodes that compute its derived features."""

import json
from typing import Any

import numpy as np

from hydraviper.data import InputError, Term
from hydraviper.export.common import Program, heading, identifiers, programs
from hydraviper.trees.derived import carry_out
from hydraviper.trees.file import TreesFile
from hydraviper.trees.tree import LEAF
from hydraviper.version import __version__

_OPSETS = {"": 13, "ai.onnx.ml": 1}
_IR = 8


def to_onnx(trees: TreesFile) -> bytes:
    """A model with an input [rows, features] (float) and an output [rows] (int64) per agent, named like the agent.

    The names of agents, features and actions and the version are in the model's metadata.
    """
    try:
        import onnx
    except ImportError:
        raise InputError("exporting to ONNX needs the package onnx: install hydraviper[export].") from None
    from onnx import helper

    nodes, inputs, outputs, weights, names = [], [], [], [], {}
    agents = programs(trees)
    answers = identifiers((f"{program.name}_action" for program in agents), [program.name for program in agents])
    for program, answer in zip(agents, answers, strict=True):
        part = _Graph(program.name)
        part.build(program, answer)
        nodes += part.nodes
        weights += part.constants
        wide = len(program.agent.features)
        inputs.append(helper.make_tensor_value_info(program.name, onnx.TensorProto.FLOAT, ["rows", wide]))
        outputs.append(helper.make_tensor_value_info(answer, onnx.TensorProto.INT64, ["rows"]))
        names[program.agent.name] = {
            "input": program.name,
            "output": answer,
            "features": program.agent.features,
            "actions": program.agent.actions,
        }
    graph = helper.make_graph(nodes, "trees", inputs, outputs, weights, doc_string="\n".join(heading(trees)))
    opsets = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
    facts = {"producer_name": "hydraviper", "producer_version": __version__}
    model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR, **facts)
    model.doc_string = "\n".join(heading(trees))
    helper.set_model_props(model, {"version": __version__, "game": trees.game, "agents": json.dumps(names)})
    onnx.checker.check_model(model)
    return model.SerializeToString()


class _Graph:
    """The nodes of one agent; values between them are called `agent__value`, which no agent can be."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._values = 0

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """One node with one output, whose name is returned."""
        from onnx import helper

        self._values += 1
        output = f"{self.name}__value_{self._values}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def build(self, program: Program, answer: str) -> None:
        """Everything from the agent's input to its action."""
        asked = self._derived(program)
        features = self.name if not asked else self.add("Concat", self.name, *asked, axis=1)
        from onnx import helper

        outputs = [answer, f"{self.name}__votes"]
        tree = helper.make_node("TreeEnsembleClassifier", [features], outputs, domain="ai.onnx.ml", **_columns(program))
        self.nodes.append(tree)

    def _derived(self, program: Program) -> list[str]:
        return [carry_out(feature, self._summand, self._operate) for _, feature in program.computed()]

    def _summand(self, term: Term) -> str:
        """A summand [rows, 1] without its sign."""
        from onnx import numpy_helper

        if term.kind == "number":
            name = f"{self.name}__number_{len(self.constants)}"
            self.constants.append(numpy_helper.from_array(np.array([[term.number]], np.float32), name))
            return name
        columns = [self._column(number) for number in term.inputs]
        if term.kind == "distance":
            return self._distance(columns)
        return columns[0] if term.kind == "value" else self.add("Abs", columns[0])

    def _operate(self, kind: str, *numbers: str) -> str:
        """The result [rows, 1] of an operation in single precision."""
        if kind == "length":
            return self._distance(list(numbers))
        if kind in ("min", "max"):  # not ONNX's own: these say nothing about what is not a number
            lower, upper = numbers
            return self.add("Where", self.add("Less" if kind == "min" else "Greater", upper, lower), upper, lower)
        names = {"plus": "Add", "minus": "Sub", "times": "Mul", "negative": "Neg", "absolute": "Abs"}
        return self.add(names[kind], *numbers)

    def _distance(self, columns: list[str]) -> str:
        from onnx import TensorProto

        ends = columns
        if len(columns) == 4:
            ends = [self.add("Sub", columns[0], columns[2]), self.add("Sub", columns[1], columns[3])]
        wide = [self.add("Cast", end, to=TensorProto.DOUBLE) for end in ends]
        squares = [self.add("Mul", end, end) for end in wide]
        return self.add("Cast", self.add("Sqrt", self.add("Add", *squares)), to=TensorProto.FLOAT)

    def _column(self, number: int) -> str:
        from onnx import numpy_helper

        index = f"{self.name}__index_{number}"
        if all(constant.name != index for constant in self.constants):
            self.constants.append(numpy_helper.from_array(np.array([number], np.int64), index))
        return self.add("Gather", self.name, index, axis=1)


def _columns(program: Program) -> dict[str, Any]:
    """The classifier's attributes. Every leaf votes for every action, 1 for its own and 0 for the others.

    So the largest vote is never tied, and no reader takes a tree of two actions for one of a single score.
    """
    tree, plain = program.tree, len(program.agent.features)
    # derived features stand behind the plain ones in the order in which they are computed
    places = {number: plain + k for k, number in enumerate(program.derived)}
    actions = max(2, len(program.agent.actions))
    inner, leaves = tree.feature != LEAF, np.flatnonzero(tree.feature == LEAF)
    return {
        "nodes_treeids": [0] * len(tree),
        "nodes_nodeids": list(range(len(tree))),
        "nodes_featureids": [places.get(int(f), int(f)) if f != LEAF else 0 for f in tree.feature],
        "nodes_values": tree.threshold.astype(np.float32).tolist(),
        "nodes_modes": ["BRANCH_LEQ" if asks else "LEAF" for asks in inner],
        "nodes_truenodeids": np.where(inner, tree.left, 0).tolist(),
        "nodes_falsenodeids": np.where(inner, tree.right, 0).tolist(),
        "nodes_missing_value_tracks_true": [0] * len(tree),
        "class_treeids": [0] * (len(leaves) * actions),
        "class_nodeids": np.repeat(leaves, actions).tolist(),
        "class_ids": list(range(actions)) * len(leaves),
        "class_weights": [float(tree.action[leaf] == k) for leaf in leaves for k in range(actions)],
        "classlabels_int64s": list(range(actions)),
        "post_transform": "NONE",
    }
