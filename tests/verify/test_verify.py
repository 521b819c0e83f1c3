"""Properties of trees: answers against brute force, confirmed counterexamples, joint rules, constraints and repair."""

from __future__ import annotations

import itertools
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hydraviper
from hydraviper.data import Agent, Derived, InputError, Term
from hydraviper.trees.bins import Bins
from hydraviper.trees.derived import extend
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.verify import properties
from hydraviper.verify.bounds import bounds_of, by_agent, keeps
from hydraviper.verify.constraints import Constraints, guard
from hydraviper.verify.growth import grow_within
from hydraviper.verify.obligations import Obligations, obligations_for, resolve
from hydraviper.verify.prover.proof import check, verify
from hydraviper.verify.repair import repair
from hydraviper.verify.scene import Scene
from hydraviper.verify.verdicts import BROKEN, HOLDS, NOWHERE, UNDECIDED
from tests.helpers.trees import random_tree

FEATURES = ("queue a", "queue b", "queue c")
ACTIONS = ("go", "wait", "turn")
AGENT = Agent("agent-0", FEATURES, ACTIONS)
MOST = 5  # counts from 0 to this: few enough to try them all
DERIVED = (
    Derived("a less b", (Term("value", (0,)), Term("value", (1,), -1))),
    Derived("b and c", (Term("value", (1,)), Term("value", (2,)))),
    Derived("|a| less |c|", (Term("size", (0,)), Term("size", (2,), -1))),
    Derived("distance of a and b", (Term("distance", (0, 1)),)),
)
GRID = np.array(list(itertools.product(range(MOST + 1), repeat=3)), np.float32)
COUNTS = f"""
[[domain]]
features = "queue *"
values = "count"
most = {MOST}
"""


def scene(agents: int = 1, derived: tuple[Derived, ...] = DERIVED) -> Scene:
    made = tuple(Agent(f"agent-{i}", FEATURES, ACTIONS) for i in range(agents))
    return Scene(made, (derived,) * agents, tuple(range(agents)), "there are no signals")


def rules_of(text: str, agents: int = 1) -> Obligations:
    return resolve(properties.read(text, "the test"), scene(agents))


def random_counts_tree(draw: np.random.Generator, derived: tuple[Derived, ...] = (), depth: int = 4) -> Tree:
    """A random tree that asks about counts: half of its thresholds are whole numbers."""

    def thresholds(size: int) -> np.ndarray:
        return np.where(draw.random(size) < 0.5, draw.integers(-2, MOST + 1, size), draw.uniform(-2, MOST, size))

    return random_tree(AGENT, draw, depth, derived=derived, thresholds=thresholds)


# conditions as text, and as obvious NumPy over observations with derived features
OBVIOUS = {
    "queue a >= 2": lambda x: x[:, 0] >= 2,
    "1 < queue b <= 3": lambda x: (x[:, 1] > 1) & (x[:, 1] <= 3),
    "every queue * <= 3": lambda x: (x[:, :3] <= 3).all(axis=1),
    "some queue * >= 4": lambda x: (x[:, :3] >= 4).any(axis=1),
    "[queue a] - 2 [queue b] < 1": lambda x: x[:, 0] - 2 * x[:, 1] < 1,
    "[queue a] + [queue b] == [queue c]": lambda x: x[:, 0] + x[:, 1] == x[:, 2],
    "sum [queue *] >= 6": lambda x: x[:, :3].sum(axis=1) >= 6,
    "a less b > 0": lambda x: x[:, 3] > 0,
    "2 [b and c] - [queue a] <= 5": lambda x: 2 * x[:, 4] - x[:, 0] <= 5,
    "[|a| less |c|] >= 0.5": lambda x: x[:, 5] >= 0.5,
    "distance of a and b <= 3.5": lambda x: x[:, 6] <= 3.5,
}


