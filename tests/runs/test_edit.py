"""Edits: the tree does what was wished, the record is true, undo restores every bit, bad input touches nothing."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hydraviper
from hydraviper.data import Agent, Derived, InputError, Term
from hydraviper.records import to_json
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.trees.counts import recount
from hydraviper.trees.edit import Wish, apply
from hydraviper.trees.file import load, schema
from hydraviper.trees.tree import LEAF, Tree
from tests.helpers.command_line import QUICK, refuses, snapshot
from tests.helpers.trees import question_of, random_tree

AGENT = Agent("agent-0", ("a", "b", "c"), ("stay", "go", "turn: a long way round to the left"))
ROWS = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
SUM = Derived("a and b", (Term("value", (0,)), Term("value", (1,))))


def nodes_of(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Which rows pass which node [S, nodes], and the rows' answers."""
    passes = np.zeros((len(ROWS), len(tree)), bool)
    for k, row in enumerate(ROWS):
        passes[k, tree.path(row)] = True
    return passes, tree.predict(ROWS)


def some_tree(seed: int, depth: int = 4) -> Tree:
    tree = random_tree(AGENT, np.random.default_rng(seed), depth)
    while tree.feature[0] == LEAF:
        seed += 1000
        tree = random_tree(AGENT, np.random.default_rng(seed), depth)
    return tree


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.data())
def test_edits_change_what_passes_the_node_and_nothing_else(seed, data):
    tree = some_tree(seed)
    passes, answers = nodes_of(tree)
    question = data.draw(st.sampled_from(np.flatnonzero(tree.feature != LEAF).tolist()))
    leaf = data.draw(st.sampled_from(np.flatnonzero(tree.feature == LEAF).tolist()))
    action = data.draw(st.integers(0, 2))
    any_node = data.draw(st.integers(0, len(tree) - 1))
    here = {
        "cut": (Wish(question, cut=True, action=AGENT.actions[action]), question, np.full(len(ROWS), action)),
        "guard": (
            Wish(any_node, split="b <= 0.25", left=AGENT.actions[action]),
            any_node,
            np.where(ROWS[:, 1] <= np.float32(0.25), action, answers),
        ),
        "split": (
            Wish(leaf, split="c ≤ -0.5", left="stay", right="turn"),
            leaf,
            np.where(ROWS[:, 2] <= np.float32(-0.5), 0, 2),
        ),
    }
    for kind, (wish, node, expected) in here.items():
        if kind == "guard" and tree.feature[any_node] == LEAF and tree.action[any_node] == action:
            continue
        changed = apply(wish, AGENT, tree).tree
        np.testing.assert_array_equal(changed.predict(ROWS), np.where(passes[:, node], expected, answers), err_msg=kind)
    other = (tree.action[leaf] + 1) % 3
    changed = apply(Wish(leaf, action=AGENT.actions[other]), AGENT, tree).tree
    np.testing.assert_array_equal(changed.predict(ROWS), np.where(passes[:, leaf], other, answers))


def test_another_question():
    tree = some_tree(3, depth=1)
    for wish, feature, threshold in (
        (Wish(0, threshold=0.1), tree.feature[0], 0.1),
        (Wish(0, feature="c", threshold=0.3), 2, 0.3),
        (Wish(0, feature="a and b"), 3, tree.threshold[0]),  # a derived feature that the tree did not know
    ):
        edited = apply(wish, AGENT, tree, (SUM,))
        seen = np.column_stack([ROWS, ROWS[:, 0] + ROWS[:, 1]])
        yes = seen[:, feature] <= np.float32(threshold)
        np.testing.assert_array_equal(edited.tree.predict(ROWS), np.where(yes, *tree.action[1:]))
        assert edited.what == ("threshold" if wish.feature is None else "feature")
        assert edited.before != edited.after


