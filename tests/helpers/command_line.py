"""What the tests of commands share; the fixture `call` is in conftest.py."""

from __future__ import annotations

import json
from pathlib import Path

QUICK = ["--iterations", "3", "--train-budget", "6", "--valid-budget", "9", "--episodes", "20"]
TINY_STUDY = ["--games", "cooperative-navigation", "--scale", "0.02", "--workers", "1", "--json"]


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refuses(call, sentence, *arguments):
    """The call is wrong: code 2, one sentence, with --json as an object as well, no traceback, no file touched."""
    before = snapshot(Path())
    code, printed, complaint = call(*arguments)
    assert code == 2, complaint
    if "--json" in arguments:
        assert json.loads(printed) == {"error": complaint.removeprefix("hydraviper: ").strip(), "exit_code": 2}
    else:
        assert printed == ""
    assert sentence in complaint
    assert complaint.startswith("hydraviper: ")
    assert len(complaint.strip().splitlines()) == 1
    assert "Traceback" not in complaint
    assert snapshot(Path()) == before
