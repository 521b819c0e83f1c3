"""A trees.json from a stranger, broken at random: either it works everywhere, or it gets one sentence.

`python -m tests.trees.test_broken_trees 5000` tries so many; the tests try some, and the cases that were seen to fail.
"""

from __future__ import annotations

import copy
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pytest

from hydraviper.data import Agent, Derived, InputError, Term
from hydraviper.export import FORMATS, only
from hydraviper.runs import edit as edits
from hydraviper.trees import file
from hydraviper.trees.explain import explain, in_words
from hydraviper.trees.text import to_text
from tests.helpers.command_line import refuses
from tests.helpers.trees import MADE, random_tree

ODD = [
    None, True, False, -1, 0, 1, 2, 7, 0.5, -0.0, 2**31, 2**63, 10**30, 10**400, 1e39, 1e300, float("nan"),
    float("inf"), -float("inf"), "", " ", "x", "agent-0", "\x1b[31m", "\x00", "\ud800", "a\nb", "\u202e", "\uffff",
    "≤", "x" * 5000,
    [], [0], [[]], {}, {"mean": 1}, [None] * 40,
]  # fmt: skip


def document() -> dict[str, Any]:
    """Two agents with derived features, and an edit."""
    return json.loads(_whole())


@cache
def _whole() -> str:
    draws = np.random.default_rng(0)
    derived = (
        Derived("distance", (Term("distance", (0, 1, 2, 3)), Term("size", (1,), -1))),
        Derived("sum", (Term("value", (2,)), Term("value", (2,)))),
    )
    agents = tuple(Agent(f"agent-{k}", ("a", "b", "c", "d"), ("stay", "go: far", "turn")) for k in range(2))
    trees = tuple(random_tree(agent, draws, 3, derived=derived) for agent in agents)
    estimate = {"mean": 1.5, "ci95": 0.25}
    score = {"name": "penalty", "episodes": 10, "lower_is_better": True}
    edit = {
        "agent": "agent-0",
        "node": 0,
        "what": "threshold",
        "before": "a ≤ 1",
        "after": "a ≤ 2",
        "counts": "as before",
        "score": {**score, "seed": 0, "before": estimate, "after": estimate, "difference": estimate},
        "undo": {"tree": trees[0].to_json(), "score": None, "mark": "0"},
    }
    made = file.TreesFile("cooperative-navigation", {}, agents, trees, MADE, {**score, **estimate}, (edit,))
    return json.dumps(made.to_json())


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a document with a key or an index in it."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


def broken(draws: np.random.Generator) -> bytes:
    """The document with one to three changes, or its text with some."""
    made = document()
    for _ in range(draws.geometric(0.7)):
        every = places(made)
        container, key = every[draws.integers(len(every))]
        other, where = every[draws.integers(len(every))]
        alike = [odd for odd in ODD if type(odd) is type(container[key])] if draws.random() < 0.7 else ODD
        odd = copy.deepcopy((alike or ODD)[draws.integers(len(alike or ODD))])
        match draws.integers(6):
            case 0:
                del container[key]
            case 1:
                container[key] = copy.deepcopy(other[where])
            case 2 if isinstance(container, list):
                container.insert(int(key), odd)
            case 2:
                container[str(odd)] = container.pop(key)
            case _:
                container[key] = odd
    content = json.dumps(made).encode("utf-8", "surrogatepass")
    if draws.random() < 0.15:
        start = int(draws.integers(len(content)))
        content = content[:start] + draws.bytes(int(draws.integers(4))) + content[start + int(draws.integers(9)) :]
    return content


def use(path: Path, draws: np.random.Generator) -> None:
    """Everything that reads a trees.json without playing its game."""
    trees = file.load(path)
    for record in trees.edits:
        edits.in_words(record)
    for agent, tree in zip(trees.agents, trees.trees, strict=True):
        to_text(agent, tree)
        made = explain(agent, tree, draws.normal(size=len(agent.features)))
        in_words(made)
        json.dumps(made.to_json(), allow_nan=False)
    for name, form in FORMATS.items():
        if name != "onnx" or draws.random() < 0.1:
            content = form.write(only(trees, 0) if form.one_agent else trees)
            if name == "svg":
                ElementTree.fromstring(str(content))
            if name == "python":
                compile(content, "trees.py", "exec")
            content.encode() if isinstance(content, str) else content  # no halves of characters


