"""What the tests of studies share."""

from __future__ import annotations

import pytest

from hydraviper import cli
from tests.helpers.command_line import TINY_STUDY


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """A tiny study that nobody disturbed."""
    folder = tmp_path_factory.mktemp("whole") / "epsilon"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["hydraviper", "study", "epsilon", *TINY_STUDY, "--seeds", "3", "--out", str(folder)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
    assert not stop.value.code
    return folder
