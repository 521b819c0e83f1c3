"""Is there a weighting of samples that beats none? `python -m benchmarks.weights` looks where one should.

`convoy` is a game made for it: two drivers earn a little at every step for going or waiting as the load of their road
asks. In fog, which is rare, one of them may go, but both together crash, which is dear. A small tree cannot be right
everywhere. C-Q sees the crash in a sample's weight; IVIPER's own weights do not, because the other one, an expert,
waits; and without weights fog is too rare to be worth a question. The price of a crash goes from nothing to much.

The particle games are tried as well, with C-Q's weights as they are, squared, and with none.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

import hydraviper
from hydraviper.data import Estimate, Observations
from hydraviper.dataset import Dataset
from hydraviper.steps import resample
from hydraviper.steps.task import Task
from hydraviper.studies.statistics import differences
from hydraviper.variants import HYDRAVIPER, VARIANTS, Variant

FOG = 0.98  # above this there is fog: one step in fifty
PRICES = (0.0, 10.0, 50.0, 200.0)
SMALL = hydraviper.Settings(train_budget=200, valid_budget=300, iterations=20, rollouts_per_iteration=20, depth=3)
ROAD = tuple(f"{name} of the road" for name in ("length", "slope", "load"))


def _squared(task: Task, dataset: Dataset, rows: slice) -> np.ndarray:
    return resample.team_weights(task, dataset, rows) ** 2


ARMS: dict[str, Variant] = {
    "C-Q": HYDRAVIPER,
    "C-Q, squared": replace(HYDRAVIPER, name="squared", resample=partial(resample.resample, weigh=_squared)),
    "own weights": VARIANTS["hydraviper-without-cq"],
    "no weights": VARIANTS["hydraviper-no-weights"],
}


@dataclass
class Convoy:
    """Two drivers who may not both go in fog."""

    price: float
    name = "convoy"
    horizon = 20
    width = None
    score = hydraviper.Score("earnings", "points", lower_is_better=False, weights=(0.5, 0.5))
    recommended = hydraviper.Recommended(low=(200, 300), high=(2000, 3000), rollouts_per_iteration=20)
    agents = tuple(hydraviper.Agent(f"driver-{i}", (*ROAD, "fog"), ("wait", "go")) for i in range(2))
    teams = ((0, 1),)
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def reset(self, seeds: Sequence[int]) -> Observations:
        """New roads and weather at every step, whatever was done before."""
        draws = [np.random.default_rng(int(seed)).random((self.horizon, 7)) for seed in seeds]
        self.weather, self.number = np.stack(draws).astype(np.float32), 0
        return self._observe()

    def step(self, actions: np.ndarray) -> tuple[Observations, np.ndarray, np.ndarray]:
        """Earn by the roads, pay for a crash."""
        earned = earnings(self._observe(), actions, self.price)
        self.number += 1
        return self._observe(), earned, np.full(len(actions), self.number >= self.horizon)

    def measures(self) -> Mapping[str, np.ndarray]:
        """Nothing beside the score."""
        return {}

    def _observe(self) -> Observations:
        now = self.weather[:, min(self.number, self.horizon - 1)]
        return [np.ascontiguousarray(now[:, [3 * i, 3 * i + 1, 3 * i + 2, 6]]) for i in range(2)]


def earnings(observations: Observations, actions: np.ndarray, price: float) -> np.ndarray:
    """What both share for their actions [B, 2] in one step."""
    fog = observations[0][:, 3] > FOG
    wrong = np.stack([actions[:, i] != wanted(seen) for i, seen in enumerate(observations)], axis=1).sum(axis=1)
    crash = fog & (actions == 1).all(axis=1)
    return np.repeat((2.0 - wrong - price * crash)[:, None], 2, axis=1)


def wanted(seen: np.ndarray) -> np.ndarray:
    """Go where the road is good, and never in fog."""
    return ((seen[:, :3].sum(axis=1) > 1.5) & (seen[:, 3] <= FOG)).astype(np.int64)


@dataclass(frozen=True)
class Planner:
    """Does what is wanted and knows what everything is worth: steps do not depend on one another."""

    price: float

    def act(self, observations: Observations, agents: Sequence[int] | None = None) -> np.ndarray:
        """Everybody's action."""
        return np.stack([wanted(seen) for seen in observations], axis=1)

    def q(self, observations: Observations, actions: np.ndarray) -> np.ndarray:
        """The earnings of this step."""
        return earnings(observations, actions, self.price)

    def worst_team_q(
        self, observations: Observations, actions: np.ndarray, team: Sequence[int], judges: Sequence[int] | None = None
    ) -> np.ndarray:
        """The least over the team's joint actions."""
        worst = np.full(len(actions), np.inf)
        for choice in itertools.product(range(2), repeat=len(team)):
            played = actions.copy()
            played[:, list(team)] = choice
            worst = np.minimum(worst, self.q(observations, played)[:, 0])
        return worst


def compare(title: str, game: Any, expert: Any, settings: hydraviper.Settings, seeds: int, episodes: int) -> None:
    """Print every arm's score, and how much it gains over no weights on common seeds."""
    engine = hydraviper.LocalEngine(lambda: game)
    scores: dict[str, dict[int, float]] = {name: {} for name in ARMS}
    expert_score = 0.0
    for seed, (name, variant) in itertools.product(range(seeds), ARMS.items()):
        result = hydraviper.distill(game, expert, replace(settings, seed=seed), variant, engine)
        summary = hydraviper.evaluate(result, episodes=episodes, engine=engine)
        scores[name][seed], expert_score = summary.score.mean, summary.expert.mean
    print(f"{title}: expert {expert_score:.2f}")
    sign = -1 if game.score.lower_is_better else 1
    for name, by_seed in scores.items():
        gains = [sign * difference for difference in differences(by_seed, scores["no weights"])]
        mean = Estimate.of(list(by_seed.values()))
        print(f"  {name}: {mean}, {Estimate.of(gains):+.2f} against no weights", flush=True)


def main() -> None:
    """Compare in every game."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--episodes", type=int, default=2_000)
    asked = parser.parse_args()
    for price in PRICES:
        title = f"convoy, a crash costs {price:g}"
        compare(title, Convoy(price), Planner(price), SMALL, asked.seeds, asked.episodes)
    for name in ("cooperative-navigation", "physical-deception"):
        game = hydraviper.make(name)
        compare(
            name,
            game,
            hydraviper.shipped_expert(game),
            hydraviper.settings_for(game.recommended),
            asked.seeds,
            asked.episodes,
        )


if __name__ == "__main__":
    main()
