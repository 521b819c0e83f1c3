"""Exports answer as the trees do, bit for bit: compiled C, bare Python, onnxruntime, Structured Text and JSON."""

from __future__ import annotations

import ast
import json
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hydraviper
from hydraviper.data import UNWRITABLE, Agent, Derived, Term
from hydraviper.export import FORMATS, only, to_c, to_dot, to_json, to_onnx, to_python, to_structured_text
from hydraviper.export.common import identifiers
from hydraviper.export.structured_text import KEYWORDS as ST_WORDS
from hydraviper.trees.derived import extend
from hydraviper.trees.file import DEEPEST, TreesFile
from hydraviper.trees.tree import LEAF, Tree, in_preorder
from tests.export import structured_text
from tests.helpers.trees import CASES, MADE, random_tree

RANDOM, BOUNDARY = 10_000, 1_000
GCC = ["gcc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2"]
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc to compile the C file with")


def observations(agent: Agent, tree: Tree, draws: np.random.Generator, count: int, boundary: int) -> np.ndarray:
    """Random rows, and rows on a threshold, the next float above and the next below, whatever the question."""
    rows = draws.normal(size=(count, len(agent.features))).astype(np.float32)
    edge = draws.normal(size=(boundary, len(agent.features))).astype(np.float32)
    inner = np.flatnonzero(tree.feature != LEAF)
    for k in range(boundary if len(inner) else 0):
        node = int(draws.choice(inner))
        feature, value = int(tree.feature[node]), tree.threshold[node]
        if feature < len(agent.features):
            edge[k, feature] = value
            moved = feature
        else:
            moved = _onto(edge[k], tree.derived[feature - len(agent.features)], value)
        side = (np.float32(-np.inf), edge[k, moved], np.float32(np.inf))[k % 3]
        edge[k, moved] = np.nextafter(edge[k, moved], side)
    return np.concatenate([rows, edge])


def beside(rows: np.ndarray, draws: np.random.Generator, count: int) -> np.ndarray:
    """Copies of rows with one feature moved to the next float: as near to the thresholds, with other roundings."""
    made, each = rows[draws.integers(len(rows), size=count)], np.arange(count)
    moved = draws.integers(rows.shape[1], size=count)
    made[each, moved] = np.nextafter(made[each, moved], draws.choice(np.float32([-np.inf, np.inf]), size=count))
    return made


def _onto(row: np.ndarray, feature: Derived, value: np.float32) -> int:
    """Change one input of a derived feature until it crosses the threshold, by halving; returns which."""
    moved = feature.inputs[-1]
    low, high = np.float32(-64), np.float32(64)
    plain = len(row)

    def above(candidate: np.float32) -> bool:
        row[moved] = candidate
        return bool(extend(row[None], [feature])[0, plain] > value)

    start = above(low)
    for _ in range(60):
        middle = np.float32((np.float64(low) + np.float64(high)) / 2)
        low, high = (middle, high) if above(middle) == start else (low, middle)
    row[moved] = high
    return moved


@pytest.fixture(scope="module", params=CASES)
def case(request) -> tuple[TreesFile, list[np.ndarray], list[np.ndarray]]:
    """Trees, each agent's observations and what its tree answers."""
    trees, draws = CASES[request.param], np.random.default_rng(1)
    seen = [observations(a, t, draws, RANDOM, BOUNDARY) for a, t in zip(trees.agents, trees.trees, strict=True)]
    return trees, seen, [tree.predict(rows) for tree, rows in zip(trees.trees, seen, strict=True)]


def test_the_boundary_is_really_tried():
    trees, draws = CASES["derived"], np.random.default_rng(1)
    agent, tree = trees.agents[0], trees.trees[0]
    rows = extend(observations(agent, tree, draws, 0, BOUNDARY), tree.derived)
    inner = np.flatnonzero(tree.feature != LEAF)
    for sign in (1, -1):  # on a threshold or just below it, and just above
        near = [
            np.abs(sign * rows[:, tree.feature[n]] - sign * tree.threshold[n]) <= np.spacing(np.abs(tree.threshold[n]))
            for n in inner
        ]
        assert np.any(near, axis=0).mean() > 0.5  # a sum of many terms can jump over its threshold
    on = [rows[:, tree.feature[n]] == tree.threshold[n] for n in inner]
    assert np.any(on, axis=0).mean() > 0.2


