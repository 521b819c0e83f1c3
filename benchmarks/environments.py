"""Measure what playing an environment as a game costs beside its own stepping: `python -m benchmarks.environments`.

Both sides play the same episodes with the same actions in turn, in one process; the least time of the processor that a
repetition took counts. The environment's own side is the loop that its documentation shows, and keeps nothing.
At the end cooperative navigation is played by the same trees as mpe2's environment and as our compiled world.
Exit code 1 if a requirement is missed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import mpe2.simple_spread_v3
import numpy as np

import hydraviper
from hydraviper.rollout import play

MOST = 1.15  # times the environment's own stepping
REPETITIONS = 15


class Replayed:
    """A policy that takes actions from a list, so that nothing but the environment and its adapter is measured."""

    def __init__(self, actions: np.ndarray, seeds: np.ndarray) -> None:
        self._actions = actions  # [T, E, N]
        self._column = {seed: k for k, seed in enumerate(seeds.tolist())}

    def begin(self, seeds: np.ndarray) -> Replayed:
        columns = [self._column[seed] for seed in seeds.tolist()]
        self._left = iter(np.ascontiguousarray(self._actions[:, columns]))
        return self

    def act(self, observations: Any) -> np.ndarray:
        return next(self._left)


def balanced(game: hydraviper.Game, seeds: np.ndarray) -> np.ndarray:
    """The actions [T, E, 1] of a rule that holds the pole up."""
    gains = np.array([0.3, 0.6, 6.0, 1.5])
    seen, done, actions = game.reset(seeds), np.zeros(len(seeds), bool), []
    while not done.all():
        actions.append(((seen[0] * gains).sum(axis=1) > 0).astype(np.int64)[:, None])
        seen, _, done = game.step(actions[-1])
    return np.array(actions)


def at_random(game: hydraviper.Game, seeds: np.ndarray) -> np.ndarray:
    """Actions [T, E, N] that nobody thought about."""
    counts = [len(agent.actions) for agent in game.agents]
    return np.random.default_rng(0).integers(0, counts, (game.horizon, len(seeds), len(counts)))


def cartpole(actions: np.ndarray, seeds: np.ndarray) -> int:
    """CartPole's own loop: the steps that it took."""
    env, steps = CARTPOLE, 0
    for k, seed in enumerate(seeds.tolist()):
        env.reset(seed=seed)
        for action in actions[:, k, 0].tolist():
            _, _, over, cut, _ = env.step(action)
            steps += 1
            if over or cut:
                break
    return steps


def spread(actions: np.ndarray, seeds: np.ndarray) -> int:
    """simple_spread's own loop: the steps that it took."""
    env, steps = SPREAD, 0
    for k, seed in enumerate(seeds.tolist()):
        env.reset(seed=seed)
        for choice in actions[:, k].tolist():
            env.step(dict(zip(env.agents, choice, strict=True)))
            steps += 1
            if not env.agents:
                break
    return steps


CARTPOLE = gymnasium.make("CartPole-v1", disable_env_checker=True)
SPREAD = mpe2.simple_spread_v3.parallel_env()


@dataclass(frozen=True)
class Case:
    """What is measured."""

    game: str
    own: Callable[[np.ndarray, np.ndarray], int]  # the environment's own loop
    actions: Callable[[hydraviper.Game, np.ndarray], np.ndarray]
    episodes: int
    most: float | None  # times the environment's own stepping


CASES = {
    "CartPole-v1, the pole held up": Case("gymnasium:CartPole-v1", cartpole, balanced, 32, MOST),
    "CartPole-v1, at random: short episodes": Case("gymnasium:CartPole-v1", cartpole, at_random, 320, None),
    "mpe2 simple_spread_v3, at random": Case("pettingzoo:mpe2.simple_spread_v3", spread, at_random, 32, MOST),
}


