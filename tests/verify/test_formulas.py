"""Proofs about trees that ask for formulas: never wrong, tried on everything that can happen and on random values."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from hydraviper.data import Agent
from hydraviper.expressions.features import read_lines
from hydraviper.trees.derived import extend
from hydraviper.verify import properties
from hydraviper.verify.obligations import resolve
from hydraviper.verify.prover.proof import verify
from hydraviper.verify.scene import Scene
from hydraviper.verify.verdicts import BROKEN, HOLDS, NOWHERE, UNDECIDED
from tests.helpers.trees import random_tree

AGENT = Agent("agent-0", ("a", "b", "c"), ("go", "wait", "turn"))
LINES = """
least = min([a], [b], 3)
most = max([a] - [b], 2 * [c])
product = [a] * [b] - [c]
half = ([a] + [b]) / 3 - [c]
bent = |[a] - min([b], [c])|
length = distance(([a] - [b], [c]))
apart = distance(([a], [b]), ([b], [c]))
"""
FEATURES = read_lines(LINES, (AGENT,), ((),))[0]
CONDITIONS = {
    "[a] >= 2": lambda x: x[:, 0] >= 2,
    "[least] < [most]": lambda x: x[:, 3] < x[:, 4],
    "[product] > 1": lambda x: x[:, 5] > 1,
    "min([a], [c]) >= 1": lambda x: np.minimum(x[:, 0], x[:, 2]) >= 1,
    "[bent] <= 1": lambda x: x[:, 7] <= 1,
}


def verdict(tree, when, never, domain):
    scene = Scene((AGENT,), (FEATURES,), (0,), "there are no signals")
    text = f"[[domain]]\nfeatures = '*'\n{domain}\n[[property]]\nname = 'p'\nwhen = {when}\nnever = {never}"
    (answer,) = verify(resolve(properties.read(text, "the test"), scene), {0: tree}, seconds=5)
    return answer


def judge(answer, rows, tree, when, never):
    """Whether the answer is the truth about these rows; what is undecided is never wrong."""
    values = extend(rows, FEATURES)
    inside = np.all([CONDITIONS[one](values) for one in when], axis=0) if when else np.ones(len(rows), bool)
    broken = inside & np.isin(tree.predict(rows), [AGENT.actions.index(action) for action in never])
    if broken.any():
        assert answer.outcome in (BROKEN, UNDECIDED)
    elif inside.any():
        assert answer.outcome != NOWHERE
    for example in answer.counterexamples:
        assert tree.predict(example.observations[0][None])[0] in [AGENT.actions.index(action) for action in never]
    return bool(broken.any())


@pytest.mark.slow
def test_answers_against_trying_everything():
    rows = np.array(list(itertools.product(range(-2, 5), repeat=3)), np.float32)
    draws, outcomes = np.random.default_rng(0), []
    for _ in range(30):
        tree = random_tree(AGENT, draws, 3, derived=FEATURES, thresholds=lambda size: draws.integers(-3, 6, size) / 1.0)
        when = draws.choice(list(CONDITIONS), int(draws.integers(3)), replace=False).tolist()
        never = [str(draws.choice(AGENT.actions))]
        answer = verdict(tree, when, never, "values = 'whole'\nleast = -2\nmost = 4")
        broken = judge(answer, rows, tree, when, never)
        if not broken:
            assert answer.outcome in (HOLDS, NOWHERE, UNDECIDED)
        outcomes.append(answer.outcome)
    assert outcomes.count(HOLDS) + outcomes.count(NOWHERE) >= 3
    assert outcomes.count(BROKEN) >= 10


@pytest.mark.slow
def test_proofs_against_random_values():
    draws, outcomes = np.random.default_rng(1), []
    rows = draws.uniform(-2, 3, size=(20_000, 3)).astype(np.float32)
    for _ in range(20):
        tree = random_tree(AGENT, draws, 3, derived=FEATURES)
        when = draws.choice(list(CONDITIONS), int(draws.integers(1, 3)), replace=False).tolist()
        never = [str(draws.choice(AGENT.actions))]
        answer = verdict(tree, when, never, "least = -2\nmost = 3")
        judge(answer, rows, tree, when, never)
        outcomes.append(answer.outcome)
    assert outcomes.count(HOLDS) >= 2


def test_what_single_precision_cannot_hold_is_not_proved():
    lines = "huge = [a] * [a] * [a] * [a] * [a] * [a] * [a]"
    (feature,) = read_lines(lines, (AGENT,), ((),))[0]
    draws = np.random.default_rng(0)
    tree = random_tree(AGENT, draws, 1, derived=(feature,), splits=1.0, thresholds=lambda size: np.zeros(size))
    feature_numbers = tree.feature.copy()
    feature_numbers[0] = 3
    tree = replace(tree, feature=feature_numbers, action=np.array([0, 0, 1]))
    scene = Scene((AGENT,), ((feature,),), (0,), "there are no signals")
    text = "[[domain]]\nfeatures = '*'\nleast = 1\nmost = 900000\n[[property]]\nname = 'p'\nnever = ['wait']"
    (answer,) = verify(resolve(properties.read(text, "the test"), scene), {0: tree}, seconds=5)
    assert answer.outcome in (BROKEN, UNDECIDED)  # infinity is above 0