MAIN = """
#include <stdio.h>
int main(int argc, char **argv)
{
    float x[%d];
    (void)argc;
    while (fread(x, sizeof(float), %d, stdin) == %d)
        putchar(%s(x));
    return argv[0] == 0;
}
"""


def run_c(trees: TreesFile, rows: np.ndarray, folder: Path, *options: str) -> np.ndarray:
    """Compile the export of one agent with a main function and feed it; later options win over the usual ones."""
    size, name = rows.shape[1], identifiers([trees.agents[0].name])[0] + "_act"
    (folder / "trees.c").write_text(to_c(trees), encoding="utf-8")
    (folder / "main.c").write_text(f"int {name}(const float x[{size}]);" + MAIN % (size, size, size, name))
    subprocess.run([*GCC, *options, "trees.c", "main.c", "-o", "trees", "-lm"], cwd=folder, check=True)
    answers = subprocess.run(["./trees"], cwd=folder, input=rows.tobytes(), capture_output=True, check=True).stdout
    return np.frombuffer(answers, np.uint8).astype(int)


FEED = """
import array, runpy, sys
made = runpy.run_path("trees.py")
agent, size = sys.argv[1], int(sys.argv[2])
rows = array.array("f", open("rows", "rb").read())
function = made["FUNCTIONS"][agent]
answers = [function(rows[k : k + size]) for k in range(0, len(rows), size)]
assert made["ACTIONS"][agent][answers[0]] == made["act"](agent, rows[:size])
open("answers", "wb").write(bytes(answers))
assert not {"numpy", "hydraviper"} & set(sys.modules)
"""


def run_python(trees: TreesFile, rows: np.ndarray, folder: Path) -> np.ndarray:
    """Load the module in an interpreter without any packages."""
    (folder / "trees.py").write_text(to_python(trees), encoding="utf-8")
    (folder / "rows").write_bytes(rows.tobytes())
    arguments = [trees.agents[0].name, str(rows.shape[1])]
    subprocess.run([sys.executable, "-I", "-S", "-c", FEED, *arguments], cwd=folder, check=True)
    return np.frombuffer((folder / "answers").read_bytes(), np.uint8).astype(int)


def run_onnx(trees: TreesFile, seen: list[np.ndarray]) -> list[np.ndarray]:
    import onnxruntime

    session = onnxruntime.InferenceSession(to_onnx(trees), providers=["CPUExecutionProvider"])
    names = json.loads(session.get_modelmeta().custom_metadata_map["agents"])
    feed = {names[agent.name]["input"]: rows for agent, rows in zip(trees.agents, seen, strict=True)}
    return session.run([names[agent.name]["output"] for agent in trees.agents], feed)


def run_structured_text(trees: TreesFile, seen: list[np.ndarray]) -> list[np.ndarray]:
    blocks = structured_text.load(to_structured_text(trees))
    names = identifiers((agent.name for agent in trees.agents), ST_WORDS)
    return [np.array([blocks[name](*row) for row in rows]) for name, rows in zip(names, seen, strict=True)]


def run_json(trees: TreesFile, seen: list[np.ndarray]) -> list[np.ndarray]:
    """Follow the nested document by names."""
    answers = []
    for entry, tree, rows in zip(json.loads(to_json(trees))["agents"], trees.trees, seen, strict=True):
        names = [*entry["features"], *(feature.name for feature in tree.derived)]
        own = []
        for row in extend(rows, tree.derived):
            values, node = dict(zip(names, row.tolist(), strict=True)), entry["tree"]
            while "action" not in node:
                node = node["then"] if values[node["feature"]] <= node["at_most"] else node["else"]
            own.append(entry["actions"].index(node["action"]))
        answers.append(np.array(own))
    return answers


