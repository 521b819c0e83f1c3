"""Do the defenders only look good because their adversary is weak? `python -m benchmarks.adversary` trains it afresh.

The teams' actors of an expert stay as they are; the agents outside all teams start from nothing and learn against them
alone. Printed is the teams' score on the validation episodes as those learn: what it falls to is what the expert is
worth against an opponent that was made to beat it.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import hydraviper
from hydraviper.experts import maddpg
from hydraviper.experts.layers import Network, Sizes
from hydraviper.experts.store import to_arrays
from hydraviper.protocols import Game


def main() -> None:
    """Print the curve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", nargs="?", default="physical-deception")
    parser.add_argument("--expert", type=Path, help="a file; default: the shipped one")
    parser.add_argument("--episodes", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=5)
    asked = parser.parse_args()
    game = hydraviper.make(asked.game)
    if not Sizes.of(game, share_team_reward=True).opponents:
        raise SystemExit(f"{asked.game} has no opponents.")
    expert = hydraviper.load_expert(asked.expert, game) if asked.expert else hydraviper.shipped_expert(game)
    settings = replace(
        maddpg.recommended(game), episodes=asked.episodes, evaluations=6, seed=asked.seed, actor_pace=0.0, secrecy=0.0
    )
    trainer = Afresh(game, settings, to_arrays(expert))
    with_own = trainer.score([trainer.given(i) for i in range(len(game.agents))])
    print(f"against the expert's own opponent: {with_own:.2f}")
    for progress, _ in trainer.run():
        print(f"against one that has learnt for {progress.episodes:,} episodes: {progress.score:.2f}", flush=True)


class Afresh(maddpg.MaddpgTrainer):
    """Training where the teams' actors are given and do not move."""

    def __init__(self, game: Game, settings: maddpg.MaddpgSettings, arrays: Mapping[str, np.ndarray]) -> None:
        self.arrays = arrays
        super().__init__(game, settings)

    def given(self, i: int) -> Network:
        """The expert's own actor."""
        layers = sum(name.startswith(f"actor.{i}.weight.") for name in self.arrays)
        names = ("weight", "bias")
        return [tuple(jnp.asarray(self.arrays[f"actor.{i}.{name}.{k}"]) for name in names) for k in range(layers)]

    def start(self) -> maddpg.Networks:
        """Fresh networks, but for the teams."""
        fresh, start = super().start(), self.rule.optimizer.start
        actors = [own if i in self.sizes.opponents else start(self.given(i)) for i, own in enumerate(fresh.actors)]
        return fresh._replace(actors=actors)


if __name__ == "__main__":
    main()
