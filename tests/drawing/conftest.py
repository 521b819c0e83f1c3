"""Traffic games to draw."""

from __future__ import annotations

import pytest

import hydraviper


@pytest.fixture(scope="module")
def corridors():
    return [hydraviper.make(f"{name}-corridor") for name in ("cologne", "ingolstadt")]
