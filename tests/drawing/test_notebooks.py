"""What notebooks show of trees, runs and explanations: one frame that needs nothing else, its path lit up."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

import hydraviper
from hydraviper.data import Agent
from hydraviper.drawing.notebooks import cell
from hydraviper.drawing.panels import Panel
from hydraviper.profile import Profile
from hydraviper.runs.run import Run
from tests.helpers.trees import CASES, leaf, random_tree


def inside(html: str) -> str:
    """The page that the frame of a cell holds."""
    found = re.fullmatch(r'<iframe srcdoc="([^"]*)"[^<>]*></iframe>', html)
    assert found is not None
    return unescape(found[1])


def lit(page: str) -> list[int]:
    return sorted({int(node) for node in re.findall(r'class="node lit" data-node="(\d+)"', page)})


def test_the_page_needs_no_other_file():
    page = inside(CASES["plain"]._repr_html_())
    assert re.search(r"https?:|\bsrc=|\burl\(|@import|<link", page) is None
    assert page.count('<figure class="tree"') == len(CASES["plain"].agents)
    for agent in CASES["plain"].agents:
        assert f'<button type="button">{agent.name}</button>' in page


@pytest.mark.parametrize("case", CASES)
def test_the_path_of_an_observation_is_lit(case):
    trees = CASES[case]
    agent, tree = trees.agents[0], trees.trees[0]
    seen = np.random.default_rng(1).normal(size=len(agent.features)).astype(np.float32)
    explained = hydraviper.explain(Run(trees), agent=agent.name, observation=seen.tolist())
    page = inside(explained._repr_html_())
    assert lit(page) == sorted(tree.path(seen))
    assert page.count('class="edge lit"') == len(tree.path(seen)) - 1
    assert 'class="view lighting"' in page
    assert f"{agent.name} answers" in page


def test_every_line_knows_both_ends():
    tree = CASES["plain"].trees[0]
    page = inside(CASES["plain"]._repr_html_()).split("<figure ")[1]
    edges = re.findall(r'class="edge" data-node="(\d+)" data-parent="(\d+)"', page)
    ends = {(int(child), int(parent)) for child, parent in edges}
    inner = np.flatnonzero(tree.feature >= 0)
    assert ends == {(int(side[n]), int(n)) for n in inner for side in (tree.left, tree.right)}
    assert lit(page) == []


@pytest.mark.parametrize("tree", [leaf(2), CASES["derived"].trees[0]])
def test_a_tree_alone_is_drawn_without_names(tree):
    assert "action 2" in inside(tree._repr_html_())


def test_a_run_shows_its_verdict_and_a_result_its_trees(navigation, small, tmp_path):
    result = hydraviper.distill(navigation, hydraviper.shipped_expert(navigation), replace(small, iterations=2))
    run = hydraviper.save_run(result, tmp_path / "run", episodes=20)
    assert "over 20 unseen episodes" in inside(run._repr_html_())
    assert inside(result._repr_html_()).count('<figure class="tree"') == 3
    explained = hydraviper.explain(run, agent="agent-1", episode=0, step=3)
    assert "episode 0, step 3" in inside(explained._repr_html_())
    forest = replace(result, profile=Profile(result.profile.expert, {0: object()}))
    assert forest._repr_html_() is None  # notebooks show its text then


def test_names_cannot_leave_the_frame():
    bad = '"></iframe><script>alert(1)</script>'
    agent = Agent(bad, (f"{bad} 1", f"{bad} 2"), (f"{bad} 3", f"{bad} 4"))
    html = cell([Panel(agent, random_tree(agent, np.random.default_rng(0), 2))] * 2, bad, bad)
    page = inside(html)
    assert page.count("<script>") == page.count("</script>") == 1


@pytest.mark.slow
@pytest.mark.parametrize("opened", ["hydraviper.load_trees", "hydraviper.load_run"])
def test_the_public_names_bring_the_drawings(opened, tmp_path):
    hydraviper.save_trees(CASES["plain"], tmp_path / "trees.json")
    code = f"import hydraviper; print({opened}({str(tmp_path / 'trees.json')!r})._repr_html_()[:7])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "<iframe\n"
