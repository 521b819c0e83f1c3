"""The examples run and say what they promise."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    trees, expert = map(float, re.search(r"trees (\S+) .*, expert (\S+) ", capsys.readouterr().out).groups())
    assert 0.9 * expert < trees < 1.6 * expert  # both scores are penalties
