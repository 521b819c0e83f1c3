"""Compile every kernel once; they are cached afterwards: `python -m hydraviper.warmup`."""

import numpy as np

import hydraviper
from hydraviper.refine.search import refine
from hydraviper.trees.explain import explain
from hydraviper.trees.tree import Tree
from hydraviper.verify.obligations import obligations_for
from hydraviper.verify.prover.proof import verify


def main() -> None:
    """Run each algorithm on each shipped game, as small as possible."""
    for name in ("cooperative-navigation", "physical-deception"):
        game = hydraviper.make(name)
        expert = hydraviper.shipped_expert(game)
        settings = hydraviper.Settings(iterations=2, train_budget=2, valid_budget=4, rollouts_per_iteration=2)
        for variant in ("hydraviper", "maviper"):
            result = hydraviper.distill(game, expert, settings, hydraviper.VARIANTS[variant])
            students = result.profile.students
        engine = hydraviper.LocalEngine(lambda game=game: game)
        hydraviper.evaluate(result, episodes=2, engine=engine)
        for features in ("plain", "derived"):
            refine(game, expert, students, engine, hydraviper.RefineSettings(rollouts=2000, features=features))
        trees = {i: tree for i, tree in students.items() if isinstance(tree, Tree)}
        verify(obligations_for(game), trees)
        for i, tree in trees.items():
            explain(game.agents[i], tree, np.zeros(len(game.agents[i].features)))


if __name__ == "__main__":
    main()
