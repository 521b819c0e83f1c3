"""The docs name files, functions and links that exist, and the map of rooms is that of the code."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

import hydraviper

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "hydraviper"
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "results" / "README.md"]


def exists(words: str) -> bool:
    """Tell whether there is such a file or folder, or (for `steps/select.race`) such a function or class in it."""
    folder, _, last = words.rpartition("/")
    file, _, inside = last.partition(".")
    for base in (ROOT, SOURCE):
        if (base / words).exists():
            return True
        module = base / folder / f"{file}.py"
        if inside and module.is_file():
            named = re.escape(inside.rpartition(".")[2])
            return re.search(rf"^ *(def|class) {named}\b|^{named}\b", module.read_text(), re.M) is not None
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_functions_exist(page):
    rooms = {path.name for base in (ROOT, SOURCE) for path in base.iterdir() if path.is_dir()} - {"runs"}
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    named = {
        words
        for words in re.findall(r"`([\w./-]+)`", text.replace("NAME", "*"))
        if words.split("/")[0] in rooms and "/" in words
    }
    assert [words for words in sorted(named) if not exists(words.rstrip("/"))] == []
    modules = {words.replace(".", "/") for words in re.findall(r"python -m ((?:benchmarks|tests)[\w.]*)", text)}
    assert [
        m for m in sorted(modules) if not (ROOT / f"{m}.py").exists() and not (ROOT / m / "__main__.py").exists()
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = [link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text())]
    assert [link for link in links if link and "://" not in link and not (page.parent / link).exists()] == []


def test_the_map_of_rooms_is_that_of_the_code():
    drawn = runpy.run_path(str(ROOT / "docs" / "draw_rooms.py"))["draw"]()
    assert (ROOT / "docs" / "images" / "rooms.svg").read_text() == drawn, "run `python docs/draw_rooms.py`"


def test_one_version_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert re.search(rf"^version: {re.escape(version)}$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1] in (version, "Unreleased")


def test_readme_fits_on_two_screens():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 80
    assert (ROOT / "docs" / "images" / "episode.svg").stat().st_size < 200_000


def test_every_public_name_is_in_the_reference():
    named = re.findall(r"^::: hydraviper\.(\w+)$", (ROOT / "docs" / "api.md").read_text(), re.M)
    assert sorted(named) == sorted(set(hydraviper.__all__) - {"__version__"})


def test_every_page_is_in_the_site():
    made = {"index.md", *(f"{path.stem}.md" for path in (ROOT / "docs" / "notebooks").glob("*.ipynb"))}
    listed = re.findall(r"^ +- .*: (\w+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    assert sorted(listed) == sorted(made | {path.name for path in (ROOT / "docs").glob("*.md")})
