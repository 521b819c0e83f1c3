"""play(): the only loop that steps a game."""

from __future__ import annotations

import numba as nb
import numpy as np

from hydraviper.data import InputError, Observations, Rollouts
from hydraviper.protocols import Game, HasClock, KnowsEpisodes, Policy

# Episodes stepped at once: few enough for their observations to stay in the cache, many enough to forget Python.
BLOCK = 2048


def play(game: Game, policy: Policy, seeds: np.ndarray, record: bool = False) -> Rollouts:
    """Play one episode per seed; with `record`, keep observations and rewards, in the order of the episodes."""
    block = min(BLOCK, game.width or BLOCK)
    starts = range(0, max(len(seeds), 1), block)
    return Rollouts.join([_play_block(game, policy, seeds[start : start + block], record) for start in starts])


def _play_block(game: Game, policy: Policy, seeds: np.ndarray, record: bool) -> Rollouts:
    episodes, agents = len(seeds), len(game.agents)
    actor = policy.begin(seeds) if isinstance(policy, KnowsEpisodes) else policy
    observations = game.reset(seeds)
    _check(observations, game)
    returns = np.zeros((episodes, agents))
    lengths = np.zeros(episodes, np.int64)
    running = np.ones(episodes, bool)
    seen: list[Observations] = []
    paid: list[np.ndarray] = []
    trace = np.full((episodes, game.horizon), np.nan) if isinstance(game, HasClock) else None
    for step in range(game.horizon):
        if record:
            seen.append(observations)
        observations, rewards, done = game.step(actor.act(observations))
        _check(observations, game)
        if record:
            paid.append(rewards)
        if running.all():
            returns += rewards
        else:
            returns[running] += rewards[running]
        if trace is not None:  # scaled so that the mean over the steps is the episode's score
            trace[running, step] = game.score.of(rewards * game.horizon)[running]
        lengths += running
        running &= ~done
        if not running.any():
            break
    if not np.isfinite(returns).all():
        raise InputError(f"{game.name} paid a reward that is not a number: check the game.")
    kept = tuple(_by_episode([step[i] for step in seen], lengths) for i in range(agents)) if record else None
    rewarded = _by_episode(paid, lengths) if record and paid else None
    return Rollouts(returns, lengths, kept, dict(game.measures()), rewarded, trace)


def _by_episode(steps: list[np.ndarray], lengths: np.ndarray) -> np.ndarray:
    """[T] arrays of [B, F] -> [S, F], episode after episode, each as long as it lasted."""
    stacked = np.stack(steps, axis=1)  # [B, T, F]
    if (lengths == stacked.shape[1]).all():
        return stacked.reshape(-1, stacked.shape[2])
    return stacked[np.arange(stacked.shape[1]) < lengths[:, None]]


def _check(observations: Observations, game: Game) -> None:
    for agent, array in zip(game.agents, observations, strict=True):
        if not _all_finite(array):
            raise InputError(f"{game.name} showed {agent.name} a value that is not a number: check the game.")


@nb.njit(cache=True, nogil=True)
def _all_finite(array: np.ndarray) -> bool:
    total = np.float32(0.0)
    for row in range(array.shape[0]):
        for column in range(array.shape[1]):
            total += array[row, column] * np.float32(0.0)
    return total == np.float32(0.0)
