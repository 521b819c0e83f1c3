"""The input of every step."""

from dataclasses import dataclass

import numpy as np

from hydraviper.ledger import Ledger
from hydraviper.protocols import Engine, Expert, Game
from hydraviper.seeding import Purpose, practice, rollout_seeds
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

    def seeds(self, purpose: Purpose, iteration: int, count: int, start: int = 0) -> np.ndarray:
        """Seeds of the rollouts that students learn from or are chosen by."""
        return practice(self.game, rollout_seeds(self.settings.seed, purpose, iteration, count, start))