def test_counts_are_those_of_the_rows():
    tree, draws = some_tree(4), np.random.default_rng(1)
    labels = draws.integers(3, size=len(ROWS))
    counted = recount(tree, ROWS, labels)
    passes, answers = nodes_of(tree)
    for node in range(len(tree)):
        np.testing.assert_array_equal(counted.counts[node], np.bincount(labels[passes[:, node]], minlength=3))
    np.testing.assert_array_equal(counted.predict(ROWS), answers)
    inner = np.flatnonzero((tree.feature != LEAF) & (counted.counts.sum(axis=1) > 0))
    np.testing.assert_array_equal(counted.action[inner], counted.counts[inner].argmax(axis=1))


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        (Wish(3, threshold=1.0), "has no node 3: its nodes are 0 to 2"),
        (Wish(-1, cut=True), "has no node -1"),
        (Wish(0), "nothing was said"),
        (Wish(0, threshold=1.0, cut=True), "not cut and threshold at once"),
        (Wish(0, feature="A"), "has no feature 'A': did you mean 'a'"),
        (Wish(0, feature="speed"), "choose one of 'a', 'b', 'c', 'a and b'"),
        (Wish(1, action="sty"), "did you mean 'stay'"),
        (Wish(0, action="go"), "pass --cut as well"),
        (Wish(1, threshold=2.0), "is a leaf"),
        (Wish(1, cut=True), "is a leaf"),
        (Wish(0, threshold=1e39), "not a number that a tree can hold"),
        (Wish(0, threshold=float("nan")), "not a number that a tree can hold"),
        (Wish(0, left="go"), "belong to a new split"),
        (Wish(1, split="a < 3", left="go"), "is no question"),
        (Wish(1, split="a <= x", left="go"), "is no question"),
        (Wish(1, split="a <= 3"), "say what a new split answers"),
        (Wish(1, split="a <= 3", left="go", right="go"), "both sides"),
        (Wish(0, split="a <= 3", left="go", right="stay"), "one side must keep"),
        (Wish(1, split="d <= 3", left="go"), "has no feature 'd'"),
    ],
)
def test_wishes_that_cannot_be_granted(wish, sentence):
    with pytest.raises(InputError, match=sentence):
        apply(wish, AGENT, some_tree(3, depth=1), (SUM,))


def test_an_edit_that_changes_nothing_is_refused():
    tree = some_tree(3, depth=1)
    for wish in (Wish(0, threshold=float(tree.threshold[0])), Wish(1, action=AGENT.actions[tree.action[1]])):
        with pytest.raises(InputError, match="nothing to change"):
            apply(wish, AGENT, tree)


@pytest.mark.slow
def test_edit_and_undo(call, navigation):
    assert call("distill", navigation.name, *QUICK, "--out", "run")[0] == 0
    original, run = snapshot(Path()), Path("run")
    trees = load(run)
    node, leaf = question_of(trees)
    code, printed, _ = call("edit", run, "--agent", "agent-1", "--node", node, "--threshold", 0.5, "--json")
    record = json.loads(printed)
    assert code == 0
    assert record["written"]
    assert record["what"] == "threshold"
    edited = load(run)
    jsonschema.validate(json.loads((run / "trees.json").read_text()), schema())
    kept = to_json(edited.edits[0])
    assert {key: kept[key] for key in record if key in kept} == {
        key: value for key, value in record.items() if key in kept
    }

    # the numbers, by the public functions
    expert = hydraviper.shipped_expert(navigation)
    seeds = rollout_seeds(0, Purpose.EVALUATE, 0, 20)
    scores, rollouts = [], None
    for version in (trees, edited):
        rollouts = hydraviper.play(navigation, hydraviper.Profile(expert, version.students(navigation)), seeds, True)
        scores.append(navigation.score.of(rollouts.returns))
    difference = hydraviper.Estimate.of(scores[1] - scores[0])
    score = record["score"]
    assert score["before"]["mean"] == pytest.approx(scores[0].mean())
    assert score["after"]["mean"] == pytest.approx(scores[1].mean()) == pytest.approx(edited.score.mean)
    assert score["difference"] == {"mean": pytest.approx(difference.mean), "ci95": pytest.approx(difference.ci95)}
    labels = expert.act(rollouts.observations)[:, 1]
    again = recount(edited.trees[1], rollouts.observations[1], labels)
    np.testing.assert_array_equal(again.counts, edited.trees[1].counts)
    assert again.counts[0].sum() == 20 * navigation.horizon
    page = (run / "report.html").read_text()
    assert f"Edited by hand: agent-1, node {node}: " in page
    assert "edited by hand" in call("show", run)[1]
    summary = json.loads((run / "summary.json").read_text())
    assert summary["score"]["mean"] == edited.score.mean
    assert call("evaluate", run, "--episodes", 20, "--json")[0] == 0

    # a second edit, by the file's own name and with other episodes; then back, one by one
    assert call("edit", run / "trees.json", "--agent", "agent-1", "--node", leaf, "--split", "velocity x <= 0",
                "--left", "up", "--right", "down", "--episodes", 10, "--seed", 3)[0] == 0  # fmt: skip
    twice = load(run)
    assert [edit.what for edit in twice.edits] == ["threshold", "split"]
    assert "expert" not in json.loads((run / "summary.json").read_text())  # was measured on other episodes
    # a third one is compared with the expert again: its episodes are those of the run
    assert call("edit", run, "--agent", "agent-0", "--node", 0, "--cut")[0] == 0
    again, first = (json.loads(text) for text in ((run / "summary.json").read_text(), original["run/summary.json"]))
    assert (again["expert"], again["score"]["episodes"]) == (first["expert"], 20)
    assert call("edit", run, "--undo")[0] == 0
    assert load(run).to_json() == twice.to_json()
    assert call("edit", run, "--undo")[0] == 0
    assert load(run).to_json() == edited.to_json()
    code, printed, _ = call("edit", run, "--undo", "--json")
    assert code == 0
    assert json.loads(printed)["edits_left"] == 0
    assert snapshot(Path()) == original  # every bit, report and summary as well
    refuses(call, "nothing to undo", "edit", run, "--undo")