@pytest.mark.slow
@needs_gcc
def test_compiled_c(case, tmp_path):
    trees, seen, expected = case
    for k, rows in enumerate(seen):
        np.testing.assert_array_equal(run_c(only(trees, k), rows, tmp_path), expected[k])
    # all agents in one file, in any unit
    (tmp_path / "all.c").write_text(to_c(trees))
    subprocess.run([*GCC, "-c", "all.c"], cwd=tmp_path, check=True)


@needs_gcc
def test_a_compiler_that_takes_shortcuts(tmp_path):
    """Fused multiply-add changes nothing: squares of single precision numbers are exact in double precision."""
    trees, draws = only(CASES["derived"], 0), np.random.default_rng(1)
    rows = observations(trees.agents[0], trees.trees[0], draws, RANDOM, BOUNDARY)
    answers = run_c(trees, rows, tmp_path, "-O3", "-march=native", "-ffp-contract=fast")
    np.testing.assert_array_equal(answers, trees.trees[0].predict(rows))


X87 = pytest.mark.skipif(platform.machine() not in ("x86_64", "i386", "i686"), reason="there is no x87 here")
WIDE = [  # arithmetic with more digits than are stored, and in another order
    pytest.param(("-std=c99", "-mfpmath=387"), marks=X87),
    pytest.param(("-std=gnu99", "-mfpmath=387", "-O3"), marks=X87),
    pytest.param(("-std=gnu99", "-mfpmath=387", "-O0"), marks=X87),
    pytest.param(("-std=gnu99", "-mfpmath=both", "-O2"), marks=X87),
    pytest.param(
        ("-std=gnu99", "-O3", "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math"), id="reordered"
    ),
    pytest.param(("-std=gnu99", "-O3", "-funsafe-math-optimizations", "-march=native"), id="unsafe"),
]


@pytest.mark.slow
@needs_gcc
@pytest.mark.parametrize("options", WIDE)
def test_arithmetic_with_more_digits_or_in_another_order(options, tmp_path):
    for name in ("derived", "signals", "plain", "formulas"):
        trees, draws = only(CASES[name], 0), np.random.default_rng(2)
        rows = beside(observations(trees.agents[0], trees.trees[0], draws, 0, 2_000), draws, 100_000)
        np.testing.assert_array_equal(run_c(trees, rows, tmp_path, *options), trees.trees[0].predict(rows), name)


@needs_gcc
@pytest.mark.parametrize("options", [("-std=c99",), *WIDE])
def test_distances_are_rounded_as_the_trees_round_them(options, tmp_path):
    """Lengths next to the middle between two floats: wider arithmetic ends on the other side of some of them."""
    middle = 2 - np.arange(1, 2**14, 2) * 2.0**-24
    x = (middle - 2.0**-24).astype(np.float32)
    y = np.sqrt(middle**2 - x.astype(float) ** 2 + 2.0**-51).astype(np.float32)
    pairs = [(x, y)]
    for side in (0, 1):
        near = y
        for _ in range(4):
            near = np.nextafter(near, np.float32(side))
            pairs.append((x, near))
    pairs += [tuple(np.random.default_rng(0).normal(size=(2, 20_000)).astype(np.float32))]
    rows = np.concatenate([np.stack(pair, axis=1) for pair in pairs])
    derived = Derived("distance", (Term("distance", (0, 1)),))
    expected = extend(rows, (derived,))[:, 2]
    wide = rows.astype(np.longdouble)
    direct = np.sqrt(wide[:, 0] ** 2 + wide[:, 1] ** 2).astype(np.float32)
    if np.finfo(np.longdouble).nmant == 63:  # as wide as x87's registers
        assert (direct != expected).any()
    agent = Agent("a", ("x", "y"), ("stay", "go"))
    made = TreesFile("one", {}, (agent,), (stump(2, (derived,)),), MADE)
    main = """
#include <stdio.h>
#include "trees.c"
int main(void)
{
    float ends[2], length;
    while (fread(ends, sizeof(float), 2, stdin) == 2) {
        length = hv_distance(ends[0], ends[1]);
        fwrite(&length, sizeof(float), 1, stdout);
    }
    return 0;
}
"""
    (tmp_path / "trees.c").write_text(to_c(made))
    (tmp_path / "main.c").write_text(main)
    subprocess.run([*GCC, *options, "main.c", "-o", "main", "-lm"], cwd=tmp_path, check=True)
    told = subprocess.run(["./main"], cwd=tmp_path, input=rows.tobytes(), capture_output=True, check=True).stdout
    np.testing.assert_array_equal(np.frombuffer(told, np.float32), expected)


