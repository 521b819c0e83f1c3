"""A real browser for the tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)


def missing() -> str:
    """Why pages cannot be looked at here; nothing if they can."""
    if CHROMIUM is None:
        return "there is no Chromium here: install it (apt-get install chromium) to test pages in a browser"
    if find_spec("playwright") is None:
        return "there is no playwright here: install it (pip install playwright) to test pages in a browser"
    return ""


@contextmanager
def opened() -> Iterator[Any]:
    """Chromium; while it is open, no other test of this process can run an event loop."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


def serious_findings(page: Any) -> list[tuple[str, str]]:
    """What axe finds that keeps people out: rule and place."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [(one["id"], node["html"][:200]) for one in found for node in one["nodes"] if one["impact"] in SERIOUS]


SERIOUS = ("serious", "critical")
