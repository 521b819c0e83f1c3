"""Tic-tac-toe for one learner, with the masks that MaskablePPO asks for."""

from typing import Any

import gymnasium
import numpy as np
from pettingzoo.classic import tictactoe_v3


class TicTacToe(gymnasium.Env):
    """Tic-tac-toe for its first player; the second one moves at random. A move that is not allowed never happens."""

    def __init__(self) -> None:
        self.game = tictactoe_v3.env()
        self.game.reset()
        self.observation_space = gymnasium.spaces.Box(0, 1, (18,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(9)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """An empty board."""
        super().reset(seed=seed)
        self.game.reset()
        return self._seen(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Move, and let the other one move."""
        self.game.step(int(action))
        if not any(self.game.terminations.values()):
            allowed = np.flatnonzero(self.game.observe("player_2")["action_mask"])
            self.game.step(int(self.np_random.choice(allowed)))
        return self._seen(), float(self.game.rewards["player_1"]), any(self.game.terminations.values()), False, {}

    def action_masks(self) -> np.ndarray:
        """Which moves are allowed."""
        return self.game.observe("player_1")["action_mask"].astype(bool)

    def _seen(self) -> np.ndarray:
        return self.game.observe("player_1")["observation"].astype(np.float32).ravel()


def tic_tac_toe(seed: int) -> gymnasium.Env:
    """The game, its opponent's moves decided by the seed."""
    game = TicTacToe()
    game.reset(seed=seed)
    return game
