"""The examples of experts from elsewhere run by one command each and end in a report."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
NEEDS = {
    "function": ("gymnasium",),
    "rollouts": ("gymnasium",),
    "sb3": ("torch", "stable_baselines3"),
    "torch": ("torch",),
    "onnx": ("torch", "onnxruntime", "onnxscript"),
    "rllib": ("torch", "ray"),
}


def test_every_example_is_tested():
    assert {path.stem.removeprefix("from_") for path in (ROOT / "examples" / "experts").glob("from_*.py")} == set(NEEDS)


@pytest.mark.parametrize("name", NEEDS)
def test_example(name, tmp_path):
    if missing := [package for package in NEEDS[name] if find_spec(package) is None]:
        pytest.skip(f"{missing[0]} is not installed: `make test-experts` brings it")
    script = ROOT / "examples" / "experts" / f"from_{name}.py"
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout
    trees, expert = (float(re.search(rf"^{who}\S* +([\d.]+)", lines, re.M)[1]) for who in ("trees", "expert"))
    assert expert > 100
    assert trees > 0.8 * expert
    (report,) = (tmp_path / "runs").glob("*-1/report.html")
    assert "<svg" in report.read_text()