@pytest.mark.slow
@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 2**32 - 1),
    when=st.lists(st.sampled_from(list(OBVIOUS)), max_size=3, unique=True),
    never=st.sets(st.sampled_from(ACTIONS), min_size=1, max_size=2),
    curved=st.integers(0, 4),
)
def test_answers_agree_with_trying_everything(seed, when, never, curved):
    draw = np.random.default_rng(seed)
    tree = random_counts_tree(draw, DERIVED if curved == 0 else DERIVED[:3])  # distances now and then: they take longer
    tree = Tree(tree.feature, tree.threshold, tree.left, tree.right, tree.action, tree.counts, DERIVED)
    text = f"{COUNTS}\n[[property]]\nname = 'p'\nwhen = {when}\nnever = {sorted(never)}"
    (answer,) = verify(rules_of(text), {0: tree})
    values = extend(GRID, DERIVED)
    inside = np.all([OBVIOUS[one](values) for one in when], axis=0) if when else np.ones(len(GRID), bool)
    bad = [ACTIONS.index(action) for action in never]
    broken = inside & np.isin(tree.predict(GRID), bad)
    truth = BROKEN if broken.any() else HOLDS if inside.any() else NOWHERE
    decidable = curved > 0  # z3 gives up on some distances
    assert answer.outcome in ({truth} if decidable else {truth, UNDECIDED})
    for example in answer.counterexamples:
        seen = example.observations[0]
        assert seen.dtype == np.float32
        assert tree.predict(seen[None])[0] in bad
        assert broken[(seen == GRID).all(axis=1)].all()


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32 - 1), linear=st.booleans())
def test_real_features_against_a_dense_sample(seed, linear):
    draw = np.random.default_rng(seed)
    tree = random_counts_tree(draw)
    low, high = np.sort(draw.uniform(-1, MOST, 2)).round(2)
    when = [f"{low} <= queue a < {high}"] + ([f"[queue b] - 0.5 [queue c] > {low}"] if linear else [])
    text = f"[[domain]]\nleast = -3\nmost = 6\n[[property]]\nname = 'p'\nwhen = {when}\nnever = 'go'"
    (answer,) = verify(rules_of(text), {0: tree})
    edges = np.unique(np.concatenate([tree.threshold, np.nextafter(tree.threshold, np.float32(9)), [low, high, -3, 6]]))
    grid = np.array(list(itertools.product(np.concatenate([edges, draw.uniform(-3, 6, 6)]), repeat=3)), np.float32)
    grid = grid[((grid >= -3) & (grid <= 6)).all(axis=1)]
    wide = grid.astype(float)
    inside = (wide[:, 0] >= low) & (wide[:, 0] < high)
    inside &= (wide[:, 1] - 0.5 * wide[:, 2] > low) | (not linear)
    broken = inside & (tree.predict(grid) == 0)
    assert answer.outcome != UNDECIDED
    if answer.outcome != BROKEN:
        assert not broken.any()
        assert not inside.any() or answer.outcome == HOLDS
    else:
        seen = answer.counterexamples[0].observations[0]
        assert tree.predict(seen[None])[0] == 0
        assert low <= Fraction(float(seen[0])) < high
    if not linear and broken.any():  # boxes: the sample holds a corner of every cell
        assert answer.outcome == BROKEN


def joint_scene() -> tuple[Scene, str]:
    """Three agents on a line that see their position and the way to the others."""
    agents = []
    for i in range(3):
        others = [f"agent {j} dx" for j in range(3) if j != i]
        agents.append(Agent(f"agent-{i}", ("position x", *others), ("stay", "left", "right")))
    text = """
[[domain]]
least = -5
most = 5
[[fact]]
for_each = { i = { agent = "agent-*" }, j = { agent = "agent-*" } }
holds = "[agent-{i}: agent {j} dx] == [agent-{j}: position x] - [agent-{i}: position x]"
"""
    return Scene(tuple(agents), ((),) * 3, (0, 1, 2), "none"), text


