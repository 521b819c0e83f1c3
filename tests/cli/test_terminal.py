"""What is printed arrives in any terminal: ASCII, latin-1, no width, control characters in a name."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer
from rich.table import Table
from typer.core import TyperGroup

from hydraviper import cli
from hydraviper.cli import common, studying
from hydraviper.cli.application import COMMANDS, loaded
from hydraviper.cli.terminal import console, shown
from hydraviper.engines.journal import Journal
from hydraviper.studies import results
from hydraviper.trees.file import save
from tests.helpers.trees import CASES


@pytest.fixture(params=["ascii", "latin-1"])
def narrow(request, monkeypatch, tmp_path):
    """Run a command line whose output knows few characters: exit code, stdout and stderr as bytes."""
    monkeypatch.chdir(tmp_path)
    save(CASES["signals"], Path("team.json"))

    def run(*arguments: str) -> tuple[int, bytes, bytes]:
        streams = [io.TextIOWrapper(io.BytesIO(), encoding=request.param, errors="strict") for _ in range(2)]
        monkeypatch.setattr("sys.stdout", streams[0])
        monkeypatch.setattr("sys.stderr", streams[1])
        monkeypatch.setattr("sys.argv", ["hydraviper", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        for stream in streams:
            stream.flush()
        told, failed = (stream.buffer.getvalue() for stream in streams)
        return int(stop.value.code or 0), told, failed

    return run


@pytest.mark.slow
def test_trees_and_tables_in_few_characters(narrow):
    code, told, _ = narrow("show", "team.json")
    assert code == 0
    assert b"|- yes: " in told
    assert b" <= " in told
    assert b"-> phase 1" in told
    assert narrow("games")[0] == 0
    code, _, failed = narrow("show", "team.json", "--agent", "Ampel ≤ 日")
    assert code == 2
    assert b"'Ampel <= \\u65e5'" in failed


def test_documents_are_utf_8_in_every_terminal(narrow):
    for arguments in (("show", "team.json", "--format", "svg"), ("export", "team.json", "--to", "svg")):
        code, told, _ = narrow(*arguments)
        assert code == 0
        assert "≤" in "".join(ElementTree.fromstring(told.decode("utf-8")).itertext())


@pytest.mark.parametrize("width", ["0", "00", "3", "x", "-5", ""])
def test_a_width_that_holds_nothing_is_not_believed(monkeypatch, capsys, width):
    monkeypatch.setenv("COLUMNS", width)
    made = console()
    made.print(Table("policy", "mean"))
    made.print("trees: runs/latest/trees.json")
    printed = capsys.readouterr().out
    assert "policy" in printed
    assert "runs/latest/trees.json" in printed
    monkeypatch.setenv("COLUMNS", "40")
    assert console().width == 40


def test_control_characters_are_shown_and_not_obeyed(capsys):
    console().print("agent \x1b[31mred\x07\x9b, next\nline")
    assert capsys.readouterr().out == "agent \\x1b[31mred\\x07\\x9b, next\nline\n"
    assert shown("a\tb\x00\u200b") == "a\tb\\x00\u200b"


def test_the_list_of_commands_says_what_each_says_itself():
    everything = typer.main.get_command(loaded(["no such command"]))
    assert isinstance(everything, TyperGroup)
    told = {
        name: " ".join((command.help or "").split("\n\n")[0].split()) for name, command in everything.commands.items()
    }
    assert told == {name: sentence for name, (_, sentence) in COMMANDS.items()}
    for name, (module, _) in COMMANDS.items():
        assert everything.commands[name].callback.__module__ == f"hydraviper.cli.{module}"


def test_help_loads_nothing_heavy():
    code = "import sys\nfrom hydraviper.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass\n"
    code += "print([name for name in ('numba', 'scipy', 'sklearn', 'numpy') if name in sys.modules], file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True)
    assert "distill" in ran.stdout
    assert ran.stderr.strip() == "[]"


def test_a_log_gets_a_line_now_and_then(capsys, monkeypatch):
    clock = iter([0.0, 1.0, 2.0, 12.0, 13.0])
    monkeypatch.setattr(common.time, "monotonic", lambda: next(clock))
    with common.progress_bar(as_json=True) as show:  # stderr is no terminal here
        for step, done in (("students", 1), ("students", 2), ("students", 3), ("selected", 1)):
            show(step, done, 3)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "students: 1 of 3 after 1 s",
        "students: 3 of 3 after 12 s",
        "selected: 1 of 3 after 13 s",
    ]


def test_a_study_tells_of_rollouts_under_way(monkeypatch, tmp_path):
    monkeypatch.setattr(studying, "LINE", 0.01)
    said: list[str] = []  # what another thread prints can be lost between capsys' reading and its clearing
    monkeypatch.setattr(studying.err, "print", said.append)
    journal = Journal(tmp_path / results.RUNNING / "cell" / "rollouts.journal")
    journal.path.parent.mkdir(parents=True)
    journal.write(b"1" * 32, b"one")
    journal.write(b"2" * 32, b"two")
    with journal.path.open("ab") as file:
        file.write(b"ROLL")  # the third is being written
    with studying._bar("resco", tmp_path, quiet=False):
        deadline = time.monotonic() + 60
        while not said and time.monotonic() < deadline:
            time.sleep(0.01)
    assert said == ["resco: 2 rollouts so far"]
    assert len(journal) == 2
    with journal.path.open("ab") as file:
        file.write((b"3" * 32 + bytes([9]) + bytes(11))[:44] + b"8 of 9 ")  # its content is not all there
    assert results.rollouts_kept(tmp_path) == 2
    journal.path.unlink()
    assert results.rollouts_kept(tmp_path) == 0
