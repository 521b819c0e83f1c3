"""Random scenes: agents, what they see and which values that has, what is derived from it, and trees.

Values are computed by plain NumPy in float32; hydraviper's classes are only made at the end, to hand over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.soundness.sums import Arrays, Place, Value, fits
from hydraviper.data import Agent, Derived, Domain, Knowledge, Term
from hydraviper.trees.tree import LEAF, Tree, in_preorder
from hydraviper.verify.scene import Scene

ACTIONS = ("go left", "go right", "wait")
POWER = 149  # every float32 is a whole multiple of 2**-149
Draw = np.random.Generator


@dataclass
class Feature:
    name: str
    values: str  # real, whole, count or flag
    low: float  # float32
    high: float

    @property
    def whole(self) -> bool:
        return self.values != "real"


@dataclass
class Split:
    """A question of a tree, or an answer where there is no feature."""

    feature: int
    threshold: float
    sides: tuple[Any, Any] | None
    action: int


@dataclass
class Being:
    name: str
    features: list[Feature]
    derived: list[tuple[str, list[tuple[str, tuple[int, ...], int]]]]  # name and terms: kind, inputs, sign
    tree: Split

    @property
    def names(self) -> list[str]:
        return [feature.name for feature in self.features] + [name for name, _ in self.derived]

    def whole(self, k: int) -> bool:
        return k < len(self.features) and self.features[k].whole

    def inputs(self, k: int) -> list[int]:
        """The plain features that a feature is made of."""
        plain = len(self.features)
        return [k] if k < plain else [i for _, inputs, _ in self.derived[k - plain][1] for i in inputs]

    def members(self, pattern: str) -> list[int]:
        """What a pattern fits: plain features, or derived ones where no plain one does."""
        plain = [k for k, feature in enumerate(self.features) if fits(pattern, feature.name) is not None]
        return plain or [k for k, name in enumerate(self.names) if fits(pattern, name) is not None]


@dataclass
class World:
    beings: list[Being]
    domains: str = ""  # as text, of the file
    knowledge: Knowledge = field(default_factory=Knowledge)  # of the game

    def scene(self) -> Scene:
        agents = tuple(Agent(b.name, tuple(f.name for f in b.features), ACTIONS) for b in self.beings)
        derived = tuple(derived_of(being) for being in self.beings)
        return Scene(agents, derived, tuple(range(len(agents))), "there are no signals", self.knowledge)

    def students(self) -> dict[int, Tree]:
        return {i: tree_of(being) for i, being in enumerate(self.beings)}


def derived_of(being: Being) -> tuple[Derived, ...]:
    return tuple(Derived(name, tuple(Term(*term) for term in terms)) for name, terms in being.derived)


def tree_of(being: Being) -> Tree:
    feature, threshold, left, right, action = [], [], [], [], []

    def put(split: Split) -> int:
        node = len(feature)
        feature.append(LEAF if split.sides is None else split.feature)
        threshold.append(split.threshold)
        left.append(LEAF)
        right.append(LEAF)
        action.append(split.action)
        if split.sides is not None:
            left[node], right[node] = put(split.sides[0]), put(split.sides[1])
        return node

    put(being.tree)
    arrays = np.array(feature), np.array(threshold, np.float32), np.array(left), np.array(right)
    return in_preorder(*arrays, np.array(action), np.ones((len(feature), len(ACTIONS))), derived_of(being))


# --------------------------------------------------------------------------- values


def extended(being: Being, rows: np.ndarray) -> np.ndarray:
    """Observations [N, F] with what is derived from them, in float32."""
    columns = [rows[:, k] for k in range(rows.shape[1])]
    for _, terms in being.derived:
        total = None
        for kind, inputs, sign in terms:
            x = [rows[:, i] for i in inputs]
            if kind == "value":
                one = x[0]
            elif kind == "size":
                one = np.abs(x[0])
            else:
                across, up = (x[0], x[1]) if len(x) == 2 else (x[0] - x[2], x[1] - x[3])
                wide = across.astype(np.float64), up.astype(np.float64)
                one = np.sqrt(wide[0] * wide[0] + wide[1] * wide[1]).astype(np.float32)
            total = (one if sign > 0 else -one) if total is None else (total + one if sign > 0 else total - one)
        columns.append(total)
    made = np.stack(columns, axis=1)
    assert made.dtype == np.float32
    return made


def answers(split: Split, columns: np.ndarray) -> np.ndarray:
    """What a tree answers at extended observations."""
    if split.sides is None:
        return np.full(len(columns), split.action)
    left = columns[:, split.feature] <= np.float32(split.threshold)
    return np.where(left, answers(split.sides[0], columns), answers(split.sides[1], columns))


def exact(column: np.ndarray) -> Value:
    """A float32 column as whole numbers over a power of two."""
    if (column % 1 == 0).all() and np.abs(column).max(initial=0) < 2**31:
        return column.astype(np.int64), 1
    if (column * 2**23 % 1 == 0).all() and np.abs(column).max(initial=0) < 2**10:
        return (column.astype(np.float64) * 2**23).astype(np.int64), 2**23
    wide = np.ldexp(column.astype(np.float64), POWER).tolist()
    return np.array([int(v) for v in wide] + [None], dtype=object)[:-1], 2**POWER


class Points:
    """Observations of all agents (or of some), row by row, with what derives from them."""

    def __init__(self, world: World, rows: dict[int, np.ndarray]) -> None:
        self.world, self.rows = world, rows
        self.columns = {i: extended(world.beings[i], rows[i]) for i in rows}
        self.known: dict[tuple[str, int, int], Value] = {}

    def __len__(self) -> int:
        return len(next(iter(self.rows.values())))

    def actions(self, agent: int) -> np.ndarray:
        return answers(self.world.beings[agent].tree, self.columns[agent])

    def column(self, agent: int, k: int) -> Value:
        key = ("value", agent, k)
        if key not in self.known:
            self.known[key] = exact(self.columns[agent][:, k])
        return self.known[key]

    def step(self, agent: int, k: int) -> Value:
        if self.world.beings[agent].whole(k):
            return np.zeros(1, np.int64), 1
        key = ("step", agent, k)
        if key not in self.known:
            self.known[key] = exact(np.spacing(np.abs(self.columns[agent][:, k])))
        return self.known[key]

    def place(self) -> Place:
        beings = self.world.beings
        return Place(
            [being.names for being in beings],
            [being.name for being in beings],
            lambda agent, pattern: beings[agent].members(pattern),
            self.column,
            self.step,
            Arrays(),
        )


def steps_between(low: float, high: float) -> list[float]:
    """All float32 from one to the other."""
    values, here = [], np.float32(low)
    while here <= np.float32(high):
        values.append(float(here))
        here = np.nextafter(here, np.float32(np.inf))
    return values


def grid(being: Being) -> np.ndarray:
    """Every observation of an agent, [N, F]; only where all features have few values."""
    axes = [np.arange(f.low, f.high + 1) if f.whole else np.array(steps_between(f.low, f.high)) for f in being.features]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1).astype(np.float32)


def joint_grid(world: World) -> dict[int, np.ndarray]:
    """Every joint observation."""
    grids = [grid(being) for being in world.beings]
    places = np.meshgrid(*(np.arange(len(one)) for one in grids), indexing="ij")
    return {i: one[where.ravel()] for i, (one, where) in enumerate(zip(grids, places, strict=True))}


# --------------------------------------------------------------------------- drawing


def draw_derived(draw: Draw, plain: int, distances: bool) -> list[tuple[str, list[tuple[str, tuple[int, ...], int]]]]:
    """Derived features with repeated and cancelling terms, sizes and distances."""
    made = []
    for name in ("gap 1", "gap 2", "far 1", "mix of all")[: int(draw.integers(1, 5))]:
        kinds = ["value", "value", "size"] + (["distance"] * 2 if distances else [])
        terms = []
        for _ in range(int(draw.choice([1, 2, 2, 3, 4]))):
            kind = str(draw.choice(kinds))
            width = int(draw.choice([2, 4])) if kind == "distance" else 1
            inputs = tuple(int(k) for k in draw.integers(0, plain, width))
            terms.append((kind, inputs, int(draw.choice([1, -1]))))
        if draw.random() < 0.25:  # one that repeats, or cancels out
            kind, inputs, _ = terms[0]
            terms.append((kind, inputs, int(draw.choice([1, -1]))))
        made.append((name, terms))
    return made


def draw_tree(draw: Draw, thresholds: Sequence[Sequence[float]], depth: int) -> Split:
    """A tree with thresholds from a list per feature, some of them one float32 step beside."""
    if depth == 0 or draw.random() < 0.15:
        return Split(0, 0.0, None, int(draw.integers(0, len(ACTIONS))))
    k = int(draw.integers(0, len(thresholds)))
    threshold = np.float32(draw.choice(np.array(thresholds[k])))
    way = draw.random()
    if way < 0.3:
        threshold = np.nextafter(threshold, np.float32(np.inf if way < 0.15 else -np.inf))
    sides = draw_tree(draw, thresholds, depth - 1), draw_tree(draw, thresholds, depth - 1)
    return Split(k, float(threshold), sides, 0)


def limits(draw: Draw, feature: Feature, who: str, features: str | None = None) -> tuple[str, Domain | None]:
    """A feature's domain, told by the file, or partly by the game and partly by the file."""
    name = features or feature.name

    def text(values: str, low: float | None, high: float | None) -> str:
        lines = [f'agent = "{who}"', f'features = ["{name}"]', f'values = "{values}"']
        lines += [f"least = {low!r}"] if low is not None else []
        lines += [f"most = {high!r}"] if high is not None else []
        return "[[domain]]\n" + "\n".join(lines) + "\n"

    low, high = float(feature.low), float(feature.high)
    beyond = -abs(low) * 2 - 1, abs(high) * 2 + 1
    way = draw.random()
    if way < 0.1 and feature.whole and high < 2**20:  # limits between whole numbers, as long as float32 has these
        return text("whole", low - 0.5, high + 0.75), None
    if way < 0.5:
        return text(feature.values, low, high), None
    if way < 0.75:  # the game knows the least, the file the most
        return text("real", None, high), Domain((name,), feature.values, low, beyond[1], (who,))
    return text(feature.values, beyond[0], high), Domain((name,), "real", low, None, (who,))