def measure(case: Case) -> tuple[float, float]:
    """Microseconds of a step by itself, and as a game."""
    game = hydraviper.make(case.game)
    seeds = np.random.default_rng(1).integers(0, 2**31, case.episodes).astype(np.uint64)
    actions = case.actions(game, seeds)
    steps, lengths = case.own(actions, seeds), play(game, Replayed(actions, seeds), seeds).lengths
    assert steps == lengths.sum(), "both sides must play the same"
    alone, adapted = [], []
    for _ in range(REPETITIONS):
        start = time.process_time()
        case.own(actions, seeds)
        middle = time.process_time()
        play(game, Replayed(actions, seeds), seeds)
        adapted.append(time.process_time() - middle)
        alone.append(middle - start)
    return min(alone) / steps * 1e6, min(adapted) / steps * 1e6


def against_compiled() -> tuple[float, float]:
    """Steps per second of the same game: mpe2's simple_spread through the adapter, and our compiled world."""
    speeds = []
    for name, episodes in (("pettingzoo:mpe2.simple_spread_v3", 32), ("cooperative-navigation:physics=mpe2", 2048)):
        game, seeds = hydraviper.make(name), np.arange(episodes, dtype=np.uint64)
        policy, spent = Replayed(at_random(game, seeds), seeds), []
        for _ in range(REPETITIONS):
            start = time.process_time()
            play(game, policy, seeds)
            spent.append(time.process_time() - start)
        speeds.append(episodes * game.horizon / min(spent))
    return speeds[0], speeds[1]


def same_trees(episodes: int = 256) -> tuple[np.ndarray, np.ndarray]:
    """What the same trees pay in the same episodes: mpe2's through the adapter, and compiled from its starts."""
    adapted = hydraviper.make(f"pettingzoo:mpe2.simple_spread_v3,instances={episodes}")
    compiled = hydraviper.make("cooperative-navigation:physics=mpe2")
    expert = hydraviper.shipped_expert(hydraviper.make("cooperative-navigation"))
    settings = hydraviper.Settings(iterations=20, train_budget=500, valid_budget=500)
    trees = hydraviper.distill(compiled, expert, settings).profile
    seeds = np.arange(episodes, dtype=np.uint64)
    theirs = -play(adapted, trees, seeds).returns.sum(axis=1)
    starts = []
    for seed in range(episodes):
        SPREAD.reset(seed=seed)
        world = SPREAD.unwrapped.world
        starts.append([[thing.state.p_pos for thing in things] for things in (world.agents, world.landmarks)])
    positions, landmarks = (np.array(one) for one in zip(*starts, strict=True))
    seen, ours = compiled.place(positions, landmarks, np.zeros(episodes)), np.zeros(episodes)
    for _ in range(compiled.horizon):
        seen, rewards, _ = compiled.step(trees.act(seen))
        ours -= rewards.sum(axis=1)
    return theirs, ours


def main() -> int:
    """Print the table."""
    print("| a step of | by itself, µs | as a game, µs | ratio | at most |\n|---|---|---|---|---|")
    missed = False
    for name, case in CASES.items():
        alone, adapted = measure(case)
        missed |= case.most is not None and adapted / alone > case.most
        print(f"| {name} | {alone:.2f} | {adapted:.2f} | {adapted / alone:.3f} | {case.most or ''} |", flush=True)
    adapted, compiled = against_compiled()
    print(
        f"\ncooperative navigation, steps/s: {adapted:,.0f} as mpe2's environment, {compiled:,.0f} compiled, ", end=""
    )
    print(f"{compiled / adapted:,.0f} times as many")
    theirs, ours = same_trees()
    same = np.isclose(theirs, ours, rtol=1e-4)
    print(f"the same trees, total penalty of the same {len(ours)} episodes: ", end="")
    print(f"{hydraviper.Estimate.of(theirs)} as mpe2's environment, {hydraviper.Estimate.of(ours)} compiled; ", end="")
    print(f"{same.sum()} episodes have the same to four digits")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