@needs_gcc
@pytest.mark.parametrize("option", ["-ffast-math", "-Ofast", "-ffinite-math-only"])
def test_fast_arithmetic_is_refused_by_a_sentence(option, tmp_path):
    (tmp_path / "trees.c").write_text(to_c(CASES["plain"]))
    made = subprocess.run([*GCC, option, "-c", "trees.c"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode != 0
    assert "without -ffast-math" in made.stderr


def stump(feature: int, derived: tuple[Derived, ...] = (), threshold: float = 0.5) -> Tree:
    """One question, two answers."""
    columns = [np.array(column) for column in ([feature, LEAF, LEAF], [1, LEAF, LEAF], [2, LEAF, LEAF], [0, 0, 1])]
    values = np.array([threshold, 0, 0], np.float32)
    return Tree(columns[0], values, *columns[1:], counts=np.ones((3, 2)), derived=derived)


@needs_gcc
def test_names_that_systems_define_as_numbers(tmp_path):
    names = ("linux", "unix", "i386", "near", "far", "complex", "signbit", "main", "x", "sqrt", "asm")
    length = Derived("isnan", (Term("distance", (0, 1)),))
    for name in ("linux", "sqrt"):
        agent = Agent(name, names, ("stay", "go"))
        tree = random_tree(agent, np.random.default_rng(1), 7, derived=(length,))
        assert set(tree.feature.tolist()) == {LEAF, *range(len(names) + 1)}  # all of them are asked for
        rows = np.random.default_rng(1).normal(size=(1_000, len(names))).astype(np.float32)
        answers = run_c(TreesFile("system", {}, (agent,), (tree,), MADE), rows, tmp_path, "-std=gnu11", "-O0")
        np.testing.assert_array_equal(answers, tree.predict(rows), name)


def chain(depth: int) -> tuple[TreesFile, np.ndarray]:
    """A tree of so many levels, each of which cuts off one leaf, and rows for every leaf."""
    size = 2 * depth + 1
    inner = (np.arange(size) % 2 == 0) & (np.arange(size) < size - 1)
    left, right = (np.where(inner, np.arange(size) + k, LEAF) for k in (1, 2))
    thresholds = np.where(inner, np.arange(size) / 4, 0).astype(np.float32)
    actions = np.arange(size) % 3
    agent = Agent("deep", ("a", "b"), ("stay", "go", "turn"))
    feature = np.where(inner, np.arange(size) // 2 % 2, LEAF)
    tree = in_preorder(feature, thresholds, left, right, actions, np.ones((size, 3)))
    rows = np.random.default_rng(0).uniform(-1, size / 4, size=(500, 2)).astype(np.float32)
    return TreesFile("chain", {}, (agent,), (tree,), MADE), rows


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 40, 41, 99, DEEPEST])
def test_deep_trees_answer_alike_in_every_language(depth, tmp_path):
    trees, rows = chain(depth)
    assert trees.trees[0].depth == depth
    expected = trees.trees[0].predict(rows)
    np.testing.assert_array_equal(run_python(trees, rows, tmp_path), expected)
    ast.parse(to_python(trees), feature_version=(3, 8))
    for run in (run_onnx, run_json):
        np.testing.assert_array_equal(run(trees, [rows])[0], expected)
    for form in FORMATS.values():
        assert form.write(trees)
    if shutil.which("gcc"):
        np.testing.assert_array_equal(run_c(trees, rows, tmp_path), expected)


def test_agents_whose_names_hold_each_other():
    names = ("a", "a action", "a action 2", "a value 1", "a votes", "a index 0", "A")
    length = Derived("length", (Term("distance", (0, 1)),))
    agents = tuple(Agent(name, ("x", "y"), ("stay", "go")) for name in names)
    trees = TreesFile("names", {}, agents, tuple(stump(2, (length,), k / 4) for k in range(len(names))), MADE)
    rows = np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)
    for run in (run_onnx, run_structured_text, run_json):
        for answers, tree in zip(run(trees, [rows] * len(names)), trees.trees, strict=True):
            np.testing.assert_array_equal(answers, tree.predict(rows))


