"""MountainCar solved by dynamic programming: an expert that is a Python class, with values and without any network.

    hydraviper distill gymnasium:MountainCar-v0 --expert python:examples.foreign.solved:MountainCar

The values of a grid of states are iterated until they stay; between its points they are interpolated.
"""

import numpy as np

PLACES, SPEEDS = np.linspace(-1.2, 0.6, 181), np.linspace(-0.07, 0.07, 141)
GOAL = 0.5
WORST = -200.0  # an episode's last step


def moved(place: np.ndarray, speed: np.ndarray, push: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One step by Gymnasium's own equations."""
    speed = np.clip(speed + (push - 1) * 0.001 - np.cos(3 * place) * 0.0025, -0.07, 0.07)
    place = np.clip(place + speed, -1.2, 0.6)
    return place, np.where((place <= -1.2) & (speed < 0), 0.0, speed)


def between(values: np.ndarray, place: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """Values of states between the grid's points; beyond the goal there is nothing left to lose."""
    row = (place - PLACES[0]) / (PLACES[1] - PLACES[0])
    column = (speed - SPEEDS[0]) / (SPEEDS[1] - SPEEDS[0])
    i = np.clip(row.astype(int), 0, len(PLACES) - 2)
    j = np.clip(column.astype(int), 0, len(SPEEDS) - 2)
    right, up = row - i, column - j
    low = (1 - up) * values[i, j] + up * values[i, j + 1]
    high = (1 - up) * values[i + 1, j] + up * values[i + 1, j + 1]
    return np.where(place >= GOAL, 0.0, (1 - right) * low + right * high)


class MountainCar:
    """Acts by the values of the states that follow; `q` is minus the steps that are left."""

    def __init__(self) -> None:
        place, speed = np.meshgrid(PLACES, SPEEDS, indexing="ij")
        following = [moved(place, speed, np.asarray(push)) for push in range(3)]
        self.values = np.zeros(place.shape)
        for _ in range(400):
            best = np.max([between(self.values, *state) for state in following], axis=0)
            self.values = np.where(place >= GOAL, 0.0, np.maximum(best - 1, WORST))

    def _of_all(self, observations: list[np.ndarray]) -> np.ndarray:
        place, speed = np.asarray(observations[0], np.float64)[:, :2].T
        return np.stack([between(self.values, *moved(place, speed, np.asarray(push))) - 1 for push in range(3)], axis=1)

    def act(self, observations: list[np.ndarray]) -> np.ndarray:
        """The best push for each car, [B, 1]."""
        return self._of_all(observations).argmax(axis=1)[:, None]

    def q(self, observations: list[np.ndarray], actions: np.ndarray) -> np.ndarray:
        """What the pushes are worth, [B, 1]."""
        return np.take_along_axis(self._of_all(observations), actions[:, :1], axis=1)