@pytest.mark.slow
def test_edits_that_are_refused_touch_nothing(call, navigation):
    assert call("distill", navigation.name, *QUICK, "--out", "run")[0] == 0
    node, leaf = question_of(load(Path("run")))
    whom = ["edit", "run", "--agent", "agent-1", "--node"]
    refuses(call, "has no node 999", *whom, 999, "--threshold", 1)
    refuses(call, "did you mean 'velocity x'", *whom, node, "--feature", "velocty x")
    refuses(call, "did you mean 'left'", *whom, leaf, "--action", "lef")
    refuses(call, "did you mean 'agent-1'", "edit", "run", "--agent", "agnet-1", "--node", 0, "--cut")
    refuses(call, "pass --agent and --node", "edit", "run", "--threshold", 3)
    refuses(call, "pass it alone", "edit", "run", "--undo", "--node", 3)
    refuses(call, "pass it alone", "edit", "run", "--undo", "--threshold", 3)
    refuses(call, "--episodes must be at least 2", *whom, node, "--threshold", 3, "--episodes", 1)
    refuses(call, "--seed must be", *whom, node, "--threshold", 3, "--seed", -1)
    refuses(call, "--workers must be", *whom, node, "--threshold", 3, "--workers", 0)
    before = snapshot(Path())
    code, printed, _ = call(*whom, node, "--threshold", 3, "--dry-run")
    assert code == 0
    assert "Nothing was written" in printed
    assert snapshot(Path()) == before


def test_undo_notices_other_changes(call, navigation):
    assert call("distill", navigation.name, *QUICK, "--out", "run")[0] == 0
    Path("alone.json").write_text(Path("run/trees.json").read_text())
    node, _ = question_of(load(Path("alone.json")))
    assert call("edit", "alone.json", "--agent", "agent-1", "--node", node, "--threshold", 0.5)[0] == 0
    assert not Path("report.html").exists()
    document = json.loads(Path("alone.json").read_text())
    document["agents"][1]["tree"]["threshold"][node] = 0.75
    Path("alone.json").write_text(json.dumps(document))
    refuses(call, "was changed after its last edit", "edit", "alone.json", "--undo")


def test_a_file_that_changes_meanwhile_is_not_written_over(call, navigation, monkeypatch):
    from hydraviper.runs import edit as edits

    assert call("distill", navigation.name, *QUICK, "--out", "run")[0] == 0
    node, _ = question_of(load(Path("run")))
    measure = edits.measure

    def slow(*arguments):
        result = measure(*arguments)
        document = json.loads(Path("run/trees.json").read_text())
        document["score"]["mean"] = -1.0
        Path("run/trees.json").write_text(json.dumps(document))
        return result

    monkeypatch.setattr(edits, "measure", slow)
    code, _, complaint = call("edit", "run", "--agent", "agent-1", "--node", node, "--threshold", 0.5)
    assert code == 2
    assert "was changed by something else meanwhile" in complaint
    assert load(Path("run")).score.mean == -1.0
