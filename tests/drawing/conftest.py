"""Traffic games to draw."""

from __future__ import annotations

import pytest

import hydraviper
from tests.helpers.street import STREET


@pytest.fixture(scope="module")
def street():
    return hydraviper.make(STREET)


@pytest.fixture(scope="module")
def corridors():
    return [hydraviper.make(f"{name}-corridor") for name in ("cologne", "ingolstadt")]
