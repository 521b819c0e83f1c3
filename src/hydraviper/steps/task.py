"""What every step is given."""

from __future__ import annotations

from dataclasses import dataclass

from hydraviper.ledger import Ledger
from hydraviper.protocols import Engine, Expert, Game
from hydraviper.settings import Settings
from hydraviper.verify.constraints import Constraints


@dataclass(frozen=True)
class Task:
    """A game to learn, an expert to learn from, a place to play, settings, and a ledger to keep."""

    game: Game
    expert: Expert
    engine: Engine
    settings: Settings
    ledger: Ledger
    constraints: Constraints | None = None  # what every student must keep to
