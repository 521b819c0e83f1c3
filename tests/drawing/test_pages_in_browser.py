"""Reports and notebooks in a real browser: the path that lights up is the one that the library takes."""

from __future__ import annotations

import re
from html import unescape
from importlib.util import find_spec

import numpy as np
import pytest

import hydraviper
from hydraviper.data import Agent
from hydraviper.drawing.notebooks import cell
from hydraviper.drawing.pages.episode import Deeds, Episode
from hydraviper.drawing.pages.report import render_report
from hydraviper.drawing.panels import Panel
from hydraviper.drawing.stages import plane_stage
from hydraviper.geometry import Mark, Scene
from hydraviper.records import Summary, from_json
from hydraviper.rollout import play
from hydraviper.runs import draw
from hydraviper.seeding import Purpose, rollout_seeds
from tests.helpers.browser import missing, opened, serious_findings
from tests.helpers.street import queue_trees
from tests.helpers.trees import random_tree

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]
SEEDS = rollout_seeds(0, Purpose.EVALUATE, 0, 1)  # of the episode that reports show
HOSTILE = '</script><img src=x onerror="window.hacked = 1"><!--'


@pytest.fixture(scope="module")
def browser():
    with opened() as found:
        yield found


@pytest.fixture
def page(browser):
    """A window; a script that fails, and anything that is asked of another file or machine, fails the test."""
    window = browser.new_page(viewport={"width": 1400, "height": 900})
    wrong: list[str] = []
    window.on("pageerror", lambda error: wrong.append(str(error)))
    window.on(
        "request", lambda asked: wrong.append(asked.url) if not asked.url.startswith(("file:", "data:")) else None
    )
    yield window
    window.close()
    assert not wrong


@pytest.fixture(scope="module")
def run(tmp_path_factory, navigation, small):
    result = hydraviper.distill(navigation, hydraviper.shipped_expert(navigation), small)
    return hydraviper.save_run(result, tmp_path_factory.mktemp("report") / "run", episodes=20)


@pytest.fixture(scope="module")
def signals(street, tmp_path_factory):
    """The trees of two signals, and the file of their report."""
    trees, path = queue_trees(street), tmp_path_factory.mktemp("street") / "report.html"
    summary = from_json(Summary, {"game": street.name, "algorithm": "by hand"}, "the summary")

    def expert():
        raise hydraviper.InputError("there is none")

    path.write_text(draw.report(street, trees, summary, expert), encoding="utf-8")
    return trees, path


def open_report(page, run) -> None:
    page.goto((run.folder / "report.html").as_uri())


def lit(page, place: int) -> list[int]:
    """The nodes of a tree that are lit up."""
    parts = page.locator("figure.tree").nth(place).locator("g.node.lit")
    return sorted(parts.evaluate_all("parts => parts.map((part) => Number(part.dataset.node))"))


def told(page) -> str:
    return page.locator(".told").inner_text()


def at_step(page) -> int:
    return int(re.match(r"step (\d+) of", told(page))[1])


def seen_in(game, expert, students):
    return play(game, hydraviper.Profile(expert, students), SEEDS, record=True)


def test_an_episode_steps_with_the_paths_of_the_library(page, run):
    open_report(page, run)
    played, trees = seen_in(run.game, run.expert, run.students), run.trees.trees
    wanted = run.expert.act(played.observations)
    for step in range(5):
        assert at_step(page) == step
        for k, tree in enumerate(trees):
            assert lit(page, k) == sorted(tree.path(played.observations[k][step]))
        deeds = page.locator(".deeds li").all_inner_texts()
        does = int(trees[0].predict(played.observations[0][[step]])[0])
        names = run.game.agents[0].actions
        assert deeds[0].startswith(f"agent-0 does {names[does]}; the expert")
        assert deeds[0].endswith("too" if does == wanted[step, 0] else f"would do {names[wanted[step, 0]]}")
        page.get_by_role("button", name="Step", exact=True).click()
    page.get_by_role("button", name="Back").click()
    assert at_step(page) == 4
    page.get_by_role("slider", name="Step").fill("25")
    assert told(page).startswith("step 25 of 25")
    score = float(run.game.score.of(played.returns)[0])
    assert float(told(page).rpartition(" ")[2]) == pytest.approx(score, rel=1e-3)
    assert lit(page, 0) == []


