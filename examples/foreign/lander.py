"""The rule for LunarLander that comes with Gymnasium: an expert that is a Python function. Needs box2d.

    hydraviper distill gymnasium:LunarLander-v3 --expert python:examples.foreign.lander:rule

With `--features examples/foreign/lander.txt`, trees may ask for what the rule weighs.
"""

from types import SimpleNamespace

import numpy as np
from gymnasium.envs.box2d.lunar_lander import heuristic

ENGINES = SimpleNamespace(unwrapped=SimpleNamespace(continuous=False))  # on or off, as in the game


def rule(observation: np.ndarray) -> int:
    """What the rule does: turn towards the landing pad, and brake the fall."""
    return heuristic(ENGINES, observation)
