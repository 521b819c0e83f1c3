"""Formulas, compiled, against two twins: Python's own arithmetic on the text, and the steps one by one in NumPy."""

import re

import numpy as np
import pytest

from hydraviper.data import Agent, Derived
from hydraviper.expressions.names import Scope
from hydraviper.expressions.parser import parse_formula
from hydraviper.trees.derived import extend
from hydraviper.trees.explain import changes
from hydraviper.trees.flips import nearest_flip
from hydraviper.trees.packed import Vocabulary, leaf_of, pack
from tests.helpers.trees import random_tree

AGENT = Agent("agent", ("a", "b", "c", "p dx", "p dy", "q dx", "q dy"), ("stay", "go", "turn"))


def random_formula(draws: np.random.Generator, depth: int = 3) -> str:
    """Any formula, at most so deep."""
    kind = int(draws.integers(9)) if depth else int(draws.integers(3))
    inner = [random_formula(draws, depth - 1) for _ in range(2)] if depth else []
    number = f"{draws.choice([0.5, 2, 3.25, 1e-3, 7])}"
    if kind == 0:
        return f"[{draws.choice(['a', 'b', 'c'])}]"
    if kind == 1:
        return str(draws.choice(["distance([p])", "distance([p], [q])", "abs([q dx])", "|[p dy] - [a]|"]))
    if kind == 2:
        return f"{number} * [{draws.choice(['a', 'p dx', 'q dy'])}]"
    if kind == 3:
        return f"({inner[0]} - ({inner[1]})) / {number}"
    if kind == 4:
        return f"{inner[0]} + {inner[1]} - {number}"
    if kind == 5:
        return f"({inner[0]}) * ({inner[1]})"
    if kind == 6:
        return f"{draws.choice(['min', 'max'])}({inner[0]}, {inner[1]}, {number})"
    if kind == 7:
        return f"distance(({inner[0]}, {inner[1]}), [q])"
    return f"abs({inner[0]}) - {inner[1]}"


def made(draws: np.random.Generator, count: int) -> list[Derived]:
    scope = Scope((AGENT,), ((),), ())
    texts = [random_formula(draws) for _ in range(count)]
    return [parse_formula(f"f{k}", text, scope, 0) for k, text in enumerate(texts) if "[" in text]


def by_python(formula: str, row: np.ndarray) -> float:
    """The formula as Python reads it, in double precision."""
    values = dict(zip(AGENT.features, row.astype(float), strict=True))
    points = {name: (values[f"{name} dx"], values[f"{name} dy"]) for name in ("p", "q")}

    def distance(*ends):
        (x, y), (u, v) = (*ends, (0.0, 0.0))[:2]
        return np.hypot(x - u, y - v)

    text = re.sub(r"\|([^|]*)\|", r"abs(\1)", formula)
    text = re.sub(r"\[(p|q)\]", r"points['\1']", text)
    text = re.sub(r"\[([^\]']*)\]", r"values['\1']", text)
    return eval(text, {"values": values, "points": points, "distance": distance})


def by_steps(feature: Derived, row: np.ndarray) -> np.float32:
    """The steps one by one, a float32 each."""
    pile: list = [None]
    with np.errstate(all="ignore"):
        for term in feature.terms:
            top = pile[-1]
            if term.kind == "open":
                pile.append(None)
            elif term.kind == "absolute":
                pile[-1] = abs(top)
            elif term.kind in ("plus", "minus", "times", "min", "max", "length"):
                lower = pile[-2]
                del pile[-2:]
                pile.append(
                    {
                        "plus": lambda a, b: a + b,
                        "minus": lambda a, b: a - b,
                        "times": lambda a, b: a * b,
                        "min": lambda a, b: b if b < a else a,
                        "max": lambda a, b: b if b > a else a,
                        "length": lambda a, b: np.float32(np.sqrt(float(a) * float(a) + float(b) * float(b))),
                    }[term.kind](lower, top)
                )
            else:
                x = [row[k] for k in term.inputs]
                if term.kind == "number":
                    value = np.float32(term.number)
                elif term.kind == "distance":
                    x = x if len(x) == 2 else [x[0] - x[2], x[1] - x[3]]
                    value = np.float32(np.sqrt(float(x[0]) ** 2 + float(x[1]) ** 2))
                else:
                    value = abs(x[0]) if term.kind == "size" else x[0]
                signed = value if term.sign > 0 else -value
                pile[-1] = signed if top is None else top + signed
    return pile[0]


def test_compiled_formulas_against_their_twins():
    draws = np.random.default_rng(0)
    features = made(draws, 120)
    rows = draws.normal(size=(20, len(AGENT.features))).astype(np.float32)
    rows[0] = 0
    values = extend(rows, features)[:, len(AGENT.features) :]
    assert sum(not feature.is_sum for feature in features) > 80
    for column, feature in zip(values.T, features, strict=True):
        np.testing.assert_array_equal(column, [by_steps(feature, row) for row in rows], feature.formula)
        exact = np.array([by_python(feature.formula, row) for row in rows])
        np.testing.assert_allclose(column, exact, rtol=1e-3, atol=1e-3 * max(1, np.abs(exact).max()))


def test_packed_trees_ask_for_the_same_values():
    draws = np.random.default_rng(1)
    features = tuple(made(draws, 12))
    tree = random_tree(AGENT, draws, 5, derived=features)
    vocabulary = Vocabulary((len(AGENT.features),), (features,))
    packed, tables = pack([tree], vocabulary, 63), vocabulary.tables()
    rows = draws.normal(size=(500, len(AGENT.features))).astype(np.float32)
    leaves = [leaf_of(rows, r, 0, packed.nodes, packed.threshold, *tables) for r in range(len(rows))]
    np.testing.assert_array_equal(packed.nodes[0, leaves, 3], tree.predict(rows))


@pytest.mark.slow
def test_the_nearest_flip_is_the_nearest():
    """No value of a fine grid that is nearer changes the answer, and the value found does."""
    draws = np.random.default_rng(2)
    tried = 0
    for _ in range(12):
        tree = random_tree(AGENT, draws, 3, derived=tuple(made(draws, 5)))
        row = draws.normal(size=len(AGENT.features)).astype(np.float32)
        answer = tree.predict(row[None])[0]
        for feature in range(len(AGENT.features)):
            flip = nearest_flip(tree, row, feature)
            reach = flip.searched if np.isfinite(flip.searched) else 100.0
            grid = np.repeat(row[None], 4001, axis=0)
            grid[:, feature] += np.linspace(-reach, reach, 4001).astype(np.float32)
            inside = np.abs(grid[:, feature].astype(float) - float(row[feature])) < reach
            assert (tree.predict(grid[inside]) == answer).all()
            if flip.to is not None:
                tried += 1
                row_there = row.copy()
                row_there[feature] = flip.to
                assert tree.predict(row_there[None])[0] != answer
        changes(AGENT, tree, row)
    assert tried > 20
