"""What other learners cost and bring: the same game, budget and seeds, another learner each.

python -m examples.learners.compare --out examples/learners/measured.json

Prints a table and writes the numbers. A few minutes on two cores.
"""

import argparse
import json
import time
from pathlib import Path

from examples.learners.forest import FOREST
from examples.learners.optimal_trees import OptimalTree
from sklearn.tree import DecisionTreeClassifier

import hydraviper
from hydraviper.data import Estimate

HYDRAVIPER = hydraviper.VARIANTS["hydraviper"]
LEARNERS = {
    "built in, depth 3": (HYDRAVIPER, 3),
    "scikit-learn's CART, depth 3": (HYDRAVIPER.with_classifier(DecisionTreeClassifier(max_depth=3)), 3),
    "optimal (STreeD), depth 3": (HYDRAVIPER.with_classifier(OptimalTree(depth=3)), 3),
    "built in, depth 4": (HYDRAVIPER, 4),
    "scikit-learn's forest, 20 trees of depth 8": (HYDRAVIPER.with_classifier(FOREST), 8),
}


def measured(name, seeds, episodes, iterations):
    """A learner's score on unseen episodes over seeds, its agreement with the expert, its seconds of processor."""
    game = hydraviper.make("cooperative-navigation")
    expert = hydraviper.shipped_expert(game)
    variant, depth = LEARNERS[name]
    scores, seconds, agreements = [], [], []
    for seed in range(seeds):
        settings = hydraviper.Settings(
            train_budget=200, valid_budget=500, iterations=iterations, depth=depth, seed=seed
        )
        start = time.process_time()  # of the processor: other work on the machine does not count
        result = hydraviper.distill(game, expert, settings, variant)
        seconds.append(time.process_time() - start)
        scores.append(hydraviper.evaluate(result, episodes=episodes).score.mean)
        agreements += [tree.fidelity for tree in result.profile.students.values() if isinstance(tree, hydraviper.Tree)]
    mean = Estimate.of(scores)
    return {
        "learner": name,
        "score": mean.mean,
        "ci95": mean.ci95,
        "agreement": sum(agreements) / len(agreements) if agreements else None,
        "seconds": sum(seconds) / seeds,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--out", type=Path)
    call = parser.parse_args()
    measured("built in, depth 3", 1, 100, 2)  # loads the kernels
    rows = []
    for learner in LEARNERS:
        rows.append(measured(learner, call.seeds, call.episodes, call.iterations))
        row = rows[-1]
        agreement = "" if row["agreement"] is None else f"{100 * row['agreement']:.1f} %"
        print(
            f"| {learner} | {row['score']:.1f} ± {row['ci95']:.1f} | {agreement} | {row['seconds']:.1f} |", flush=True
        )
    if call.out:
        about = {
            "seeds": call.seeds,
            "episodes": call.episodes,
            "iterations": call.iterations,
            "version": hydraviper.__version__,
        }
        call.out.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")