def test_words_of_structured_text_since_its_third_edition():
    words = "class method interface namespace end_class end_method abstract final internal ltime wchar null ref t"
    agent = Agent("END_INTERFACE", tuple(words.split()), ("stay", "go"))
    text = to_structured_text(TreesFile("words", {}, (agent,), (stump(0),), MADE))
    declared = [line.split()[0] for line in text.splitlines() if line.strip().partition(" ")[2].startswith(": REAL")]
    assert declared == [f"{word}_2" for word in agent.features]
    assert "FUNCTION_BLOCK end_interface_2" in text


def test_an_observation_is_single_precision_everywhere():
    draws = np.random.default_rng(3)
    for name, trees in CASES.items():
        agent, tree = trees.agents[0], trees.trees[0]
        rows = observations(agent, tree, draws, 500, 500).astype(float)
        rows += draws.uniform(-1, 1, rows.shape) * np.spacing(rows.astype(np.float32)) / 4  # rounds back
        answers = tree.predict(rows)
        np.testing.assert_array_equal(answers, tree.predict(rows.astype(np.float32)), name)
        assert answers.tolist() == [int(tree.action[tree.path(row)[-1]]) for row in rows]
    assert stump(0, threshold=1.0).predict(np.array([[1 + 1e-12], [1e39], [-1e39]])).tolist() == [0, 1, 0]


@pytest.mark.slow
def test_bare_python(case, tmp_path):
    trees, seen, expected = case
    for k, rows in enumerate(seen):
        np.testing.assert_array_equal(run_python(only(trees, k), rows, tmp_path), expected[k])


@pytest.mark.slow
def test_onnxruntime(case):
    trees, seen, expected = case
    for answers, own in zip(run_onnx(trees, seen), expected, strict=True):
        np.testing.assert_array_equal(answers, own)


@pytest.mark.slow
def test_structured_text(case):
    trees, seen, expected = case
    last = slice(-4 * BOUNDARY, None)  # the interpreter is slow: all rows at the thresholds and some of the others
    for answers, own in zip(run_structured_text(trees, [rows[last] for rows in seen]), expected, strict=True):
        np.testing.assert_array_equal(answers, own[last])


@pytest.mark.slow
def test_nested_json(case):
    trees, seen, expected = case
    for answers, own in zip(run_json(trees, seen), expected, strict=True):
        np.testing.assert_array_equal(answers, own)


def test_every_export_carries_names_and_version():
    trees = CASES["signals"]
    for name, form in FORMATS.items():
        content = form.write(trees)
        content = content.decode("latin-1") if isinstance(content, bytes) else content
        for part in ("signal-1", "phase 2: straight+right (left yields)", f"hydraviper {hydraviper.__version__}"):
            assert part in content.replace("&#x27;", "'"), (name, part)
        asked = {int(f) for f in trees.trees[0].feature} - {LEAF}
        for feature in asked:
            words = trees.trees[0].names(trees.agents[0])[feature]
            if name not in ("onnx", "svg"):  # which name features by their place, or break the words into lines
                assert words in content, (name, words)
        if name not in ("dot", "svg"):  # drawings name only what the tree asks for
            assert "queue from East, left" in content, name
        assert "1.2.3" in content  # what made the trees


