"""What people do with the studio, in a real browser."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

import hydraviper
from hydraviper.records import to_json
from hydraviper.runs import following
from hydraviper.runs.counterexamples import picture as picture_of
from hydraviper.runs.episodes import episode
from hydraviper.studio.pages.properties import written
from hydraviper.studio.static import write_copy
from tests.studio.hands import choose, condition, lit, options, said

pytestmark = pytest.mark.slow
SVG = "{http://www.w3.org/2000/svg}"
VIEWS = ("/", "/new", "/compare?runs=first,second", "/run/first/trees", "/run/first/replay", "/run/first/questions",
         "/run/first/correct", "/run/first/follow")  # fmt: skip


def test_replay_lights_up_the_paths_that_the_library_takes(page, studio):
    run = hydraviper.load_run(studio.folder / "first")
    played = episode(run)
    page.goto(f"{studio.address}/run/first/replay")
    for step in range(4):
        said(page, f"^step {step} of {len(played)}")
        for name in played.agents:
            wanted = run.trees.trees[run.trees.place(name)].path(played.seen[name][step])
            page.locator(f'svg[aria-label="Tree of {name}"] g.node.lit[data-node="{wanted[-1]}"]').wait_for()
            assert lit(page, f"Tree of {name}") == sorted(wanted)
        page.get_by_role("button", name="Step", exact=True).click()
    page.get_by_role("button", name="Next where trees and expert disagree").click()
    later = [moment.step for moment in played.moments if moment.kind == "disagree" and moment.step > 4]
    said(page, f"^step {later[0]} of")
    page.get_by_role("button", name="Play", exact=True).click()
    said(page, f"^step ({'|'.join(map(str, range(later[0] + 2, len(played) + 1)))}) of")  # a slow page skips some


def test_edits_cost_what_the_library_says_and_undo_leads_back_byte_for_byte(page, studio):
    path = studio.folder / "edited"
    shutil.copytree(studio.folder / "first", path)
    before = {name: (path / name).read_bytes() for name in ("trees.json", "summary.json", "report.html")}
    run = hydraviper.load_run(path)
    leaf = int((run.trees.trees[0].feature < 0).argmax())
    action = next(name for k, name in enumerate(run.trees.agents[0].actions) if k != run.trees.trees[0].action[leaf])
    expected = hydraviper.edit(run, run.trees.agents[0].name, hydraviper.Wish(leaf, action=action), dry_run=True)

    page.goto(f"{studio.address}/run/edited/correct")
    choose(page, leaf)
    page.get_by_role("combobox", name="Action", exact=True).click()
    page.get_by_role("option", name=action, exact=True).click()
    page.get_by_role("button", name="Try the action").click()
    assert str(expected) in said(page, "^Tried, not written")
    assert (path / "trees.json").read_bytes() == before["trees.json"]
    page.get_by_role("button", name="Apply the action").click()
    assert str(expected) in said(page, "^Written to edited")
    assert to_json(hydraviper.load_run(path).trees.edits[0].score) == to_json(expected.record.score)
    page.get_by_role("button", name="Undo the last edit").click()
    said(page, "^Taken back")
    assert {name: (path / name).read_bytes() for name in before} == before


def test_of_two_windows_no_edit_is_lost(page, studio):
    path = studio.folder / "shared"
    shutil.copytree(studio.folder / "first", path)
    other = page.context.new_page()
    for window in (page, other):
        window.goto(f"{studio.address}/run/shared/correct")
        window.get_by_role("button", name="Apply the cut").wait_for()
    page.get_by_role("button", name="Apply the cut").click()
    said(page, "^Written to shared")
    first = (path / "trees.json").read_bytes()
    other.get_by_role("button", name="Apply the cut").click()
    other.get_by_text("was changed by something else meanwhile").wait_for()
    assert (path / "trees.json").read_bytes() == first


def test_a_node_shows_what_is_known_of_it_and_versions_their_differences(page, studio):
    run = hydraviper.load_run(studio.folder / "first")
    agent, tree = run.trees.agents[0], run.trees.trees[0]
    page.goto(f"{studio.address}/run/first/trees")
    choose(page, 0)
    shares = tree.counts[0] / tree.counts[0].sum()
    page.get_by_text(f"{100 * shares.max():.1f} %", exact=True).wait_for()
    page.get_by_role("button", name="Play episodes").click()
    page.get_by_text(re.compile(r"of 1,000 observations")).wait_for()
    feature = tree.names(agent)[int(tree.feature[0])]
    page.get_by_label("Search a feature or an action").fill(feature)
    page.locator('g.node.found[data-node="0"]').wait_for()
    page.get_by_role("combobox", name="Side by side with").click()
    page.get_by_role("option", name="second", exact=True).click()
    page.get_by_text("0 nodes differ here, 0 there").wait_for()


def test_runs_that_are_chosen_in_the_list_are_compared(page, studio):
    page.goto(studio.address)
    page.get_by_role("checkbox", name="compare first").check()
    page.get_by_role("button", name="Compare the chosen runs").click()
    page.get_by_text("Choose two runs or more").wait_for()
    page.get_by_role("checkbox", name="compare second").check()
    page.get_by_role("button", name="Compare the chosen runs").click()
    page.get_by_role("heading", name="cooperative-navigation: total penalty").wait_for()
    mean = hydraviper.load_run(studio.folder / "first").summary.score.mean
    assert page.get_by_role("cell", name=f"{mean:.2f}", exact=True).count() == 2


def test_questions_are_answered_as_the_library_answers(page, studio):
    page.goto(f"{studio.address}/run/first/questions")
    page.get_by_role("slider", name="landmark 0 dx").first.focus()
    words = page.locator("pre.panel")
    words.wait_for()
    page.keyboard.press("Home")
    page.get_by_text(re.compile(r"^landmark 0 dx: -")).wait_for()
    assert words.inner_text().startswith("agent-0 answers: ")


def test_a_broken_property_of_two_agents_is_shown_on_the_picture_and_on_the_sliders(page, studio):
    run = hydraviper.load_run(studio.folder / "first")
    done = {name: actions[0] for name, actions in episode(run).actions.items() if name != "agent-2"}
    (studio.folder.parent / "property.toml").write_text(
        written(run.trees.agents, ["agent-1", "agent-0"], ["[agent-0: position x] > -2"], done)
    )
    answer = hydraviper.verify(run, studio.folder.parent / "property.toml").properties[0]
    page.goto(f"{studio.address}/run/first/questions")
    options(page, "Whose", "agent-1")
    condition(page, "agent-0: position x", "-2")
    for name, action in done.items():
        options(page, f"{name} does", action)
    page.get_by_role("button", name="Prove it").click()
    page.get_by_text(f"{answer.answer}: {answer.property}").wait_for()
    assert answer.holds is False  # else the rest shows nothing
    seen = answer.counterexamples[0]
    page.get_by_text(f"Counterexample: {seen.words}", exact=True).wait_for()
    picture = page.locator("[data-picture=counterexample] svg")
    drawn = [one.text for one in ElementTree.fromstring(picture_of(run, seen).content).iter(f"{SVG}text")]
    assert picture.locator("text").all_text_contents() == drawn
    assert {f"{name}: {action}" for name, action in seen.actions.items()} <= set(drawn)
    page.get_by_role("button", name="Set the sliders to what agent-1 sees").click()
    told = hydraviper.explain(run, agent="agent-1", observation=seen.observations["agent-1"])
    page.locator("pre.panel", has_text=str(told).splitlines()[0]).wait_for()
    assert page.locator("pre.panel").inner_text().strip() == str(told).strip()


def test_a_newcomer_gets_from_a_new_run_to_an_edited_verified_and_exported_tree(page, studio):
    page.goto(studio.address)
    page.get_by_role("button", name="New run").click()
    fields = {"Training rollouts": 20, "Validation rollouts": 20, "Iterations": 5, "Episodes to score on": 20}
    for label, number in fields.items():
        page.get_by_label(label).fill(str(number))
    page.get_by_role("button", name="Start the run").click()
    page.get_by_text(re.compile("iteration 5 of 5")).wait_for()
    page.get_by_role("link", name="Open its trees").click()
    page.get_by_role("link", name="Correct").click()
    page.get_by_role("button", name="Apply the cut").click()
    said(page, "^Written to cooperative-navigation-hydraviper-1")
    page.get_by_label("Format").click()
    page.get_by_role("option", name="json", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    run = hydraviper.load_run(studio.folder / "cooperative-navigation-hydraviper-1")
    assert len(run.trees.edits) == 1
    assert Path(download.value.path()).read_text() == next(iter(hydraviper.export(run, "json").values()))
    page.get_by_role("link", name="Questions").click()
    page.get_by_role("button", name="Prove it").click()
    page.get_by_text(re.compile("^(proved|broken): never stay when")).wait_for()


def test_a_run_is_stopped_goes_on_and_outlives_page_and_server(page, studio):
    page.goto(f"{studio.address}/new")
    # the search lasts as long on any machine, so that the run is still there when it is stopped
    asked = {"Iterations": 150, "Episodes to score on": 20, "Seed": 7, "Seconds of refining in the end": 15}
    for label, number in asked.items():
        page.get_by_label(label).fill(str(number))
    page.get_by_role("button", name="Start the run").click()
    page.get_by_text(re.compile(r"iteration [1-9]\d* of 150.*left")).wait_for()
    page.get_by_role("button", name="Stop").click()
    said(page, "^stopped")
    page.get_by_role("button", name="Go on").click()
    page.get_by_text(re.compile(r"iteration [1-9]\d* of 150.*left")).wait_for()
    folder = studio.folder / page.url.split("/")[-2]
    studio.stop()
    assert following.status(folder).state == following.RUNNING
    studio.start()  # at the same address, where the page still looks for it
    page.get_by_text("iteration 150 of 150").wait_for()
    page.get_by_role("link", name="Open its trees").click()
    page.locator("g.node").first.wait_for()


@pytest.mark.parametrize("dark", [False, True])
def test_no_serious_findings_of_accessibility(page, studio, dark):
    from axe_playwright_python.sync_playwright import Axe

    page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")
    found = []
    for view in VIEWS:
        page.goto(studio.address + view)
        page.get_by_role("heading", level=1).wait_for()
        if view.startswith("/run") and not view.endswith("follow"):
            page.locator("g.node").first.wait_for()
        result = Axe().run(page).response
        found += [
            (view, one["id"], one["nodes"][0]["html"], one["nodes"][0].get("failureSummary"))
            for one in result["violations"]
            if one["impact"] in ("serious", "critical")
        ]
    assert not found


def test_a_copy_to_send_plays_an_episode_without_a_server(browser, example, tmp_path):
    written = write_copy(example.parent, tmp_path / "copy")
    assert sorted(path.name for path in written) == ["first.html", "index.html"]
    with pytest.raises(hydraviper.InputError, match="already holds something"):
        write_copy(example.parent, tmp_path / "copy")
    run = hydraviper.load_run(example)
    played = episode(run)
    asked = []
    window = browser.new_page()
    window.on("request", lambda one: asked.append(one.url))
    window.goto((tmp_path / "copy" / "index.html").as_uri())
    window.get_by_role("link", name="first").click()
    for _ in range(3):
        window.get_by_role("button", name="Step", exact=True).click()
    wanted = run.trees.trees[1].path(played.seen["agent-1"][3])
    found = (
        window.locator("figure.tree")
        .nth(1)
        .locator("g.node.lit")
        .evaluate_all("parts => parts.map((part) => Number(part.dataset.node))")
    )
    assert sorted(found) == sorted(wanted)
    window.close()
    assert all(url.startswith("file:") for url in asked)
