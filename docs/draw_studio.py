"""Take pictures of the studio: `python docs/draw_studio.py [FOLDER [OUT]]`.

It opens the studio on a folder of runs (default: runs, as `make demo` leaves it) and looks at it with Chromium: at the
pages that the docs show; or, if a folder for the pictures is given, at every page, light and dark, as wide as a laptop,
a phone and a projector.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

OUT = Path(__file__).parent / "images"
PORT = 8051
HOME = f"http://127.0.0.1:{PORT}"
SIZES = {"laptop": (1280, 860), "phone": (390, 844), "projector": (1920, 1080)}
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "runs")
    names = sorted(path.parent.name for path in folder.glob("*/trees.json") if not path.parent.is_symlink())
    call = [sys.executable, "-m", "hydraviper.cli", "studio", str(folder), "--port", str(PORT), "--no-browser"]
    with subprocess.Popen(call) as server, sync_playwright() as playwright:
        try:
            wait()
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=QUIET)
            if len(sys.argv) > 2:
                draw_all(browser, names, Path(sys.argv[2]))
            else:
                draw_docs(browser, names[0])
            browser.close()
        finally:
            server.terminate()


def draw_docs(browser: Browser, name: str) -> None:
    """The way from a question to a corrected leaf, and the page of questions."""
    page = browser.new_page(viewport={"width": 1280, "height": 860})
    page.set_default_timeout(120_000)
    page.goto(HOME)
    page.get_by_role("link", name=name, exact=True).click()
    page.locator("g.node").first.wait_for()
    page.locator('g.node[data-node="1"] > rect').first.click()
    page.get_by_role("heading", name="Node 1:").wait_for()
    keep(page, "studio-trees")
    page.get_by_role("link", name="Replay").click()
    page.get_by_role("button", name="Why does agent-0 do this?").click()
    page.locator("pre", has_text="agent-0 answers").wait_for()
    keep(page, "studio-replay")
    page.get_by_role("link", name="Correct this leaf").first.click()
    page.get_by_role("combobox", name="Action", exact=True).click()
    page.get_by_role("option", name="down", exact=True).click()
    page.get_by_role("button", name="Try the action").click()
    page.get_by_text("Tried, not written").wait_for()
    keep(page, "studio-correct")
    page.get_by_role("link", name="Questions").click()
    page.get_by_label("When all of these hold").fill("[position x] > 0.5")
    page.get_by_role("combobox", name="It never does").click()
    page.get_by_role("option", name="right", exact=True).click()
    page.get_by_role("button", name="Prove it").click()
    page.get_by_text("Counterexample: ").wait_for()
    page.get_by_text("Counterexample: ").scroll_into_view_if_needed()
    page.locator("[data-picture] svg").scroll_into_view_if_needed()
    keep(page, "studio-questions")


def keep(page: Page, name: str) -> None:
    page.wait_for_timeout(1000)
    page.screenshot(path=OUT / f"{name}.png")


def draw_all(browser: Browser, names: list[str], out: Path) -> None:
    """Every page, light and dark, on a laptop, a phone and a projector."""
    out.mkdir(parents=True, exist_ok=True)
    addresses = {"runs": "/", "new": "/new", "compare": f"/compare?runs={','.join(names[:2])}"}
    addresses |= {view: f"/run/{names[0]}/{view}" for view in ("trees", "replay", "questions", "correct", "follow")}
    for size, (width, height) in SIZES.items():
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.set_default_timeout(120_000)
            for view, address in addresses.items():
                page.goto(HOME + address)
                prepare(page, view)
                page.screenshot(path=out / f"{view}-{size}-{scheme}.png", full_page=True)
            page.close()


def prepare(page: Page, view: str) -> None:
    """Let a page show what it is for."""
    page.get_by_role("heading", level=1).wait_for()
    if view in ("trees", "replay", "questions", "correct"):
        page.locator("g.node").first.wait_for()
    if view == "trees":
        page.locator('g.node[data-node="1"] > rect').first.click()
    if view == "replay":
        page.get_by_role("button", name="Why does").first.click()
    if view == "questions":
        page.get_by_role("button", name="Prove it").click()
        page.get_by_text("It is being proved").wait_for(state="detached")
    if view == "correct":
        page.get_by_role("button", name="Try the cut").click()
        page.get_by_text("Tried, not written").wait_for()
    page.wait_for_timeout(1000)


def wait() -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(HOME, timeout=5).read()
            return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the studio does not answer")


if __name__ == "__main__":
    main()