def stump(feature: int, threshold: float, left: int, right: int) -> Tree:
    arrays = [np.array(v) for v in ([feature, LEAF, LEAF], [threshold, 0, 0], [1, LEAF, LEAF], [2, LEAF, LEAF])]
    return Tree(arrays[0], arrays[1].astype(np.float32), *arrays[2:], np.array([left, left, right]), np.ones((3, 3)))


def test_a_joint_property_needs_the_ties():
    own, text = joint_scene()
    pair = """
[[property]]
name = "no two agents push into each other"
for_each = { i = { agent = "agent-*" }, j = { agent = "agent-*" } }
agents = ["agent-{i}", "agent-{j}"]
when = "0 < [agent-{i}: agent {j} dx] <= 1"
never = { "agent-{i}" = "right", "agent-{j}" = "left" }
"""
    # agent 0 goes right if it stands left of 0; agent 1 goes left only if agent 0 is far behind it
    trees = {0: stump(0, 0.0, 2, 0), 1: stump(1, -1.5, 1, 0), 2: stump(0, 9.0, 0, 0)}
    rules = resolve(properties.read(text + pair, "t"), own)
    (answer,) = verify(rules, trees)
    assert answer.holds is True
    loose = resolve(properties.read(text.replace("== [agent-{j}", "<= 9 + [agent-{j}") + pair, "t"), own)
    (answer,) = verify(loose, trees)  # without the ties the same trees could meet
    assert answer.holds is False
    trees[1] = stump(1, -0.75, 1, 0)
    (answer,) = verify(rules, trees)
    assert answer.holds is False
    example = answer.counterexamples[0]
    for agent in example.obligation.agents:
        assert trees[agent].predict(example.observations[agent][None])[0] == example.actions[agent]
    seen = example.observations
    assert seen[0][1] == -seen[1][1]  # each sees the other


def test_three_agents_of_depth_five_are_answered_in_seconds(navigation):
    draw = np.random.default_rng(0)
    expert_like = {}
    for i in range(3):
        seen = draw.uniform(-1, 1, (4000, 18)).astype(np.float32)
        wanted = np.where(seen[:, 4 + 2 * i] > 0, 2, 1)  # towards a landmark of its own
        wanted = np.where(np.abs(seen[:, 5 + 2 * i]) > 0.7, np.where(seen[:, 5 + 2 * i] > 0, 4, 3), wanted)
        noise = draw.integers(0, 5, len(seen))
        bins = Bins(18)
        bins.append(seen)
        from hydraviper.trees import cart

        labels = np.where(draw.random(len(seen)) < 0.15, noise, wanted)
        expert_like[i] = cart.grow(bins, labels, np.ones(len(seen)), 5, 5)
    rules = obligations_for(navigation)
    three = rules.only([rules.names[2]])
    assert {len(rule.agents) for rule in three.behaviour} == {3}
    start = time.process_time()
    (answer,) = verify(three, expert_like)
    assert time.process_time() - start < 20
    assert answer.holds is not None
    for example in answer.counterexamples:
        assert [expert_like[i].predict(example.observations[i][None])[0] for i in range(3)] == [1, 1, 1]


def test_shapes_are_checked():
    tree = random_counts_tree(np.random.default_rng(3))
    text = "[[property]]\nname = 'small'\nmost_leaves = 2\nmost_depth = 1\nnever_asks = 'queue *'"
    (answer,) = verify(rules_of(text), {0: tree})
    assert answer.holds is False
    assert any("leaves" in problem for problem in answer.problems)
    assert any("asks for 'queue" in problem for problem in answer.problems)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32 - 1), when=st.lists(st.sampled_from(list(OBVIOUS)[:8]), min_size=1, max_size=2))
