"""People's ways through the studio, in a real browser: in few clicks, without a mouse, and beyond single nodes."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest

import hydraviper
from hydraviper.records import ScoreRecord
from hydraviper.runs.episodes import episode
from hydraviper.trees.file import TreesFile, save
from tests.helpers.trees import MADE, random_tree
from tests.studio.hands import choose, options, said, tab_to

pytestmark = pytest.mark.slow
COUNTED = """addEventListener("click", (event) => {
  if (event.isTrusted) { sessionStorage.clicks = 1 + Number(sessionStorage.clicks || 0); }
}, true)"""


@pytest.fixture(scope="module")
def demo(studio):
    """The run that `make demo` makes."""
    game = hydraviper.make("cooperative-navigation")
    settings = hydraviper.settings_for(game.recommended, seed=0)
    hydraviper.save_run(hydraviper.distill(game, hydraviper.shipped_expert(game), settings), studio.folder / "demo")
    return studio.folder / "demo"


def test_ten_clicks_lead_from_why_agent_0_moves_left_to_a_corrected_leaf(page, studio, demo):
    run = hydraviper.load_run(demo)
    played = episode(run)
    assert played.actions["agent-0"][0] == "left"
    leaf = played.paths["agent-0"][0][-1]
    page.add_init_script(COUNTED)
    page.goto(studio.address)
    page.get_by_role("link", name="demo", exact=True).click()
    page.get_by_role("link", name="Replay").click()
    page.get_by_text("agent-0 does left").wait_for()
    page.get_by_role("button", name="Why does agent-0 do this?").click()
    page.locator("pre", has_text="agent-0 answers: left").wait_for()
    page.get_by_role("link", name="Correct this leaf").first.click()
    page.get_by_role("heading", name=f"Node {leaf}: → left").wait_for()
    page.get_by_role("combobox", name="Action", exact=True).click()
    page.get_by_role("option", name="down", exact=True).click()
    page.get_by_role("button", name="Try the action").click()
    said(page, "^Tried, not written")
    page.get_by_role("button", name="Apply the action").click()
    said(page, "^Written to demo")
    assert int(page.evaluate("sessionStorage.clicks")) <= 10
    edit = hydraviper.load_run(demo).trees.edits[0]
    assert (edit.agent, edit.node, edit.after) == ("agent-0", leaf, "→ down")


def test_a_leaf_is_found_and_changed_without_a_mouse(page, studio):
    path = studio.folder / "keys"
    shutil.copytree(studio.folder / "first", path)
    before = hydraviper.load_run(path).trees.trees[0]
    page.goto(studio.address)
    tab_to(page, "keys", 200)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="keys: trees").wait_for()
    tab_to(page, "Correct")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Node 0:").wait_for()
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('g.node')"):
            break
    node = 0
    while before.feature[node] >= 0:
        page.keyboard.press("ArrowDown")
        node = int(before.left[node])
        assert page.evaluate("document.activeElement.dataset.node") == str(node)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=f"Node {node}:").wait_for()
    tab_to(page, "Action")
    page.keyboard.press("Enter")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    tab_to(page, "Try the action")
    page.keyboard.press("Space")
    said(page, "^Tried, not written")
    tab_to(page, "Apply the action", 200)
    page.keyboard.press("Enter")
    said(page, "^Written to keys")
    edit = hydraviper.load_run(path).trees.edits[0]
    assert (edit.node, edit.before.startswith("→")) == (node, True)
    page.wait_for_function("document.activeElement.textContent.startsWith('Written to keys')")


def test_words_off_the_path_stay_readable(page, studio):
    page.goto(f"{studio.address}/run/first/replay")
    page.locator("g.node.lit").first.wait_for()
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 20
    assert min(contrasts) >= 4.5  # AA


def test_a_leaf_leads_to_the_moments_at_which_it_decides(page, studio):
    run = hydraviper.load_run(studio.folder / "first")
    paths = episode(run).paths["agent-0"]
    leaf = paths[-1][-1]
    steps = [step for step, path in enumerate(paths) if path[-1] == leaf and step > 0]
    page.goto(f"{studio.address}/run/first/replay")
    said(page, "^step 0 of")
    page.locator(f'svg[aria-label="Tree of agent-0"] g.node[data-node="{leaf}"] > rect').first.click()
    said(page, f"^step {steps[0]} of")


def test_trees_are_repaired_and_refined_into_new_runs(page, studio):
    page.goto(f"{studio.address}/run/second/correct")
    page.get_by_role("button", name="Repair").click()
    page.get_by_role("heading", name="second-repaired", level=1).wait_for()
    assert hydraviper.verify(studio.folder / page.url.split("/")[-2]).holds
    page.goto(f"{studio.address}/run/second/correct")
    page.get_by_label("Seconds").fill("1")
    page.get_by_role("button", name="Refine").click()
    page.get_by_role("heading", name="second-refined", level=1).wait_for()
    assert hydraviper.load_run(studio.folder / page.url.split("/")[-2]).trees.made["refined"]


def test_an_edit_can_go_to_a_new_run(page, studio):
    before = (studio.folder / "second" / "trees.json").read_bytes()
    page.goto(f"{studio.address}/run/second/correct")
    choose(page, 0)
    options(page, "Apply edits to", "a new run")
    page.get_by_role("button", name="Apply the cut").click()
    page.get_by_role("heading", name="second-edited", level=1).wait_for()
    page.wait_for_function("location.href.includes('second-edited')")  # the address may follow the page
    assert len(hydraviper.load_run(studio.folder / page.url.split("/")[-2]).trees.edits) == 1
    assert (studio.folder / "second" / "trees.json").read_bytes() == before


def test_what_a_traffic_edit_costs_comes_with_progress_also_for_who_comes_back(page, studio):
    game, draws = hydraviper.make("cologne-corridor", {"steps": 80}), np.random.default_rng(0)
    trees = tuple(random_tree(agent, draws, 2, thresholds=lambda n: draws.integers(0, 6, n)) for agent in game.agents)
    score = ScoreRecord(name="delay", mean=1.0, ci95=0.1, episodes=40, lower_is_better=True)
    (studio.folder / "signals").mkdir()
    file = TreesFile(game.name, dict(game.parameters), game.agents, trees, MADE, score)
    save(file, studio.folder / "signals" / "trees.json")
    page.goto(f"{studio.address}/run/signals/correct")
    page.get_by_role("button", name="Try the cut").click()
    said(page, r"[1-9]\d* of 80 episodes, about \d+ s left")
    page.get_by_role("link", name="Trees").click()
    page.get_by_role("heading", name="signals: trees").wait_for()
    page.get_by_role("link", name="Correct").click()
    said(page, "(of 80 episodes|^Tried, not written, on 40 episodes)")
    said(page, "^Tried, not written, on 40 episodes")
    page.go_back()
    page.get_by_role("heading", name="signals: trees").wait_for()
    page.reload()
    page.get_by_role("heading", name="signals: trees").wait_for()
    assert page.url.endswith("/run/signals/trees")


CONTRASTS = """() => {
  const parsed = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const opacity = (part) => {
    let product = 1;
    for (; part && part.tagName !== "svg"; part = part.parentElement) { product *= getComputedStyle(part).opacity; }
    return product;
  };
  const over = (top, share, ground) => top.map((value, k) => share * value + (1 - share) * ground[k]);
  const light = (colour) => {
    const [r, g, b] = colour.map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const off = ".lighting g.node:not(.lit) text, .lighting g.edge:not(.lit) text";
  return [...document.querySelectorAll(off)].map((text) => {
    const box = text.closest("g.node")?.querySelector("rect"), white = [255, 255, 255];
    const share = box && opacity(box) * getComputedStyle(box).fillOpacity;
    const ground = box ? over(parsed(getComputedStyle(box).fill), share, white) : white;
    const ink = over(parsed(getComputedStyle(text).fill), opacity(text), ground);
    const [high, low] = [light(ground), light(ink)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  });
}"""


def test_a_threshold_is_dragged_a_node_is_split_and_what_differs_is_marked(page, studio):
    path = studio.folder / "dragged"
    shutil.copytree(studio.folder / "first", path)
    page.goto(f"{studio.address}/run/dragged/correct")
    choose(page, 0)
    threshold = page.get_by_role("spinbutton", name="Threshold")
    before = threshold.input_value()
    handle = page.locator(".q-slider").first
    handle.hover()  # waits until it is there and stands still
    place = handle.bounding_box()
    page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    page.mouse.down()
    page.mouse.move(place["x"] + 0.8 * place["width"], place["y"] + place["height"] / 2, steps=5)
    page.mouse.up()
    said(page, "^Tried, not written")
    assert threshold.input_value() != before
    page.get_by_text("Ask a new question here").click()
    page.get_by_label("at most").fill("0.25")
    options(page, "If yes", hydraviper.load_run(path).trees.agents[0].actions[1])
    page.get_by_role("button", name="Apply the split").click()
    said(page, "^Written to dragged")
    (record,) = hydraviper.load_run(path).trees.edits
    assert "0.25" in str(record)
    page.goto(f"{studio.address}/run/dragged/trees")
    options(page, "Side by side with", "first")
    page.get_by_text(re.compile(r"^[1-9]\d* nodes? differs? here, [1-9]\d* there")).wait_for()
    assert page.locator("g.node.marked").count() > 0
