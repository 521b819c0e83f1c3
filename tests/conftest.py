"""What several tests need."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import hydraviper
from hydraviper import cli
from tests.helpers.street import STREET


@pytest.fixture(scope="session")
def navigation() -> hydraviper.Game:
    return hydraviper.make("cooperative-navigation")


@pytest.fixture(scope="session")
def deception() -> hydraviper.Game:
    return hydraviper.make("physical-deception")


@pytest.fixture(scope="session", params=["cooperative-navigation", "physical-deception"])
def game(request: pytest.FixtureRequest) -> hydraviper.Game:
    return hydraviper.make(request.param)


@pytest.fixture(scope="module")
def street() -> hydraviper.Game:
    """Two signals on a street; SUMO plays one episode at a time."""
    return hydraviper.make(STREET)


@pytest.fixture(scope="session")
def small() -> hydraviper.Settings:
    """A run of a fraction of a second."""
    return hydraviper.Settings(iterations=6, train_budget=30, valid_budget=60, rollouts_per_iteration=10)


@pytest.fixture(scope="session")
def two_workers():
    return lambda expert: replace(expert, workers=2)


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Run a command line in an empty folder: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["hydraviper", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        printed = capsys.readouterr()
        return stop.value.code or 0, printed.out, printed.err

    return run


@pytest.fixture(autouse=True)
def own_state(monkeypatch, tmp_path_factory):
    """What the command line remembers of its user is not that of who runs the tests."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


@pytest.fixture(autouse=True, scope="session")
def runs_stay_as_they_are():
    """The runs of whoever runs the tests are not touched."""
    folder = Path(__file__).parent.parent / "runs"

    def seen() -> list[tuple[str, str]]:
        paths = sorted(folder.iterdir()) if folder.is_dir() else []
        return [(path.name, str(path.readlink()) if path.is_symlink() else "") for path in paths]

    before = seen()
    yield
    assert seen() == before, "a test wrote into runs/: let it work in a folder of its own"
