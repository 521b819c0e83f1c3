"""The input of every step."""

from dataclasses import dataclass

from hydraviper.ledger import Ledger
from hydraviper.protocols import Engine, Expert, Game
from hydraviper.settings import Settings
from hydraviper.verify.constraints import Constraints


@dataclass(frozen=True)
class Task:
    """The game, the expert to learn from, the engine that plays, the settings, and the ledger of rollouts and times."""

    game: Game
    expert: Expert
    engine: Engine
    settings: Settings
    ledger: Ledger
    constraints: Constraints | None = None  # that every student must satisfy
