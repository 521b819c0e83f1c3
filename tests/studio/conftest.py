"""A studio in a process of its own, and a browser that looks at it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

import hydraviper

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
PATIENCE = 180_000  # milliseconds: other things may run on the machine; whoever passes waits no longer for it


class Studio:
    """A studio's server."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.folder, self.port = folder, port or free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        call = [sys.executable, "-m", "hydraviper.cli", "studio", str(self.folder), "--port", str(self.port)]
        environment = {**os.environ, "XDG_STATE_HOME": str(self.folder.parent / "state")}
        environment.pop("PYTEST_CURRENT_TEST", None)  # NiceGUI would take it for a test of its own kind
        self.process = subprocess.Popen([*call, "--no-browser"], cwd=self.folder.parent, env=environment)
        deadline = time.monotonic() + PATIENCE / 1000
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(self.address, timeout=5).read()
                return
            except OSError:
                assert self.process.poll() is None, "the studio has ended"
                time.sleep(0.1)
        self.process.kill()
        self.process.wait()
        raise AssertionError("the studio does not answer")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


def free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return tried.getsockname()[1]


@pytest.fixture(scope="session")
def example(tmp_path_factory, navigation, small) -> Path:
    """The folder of a small run."""
    folder = tmp_path_factory.mktemp("example") / "first"
    result = hydraviper.distill(navigation, hydraviper.shipped_expert(navigation), small)
    hydraviper.save_run(result, folder, episodes=20)
    return folder


@pytest.fixture
def folder(example, tmp_path) -> Path:
    """A folder with two runs, which a test may change."""
    for name in ("first", "second"):
        shutil.copytree(example, tmp_path / "runs" / name)
    return tmp_path / "runs"


@pytest.fixture(scope="session")
def studio(example, tmp_path_factory):
    """A studio that all tests share; a test that changes a run changes a copy of its own."""
    folder = tmp_path_factory.mktemp("studio") / "runs"
    for name in ("first", "second"):
        shutil.copytree(example, folder / name)
    served = Studio(folder)
    yield served
    served.stop()


@pytest.fixture(scope="module")  # while it is open, no other test of this process can run an event loop
def browser():
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here: install it (apt-get install chromium) to test the studio in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """With a test that fails goes what its page showed."""
    report = yield
    window = getattr(item, "funcargs", {}).get("page")
    if report.when == "call" and report.failed and window is not None and not window.is_closed():
        report.sections.append((f"what {window.url} showed", window.locator("body").inner_text()))
    return report


@pytest.fixture
def page(browser):
    """A window; a script that fails, and anything that is asked of another machine, fails the test."""
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    context.set_default_timeout(PATIENCE)
    window = context.new_page()
    wrong: list[str] = []
    window.on("pageerror", lambda error: wrong.append(str(error)))
    window.on("request", lambda asked: wrong.append(asked.url) if is_foreign(asked.url) else None)
    yield window
    context.close()
    assert not wrong


def is_foreign(url: str) -> bool:
    return not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:"))
