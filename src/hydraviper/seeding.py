"""Every random choice is named by (run seed, purpose, iteration, index), so no worker or batch can change it."""

from enum import IntEnum

import numpy as np

from hydraviper.protocols import Game, offers

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_OWN, _PRACTICE = np.uint64(2**31 - 1), np.uint64(0x5EED0F99 << 32)  # bits of a practice seed: its own, and the mark


class Purpose(IntEnum):
    """What a random number is for; selection never sees the seeds of an evaluation."""

    COLLECT = 1
    RESAMPLE = 2
    TRAIN = 3
    SELECT = 4
    EVALUATE = 5
    PARTITION = 6
    EXPERT_TRAINING = 7
    EXPERT_VALIDATION = 8
    REFINE = 9
    VERIFY = 10


def mix(values: np.ndarray) -> np.ndarray:
    """Scramble uint64 values (the finaliser of splitmix64)."""
    values = np.asarray(values, np.uint64)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def rollout_seeds(seed: int, purpose: Purpose, iteration: int, count: int, start: int = 0) -> np.ndarray:
    """Seeds (uint64 [count]) of the rollouts start, start + 1, ... of one iteration of one purpose."""
    with np.errstate(over="ignore"):
        state = np.array([seed], np.uint64)
        for part in (int(purpose), iteration):
            state = mix(state + GOLDEN * np.uint64(part + 1))
        return mix(state + GOLDEN * (np.arange(start, start + count, dtype=np.uint64) + np.uint64(1)))


def practice(game: Game, seeds: np.ndarray) -> np.ndarray:
    """Seeds of episodes that trees are made by; marked for a game that varies these from day to day."""
    return (seeds & _OWN) | _PRACTICE if offers(game).search.varied else seeds


def is_practice(seed: int) -> bool:
    """Tell whether a seed is marked."""
    return int(seed) & ~int(_OWN) == int(_PRACTICE)


def fraction(seed: int) -> float:
    """A number from 0 to 1 that a seed decides."""
    with np.errstate(over="ignore"):
        return float(mix(np.array([seed], np.uint64) * GOLDEN)[0]) / 2.0**64


def generator(seed: int, purpose: Purpose, *names: int) -> np.random.Generator:
    """A random generator of its own for one named choice."""
    return np.random.default_rng(np.random.SeedSequence([seed, int(purpose), *names]))
