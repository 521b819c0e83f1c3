"""Whether an environment repeats itself: the same seed and the same actions must give the same episode."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from hydraviper.data import InputError
from hydraviper.protocols import Game

SEEDS = np.array([11, 12, 11], np.uint64)  # the first episode is played twice, side by side
STEPS = 50  # of them


def check_repeats(game: Game) -> None:
    """Refuse an environment whose episodes depend on more than seed and actions, and name where they part.

    An episode is played twice side by side and once more afterwards, in an instance that was used before.
    """
    together = min(len(SEEDS), game.width or len(SEEDS))
    first = _played(game, SEEDS[:together])
    if together == len(SEEDS):
        _compare(game, zip(first, first, strict=True), 0, 2)
    _compare(game, zip(first, _played(game, SEEDS[:1]), strict=False), 0, 0)


@dataclass(frozen=True)
class _Step:
    """What a step shows and pays in some episodes, and which are over."""

    seen: list[np.ndarray]  # per agent [B, F_i]
    paid: np.ndarray  # [B, N]
    over: np.ndarray  # [B]


def _played(game: Game, seeds: np.ndarray) -> list[_Step]:
    """What happens in some episodes in which everybody acts at random, the same in each of them."""
    draws = np.random.default_rng(0)
    counts = [len(agent.actions) for agent in game.agents]
    seen = game.reset(seeds)
    steps = [_Step([one.copy() for one in seen], np.zeros((len(seeds), len(counts))), np.zeros(len(seeds), bool))]
    for _ in range(min(STEPS, game.horizon)):
        actions = np.repeat(draws.integers(0, counts)[None], len(seeds), axis=0)
        seen, paid, over = game.step(actions)
        steps.append(_Step([one.copy() for one in seen], paid, over))
        if over[0]:
            break
    return steps


def _compare(game: Game, pairs: Iterable[tuple[_Step, _Step]], first: int, second: int) -> None:
    """Refuse two episodes, by their numbers in two plays, that are not the same."""
    for number, (one, two) in enumerate(pairs):
        for agent, ours, theirs in zip(game.agents, one.seen, two.seen, strict=True):
            if not np.array_equal(ours[first], theirs[second], equal_nan=True):
                feature = agent.features[int(np.argmax(ours[first] != theirs[second]))]
                _refuse(game, f"at step {number} in {feature!r} of {agent.name}")
        if not np.array_equal(one.paid[first], two.paid[second], equal_nan=True):
            _refuse(game, f"at step {number} in what is paid")
        if one.over[first] != two.over[second]:
            _refuse(game, f"at step {number} in whether they are over")


def _refuse(game: Game, where: str) -> NoReturn:
    raise InputError(
        f"{game.name} does not repeat itself: two episodes with the same seed and the same actions differ {where}; let "
        "reset(seed=...) decide everything that is random in it, or nothing that is measured here can be compared."
    )
