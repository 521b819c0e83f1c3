"""What is taken to be true of every observation, checked on observations that really occur."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hydraviper.data import InputError, Observations
from hydraviper.protocols import Game
from hydraviper.rollout import play
from hydraviper.seeding import Purpose, generator, rollout_seeds
from hydraviper.trees.tree import Tree
from hydraviper.verify import meaning
from hydraviper.verify.resolve import Rules

MOST_ROWS = 200  # observations that are looked at


class Wanderers:
    """Play at random, or where there is a tree, by the tree every other time."""

    def __init__(self, game: Game, students: Mapping[int, Tree], random: np.random.Generator) -> None:
        self.sizes = [len(agent.actions) for agent in game.agents]
        self.students, self.random = students, random

    def act(self, observations: Observations) -> np.ndarray:
        """One action per episode and agent, [B, N]."""
        count = len(observations[0])
        actions = np.stack([self.random.integers(0, size, count) for size in self.sizes], axis=1)
        for i, tree in self.students.items():
            by_tree = self.random.random(count) < 0.5
            actions[by_tree, i] = tree.predict(np.asarray(observations[i], np.float32)[by_tree])
        return actions


def check_facts(rules: Rules, game: Game, students: Mapping[int, Tree], episodes: int) -> int:
    """Refuse facts and domains that a real observation breaks; how many observations were looked at."""
    policy = Wanderers(game, students, generator(0, Purpose.VERIFY))
    rollouts = play(game, policy, rollout_seeds(0, Purpose.VERIFY, 0, episodes), record=True)
    observations = rollouts.observations or ()
    rows = np.unique(np.linspace(0, rollouts.lengths.sum() - 1, MOST_ROWS).astype(int))
    for row in rows:
        _check_row(rules, {i: np.asarray(observations[i][row], np.float32) for i in rules.scene.distilled})
    return len(rows)


def _check_row(rules: Rules, seen: dict[int, np.ndarray]) -> None:
    for i, values in seen.items():
        space, agent = rules.world.spaces[i], rules.scene.agents[i]
        outside = (values < space.low) | (values > space.high) | (space.whole & (values % 1 != 0))
        if outside.any():
            k = int(np.argmax(outside))
            raise InputError(
                f"{agent.features[k]!r} of {agent.name} is {values[k]} in an episode, which its domain rules out: "
                "correct the domain, or nothing that is proved with it is true."
            )
    for fact in meaning.false_facts(rules.world, seen):
        names = dict.fromkeys(
            f"[{rules.scene.agents[i].name}: {rules.scene.agents[i].features[k]}]"
            for i, k in fact.features()
            if isinstance(k, int)
        )
        raise InputError(
            f"a fact about {', '.join(names)} is false in an episode: correct it, or nothing that is proved with it "
            "is true."
        )
