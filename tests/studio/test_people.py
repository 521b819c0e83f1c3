"""People's ways through the studio, in a real browser: in few clicks, without a mouse, and beyond single nodes."""

from __future__ import annotations

import shutil

import pytest

import hydraviper
from hydraviper.runs.episodes import episode
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
    assert page.evaluate("document.activeElement.textContent").startswith("Written to keys")


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
    assert len(hydraviper.load_run(studio.folder / page.url.split("/")[-2]).trees.edits) == 1
    assert (studio.folder / "second" / "trees.json").read_bytes() == before


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
    const box = text.parentElement.querySelector("rect"), white = [255, 255, 255];
    const ground = box ? over(parsed(getComputedStyle(box).fill), opacity(box), white) : white;
    const ink = over(parsed(getComputedStyle(text).fill), opacity(text), ground);
    const [high, low] = [light(ground), light(ink)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  });
}"""