def test_repaired_and_grown_trees_keep_rules(seed, when):
    draw = np.random.default_rng(seed)
    tree = random_counts_tree(draw, depth=3)
    text = f"{COUNTS}\n[[property]]\nname = 'p'\nwhen = {when}\naction = 'go'\n"
    text += "[[property]]\nname = 'q'\nwhen = 'queue c == 5'\nnever = 'turn'"
    rules = rules_of(text)
    seen = GRID[draw.integers(0, len(GRID), 80)]
    fixed = repair(rules, {0: tree}, {0: seen}, 8)
    assert all(answer.outcome in (HOLDS, NOWHERE) for answer in verify(rules, fixed.students))
    share = (fixed.students[0].predict(seen) != tree.predict(seen)).mean()
    assert fixed.changed[0] == pytest.approx(share)
    again = repair(rules, fixed.students, {0: seen}, 8)  # nothing is left to do
    assert again.changed[0] == 0
    bins = Bins(3)
    bins.append(seen)
    limits = bounds_of(rules, 0, by_agent(rules, {})[0], ())
    grown = grow_within(limits, bins, draw.integers(0, 3, len(seen)), np.ones(len(seen)), 8)
    assert keeps(limits, grown)
    assert guard(rules)({0: grown})
    assert all(answer.outcome in (HOLDS, NOWHERE) for answer in verify(rules, {0: grown}))


def test_repair_changes_only_what_is_broken():
    # everything waits; a queue of 4 or more at a must go: that region and no more changes
    leaf = [np.array(v) for v in ([LEAF], [0.0], [LEAF], [LEAF], [1])]
    tree = Tree(leaf[0], leaf[1].astype(np.float32), *leaf[2:], np.ones((1, 3)))
    rules = rules_of(f"{COUNTS}\n[[property]]\nname = 'p'\nwhen = ['queue a >= 4', 'queue b == 0']\naction = 'go'")
    fixed = repair(rules, {0: tree}, {0: GRID}, 4)
    wanted = np.where((GRID[:, 0] >= 4) & (GRID[:, 1] == 0), 0, 1)
    np.testing.assert_array_equal(fixed.students[0].predict(GRID), wanted)
    assert fixed.smallest
    assert len(fixed.students[0]) == 5


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["hydraviper", "maviper"])
def test_distilled_within_constraints(game, small, algorithm):
    rules = obligations_for(game)
    rules = rules.only(rules.names[:1])
    expert, variant = hydraviper.shipped_expert(game), hydraviper.VARIANTS[algorithm]
    free = hydraviper.distill(game, expert, small, variant).profile.students
    kept = hydraviper.distill(game, expert, small, variant, constraints=Constraints(rules)).profile.students
    assert not verify(rules, free)[0].holds
    assert verify(rules, kept)[0].holds
    assert max(tree.depth for tree in kept.values()) <= small.depth
    allowed = guard(rules)
    assert allowed(kept)
    assert not allowed(free)


@pytest.mark.slow
def test_a_guard_is_quick(navigation, small):
    rules = obligations_for(navigation)
    rules = rules.only(rules.names[:1])
    kept = hydraviper.distill(
        navigation, hydraviper.shipped_expert(navigation), small, constraints=Constraints(rules)
    ).profile.students
    allowed = guard(rules)
    allowed(kept)
    start = time.process_time()
    for _ in range(200):
        allowed({i: Tree(**vars(tree)) for i, tree in kept.items()})  # new trees each time
    assert (time.process_time() - start) / 200 < 0.01


