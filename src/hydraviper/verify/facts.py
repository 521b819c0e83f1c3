"""A check of the world on observations that really occur: proofs from false facts would be worthless."""

from collections.abc import Mapping

import numpy as np

from hydraviper.data import InputError, Observations
from hydraviper.protocols import Game
from hydraviper.rollout import play
from hydraviper.seeding import Purpose, generator, rollout_seeds
from hydraviper.trees.tree import Tree
from hydraviper.verify import meaning
from hydraviper.verify.obligations import Obligations

MOST_ROWS = 200  # observations that are checked


class RandomisedTrees:
    """A policy that acts at random; where an agent has a tree, half of the actions are the tree's."""

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


def check_facts(obligations: Obligations, game: Game, students: Mapping[int, Tree], episodes: int) -> int:
    """Refuse domains and facts that are false in an episode; returns how many observations were checked."""
    policy = RandomisedTrees(game, students, generator(0, Purpose.VERIFY))
    rollouts = play(game, policy, rollout_seeds(0, Purpose.VERIFY, 0, episodes), record=True)
    observations = rollouts.observations or ()
    rows = np.unique(np.linspace(0, rollouts.lengths.sum() - 1, MOST_ROWS).astype(int))
    for row in rows:
        seen = {i: np.asarray(observations[i][row], np.float32) for i in obligations.scene.distilled}
        _check_row(obligations, seen)
    return len(rows)


def _check_row(obligations: Obligations, seen: dict[int, np.ndarray]) -> None:
    agents, world = obligations.scene.agents, obligations.world
    for i, values in seen.items():
        outside = meaning.outside(world.spaces[i], values)
        if outside.any():
            k = int(np.argmax(outside))
            raise InputError(
                f"{agents[i].features[k]!r} of {agents[i].name} is {values[k]} in an episode, which its domain rules "
                "out: correct the domain, or nothing that is proved with it is true."
            )
    for fact in meaning.false_facts(world, seen):
        plain = [(i, k) for i, k in fact.features() if isinstance(k, int)]
        names = dict.fromkeys(f"[{agents[i].name}: {agents[i].features[k]}]" for i, k in plain)
        raise InputError(
            f"a fact about {', '.join(names)} is false in an episode: correct it, or nothing that is proved with it "
            "is true."
        )
