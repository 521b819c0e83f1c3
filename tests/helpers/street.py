"""The hand-made street of the tests, and an expert for signals that needs no training."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import hydraviper
from hydraviper.games.traffic_rules import PhaseRule
from hydraviper.protocols import Game
from hydraviper.trees import cart
from hydraviper.trees.bins import Bins
from hydraviper.trees.file import TreesFile
from tests.helpers.trees import MADE

FOLDER = Path(__file__).parents[1] / "data" / "street"
PLAIN = {"steps": 8, "seconds_per_step": 20, "yellow": 3, "reach": 0, "near": 0, "score": "stopped"}
PLAIN |= dict.fromkeys(("memory", "min_green", "max_red", "clearance", "variation"), 0)


def street_with(**changes: object) -> str:
    """The name of a short game on the street, with some parameters changed."""
    return f"traffic:{FOLDER / 'street.sumocfg'}," + ",".join(f"{k}={v}" for k, v in {**PLAIN, **changes}.items())


STREET = street_with()


def configuration(folder: Path, net: str = "street.net.xml", **options: object) -> Path:
    """A .sumocfg in a folder of its own that loads a net of the street."""
    values = {"net_file": FOLDER / net, "route_files": FOLDER / "street.rou.xml", **options}
    lines = [f'<{name.replace("_", "-")} value="{value}"/>' for name, value in values.items()]
    path = folder / "own.sumocfg"
    path.write_text("<configuration>" + "".join(lines) + "</configuration>")
    return path


def queue_trees(game: Game) -> TreesFile:
    """Small trees that imitate serving the longest queue, from one episode."""
    rule = game.offers.scoring.yardsticks["longest queue"]
    seen = hydraviper.play(game, rule, np.zeros(1, np.uint64), record=True).observations
    wanted, trees = rule.act(seen), []
    for i, (agent, rows) in enumerate(zip(game.agents, seen, strict=True)):
        bins = Bins(len(agent.features))
        bins.append(rows)
        trees.append(cart.grow(bins, wanted[:, i], np.ones(len(rows)), len(agent.actions), 4))
    return TreesFile(game.name, dict(game.parameters), game.agents, tuple(trees), MADE)


@dataclass(frozen=True)
class LongestQueue:
    """Serve the longest queue; an action is worth minus the queue that it leaves standing: a local, separable value."""

    rule: PhaseRule

    def act(self, observations, agents=None):
        return self.rule.act(observations)

    def q(self, observations, actions):
        worth = [np.take_along_axis(self._worth(observations, i), actions[:, [i]], 1) for i in range(len(observations))]
        return np.concatenate(worth, axis=1)

    def worst_team_q(self, observations, actions, team, judges=None):
        values = self.q(observations, actions)
        for i in team:
            values[:, i] = self._worth(observations, i).min(axis=1)
        return values[:, list(judges or team)].mean(axis=1)

    def _worth(self, observations, i):
        weights = self.rule.weights[i].astype(np.float64)
        waiting = observations[i] @ (weights.max(axis=1) >= 1).astype(np.float64)
        return observations[i] @ weights - waiting[:, None]
