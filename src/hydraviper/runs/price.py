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
from hydraviper.verify.proof import Answer, verify
from hydraviper.verify.resolve import Rules


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
    rules = constraints.rules
    seeds = rollout_seeds(0, Purpose.EVALUATE, 0, episodes)
    runs = [None, *(rules.only([name]) for name in rules.names if each and len(rules.names) > 1)]
    trees: list[Mapping[int, Student]] = []
    for number, part in enumerate(runs):
        progress("prices", number, len(runs))
        limits = None if part is None else Constraints(part)
        trees.append(distill(game, expert, settings, variant, engine, constraints=limits).profile.students)
    progress("prices", len(runs), len(runs))
    played = engine.play_many([Profile(expert, own) for own in [*trees, students]], [seeds] * (len(trees) + 1))
    free, *alone, together = (game.score.of(rollouts.returns) for rollouts in played)
    known = {answer.property: answer for answer in verify(rules, _only_trees(trees[0]))}
    costs = dict(zip(rules.names, alone if alone else [together] * (each or len(rules.names) == 1), strict=False))
    return {
        "all": paired(game, free, together),
        "each": {
            name: {"holds without": known[name].holds, "answer without": known[name].answer}
            | (paired(game, free, costs[name]) if name in costs else {})
            for name in rules.names
        },
        "episodes": episodes,
    }


def _only_trees(students: Mapping[int, Student]) -> dict[int, Tree]:
    return {i: student for i, student in students.items() if isinstance(student, Tree)}


def answers_to_json(rules: Rules, answers: list[Answer]) -> list[dict[str, Any]]:
    """Answers as plain values, counterexamples with names."""
    agents = rules.scene.agents
    return [
        {
            "property": answer.property,
            "answer": answer.answer,
            "holds": answer.holds,
            "cases": answer.cases,
            "broken": answer.broken,
            "nowhere": answer.nowhere,
            "problems": list(answer.problems),
            "seconds": answer.seconds,
            "counterexamples": [
                {
                    "case": example.rule.words,
                    "observations": {
                        agents[i].name: dict(zip(agents[i].features, map(float, seen), strict=True))
                        for i, seen in example.observations.items()
                    },
                    "actions": {agents[i].name: agents[i].actions[a] for i, a in example.actions.items()},
                }
                for example in answer.counterexamples
            ],
        }
        for answer in answers
    ]


def _plain(estimate: Estimate) -> dict[str, float]:
    return {"mean": estimate.mean, "ci95": estimate.ci95}
