"""RESCO's own figures: seconds of delay per vehicle that was due, those that could not enter included.

Ault and Sharon: Reinforcement Learning Benchmarks for Traffic Signal Control (NeurIPS 2021, Datasets and Benchmarks).
Read from `resco_benchmark/utils/avg_timeLoss.py` of the repository Pi-Star-Lab/RESCO at commit fc65e91, which has the
average delay of every episode.
"""

from typing import NamedTuple

MAPS = ("cologne1", "cologne3", "cologne8", "ingolstadt1", "ingolstadt7", "ingolstadt21", "grid4x4", "arterial4x4")


class Rule(NamedTuple):
    """A rule that does not learn: 30 or 100 episodes."""

    mean: float
    best: float  # the best episode

    @property
    def meaning(self) -> str:
        """What its numbers are."""
        return f"mean of its episodes; the best one {self.best:,.2f}"


class Learner(NamedTuple):
    """A learner: every episode of training (100, or 1,400) is an average over its trainings."""

    best: float  # the best episode of the whole training
    last: float  # the mean of the last ten

    @property
    def meaning(self) -> str:
        """What its numbers are."""
        return f"best episode of the whole training; the last ten {self.last:,.2f}"


def _figures(kind: type, text: str) -> dict[str, Rule | Learner]:
    """A pair of numbers for each map in the order of MAPS; `-` where RESCO gives none."""
    pairs = (pair.split() for pair in text.split(","))
    return {name: kind(*map(float, pair)) for name, pair in zip(MAPS, pairs, strict=True) if pair != ["-"]}


FIGURES: dict[str, dict[str, Rule | Learner]] = {
    "fixed time": _figures(
        Rule, "56.61 54.56, 46.35 37.59, 63.77 58.03, 39.40 38.11, 91.31 87.05, 133.11 118.42, -, -"
    ),
    "MAXWAVE": _figures(
        Rule,
        "27.80 25.83, 90.67 19.42, 21.87 20.85, 28.32 25.63, 80.56 65.62, 76.32 65.42, 34.32 33.27, 820.81 678.39",
    ),
    "MAXPRESSURE": _figures(
        Rule,
        "65.85 27.63, 162.28 23.45, 47.73 28.07, 23.62 22.60, 46.82 39.25, 136.71 97.92, 52.55 50.73, 952.75 825.64",
    ),
    "IDQN": _figures(
        Learner,
        "26.05 28.93, 23.99 95.54, 22.06 22.31, 21.48 22.21, 31.19 35.65, 59.64 86.18, 32.95 34.07, 1168.31 1316.15",
    ),
    "IPPO": _figures(
        Learner,
        "43.24 210.76, 24.03 123.30, 21.62 22.46, 20.90 22.69, 31.68 32.45, 93.11 397.17, 44.00 45.90, 686.62 1457.62",
    ),
    "MPLight": _figures(
        Learner, "28.74 53.16, 83.65 713.88, 60.41 252.44, -, 48.21 83.11, 78.16 377.28, 46.91 47.94, 837.75 989.60"
    ),
    "FMA2C": _figures(
        Learner,
        "30.79 32.27, 26.86 106.27, 33.88 37.52, 27.00 31.79, 51.39 56.28, 90.29 115.86, 99.77 106.46, 654.13 773.32",
    ),
}


def best(map_name: str) -> tuple[str, float]:
    """Who has the lowest of all figures of a map, and the figure: a mean, or a best episode."""
    lowest = {name: min(figures[map_name]) for name, figures in FIGURES.items() if map_name in figures}
    return min(lowest.items(), key=lambda one: one[1])
