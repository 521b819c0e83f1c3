"""What constraints cost: trees with and without them, distilled and scored alike on the same seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hydraviper.algorithm import distill
from hydraviper.data import Estimate, Progress
from hydraviper.profile import Profile
from hydraviper.protocols import Engine, Expert, Game, Student
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.settings import Settings
from hydraviper.trees.tree import Tree
from hydraviper.variants import Variant
from hydraviper.verify.constraints import Constraints
from hydraviper.verify.obligations import Obligations
from hydraviper.verify.prover.proof import verify
from hydraviper.verify.verdicts import Verdict


def paired(game: Game, before: np.ndarray, after: np.ndarray) -> dict[str, Any]:
    """Two scores [E] on the same seeds, and their difference; a cost above 0 is a loss, whichever way is better."""
    sign = 1.0 if game.score.lower_is_better else -1.0
    parts = {"without": before, "with": after, "cost": sign * (after - before)}
    return {name: _plain(Estimate.of(values)) for name, values in parts.items()}


def price(
    game: Game,
    expert: Expert,
    settings: Settings,
    variant: Variant,
    engine: Engine,
    constraints: Constraints,
    students: Mapping[int, Student],
    episodes: int,
    each: bool = True,
    progress: Progress = lambda step, done, of: None,
) -> dict[str, Any]:
    """What all constraints cost together, and, with `each`, every property by itself; `students` keep all of them.

    For every price the trees are distilled once more, with the same settings and seeds.
    """
    obligations = constraints.obligations
    seeds = rollout_seeds(0, Purpose.EVALUATE, 0, episodes)
    runs = [None, *(obligations.only([name]) for name in obligations.names if each and len(obligations.names) > 1)]
    trees: list[Mapping[int, Student]] = []
    for number, part in enumerate(runs):
        progress("prices", number, len(runs))
        keeping = None if part is None else Constraints(part)
        trees.append(distill(game, expert, settings, variant, engine, constraints=keeping).profile.students)
    progress("prices", len(runs), len(runs))
    played = engine.play_many([Profile(expert, own) for own in [*trees, students]], [seeds] * (len(trees) + 1))
    free, *alone, together = (game.score.of(rollouts.returns) for rollouts in played)
    known = {verdict.property: verdict for verdict in verify(obligations, _only_trees(trees[0]))}
    costs = dict(
        zip(obligations.names, alone if alone else [together] * (each or len(obligations.names) == 1), strict=False)
    )
    return {
        "all": paired(game, free, together),
        "each": {
            name: {"holds without": known[name].holds, "answer without": known[name].outcome}
            | (paired(game, free, costs[name]) if name in costs else {})
            for name in obligations.names
        },
        "episodes": episodes,
    }


def _only_trees(students: Mapping[int, Student]) -> dict[int, Tree]:
    return {i: student for i, student in students.items() if isinstance(student, Tree)}


def answers_to_json(obligations: Obligations, verdicts: list[Verdict]) -> list[dict[str, Any]]:
    """Answers as plain values, counterexamples with names."""
    agents = obligations.scene.agents
    return [
        {
            "property": verdict.property,
            "answer": verdict.outcome,
            "holds": verdict.holds,
            "cases": verdict.cases,
            "broken": verdict.broken,
            "nowhere": verdict.nowhere,
            "problems": list(verdict.problems),
            "seconds": verdict.seconds,
            "counterexamples": [
                {
                    "case": example.obligation.description,
                    "observations": {
                        agents[i].name: dict(zip(agents[i].features, map(float, seen), strict=True))
                        for i, seen in example.observations.items()
                    },
                    "actions": {agents[i].name: agents[i].actions[a] for i, a in example.actions.items()},
                }
                for example in verdict.counterexamples
            ],
        }
        for verdict in verdicts
    ]


def _plain(estimate: Estimate) -> dict[str, float]:
    return {"mean": estimate.mean, "ci95": estimate.ci95}
