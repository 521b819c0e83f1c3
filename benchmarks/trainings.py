"""Trains the further experts of the particle games that ship: `python -m benchmarks.trainings GAME NAME --out FILE`.

`maddpg-seed-1` is trained as the shipped expert, with another seed (`hydraviper train GAME --seed 1` does the same);
for cooperative navigation with 120,000 episodes instead of 320,000 (`--episodes 120000`), for want of machine time.
`maddpg-60000-episodes` has the paper's 60,000 episodes, with batches of 1,024 and an update every 100 steps as MADDPG's
authors have them, and nobody pays for what actions tell of secrets.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import hydraviper
from hydraviper.experts import maddpg, store

CHANGES = {
    "maddpg-seed-1": {"seed": 1},
    "maddpg-60000-episodes": {
        "seed": 2,
        "episodes": 60_000,
        "games": 100,
        "batch": 1024,
        "steps_per_update": 100,
        "secrecy": 0.0,
    },
}
SHORTER = {("cooperative-navigation", "maddpg-seed-1"): {"episodes": 120_000}}


def main() -> None:
    """Train, print the curve and write the expert under its name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", choices=("cooperative-navigation", "physical-deception"))
    parser.add_argument("name", choices=list(CHANGES))
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    game = hydraviper.make(asked.game)
    changes = CHANGES[asked.name] | SHORTER.get((asked.game, asked.name), {})
    settings = replace(maddpg.recommended(game), **changes)
    training = maddpg.train(game, settings, lambda point: print(f"{point.episodes:,}: {point.score:.2f}", flush=True))
    store.save(named(training.expert, asked.name), asked.out)
    print(f"{training.score:.2f} on the validation episodes")


def named(expert: store.StoredExpert, name: str) -> store.StoredExpert:
    """The expert under a name of its own, by which `--expert` finds it once it ships."""
    return replace(expert, about={**expert.about, "algorithm": name})


if __name__ == "__main__":
    main()
