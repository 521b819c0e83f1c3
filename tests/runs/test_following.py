"""Runs under way as another process sees them, new runs as the command line makes them, nodes and episodes."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace

import numpy as np
import pytest

import hydraviper
from hydraviper.runs import following, listing, nodes, starting
from hydraviper.runs.episodes import episode
from hydraviper.runs.folder import held
from hydraviper.runs.following import FINISHED, STOPPED
from hydraviper.runs.starting import NewRun
from hydraviper.trees.derived import extend

SMALL = ("--iterations", 4, "--train-budget", 20, "--valid-budget", 20, "--episodes", 20, "--workers", 1)


@pytest.fixture(scope="module")
def run(navigation, small, tmp_path_factory) -> hydraviper.Run:
    result = hydraviper.distill(navigation, hydraviper.shipped_expert(navigation), small)
    return hydraviper.save_run(result, tmp_path_factory.mktemp("runs") / "first", episodes=20)


def test_a_run_tells_how_far_it_is_while_it_lasts(tmp_path, monkeypatch):
    told, clock = [], [1000.0]
    monkeypatch.setattr(following, "time", SimpleNamespace(time=lambda: clock[0]))
    with following.noted(tmp_path, lambda *progress: told.append(progress), episodes=20) as show, held(tmp_path):
        show("students", 2, 10)
        show("students", 3, 10)  # too soon for another note
        note = json.loads((tmp_path / "progress.json").read_text())
        assert (note["pid"], note["step"], note["done"], note["episodes"]) == (os.getpid(), "students", 2, 20)
        clock[0] += following.EVERY
        show("students", 4, 10)
        assert json.loads((tmp_path / "progress.json").read_text())["done"] == 4
        assert following.is_running(tmp_path)
    assert told == [("students", 2, 10), ("students", 3, 10), ("students", 4, 10)]
    assert not (tmp_path / "progress.json").exists()


def test_a_run_that_was_killed_is_stopped_though_its_number_is_anothers(tmp_path):
    with pytest.raises(KeyboardInterrupt), following.noted(tmp_path, lambda *progress: None):
        raise KeyboardInterrupt
    assert (tmp_path / "progress.json").exists()
    assert not following.is_running(tmp_path)  # this process lives, but does not hold the folder
    with pytest.raises(hydraviper.InputError, match="nothing to stop"):
        following.stop(tmp_path)


def test_a_note_that_vanishes_meanwhile_never_stops_a_group_of_processes(tmp_path, monkeypatch):
    notes, killed = iter([{"pid": 4321}]), []
    monkeypatch.setattr(following, "read_note", lambda folder: next(notes, {}))
    monkeypatch.setattr(following.os, "kill", lambda *call: killed.append(call))
    with held(tmp_path):
        following.stop(tmp_path)
        with pytest.raises(hydraviper.InputError, match="nothing to stop"):
            following.stop(tmp_path)
    assert killed == [(4321, 0), (4321, following.signal.SIGINT)]


@pytest.mark.slow
def test_the_command_line_lists_what_it_made(call):
    code, _, _ = call("distill", "cooperative-navigation", *SMALL, "--out", "runs/one")
    assert code == 0
    code, printed, _ = call("runs", "--json")
    (found,) = json.loads(printed)["runs"]
    assert (code, found["name"], found["state"], found["depth"]) == (0, "one", FINISHED, 4)
    assert found["score"]["episodes"] == 20
    assert call("runs", "nowhere")[0] == 2
    assert call("studio", "nowhere")[0] == 2
    assert call("studio", "runs", "--port", 0)[0] == 2


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_to_the_same_trees(call, tmp_path):
    assert call("distill", "cooperative-navigation:horizon=20", *SMALL, "--depth", 2, "--out", "whole")[0] == 0
    folder = tmp_path / "half"
    folder.mkdir()
    (folder / "settings.json").write_bytes((tmp_path / "whole" / "settings.json").read_bytes())
    (folder / "progress.json").write_text('{"pid": 0, "episodes": 20, "price": "none"}')
    assert following.status(folder).state == STOPPED
    words = starting.again(folder).call(folder)
    assert call(*words, "--workers", 1)[0] == 0
    first, second = (json.loads((tmp_path / name / "trees.json").read_text()) for name in ("whole", "half"))
    assert first == second
    with pytest.raises(hydraviper.InputError, match="finished run"):
        starting.again(folder)


def test_words_of_a_new_run_are_those_of_the_command_line(tmp_path):
    wish = NewRun("cooperative-navigation", depth=3, constraints="shipped", refine=2.0)
    words = wish.call(tmp_path)
    assert words[:2] == ["distill", "cooperative-navigation"]
    assert words[words.index("--depth") + 1] == "3"
    assert words[words.index("--constraints") + 1] == "shipped"
    assert "--train-budget" not in words


def test_status_of_a_finished_run(run):
    status = following.status(run.folder)
    assert (status.state, status.iteration, status.iterations) == (FINISHED, 6, 6)
    assert status.rollouts == sum(line.rollouts for line in following.read_ledger(run.folder))
    assert status.scores[0] is not None
    assert listing.listed(run.folder).state == FINISHED


def test_the_samples_of_a_node_are_those_whose_path_passes_it(run):
    agent, tree = run.trees.agents[0], run.trees.trees[0]
    seen = nodes.samples(run, 3)[agent.name]
    shown = extend(seen, tree.derived)
    for node in range(len(tree)):
        slowly = [node in tree.path(row) for row in seen]
        np.testing.assert_array_equal(nodes.reaching(tree, shown, node), slowly)
        facts = nodes.node_facts(agent, tree, node, seen)
        assert facts.reached == sum(slowly)
        if facts.spread is not None:
            assert sum(facts.spread.counts) == facts.reached
        assert sum(facts.expert.values()) == pytest.approx(1)


def test_differences_of_versions_and_searches_name_nodes(run):
    agent, tree = run.trees.agents[0], run.trees.trees[0]
    assert nodes.differing(agent, tree, tree) == (set(), set())
    leaf = int((tree.feature < 0).argmax())
    other = next(name for k, name in enumerate(agent.actions) if k != tree.action[leaf])
    changed = hydraviper.edit(run, agent.name, hydraviper.Wish(leaf, action=other), dry_run=True).trees.trees[0]
    assert nodes.differing(agent, tree, changed) == ({leaf}, {leaf})
    cut = hydraviper.edit(run, agent.name, hydraviper.Wish(0, cut=True), dry_run=True).trees.trees[0]
    assert nodes.differing(agent, tree, cut) == (set(range(len(tree))), {0})
    name = tree.names(agent)[int(tree.feature[0])]
    assert 0 in nodes.searched(agent, tree, name.upper())
    assert nodes.searched(agent, tree, "no such thing") == nodes.searched(agent, tree, " ") == []


def test_an_episode_is_what_explain_and_evaluate_say(run):
    played = episode(run, 2)
    told = hydraviper.explain(run, agent="agent-1", episode=2, step=5)
    assert played.actions["agent-1"][5] == told.explanation.action
    assert played.expert["agent-1"][5] == told.moment.expert
    assert list(played.paths["agent-1"][5]) == [*(step.node for step in told.explanation.path), told.explanation.leaf]
    disagree = {moment.step for moment in played.moments if moment.kind == "disagree"}
    assert disagree == {
        step
        for step in range(len(played))
        if any(played.actions[name][step] != played.expert[name][step] for name in played.agents)
    }
    alone = hydraviper.evaluate(run, episodes=3)
    each = [sum(episode(run, number).scores) for number in range(3)]
    assert np.mean(each) == pytest.approx(alone.score.mean)
    assert played.picture(0).count("<circle") == 3
    assert played.picture(len(played)) != played.picture(0)
