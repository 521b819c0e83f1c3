"""What trees are worth: trees, expert and yardsticks on the same unseen seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hydraviper.data import Estimate, InputError, Rollouts
from hydraviper.games import scripts
from hydraviper.profile import Profile
from hydraviper.protocols import Engine, Expert, Game, Student
from hydraviper.seeding import Purpose, rollout_seeds


def evaluate(
    game: Game, expert: Expert, students: Mapping[int, Student], engine: Engine, episodes: int, seed: int = 0
) -> dict[str, Any]:
    """Score, expert, measures, yardsticks and scripted opponents, as the fields that `--json` prints."""
    if episodes < 2:
        raise InputError(f"--episodes must be at least 2, not {episodes}: one episode has no interval.")
    seeds = rollout_seeds(seed, Purpose.EVALUATE, 0, episodes)
    trees = engine.play(Profile(expert, students), seeds)
    teacher = engine.play(Profile(expert), seeds)
    fields: dict[str, Any] = {
        "score": {
            "name": game.score.name,
            **_estimate(game, trees),
            "episodes": episodes,
            "lower_is_better": game.score.lower_is_better,
        },
        "expert": _estimate(game, teacher),
    }
    if trees.measures:
        fields["measures"] = {
            name: {"trees": _plain(Estimate.of(values)), "expert": _plain(Estimate.of(teacher.measures[name]))}
            for name, values in trees.measures.items()
        }
    if sticks := scripts.yardsticks(game):
        fields["yardsticks"] = {name: _estimate(game, engine.play(policy, seeds)) for name, policy in sticks.items()}
    if others := scripts.opponents(game):
        fields["opponents"] = {
            name: {
                "trees": _estimate(game, engine.play(Profile(expert, {**students, **rules}), seeds)),
                "expert": _estimate(game, engine.play(Profile(expert, rules), seeds)),
            }
            for name, rules in others.items()
        }
    return fields


def _estimate(game: Game, rollouts: Rollouts) -> dict[str, float]:
    return _plain(Estimate.of(game.score.of(rollouts.returns)))


def _plain(estimate: Estimate) -> dict[str, float]:
    return {"mean": estimate.mean, "ci95": estimate.ci95}
