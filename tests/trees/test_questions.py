"""Questions and answers in the words that a game has for its features' values."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hydraviper
from hydraviper.data import Agent, Derived, InputError, Term, Values
from hydraviper.drawing.trees import to_svg
from hydraviper.export import to_dot
from hydraviper.export.structured_text import to_structured_text
from hydraviper.games import traffic_facts
from hydraviper.runs.run import load_run
from hydraviper.trees import edit
from hydraviper.trees.explain import change_in_words, explain
from hydraviper.trees.file import TreesFile, load, save
from hydraviper.trees.questions import answered, question, questions, seen
from hydraviper.trees.text import to_text
from hydraviper.trees.tree import LEAF, Tree
from tests.helpers.trees import MADE, random_tree, signals

LIGHT = Values("flag", nought="phase 1 is red", own=True)
QUEUE = Values("count", nought="queue from west, left is empty")
RED = Values("count", "s", own=True)
FEATURES = ("phase 1 is green", "queue from west, left", "phase 1 has been red for, s", "pressure from west, left")
AGENT = Agent("signal-1", FEATURES, ("phase 1", "phase 2"), (LIGHT, QUEUE, RED, Values("whole")))
NOBODY = np.zeros(4)


def asks(feature: int, threshold: float, *derived: Derived) -> Tree:
    """A tree of one question: yes is the first action, no the second."""
    columns = [np.array(values) for values in ([feature, LEAF, LEAF], [1, LEAF, LEAF], [2, LEAF, LEAF], [0, 0, 1])]
    thresholds = np.array([threshold, 0, 0], np.float32)
    return Tree(columns[0], thresholds, columns[1], columns[2], columns[3], np.ones((3, 2)), derived)


@pytest.mark.parametrize(
    ("name", "values", "threshold", "yes", "no"),
    [
        ("speed", Values(), 0.5, "speed ≤ 0.5", "speed > 0.5"),
        ("phase 1 is green", LIGHT, 0.5, "phase 1 is red", "phase 1 is green"),
        ("raining", Values("flag"), 0.3, "raining: no", "raining: yes"),
        ("raining", Values("flag"), 1.5, "raining ≤ 1", "raining > 1"),  # nobody grows it, but somebody may write it
        ("queue from west, left", QUEUE, 0.5, "queue from west, left is empty", "queue from west, left > 0"),
        ("queue from west, left", QUEUE, 3.5, "queue from west, left ≤ 3", "queue from west, left > 3"),
        ("queue from west, left", QUEUE, 4.0, "queue from west, left ≤ 4", "queue from west, left > 4"),
        ("queue from west, left", QUEUE, 12345.5, "queue from west, left ≤ 12345", "queue from west, left > 12345"),
        ("people", Values("count"), 0.5, "people ≤ 0", "people > 0"),
        ("pressure", Values("whole"), -0.5, "pressure ≤ -1", "pressure > -1"),
        (FEATURES[2], RED, 40.5, "phase 1 has been red for ≤ 40 s", "phase 1 has been red for > 40 s"),
        ("loop: occupied", Values("flag", nought="loop: free"), 0.5, "loop: free", "loop: occupied"),
    ],
)
def test_a_question_says_what_is_true_on_either_side(name, values, threshold, yes, no):
    asked = question(name, values, threshold)
    assert (asked.yes, asked.no) == (yes, no)


@pytest.mark.parametrize(
    ("name", "nought", "subject", "test"),
    [
        ("phase 1 is green", "phase 1 is red", "phase 1 is", "red"),
        ("queue from west", "queue from west is empty", "queue from west", "is empty"),
        ("moving from west", "moving from west: none", "moving from west:", "none"),
        ("loop 2: occupied", "loop 2: free", "loop 2:", "free"),
        ("the light is green", "the light is grey", "the light is", "grey"),
        ("raining", "", "raining:", "no"),
        ("raining", "dry", "", "dry"),
        ("raining", "raining", "", "raining"),  # nobody should, but nothing breaks
    ],
)
def test_a_drawing_shows_what_the_question_is_about_and_then_what_it_asks(name, nought, subject, test):
    asked = question(name, Values("flag", nought=nought), 0.5)
    assert (asked.subject, asked.test) == (subject, test)
    assert asked.yes == (nought or "raining: no")


def test_a_question_is_what_the_tree_does():
    """Whatever the words say of a whole number, the comparison with the threshold says as well."""
    draws = np.random.default_rng(0)
    for threshold in [*draws.uniform(-3, 9, 40), 0.0, 1.0, 3.0]:
        for values in (Values("whole"), QUEUE, Values("count")):
            asked = question("queue", values, threshold)
            for value in range(0 if values.kind == "count" else -5, 12):
                said = value == 0 if "≤" not in asked.test else value <= int(asked.test.removeprefix("≤ "))
                assert said == (value <= threshold)


@pytest.mark.parametrize(
    ("name", "values", "value", "words"),
    [
        ("phase 1 is green", LIGHT, 1, "phase 1 is green"),
        ("phase 1 is green", LIGHT, 0, "phase 1 is red"),
        ("phase 1 is green", LIGHT, 0.25, "phase 1 is green is 0.25"),  # no observation of the game
        ("queue from west, left", QUEUE, 0, "queue from west, left is empty"),
        ("queue from west, left", QUEUE, 3, "queue from west, left is 3"),
        ("phase 1 has been red for, s", RED, 40, "phase 1 has been red for 40 s"),
        ("speed", Values(), 0.5, "speed is 0.5"),
    ],
)
def test_what_is_seen_in_words(name, values, value, words):
    assert seen(name, values, value) == words


def test_answers_tell_the_side_of_the_threshold():
    texts = ("3", "3.5")
    assert answered("queue", QUEUE, 3, 3.5, texts) == "queue is 3, at most 3"
    assert answered("queue", QUEUE, 0, 3.5, texts) == "queue is 0, at most 3"
    assert answered("queue", QUEUE, 5, 3.5, texts) == "queue is 5, more than 3"
    assert answered("queue", QUEUE, 2, 0.5, texts) == "queue is 2, more than 0"
    assert answered("queue", QUEUE, 0, 0.5, texts) == QUEUE.nought
    assert answered("phase 1 is green", LIGHT, 1, 0.5, texts) == "phase 1 is green"
    assert answered("phase 1 has been red for, s", RED, 60, 40.5, texts) == (
        "phase 1 has been red for 60 s, more than 40 s"
    )
    assert answered("speed", Values(), 4, 3.5, ("4", "3.5")) == "speed is 4, above 3.5"


def test_sums_of_counts_are_whole_and_distances_are_not():
    less = Derived("queue of phase 1 less phase 2", (Term("value", (1,)), Term("value", (3,), -1)))
    far = Derived("how far", (Term("distance", (1, 3)),))
    tree = asks(4, 2.5, less, far)
    assert [values.kind for values in tree.values(AGENT)] == ["flag", "count", "count", "whole", "whole", "real"]
    assert questions(AGENT, tree)[0].yes == "queue of phase 1 less phase 2 ≤ 2"
    assert [one.kind for one in tree.values(Agent("a", FEATURES, ("b",)))] == ["real"] * 6


def test_every_drawing_has_the_words():
    trees = TreesFile("traffic", {}, (AGENT,), (asks(0, 0.5),), MADE)
    agent, tree = trees.agents[0], trees.trees[0]
    assert "phase 1 is red?" in to_text(agent, tree)
    assert "0: phase 1 is red?" in to_dot(trees)
    assert "(* node 0: phase 1 is red *)" in to_structured_text(trees)
    drawing = to_svg(agent, tree)
    assert ">red</text>" in drawing
    assert "<title>phase 1 is red\nnode 1" in drawing
    assert "<title>phase 1 is green\nnode 2" in drawing
    assert ">≤ 0.5<" not in drawing


def test_an_explanation_changes_whole_numbers():
    made = explain(AGENT, asks(1, 3.5), NOBODY)
    assert made.path[0].words == "queue from west, left is 0, at most 3"
    (change,) = made.changes
    assert (change.to, change.exact, change.just_above) == (4.0, True, False)
    assert change_in_words(change) == "queue from west, left up by 4, from 0 to 4 → phase 2"
    (change,) = explain(AGENT, asks(0, 0.5), NOBODY).changes
    assert change_in_words(change) == "phase 1 is green instead of phase 1 is red → phase 2"


def test_no_change_to_a_value_that_cannot_be():
    never = [asks(1, -0.5), asks(0, 1.5), asks(0, -0.5)]  # a negative queue, a light that is greener than green
    assert all(not explain(AGENT, tree, NOBODY).changes for tree in never)
    far = explain(AGENT, asks(1, 5000.5), NOBODY).changes
    assert far[0].to > 5000
    unheard = explain(AGENT, asks(1, 3.5), np.array([0, 3.2, 0, 0])).changes  # not an observation of the game
    assert 3.5 < unheard[0].to < 3.6
    between = [3.5, 3.6]  # only values that no queue has lie between
    columns = [np.array(v) for v in ([1, LEAF, 1, LEAF, LEAF], [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], [0, 0, 0, 1, 0])]
    thresholds = np.array([between[0], 0, between[1], 0, 0], np.float32)
    tree = Tree(columns[0], thresholds, columns[1], columns[2], columns[3], np.ones((5, 2)))
    assert not explain(AGENT, tree, NOBODY).changes


def test_whole_changes_are_the_smallest():
    """Against trying every whole number."""
    draws = np.random.default_rng(1)
    agent = replace(AGENT, values=(LIGHT, QUEUE, QUEUE, Values("whole")))
    for _ in range(30):
        tree = random_tree(agent, draws, 4, thresholds=lambda size: draws.integers(-4, 9, size) + 0.5)
        row = np.array([draws.integers(2), *draws.integers(0, 6, 2), draws.integers(-4, 6)], float)
        changes = {change.feature: change for change in explain(agent, tree, row).changes}
        for k, name in enumerate(agent.features):
            values = [0, 1] if k == 0 else range(0, 30) if k < 3 else range(-30, 30)
            others = []
            for value in values:
                moved = row.copy()
                moved[k] = value
                if tree.predict(moved[None])[0] != tree.predict(row[None])[0]:
                    others.append(abs(value - row[k]))
            assert (name in changes) == bool(others)
            if others:
                assert abs(changes[name].amount) == min(others)


def test_an_edit_tells_limits_apart_that_read_the_same():
    edited = edit.apply(edit.Wish(0, threshold=4.0), AGENT, asks(1, 3.5))
    assert (edited.before, edited.after) == ("queue from west, left ≤ 3", "queue from west, left ≤ 4")
    edited = edit.apply(edit.Wish(0, threshold=3.7), AGENT, asks(1, 3.5))
    assert (edited.before, edited.after) == ("queue from west, left ≤ 3.5", "queue from west, left ≤ 3.7")
    with pytest.raises(InputError, match="already is 'queue from west, left ≤ 3'"):
        edit.apply(edit.Wish(0, threshold=3.5), AGENT, asks(1, 3.5))


def test_a_file_keeps_the_words(tmp_path: Path):
    trees = TreesFile("traffic", {}, (AGENT,), (asks(0, 0.5),), MADE)
    save(trees, tmp_path / "trees.json")
    again = load(tmp_path / "trees.json")
    assert again.agents[0].values == AGENT.values
    assert again.to_json() == trees.to_json()
    document = trees.to_json()
    document["agents"][0]["values"].pop()
    (tmp_path / "trees.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match="4 features, but values for 3"):
        load(tmp_path / "trees.json")
    document["agents"][0]["values"].append({"kind": "colour"})
    (tmp_path / "trees.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match="colour"):
        load(tmp_path / "trees.json")


def test_an_older_file_of_signals_reads_well_and_stays_as_it_is(tmp_path: Path):
    old = signals()
    save(old, tmp_path / "trees.json")
    before = (tmp_path / "trees.json").read_bytes()
    run = load_run(tmp_path / "trees.json")
    assert "phase 1 is red" in [values.nought for values in run.trees.agents[0].values]
    assert run.trees.agents == old.agents
    save(run.trees, tmp_path / "trees.json")
    assert (tmp_path / "trees.json").read_bytes() == before


def test_signals_declare_all_that_they_see():
    names = [
        *("phase 2 is green", "phase 2 has been red for, s", "queue from west, left", "moving from west, left"),
        *("standing in the junction", "pressure from west, left", "loop 40 m back from west, left: occupied"),
        *("loop at the stop line from west: vehicles in the last step",),
        *("loop at the stop line from west: seconds since the last vehicle", "something else"),
    ]
    declared = dict(zip(names, traffic_facts.values(names), strict=True))
    assert [one.kind for one in declared.values()] == [
        *("flag", "count", "count", "count", "count", "whole", "flag", "count", "count", "real")
    ]
    assert declared["loop 40 m back from west, left: occupied"].nought == "loop 40 m back from west, left: free"
    assert [name for name, values in declared.items() if values.own] == names[:2]


def test_words_for_values_are_checked():
    with pytest.raises(InputError, match="choose real, whole"):
        Values("colour")
    with pytest.raises(InputError, match="without"):
        Values("flag", nought="red\n")
    with pytest.raises(InputError, match="values for 1"):
        hydraviper.Agent("a", ("b", "c"), ("d",), (Values(),))