def test_the_picture_shows_where_everybody_is(page, run):
    open_report(page, run)
    marks = page.locator(".stage [data-mark]")
    before = marks.evaluate_all("parts => parts.map((part) => part.getAttribute('transform'))")
    page.get_by_role("slider", name="Step").fill("20")
    after = marks.evaluate_all("parts => parts.map((part) => part.getAttribute('transform'))")
    assert before[:3] == after[:3]  # landmarks
    assert all(a != b for a, b in zip(before[3:], after[3:], strict=True))


def test_a_leaf_leads_to_the_moments_when_it_decided(page, run):
    open_report(page, run)
    played, tree = seen_in(run.game, run.expert, run.students), run.trees.trees[1]
    leaves = tree.apply(played.observations[1])
    busiest = int(np.bincount(leaves).argmax())
    steps = np.flatnonzero(leaves == busiest).tolist()
    page.get_by_role("button", name="agent-1", exact=True).click()
    for expected in [*[step for step in steps if step > 0], steps[0]]:  # and from the last to the first
        page.locator(f'figure.tree:not([hidden]) g.node[data-node="{busiest}"] > rect').first.click()
        assert at_step(page) == expected
        assert busiest in lit(page, 1)
    assert page.locator(".moments").inner_text().startswith(f"Node {busiest} of agent-1 decided in {len(steps)} step")
    assert [int(words) for words in page.locator(".moments button").all_inner_texts()] == steps
    never = [node for node in np.flatnonzero(tree.feature < 0).tolist() if node not in leaves]
    page.locator(f'figure.tree:not([hidden]) g.node[data-node="{never[0]}"] > rect').first.click()
    assert "decided in no step" in page.locator(".moments").inner_text()
    assert never[0] in lit(page, 1)


def test_it_plays_at_several_speeds_pauses_and_ends(page, run):
    open_report(page, run)
    speed = page.get_by_role("combobox", name="Speed")
    speed.select_option("0.5")  # slow enough for a busy machine to press a button before the end
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("document.querySelector('.at').value >= 1")
    page.get_by_role("button", name="Pause").click()
    stopped = at_step(page)
    page.wait_for_timeout(1500)  # longer than a step
    assert at_step(page) == stopped < 25
    speed.select_option("5")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("document.querySelector('.told').textContent.startsWith('step 25 of 25')")
    page.get_by_role("button", name="Play").wait_for()  # it has ended, and can begin again


def test_trees_are_chosen_and_zoomed_by_keys_alone(page, run):
    open_report(page, run)
    tree = run.trees.trees[0]
    page.get_by_role("button", name="larger").focus()
    svg = page.locator("figure.tree svg").first
    before = svg.bounding_box()["width"]
    page.keyboard.press("Enter")
    assert svg.bounding_box()["width"] == pytest.approx(1.25 * before, rel=0.01)
    page.get_by_role("button", name="fit").focus()
    page.keyboard.press("Space")
    assert svg.bounding_box()["width"] == pytest.approx(before, rel=0.01)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")  # past 100 %
    focused = "Number(document.activeElement.dataset.node)"
    assert page.evaluate(focused) == 0
    node = 0
    while tree.feature[node] >= 0:
        node = int(tree.left[node])
        page.keyboard.press("ArrowDown")
        assert page.evaluate(focused) == node
    page.keyboard.press("Enter")
    assert f"Node {node} of agent-0 decided in" in page.locator(".moments").inner_text()
    page.keyboard.press("ArrowUp")
    assert tree.feature[page.evaluate(focused)] >= 0


