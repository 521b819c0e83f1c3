"""Scripts that complete calls, asked in the shells themselves."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from hydraviper.cli.application import COMMANDS, options_of
from hydraviper.cli.completing import VALUES

pytestmark = pytest.mark.slow

ASKED = """
complete_line() {{ COMP_LINE="$1"; COMP_POINT=${{#1}}; COMPREPLY=(); _hydraviper; echo "${{COMPREPLY[*]}}"; }}
source {script}
"""


@pytest.fixture
def script(call, tmp_path):
    def written(shell):
        code, out, _ = call("completion", shell)
        assert code == 0
        (tmp_path / shell).write_text(out)
        for run in ("first", "second"):
            (tmp_path / "runs" / run).mkdir(parents=True, exist_ok=True)
            (tmp_path / "runs" / run / "trees.json").touch()
        return tmp_path / shell

    return written


LINES = {
    "hydraviper ver": ["verify"],
    "hydraviper distill coop": ["cooperative-navigation"],
    "hydraviper distill --json phys": ["physical-deception"],
    "hydraviper distill game --part": ["--partition"],
    "hydraviper distill game --partition marginal-m": ["marginal-metis"],
    "hydraviper train game --algorithm mad": ["maddpg"],
    "hydraviper study tab": ["table1"],
    "hydraviper show runs/s": ["runs/second"],
    "hydraviper export runs/first --to py": ["python"],
    "hydraviper distill game --conf": ["--config"],
}


def test_bash_completes(script):
    asked = ASKED.format(script=script("bash"))
    lines = {**LINES, "hydraviper distill resco:gri": ["grid4x4"]}  # bash begins a new word behind the colon
    asked += "".join(f"complete_line '{line}'\n" for line in lines)
    done = subprocess.run(["bash", "--norc", "-c", asked], capture_output=True, text=True, check=True)
    assert [line.split() for line in done.stdout.splitlines()] == list(lines.values())
    assert done.stderr == ""


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes(script):
    lines = {**LINES, "hydraviper distill resco:gri": ["resco:grid4x4"]}
    asked = f"source {script('fish')}\n" + "".join(f"complete -C '{line}' | cut -f 1; echo ---\n" for line in lines)
    done = subprocess.run(["fish", "-N", "-c", asked], capture_output=True, text=True, check=True)
    found = [part.split() for part in done.stdout.split("---\n")[:-1]]
    missing = {line: got for (line, want), got in zip(lines.items(), found, strict=True) if not set(want) <= set(got)}
    assert missing == {}
    assert done.stderr == ""


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_reads_the_script(script):
    asked = f"compdef() {{ }}; source {script('zsh')}; _hydraviper_words distill --partition marg"
    done = subprocess.run(["zsh", "-f", "-c", asked], capture_output=True, text=True, check=True)
    assert "marginal-kmeans" in done.stdout.split()


def test_an_unknown_shell_is_refused(call):
    code, out, err = call("completion", "tcsh")
    assert (code, out) == (2, "")
    assert "'bash', 'zsh', 'fish'" in err


def test_all_options_with_known_values_exist():
    named = {name for options in options_of(COMMANDS).values() for name in options}
    assert set(VALUES) <= named
