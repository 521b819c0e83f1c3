"""Trees for other programs: C, Python, ONNX, Structured Text, JSON, DOT and SVG, one module per language.

A controller, which is a tree with its state machine, belongs in a module on top of `c.function` and
`structured_text.function_block`, and in FORMATS.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hydraviper.drawing.trees import to_svg
from hydraviper.export.c import to_c
from hydraviper.export.common import heading
from hydraviper.export.dot import to_dot
from hydraviper.export.nested_json import to_json
from hydraviper.export.onnx import to_onnx
from hydraviper.export.python import to_python
from hydraviper.export.structured_text import to_structured_text
from hydraviper.trees.file import TreesFile

__all__ = ["FORMATS", "Format", "only", "to_c", "to_dot", "to_json", "to_onnx", "to_python", "to_structured_text"]


@dataclass(frozen=True)
class Format:
    """A language or file format that trees are exported to."""

    ending: str  # of a file's name
    write: Callable[[TreesFile], str | bytes]
    one_agent: bool = False  # a file holds the tree of one agent only


def _drawing(trees: TreesFile) -> str:
    return to_svg(trees.agents[0], trees.trees[0], about="\n".join(heading(trees))) + "\n"


FORMATS: Mapping[str, Format] = {
    "c": Format("c", to_c),
    "python": Format("py", to_python),
    "onnx": Format("onnx", to_onnx),
    "st": Format("st", to_structured_text),
    "json": Format("json", to_json),
    "dot": Format("dot", to_dot),
    "svg": Format("svg", _drawing, one_agent=True),
}


def only(trees: TreesFile, agent: int) -> TreesFile:
    """The file with one agent's tree only."""
    return replace(trees, agents=trees.agents[agent : agent + 1], trees=trees.trees[agent : agent + 1])
