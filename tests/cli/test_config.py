"""`--config FILE`: a call from a file; the command line wins, and what is wrong is named."""

from __future__ import annotations

import json

import pytest

from hydraviper.cli.configuring import expanded
from hydraviper.data import InputError

WHOLE = """
game = "cooperative-navigation"
iterations = 3
train_budget = 20
[distill]
valid-budget = 24
json = true
[compare]
algorithms = ["imitation", "hydraviper"]
"""


@pytest.fixture
def config(tmp_path):
    def written(text):
        (tmp_path / "run.toml").write_text(text)
        return str(tmp_path / "run.toml")

    return written


def test_a_file_becomes_a_call(config):
    name = config(WHOLE)
    assert expanded(["distill", "--config", name]) == [
        "distill", "cooperative-navigation", "--iterations=3", "--train-budget=20", "--valid-budget=24", "--json",
    ]  # fmt: skip
    assert expanded(["compare", f"--config={name}", "--seeds", "2"]) == [
        "compare", "cooperative-navigation", "--iterations=3", "--train-budget=20", "--algorithms=imitation,hydraviper",
        "--seeds", "2",
    ]  # fmt: skip


def test_the_command_line_wins(config):
    call = ["distill", "physical-deception", "--iterations", "9", "--config", config(WHOLE), "--train-budget=7"]
    assert expanded(call) == [
        "distill", "physical-deception", "--valid-budget=24", "--json", "--iterations", "9", "--train-budget=7",
    ]  # fmt: skip


def test_options_that_repeat_and_flags_that_are_off(config):
    name = config('name = "table1"\nexpert = ["a", "b"]\nrun = false\npack = false\n')
    assert expanded(["study", "--config", name]) == ["study", "table1", "--expert=a", "--expert=b", "--no-run"]
    assert expanded(["study", "--run", "--expert", "c", "--config", name]) == [
        "study", "table1", "--run", "--expert", "c",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("deph = 3", "distill has no option 'deph': did you mean 'depth'"),
        ("trust = true", "has no option 'trust'"),
        ("json = 1", "json must be true or false"),
        ("depth = true", "depth must be a text or a number"),
        ("depth = 1979-05-27", "depth must be a text or a number"),
        ("depth = 99", "--depth must be"),
        ('depth = "four"', "--depth must be a whole number"),
        ("depth", "is not TOML"),
        ("[refine]\nseconds = 3\n[distil]\ndepth = 3", "has no option 'distil'"),
    ],
)
def test_what_is_wrong_is_named(call, config, tmp_path, text, words):
    code, out, err = call("distill", "cooperative-navigation", "--config", config(text))
    assert (code, out) == (2, "")
    assert words in err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("arguments", [("distill", "--config"), ("--config", "a.toml"), ("distill", "--config=x.toml")])
def test_a_file_that_is_not_there(call, arguments):
    code, _, err = call(*arguments)
    assert code == 2
    assert "--config" in err


def test_two_files_are_refused(config):
    with pytest.raises(InputError, match="takes one file"):
        expanded(["distill", "--config", config(""), "--config", config("")])


@pytest.mark.slow
def test_the_folder_keeps_what_was_used(call, config, tmp_path):
    more = 'out = "run"\nepisodes = 20\nworkers = 1\n'
    code, out, _ = call("distill", "--iterations", 2, "--config", config(more + WHOLE))
    assert code == 0
    assert json.loads(out)["settings"]["iterations"] == 2
    kept = json.loads((tmp_path / "run" / "settings.json").read_text())["settings"]
    assert (kept["iterations"], kept["train_budget"], kept["valid_budget"]) == (2, 20, 24)
    command = json.loads(out)["command"]
    assert "--config" not in command
    assert command.startswith("hydraviper distill cooperative-navigation --out=run")
    assert command.endswith("--iterations 2")