def outcomes(count: int, seed: int, folder: Path) -> Counter[str]:
    """How many broken files worked, and how many got a sentence; whatever else happens is raised."""
    found, path = Counter(), folder / "trees.json"
    for k in range(count):
        draws = np.random.default_rng([seed, k])
        path.write_bytes(broken(draws))
        try:
            use(path, draws)
            found["works"] += 1
        except InputError as error:
            is_one = len(str(error)) < 400 + len(str(path)) and str(error).isprintable()
            found["a sentence" if is_one else str(error)] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}, file {k}: {type(error).__name__}: {error}") from error
    return found


@pytest.mark.slow
def test_broken_files_get_a_sentence(tmp_path):
    found = outcomes(150, 0, tmp_path)
    assert set(found) == {"works", "a sentence"}
    assert min(found.values()) > 20


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(file.schema())


def change(*path: Any) -> Callable[[Any], dict[str, Any]]:
    def made(value: Any) -> dict[str, Any]:
        whole = document()
        inside: Any = whole
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = value
        return whole

    return made


def deep(levels: int) -> dict[str, Any]:
    """A chain of so many questions."""
    whole, size = document(), 2 * levels + 1
    inner = [k % 2 == 0 and k < size - 1 for k in range(size)]
    whole["agents"][0]["tree"] = {
        "feature": [0 if asks else -1 for asks in inner],
        "threshold": [0.0] * size,
        "left": [k + 1 if asks else -1 for k, asks in enumerate(inner)],
        "right": [k + 2 if asks else -1 for k, asks in enumerate(inner)],
        "action": [0] * size,
        "counts": [[1, 0, 0]] * size,
    }
    return whole


BROKEN = {
    "an empty name": (change("agents", 0, "name")(""), "write a name that people can read"),
    "a blank feature": (change("agents", 0, "features", 1)(" "), "write a name that people can read"),
    "a control character": (change("agents", 0, "actions", 1)("\x1b[31mred"), r"holds '\\x1b'"),
    "half a character": (change("agents", 0, "features", 1)("\ud800"), r"holds '\\ud800'"),
    "a line break in a name": (change("agents", 0, "features", 1)("a\nb"), r"write it without '\\n'"),
    "writing from right to left": (change("agents", 0, "name")("a\u202eb"), r"holds '\\u202e'"),
    "half a character in a key": (change("made", "\ud800")(1), r"holds '\\ud800'"),
    "counts of NaN": (change("agents", 0, "tree", "counts", 0, 0)(float("nan")), "a count that is not a number"),
    "counts of infinity": (change("agents", 0, "tree", "counts", 0, 0)(float("inf")), "a count that is not a number"),
    "an edit with other estimates": (change("edits", 0, "score", "before")({"mean": 1, "ci95": 0, "n": 3}), "edits/0"),
    "an edit of another score": (change("edits", 0, "score", "lower_is_better")("yes"), "edits/0"),
    "a feature beyond all integers": (change("agents", 0, "tree", "feature", 0)(1e300), "trees.json"),
    "1,500 levels": (deep(1_500), "has 1,500 levels: at most 200"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_what_was_seen_to_fail(call, name):
    whole, sentence = BROKEN[name]
    Path("trees.json").write_bytes(json.dumps(whole).encode())
    for command in (("show",), ("show", "--format", "svg"), ("export", "--to", "c")):
        refuses(call, sentence.replace("\\\\", "\\"), command[0], "trees.json", *command[1:])


def test_numbers_of_thousands_of_digits_and_deep_documents(call):
    text = json.dumps(document())
    for content in (
        text.replace('"node": 0', f'"node": {"9" * 5000}'),
        text[:-1] + ', "x": ' + "[" * 900 + "]" * 900 + "}",
    ):
        Path("trees.json").write_text(content)
        assert call("show", "trees.json")[0] == 2


def test_odd_observations(call):
    Path("trees.json").write_text(json.dumps(document()))
    cases = {
        "deep": ("[" * 100_000, "is not JSON"),
        "digits": ("[" + "9" * 5000 + "]", "is not JSON"),
        "cell": ("1," * 3 + "9" * 200_000, "is not CSV"),
        "name": (json.dumps({"z" * 10_000: 1}), "has no feature"),
        "huge": (" " * 10_000_001, "more than 10,000,000 bytes"),
        "value": (json.dumps(["y" * 10_000, 0, 0, 0]), "write a number"),
    }
    for name, (text, sentence) in cases.items():
        Path(name).write_text(text)
        code, _, failed = call("explain", "trees.json", "--agent", "agent-0", "--observation", name)
        assert code == 2, name
        assert sentence in failed, (name, failed[:200])
        assert len(failed) < 400, name


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(dict(outcomes(int(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 1, Path(folder))))
