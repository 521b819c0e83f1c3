"""The notebooks of the docs run from the first cell to the last, in an empty folder, and show what they promise."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.slow

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"


def executed(name: str, folder: Path) -> tuple[str, list[str]]:
    """A notebook's printed text, and the pages of its drawings."""
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "clear the outputs before committing a notebook"
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    printed = "".join(output.text for output in outputs if output.output_type == "stream")
    shown = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", ())]
    return printed, [unescape(html) for html in shown if html.startswith("<iframe")]


def test_quick_start(tmp_path):
    printed, pages = executed("quick_start.ipynb", tmp_path)
    trees, expert = map(float, re.search(r"trees (\S+) .*, expert (\S+) ", printed).groups())
    assert 0.9 * expert < trees < 1.5 * expert  # both scores are penalties
    run, explained = pages
    assert run.count('<figure class="tree') == 3
    assert 'class="node lit"' in explained
    assert "three agents do not all turn their backs on the landmarks: holds" in printed
    assert "became '→ stay'" in printed
    assert "int agent_0_act(const float x[18]);" in printed


def test_own_environment(tmp_path):
    printed, (_, explained) = executed("own_environment.ipynb", tmp_path)
    assert "south answers: wait" in explained
    assert "nobody drives onto a bridge that is taken: holds" in printed
