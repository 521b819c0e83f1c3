"""Take pictures of the studio: `python docs/draw_studio.py [FOLDER [OUT]]`.

It opens the studio on a folder of runs (default: runs, as `make demo` leaves it) and looks at it with Chromium: at the
pages that the docs show, or, if a folder for the pictures is given, at every page.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

OUT = Path(__file__).parent / "images"
PORT = 8051
SHOWN = ("trees", "replay", "questions", "correct")  # in the docs


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "runs")
    out = Path(sys.argv[2]) if len(sys.argv) > 2 else OUT
    name = sorted(path.parent.name for path in folder.glob("*/trees.json") if not path.parent.is_symlink())[0]
    call = [sys.executable, "-m", "hydraviper.cli", "studio", str(folder), "--port", str(PORT), "--no-browser"]
    with subprocess.Popen(call) as server, sync_playwright() as playwright:
        try:
            wait()
            chromium = shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1280, "height": 860})
            for view in SHOWN if out == OUT else (*SHOWN, "runs", "new", "follow"):
                address = {"runs": "/", "new": "/new"}.get(view, f"/run/{name}/{view}")
                page.goto(f"http://127.0.0.1:{PORT}{address}")
                prepare(page, view)
                page.screenshot(path=out / f"studio-{view}.png")
            browser.close()
        finally:
            server.terminate()


def prepare(page: Page, view: str) -> None:
    """Let a page show what it is for."""
    page.get_by_role("heading", level=1).wait_for()
    if view in SHOWN:
        page.locator("g.node").first.wait_for()
    if view == "trees":
        page.locator('g.node[data-node="1"] > rect').first.click()
    if view == "replay":
        page.get_by_role("button", name="Next where trees and expert disagree").click()
    if view == "correct":
        page.get_by_role("button", name="Try the cut").click()
        page.get_by_text("Tried, not written").wait_for()
    page.wait_for_timeout(1500)


def wait() -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}", timeout=5).read()
            return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the studio does not answer")


if __name__ == "__main__":
    main()