@st.composite
def odd_teams(draw) -> tuple[TreesFile, int]:
    """Few or many actions, single leaves, names full of what languages object to."""
    names = st.text(min_size=1, max_size=12).filter(lambda name: name.strip() and not UNWRITABLE.search(name))
    odd = st.sampled_from(["if", "END_IF", "*/ x /*", "(* *)", "??/", '"quoted"', "a\\", "é", "1st", "x", "X", "left"])
    unique = st.lists(names | odd, min_size=1, max_size=5, unique=True)
    features, actions = draw(unique), draw(unique)
    agent = Agent(draw(names | odd), tuple(features), tuple(actions))
    inputs = st.integers(0, len(features) - 1)
    term = st.one_of(
        st.builds(Term, st.sampled_from(["value", "size"]), st.tuples(inputs), st.sampled_from([1, -1])),
        st.builds(Term, st.just("distance"), st.tuples(inputs, inputs), st.sampled_from([1, -1])),
        st.builds(Term, st.just("distance"), st.tuples(inputs, inputs, inputs, inputs), st.sampled_from([1, -1])),
    )
    terms = draw(st.lists(st.lists(term, min_size=1, max_size=3), max_size=3))
    derived = tuple(Derived(f"derived {k} of {features[0]}", tuple(own)) for k, own in enumerate(terms))
    seed = draw(st.integers(0, 2**32 - 1))
    tree = random_tree(agent, np.random.default_rng(seed), draw(st.integers(0, 4)), derived=derived)
    return TreesFile("odd", {}, (agent,), (tree,), MADE), seed


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(odd_teams())
def test_random_trees_with_odd_names(made):
    trees, seed = made
    draws = np.random.default_rng(seed)
    rows = observations(trees.agents[0], trees.trees[0], draws, 60, 60)
    expected = trees.trees[0].predict(rows)
    scope: dict = {"__name__": "made"}
    exec(compile(to_python(trees), "trees.py", "exec"), scope)
    np.testing.assert_array_equal([scope["FUNCTIONS"][trees.agents[0].name](row.tolist()) for row in rows], expected)
    for run in (run_onnx, run_structured_text, run_json):
        np.testing.assert_array_equal(run(trees, [rows])[0], expected)
    assert to_dot(trees).count(" -> ") == len(trees.trees[0]) - 1


@pytest.mark.slow
@needs_gcc
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(odd_teams())
def test_random_trees_with_odd_names_in_c(tmp_path, made):
    trees, seed = made
    rows = observations(trees.agents[0], trees.trees[0], np.random.default_rng(seed), 200, 200)
    np.testing.assert_array_equal(run_c(trees, rows, tmp_path), trees.trees[0].predict(rows))


def test_identifiers_are_legible_and_different():
    made = identifiers(["Queue from west, left+right", "queue from west left right", "2nd", "é'", "", "IF"], ["if"])
    assert made == ["queue_from_west_left_right", "queue_from_west_left_right_2", "n_2nd", "e", "n", "if_2"]
    long = identifiers(["a" * 100, "a" * 100])
    assert len(set(long)) == 2
    assert max(map(len, long)) <= 63


def test_huge_and_tiny_thresholds_read_back(tmp_path):
    values = np.array([3.4028235e38, -3.4028235e38, 1e-45, -1.1754944e-38, 16777216, 0.1, -0.0], np.float32)
    agent = Agent("a", ("x",), tuple(map(str, range(8))))
    values = np.sort(values)[::-1]  # a chain: the largest first, one leaf to the right of each
    size = 2 * len(values) + 1
    inner = np.arange(size) % 2 == 0
    inner[-1] = False
    column = np.zeros(size, np.float32)
    column[inner] = values
    left, right = (np.where(inner, np.arange(size) + k, LEAF) for k in (2, 1))
    tree = in_preorder(
        np.where(inner, 0, LEAF), column, left, right, np.arange(size) // 2, np.ones((size, len(agent.actions)))
    )
    trees = TreesFile("edge", {}, (agent,), (tree,), MADE)
    with np.errstate(over="ignore"):
        around = [np.nextafter(values, np.float32(side)) for side in (-np.inf, np.inf)]
    rows = np.concatenate([values, *around])[:, None]
    rows = rows[np.isfinite(rows[:, 0])]
    expected = tree.predict(rows)
    for run in (run_onnx, run_structured_text, run_json):
        np.testing.assert_array_equal(run(trees, [rows])[0], expected)
    np.testing.assert_array_equal(run_python(trees, rows, tmp_path), expected)
    if shutil.which("gcc"):
        np.testing.assert_array_equal(run_c(trees, rows, tmp_path), expected)