def test_forbidden_features_and_small_trees(navigation, small):
    text = "[[property]]\nname = 'card'\nnever_asks = ['velocity *', 'agent *']\nmost_leaves = 5"
    rules = obligations_for(navigation, properties.read(text, "t"))
    expert = hydraviper.shipped_expert(navigation)
    trees = hydraviper.distill(navigation, expert, small, constraints=Constraints(rules)).profile.students
    assert verify(rules, trees)[0].holds
    free = hydraviper.distill(navigation, expert, small).profile.students
    seen = dict(enumerate(navigation.reset(np.arange(200, dtype=np.uint64))))
    fixed = repair(rules, free, seen, 4)
    assert verify(rules, fixed.students)[0].holds


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[property]\nname = 1", "is not TOML (Expected ']]'"),
        ("[[property]]\nname = 'p'\nwhen = 'queue d > 1'\nnever = 'go'", "has no feature 'queue d': did you mean"),
        ("[[property]]\nname = 'p'\nnever = 'gone'", "has no action 'gone': did you mean 'go'?"),
        (
            "[[property]]\nname = 'p'\nagent = 'agnet-0'\nnever = 'go'",
            "no tree is for 'agnet-0': did you mean 'agent-0'?",
        ),
        ("[[property]]\nname = 'p'\nnevr = 'go'", "has no 'nevr': did you mean 'never'"),
        ("[[property]]\nname = 'p'", "demands nothing"),
        ("[[property]]\nname = 'p'\nwhen = 'queue a'\nnever = 'go'", "must compare something with a number"),
        ("[[property]]\nname = 'p'\nwhen = '[queue a] + > 2'\nnever = 'go'", "is not understood there"),
        ("[[property]]\nname = 'p'\nwhen = '[queue a > 2'\nnever = 'go'", "has no ] behind its name"),
        ("[[property]]\nname = 'p'\nwhen = 'queue * > 2'\nnever = 'go'", "every or some"),
        ("[[property]]\nname = 'p'\nserves = 'queue a'", "there are no signals"),
        ("[[property]]\nname = 'p'\naction = 'go'\nnever = 'go'", "needs one of action"),
        ("[[property]]\nname = 'p'\nnever_starves = true", "there are no signals"),
        ("[[property]]\nname = 'p'\nnever_starves = true\nnever = 'go'", "never_starves stands alone"),
        ("[[property]]\nname = 'p'\nnever_starves = 1", "never_starves"),
    ],
)
def test_what_cannot_be_read(text, sentence):
    with pytest.raises(InputError) as error:
        rules_of(text)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_clashes_are_named():
    text = (
        COUNTS
        + """
[[property]]
name = "first"
when = "queue a >= 3"
action = "go"
[[property]]
name = "second"
when = "queue b >= 3"
action = "wait"
[[property]]
name = "innocent"
when = "queue c >= 3"
never = "turn"
"""
    )
    with pytest.raises(InputError, match=r"'first'.*and 'second'") as error:
        Constraints(rules_of(text)).check(4, None, {})
    assert "innocent" not in str(error.value)
    apart = text.replace("queue b >= 3", "queue a < 3")
    Constraints(rules_of(apart)).check(1, None, {})
    # three regions side by side on one feature need two questions and three leaves
    zero = apart.replace("queue a < 3", "queue a == 1").replace("queue a >= 3", "queue a > 1")
    zero = zero.replace("turn", "nothing").replace('never = "nothing"', 'action = "*"')
    zero += "[[property]]\nname = 'zero'\nwhen = 'queue a == 0'\naction = 'turn'"
    Constraints(rules_of(zero)).check(2, None, {})
    with pytest.raises(InputError, match="need trees with 2 questions"):
        Constraints(rules_of(zero)).check(1, None, {})
    with pytest.raises(InputError, match="need 3 leaves"):
        Constraints(rules_of(zero)).check(2, 2, {})


def test_a_rule_alone_is_decided_at_the_last_float():
    # x > 0.1 as a real number, not as the nearest float32: the float next to 0.1 is larger than 0.1
    tree = stump(0, float(np.float32(0.1)), 0, 1)
    rules = rules_of("[[property]]\nname = 'p'\nwhen = 'queue a > 0.1'\nnever = 'go'")
    found = check(rules, rules.behaviour[0], {0: tree})
    assert found.outcome == BROKEN
    assert found.example is not None
    assert found.example.observations[0][0] == np.float32(0.1)
    rules = rules_of("[[property]]\nname = 'p'\nwhen = 'queue a > 0.1000000015'\nnever = 'go'")
    assert check(rules, rules.behaviour[0], {0: tree}).outcome == HOLDS
