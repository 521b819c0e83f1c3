"""What constraints cost: trees with and without them, distilled and scored alike on the same seeds."""

from collections.abc import Mapping

import numpy as np
from msgspec import structs

from hydraviper.algorithm import distill
from hydraviper.data import Estimate, Progress
from hydraviper.profile import Profile
from hydraviper.protocols import Engine, Expert, Game, Student
from hydraviper.records import Paired, Prices, PropertyPrice
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.settings import Settings
from hydraviper.trees.tree import Tree
from hydraviper.variants import Variant
from hydraviper.verify.constraints import Constraints
from hydraviper.verify.prover.proof import verify


def paired(game: Game, before: np.ndarray, after: np.ndarray) -> Paired:
    """Two scores [E] on the same seeds, and their difference; a cost above 0 is a loss, whichever way is better."""
    sign = 1.0 if game.score.lower_is_better else -1.0
    cost = Estimate.of(sign * (after - before))
    return Paired(without=Estimate.of(before), with_=Estimate.of(after), cost=cost)


def price(
    game: Game,
    expert: Expert,
    settings: Settings,
    variant: Variant,
    engine: Engine,
    constraints: Constraints,
    students: Mapping[int, Student],
    *,
    episodes: int,
    each: bool = True,
    progress: Progress = lambda step, done, of: None,
) -> Prices:
    """What all constraints cost together, and, with `each`, every property by itself; `students` keep all of them.

    For every price the trees are distilled once more, with the same settings and seeds.
    """
    obligations = constraints.obligations
    seeds = rollout_seeds(0, Purpose.EVALUATE, 0, episodes)
    subsets = [None, *(obligations.only([name]) for name in obligations.names if each and len(obligations.names) > 1)]
    trees: list[Mapping[int, Student]] = []
    for number, subset in enumerate(subsets):
        progress("prices", number, len(subsets))
        keeping = None if subset is None else Constraints(subset)
        trees.append(distill(game, expert, settings, variant, engine, constraints=keeping).profile.students)
    progress("prices", len(subsets), len(subsets))
    played = engine.play_many([Profile(expert, group) for group in [*trees, students]], [seeds] * (len(trees) + 1))
    free, *alone, together = (game.score.of(rollouts.returns) for rollouts in played)
    verdicts = {verdict.property: verdict for verdict in verify(obligations, _only_trees(trees[0]))}
    scores = dict(
        zip(obligations.names, alone if alone else [together] * (each or len(obligations.names) == 1), strict=False)
    )
    return Prices(
        all=paired(game, free, together),
        each={
            name: PropertyPrice(
                holds_without=verdicts[name].holds,
                answer_without=verdicts[name].outcome,
                **(structs.asdict(paired(game, free, scores[name])) if name in scores else {}),
            )
            for name in obligations.names
        },
        episodes=episodes,
    )


def _only_trees(students: Mapping[int, Student]) -> dict[int, Tree]:
    return {i: student for i, student in students.items() if isinstance(student, Tree)}
