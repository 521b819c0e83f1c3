"""Our trees beside VIPER's plain form on CartPole: `.venv-experts/bin/python -m benchmarks.viper` (make test-experts).

The plain form is the published algorithm with scikit-learn, one environment and no batches, with the settings that the
Safe-RL-Team's implementation publishes: 80 iterations, 10,000 samples in all, the expert in the first iteration and the
last tree in the others, weights by the range of log-probabilities, entropy, pruning by 0.0001, the best of all trees.
It tries each tree on 20 episodes (the implementation: 100, which would take five times as long here). All trees come
from one PPO expert and are scored on the same unseen episodes; seconds are the processor's.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from sklearn.tree import DecisionTreeClassifier

import hydraviper
from hydraviper.data import Estimate
from hydraviper.rollout import play
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.variants import VARIANTS

EXPERT = f"sb3:{Path(__file__).parents[1] / 'examples' / 'foreign' / 'experts' / 'cartpole.zip'}"
ITERATIONS, SAMPLES, TRIED, EPISODES = 80, 10_000, 20, 200
SETTINGS = {"iterations": 40, "train_budget": 200, "valid_budget": 200, "rollouts_per_iteration": 20}


@dataclass(frozen=True)
class Made:
    """A tree, as a policy of the game."""

    policy: Any
    depth: int
    leaves: int


@dataclass(frozen=True)
class Classified:
    """A tree of scikit-learn as a policy."""

    tree: DecisionTreeClassifier

    def act(self, observations: Any) -> np.ndarray:
        return self.tree.predict(observations[0]).astype(np.int64)[:, None]


def plain(game: hydraviper.Game, expert: Any, seed: int, depth: int | None) -> Made:
    """VIPER as it is published."""
    environment, draws = gymnasium.make("CartPole-v1", max_episode_steps=game.horizon), np.random.default_rng(seed)
    actors: list[Any] = [expert]
    seen, labels, weights, scores = [], [], [], []
    for _ in range(ITERATIONS):
        new = _walked(environment, actors[-1], draws, SAMPLES // ITERATIONS)
        values = np.stack([expert.q([new], np.full((len(new), 1), action))[:, 0] for action in range(2)])
        seen.append(new)
        labels.append(expert.act([new])[:, 0])
        weights.append(np.ptp(values, axis=0))
        tree = DecisionTreeClassifier(criterion="entropy", ccp_alpha=1e-4, max_depth=depth, random_state=seed)
        tree.fit(np.concatenate(seen), np.concatenate(labels), sample_weight=np.concatenate(weights))
        actors.append(Classified(tree))
        tried = rollout_seeds(seed, Purpose.SELECT, 0, TRIED)
        scores.append(play(game, actors[-1], tried).returns.mean())
    best = actors[1 + int(np.argmax(scores))]
    return Made(best, best.tree.get_depth(), best.tree.get_n_leaves())


def _walked(environment: Any, actor: Any, draws: np.random.Generator, steps: int) -> np.ndarray:
    """What an actor sees, [steps, 4], from the start of an episode on."""
    rows: list[np.ndarray] = []
    seen, _ = environment.reset(seed=int(draws.integers(2**31)))
    while len(rows) < steps:
        rows.append(seen)
        seen, _, over, cut, _ = environment.step(int(actor.act([seen[None]])[0, 0]))
        if over or cut:
            seen, _ = environment.reset(seed=int(draws.integers(2**31)))
    return np.array(rows, np.float32)


def ours(game: hydraviper.Game, expert: Any, seed: int, depth: int, algorithm: str) -> Made:
    """What `hydraviper distill` makes."""
    settings = hydraviper.Settings(seed=seed, depth=depth, **SETTINGS)
    profile = hydraviper.distill(game, expert, settings, VARIANTS[algorithm]).profile
    tree: Any = profile.students[0]
    return Made(profile, tree.depth, tree.leaves)


CASES: dict[str, tuple[str, Callable[..., Made]]] = {
    "VIPER, plain, any depth": ("", lambda *task: plain(*task, depth=None)),
    "VIPER, plain, depth 4": ("", lambda *task: plain(*task, depth=4)),
    "`--algorithm viper`, depth 4": ("", lambda *task: ours(*task, 4, "viper")),
    "`hydraviper`, depth 4": ("", lambda *task: ours(*task, 4, "hydraviper")),
    "`hydraviper`, depth 2": ("", lambda *task: ours(*task, 2, "hydraviper")),
    "`hydraviper`, depth 1": ("", lambda *task: ours(*task, 1, "hydraviper")),
    "`hydraviper`, depth 1, 200 steps": (",steps=200", lambda *task: ours(*task, 1, "hydraviper")),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    print("| trees | return | depth | leaves | processor seconds |\n|---|---|---|---|---|")
    for name, (parameters, make) in CASES.items():
        game = hydraviper.make(f"gymnasium:CartPole-v1{parameters}")
        expert = hydraviper.load_expert(EXPERT, game)
        unseen = rollout_seeds(0, Purpose.EVALUATE, 0, EPISODES)
        scores, made, spent = [], [], []
        for seed in seeds:
            start = time.process_time()
            made.append(make(game, expert, seed))
            spent.append(time.process_time() - start)
            scores.append(play(game, made[-1].policy, unseen).returns.mean())
        shown = [
            f"{Estimate.of(scores)}",
            *(_span([getattr(one, part) for one in made]) for part in ("depth", "leaves")),
        ]
        print(f"| {name} | {' | '.join(shown)} | {np.mean(spent):.1f} |", flush=True)


def _span(numbers: list[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{least}" if least == most else f"{least} to {most}"


if __name__ == "__main__":
    main()
