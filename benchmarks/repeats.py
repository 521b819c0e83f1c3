"""Does a seed repeat? `python -m benchmarks.repeats [GAME ...]` plays every traffic game's seeds again and compares.

Seeds are played in this process, again after other seeds, in another process, and by two workers; everything that
rollouts hold must be the same, bit for bit. A row of zeros means that it is.
"""

from __future__ import annotations

import sys

import numpy as np

import hydraviper
from hydraviper.data import Rollouts
from hydraviper.engines.journal import encode_rollouts
from hydraviper.engines.workers import Workers
from hydraviper.games import catalogue, traffic_catalogue
from hydraviper.protocols import offers

MAPS = tuple(f"resco:{name},steps=125,seconds_per_step=20,yellow=3" for name in traffic_catalogue.MAPS)
GAMES = ("cologne-corridor", "ingolstadt-corridor", *MAPS)
SEEDS, OTHERS = np.arange(4, dtype=np.uint64), np.arange(100, 102, dtype=np.uint64)


def different(first: list[Rollouts], second: list[Rollouts]) -> int:
    """How many rollouts are not the same."""
    return sum(encode_rollouts(one) != encode_rollouts(other) for one, other in zip(first, second, strict=True))


def row(name: str) -> str:
    """A row of the table."""
    game = hydraviper.make(name)
    policy = offers(game).scoring.yardsticks["longest queue"]
    pieces = [(policy, SEEDS[k : k + 1], True) for k in range(len(SEEDS))]

    def here() -> list[Rollouts]:
        return [hydraviper.play(game, *piece) for piece in pieces]

    def elsewhere(workers: int) -> list[Rollouts]:
        places = Workers(catalogue.maker(game), workers)
        try:
            return places.run(pieces)
        finally:
            places.close()

    first = here()
    hydraviper.play(game, policy, OTHERS)
    counts = [different(first, again) for again in (here(), elsewhere(1), elsewhere(2))]
    return f"| `{name}` | {' | '.join(map(str, counts))} |"


def main() -> None:
    """Print the table, a row as soon as it is known."""
    print(f"| of {len(SEEDS)} seeds, played differently | after others | another process | two workers |")
    print("|---|---|---|---|")
    for name in sys.argv[1:] or GAMES:
        print(row(name), flush=True)


if __name__ == "__main__":
    main()
