"""How long the studio takes to answer a click, with 100 runs and trees of depth 8: `python -m benchmarks.studio`."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright
from tests.studio.conftest import CHROMIUM, PATIENCE, QUIET, Studio

import hydraviper

RUNS, CLICKS = 100, 40
LIMIT = 200  # milliseconds, of 95 % of the clicks


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        served = Studio(filled(Path(folder) / "runs"))
        try:
            page = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET).new_page()
            page.set_default_timeout(PATIENCE)
            for what, times in (
                ("list", listed(page, served)),
                ("node", nodes(page, served)),
                ("step", steps(page, served)),
            ):
                high = float(np.quantile(times, 0.95))
                print(f"{what}: 95 % within {high:.0f} ms, median {np.median(times):.0f} ms, limit {LIMIT} ms")
        finally:
            served.stop()


def filled(folder: Path) -> Path:
    """Runs with trees of depth 8."""
    game = hydraviper.make("cooperative-navigation")
    settings = hydraviper.Settings(depth=8, iterations=5, train_budget=100, valid_budget=50)
    result = hydraviper.distill(game, hydraviper.shipped_expert(game), settings)
    hydraviper.save_run(result, folder / "run-0", episodes=20)
    for k in range(1, RUNS):
        shutil.copytree(folder / "run-0", folder / f"run-{k}")
    return folder


def listed(page: Page, served: Studio) -> list[float]:
    """From the call of the list to its last row."""
    page.goto(served.address)
    row = f'a[href="/run/run-{RUNS - 1}/trees"]'
    return [timed(page, lambda: page.goto(served.address), row) for _ in range(10)]


def nodes(page: Page, served: Studio) -> list[float]:
    """From a click on a node to what is known of it."""
    page.goto(f"{served.address}/run/run-0/trees")
    page.locator("g.node").first.wait_for()
    count = page.locator("g.node").count()
    chosen = [k % count for k in range(1, CLICKS + 1)]
    return [
        timed(
            page,
            lambda k=k: page.locator(f'g.node[data-node="{k}"]').press("Enter"),
            f'h2:has-text("Node {k}:")',
        )
        for k in chosen
    ]


def steps(page: Page, served: Studio) -> list[float]:
    """From a click on Step to the next picture and the paths."""
    page.goto(f"{served.address}/run/run-0/replay")
    button = page.get_by_role("button", name="Step", exact=True)
    button.wait_for()
    return [timed(page, button.click, f'p:has-text("step {k} of")') for k in range(1, 24)]


def timed(page: Page, act, selector: str) -> float:
    start = time.perf_counter()
    act()
    page.locator(selector).first.wait_for(state="attached")
    return 1000 * (time.perf_counter() - start)


if __name__ == "__main__":
    main()