def test_traffic_plays_on_its_roads(page, signals, street):
    trees, path = signals
    page.goto(path.as_uri())
    students = dict(enumerate(trees.trees))
    played = seen_in(street, None, students)
    for step in range(3):
        assert at_step(page) == step
        assert [lit(page, k) for k in range(2)] == [
            sorted(tree.path(played.observations[k][step])) for k, tree in enumerate(trees.trees)
        ]
        page.get_by_role("button", name="Step", exact=True).click()
    assert re.search(r"01:00\s+\d+ vehicles", told(page))
    assert page.locator("[data-path]").first.get_attribute("d").startswith("M")
    assert set(page.locator("[data-light]").evaluate_all("all => all.map((one) => one.dataset.light)")) <= set("Ggyr")
    whole = page.locator(".stage svg").get_attribute("viewBox")
    page.get_by_role("button", name="Closer").click()
    assert page.locator(".stage svg").get_attribute("viewBox") != whole
    page.get_by_role("button", name="all", exact=True).click()
    assert page.locator(".stage svg").get_attribute("viewBox") == whole
    assert page.locator("figure.tree:visible").count() == 2


@pytest.mark.parametrize("wide", [390, 1400])
@pytest.mark.parametrize("dark", [False, True])
def test_pages_fit_a_phone_and_keep_nobody_out(page, run, signals, wide, dark):
    if find_spec("axe_playwright_python") is None:
        pytest.skip("there is no axe here: install it (pip install axe-playwright-python) to test accessibility")
    page.set_viewport_size({"width": wide, "height": 844})
    page.emulate_media(color_scheme="dark" if dark else "light")
    for path in (run.folder / "report.html", signals[1]):
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= wide
        page.get_by_role("button", name="Step", exact=True).click()
        assert not serious_findings(page)


def test_names_never_run(page, tmp_path):
    names = [f"{HOSTILE} {k}" for k in range(5)]
    agent = Agent(names[0], tuple(names[1:3]), tuple(names[3:]))
    tree = random_tree(agent, np.random.default_rng(0), 2)
    scenes = [Scene((Mark(names[0], "agent", (0.1 * step, 0.0), 0.1),)) for step in range(3)]
    leaves = np.flatnonzero(tree.feature < 0)[:2].tolist()
    deeds = Deeds(agent.name, agent.actions, leaves, tree.action[leaves].tolist(), [0, 1])
    episode = Episode(0, HOSTILE, [HOSTILE] * 3, [deeds], plane_stage(scenes, HOSTILE))
    summary = from_json(Summary, {"game": HOSTILE, "algorithm": HOSTILE}, "the summary")
    report = render_report(summary, agents=[agent], trees=[tree], episode=episode)
    frame = cell([Panel(agent, tree)] * 2, HOSTILE, HOSTILE)
    for text in (report, f"<!DOCTYPE html>{frame}", unescape(re.search('srcdoc="([^"]*)"', frame)[1])):
        (tmp_path / "page.html").write_text(text, encoding="utf-8")
        page.goto((tmp_path / "page.html").as_uri())
        inside = page.frames[-1]
        inside.locator("g.node").first.wait_for()
        for part in inside.locator("g.node").all():
            part.dispatch_event("click")
        assert inside.evaluate("window.hacked") is None
        assert inside.evaluate("document.querySelectorAll('img').length") == 0


def test_a_cell_of_a_notebook_lights_up_the_way_to_a_box(page, run, tmp_path):
    (tmp_path / "cell.html").write_text(f"<!DOCTYPE html>{run._repr_html_()}", encoding="utf-8")
    page.goto((tmp_path / "cell.html").as_uri())
    inside, tree = page.frames[-1], run.trees.trees[0]
    leaf = int(np.flatnonzero(tree.feature < 0)[-1])
    inside.locator(f'figure.tree:not([hidden]) g.node[data-node="{leaf}"] > rect').first.click()
    way = [leaf]
    while way[-1]:
        way.append(int(np.flatnonzero((tree.left == way[-1]) | (tree.right == way[-1]))[0]))
    assert lit(inside, 0) == sorted(way)
    inside.locator(f'figure.tree:not([hidden]) g.node[data-node="{leaf}"] > rect').first.click()
    assert lit(inside, 0) == []
