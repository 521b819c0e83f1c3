"""An expert for CartPole that a file can hold: it pushes to where the pole falls."""

from __future__ import annotations

import numpy as np

from hydraviper.experts.local_q import LocalQExpert, NetworkQ
from hydraviper.experts.networks import Network

GAINS = np.array([0.3, 0.6, 6.0, 1.5], np.float32)


def balance_expert() -> LocalQExpert:
    """A network whose values are plus and minus what is needed: the gains times position, velocity, angle, turning."""
    first = np.stack([GAINS, -GAINS], axis=1)  # what is needed to the right, and to the left
    last = np.array([[-1, 1], [1, -1]], np.float32)
    zeros = np.zeros(2, np.float32)
    network = Network((first, zeros, np.eye(2, dtype=np.float32), zeros, last, zeros))
    return LocalQExpert((NetworkQ(network),), {"game": "gymnasium:CartPole-v1", "algorithm": "balance"})
