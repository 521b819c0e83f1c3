"""Trees for other programs: C, Python, ONNX, Structured Text, JSON, DOT and SVG, one module per language.

A controller is a tree with the state machine that shows its choices: C and Structured Text have a module for it, and
the state machine itself in the language, `controller.c` and `controller.st`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hydraviper.controllers import Controller
from hydraviper.drawing.trees import to_svg
from hydraviper.export.c import to_c
from hydraviper.export.c_controller import to_c_controllers
from hydraviper.export.common import heading
from hydraviper.export.dot import to_dot
from hydraviper.export.nested_json import to_json
from hydraviper.export.onnx import to_onnx
from hydraviper.export.python import to_python
from hydraviper.export.structured_text import to_structured_text
from hydraviper.export.structured_text_controller import to_structured_text_controllers
from hydraviper.trees.file import TreesFile

__all__ = ["FORMATS", "Format", "only", "to_c", "to_dot", "to_json", "to_onnx", "to_python", "to_structured_text"]


@dataclass(frozen=True)
class Format:
    """A language or file format that trees are exported to."""

    ending: str  # of a file's name
    write: Callable[[TreesFile], str | bytes]
    one_agent: bool = False  # a file holds the tree of one agent only
    # the same for signals, with what turns the trees' choices into lights, by the agents' names
    control: Callable[[TreesFile, Mapping[str, Controller]], str] | None = None
    comment: str = ""  # a comment of one line, where there is such a `control`


def _drawing(trees: TreesFile) -> str:
    return to_svg(trees.agents[0], trees.trees[0], about="\n".join(heading(trees))) + "\n"


FORMATS: Mapping[str, Format] = {
    "c": Format("c", to_c, control=to_c_controllers, comment="/* {} */"),
    "python": Format("py", to_python),
    "onnx": Format("onnx", to_onnx),
    "st": Format("st", to_structured_text, control=to_structured_text_controllers, comment="(* {} *)"),
    "json": Format("json", to_json),
    "dot": Format("dot", to_dot),
    "svg": Format("svg", _drawing, one_agent=True),
}


def only(trees: TreesFile, agent: int) -> TreesFile:
    """The file with one agent's tree only."""
    return replace(trees, agents=trees.agents[agent : agent + 1], trees=trees.trees[agent : agent + 1])
