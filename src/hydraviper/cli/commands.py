"""The application with all of its commands: every module below adds its own."""

from __future__ import annotations

from hydraviper.cli import (
    distilling,
    editing,
    explaining,
    exporting,
    proving,
    refining,
    showing,
    studying,
    training,
    valuing,
)
from hydraviper.cli.common import app

__all__ = [
    "app",
    "distilling",
    "editing",
    "explaining",
    "exporting",
    "proving",
    "refining",
    "showing",
    "studying",
    "training",
    "valuing",
]
