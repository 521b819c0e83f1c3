"""What trees are worth: trees, expert and yardsticks on the same unseen seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hydraviper.data import Estimate, Rollouts
from hydraviper.profile import Profile
from hydraviper.protocols import Engine, Expert, Game, Student, offers
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.settings import EPISODES

SMOOTHED = 3.0  # minutes of the running mean in which a score is followed through an episode


@dataclass(frozen=True)
class References:
    """What trees are compared with, played once however many trees there are."""

    seeds: np.ndarray  # uint64 [E]
    expert: Rollouts
    yardsticks: Mapping[str, Rollouts]


def play_references(game: Game, expert: Expert, engine: Engine, episodes: int, seed: int = 0) -> References:
    """Play the expert and the game's yardsticks on the seeds of an evaluation."""
    EPISODES.check("--episodes", episodes)
    seeds = rollout_seeds(seed, Purpose.EVALUATE, 0, episodes)
    return References(
        seeds,
        engine.play(Profile(expert), seeds),
        {name: engine.play(policy, seeds) for name, policy in offers(game).scoring.yardsticks.items()},
    )


def evaluate(
    game: Game,
    expert: Expert,
    students: Mapping[int, Student],
    engine: Engine,
    episodes: int,
    seed: int = 0,
    references: References | None = None,
) -> dict[str, Any]:
    """Score, expert, measures, yardsticks and scripted opponents, as the fields that `--json` prints."""
    references = references or play_references(game, expert, engine, episodes, seed)
    teacher, seeds = references.expert, references.seeds
    trees = engine.play(Profile(expert, students), seeds) if students else teacher
    jam = jam_threshold(game, references)
    fields: dict[str, Any] = {
        "score": score_fields(game, trees, jam),
        "expert": _estimate(game, teacher, jam),
    }
    if students:  # on the same episodes, so that their luck is no part of it
        apart = game.score.of(trees.returns) - game.score.of(teacher.returns)
        fields["difference"] = _plain(Estimate.of(apart))
    if trees.measures:
        fields["measures"] = {
            name: {
                "trees": _plain(Estimate.of(values)),
                "expert": _plain(Estimate.of(teacher.measures[name])),
                **{rule: _plain(Estimate.of(played.measures[name])) for rule, played in references.yardsticks.items()},
            }
            for name, values in trees.measures.items()
        }
    if references.yardsticks:
        fields["yardsticks"] = {name: _estimate(game, played, jam) for name, played in references.yardsticks.items()}
    who = {**({"trees": trees} if students else {}), "expert": teacher, **references.yardsticks}
    scoring = offers(game).scoring
    if scoring.step_minutes is not None:
        fields["over_time"] = over_time(game, scoring.step_minutes, who)
    if scoring.opponents:
        fields["opponents"] = {
            name: {
                "trees": _estimate(game, engine.play(Profile(expert, {**students, **rules}), seeds)),
                "expert": _estimate(game, engine.play(Profile(expert, rules), seeds)),
            }
            for name, rules in scoring.opponents.items()
        }
    return fields


def score_fields(game: Game, rollouts: Rollouts, jam: float | None = None) -> dict[str, Any]:
    """What is told about a score, as the field that `--json` prints."""
    fields: dict[str, Any] = {
        "name": game.score.name,
        **_estimate(game, rollouts, jam),
        "episodes": rollouts.episodes,
        "lower_is_better": game.score.lower_is_better,
    }
    return fields if jam is None else {**fields, "jam_threshold": jam}


def over_time(game: Game, step_minutes: float, who: Mapping[str, Rollouts]) -> dict[str, Any]:
    """How the score runs through an episode: per step the median, the middle 80 % and the worst episode's.

    Every episode is smoothed by a running mean first, because signals make queues come and go.
    """
    policies: dict[str, Any] = {}
    window = 1 + 2 * min(round(SMOOTHED / step_minutes / 2), game.horizon // 16)  # odd, so that it has a middle
    for name, played in who.items():
        if played.trace is None:
            continue
        scores = game.score.of(played.returns)
        worst = int(scores.argmax() if game.score.lower_is_better else scores.argmin())
        reached = ~np.isnan(played.trace).all(axis=0)  # steps that some episode has
        trace = _running_mean(played.trace[:, reached], window)
        low, median, high = np.nanpercentile(trace, (10, 50, 90), axis=0)
        lines = {"low": low, "median": median, "high": high, "worst": trace[worst]}
        policies[name] = {line: [_rounded(value) for value in values] for line, values in lines.items()}
    smoothed = window * step_minutes if window > 1 else 0.0
    return {"step_minutes": step_minutes, "smoothed_minutes": smoothed, "policies": policies}


def _running_mean(values: np.ndarray, window: int) -> np.ndarray:
    """The mean of what is known around each column, [E, T]; what is not known stays so."""
    known = ~np.isnan(values)
    padding = ((0, 0), (window // 2, window // 2))
    sums, counts = (
        np.lib.stride_tricks.sliding_window_view(np.pad(part, padding), window, axis=1).sum(axis=2)
        for part in (np.where(known, values, 0.0), known.astype(float))
    )
    return np.where(known, sums / np.maximum(counts, 1), np.nan)


def _rounded(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 2)


def jam_threshold(game: Game, references: References) -> float | None:
    """The score above which an episode is jammed: the best yardstick's median, times what the game says.

    None for a game that cannot jam, or one whose yardsticks have no score above zero to multiply.
    """
    multiple = offers(game).scoring.jam_multiple
    if multiple is None or not game.score.lower_is_better or not references.yardsticks:
        return None
    best = min(float(np.median(game.score.of(played.returns))) for played in references.yardsticks.values())
    return best * multiple if best > 0 else None


def _estimate(game: Game, rollouts: Rollouts, jam: float | None = None) -> dict[str, float]:
    scores = game.score.of(rollouts.returns)
    fields = _plain(Estimate.of(scores))
    if jam is not None:
        fields |= {
            "median": float(np.median(scores)),
            "worst": float(scores.max()),
            "jammed": int((scores > jam).sum()),
        }
    return fields


def _plain(estimate: Estimate) -> dict[str, float]:
    return {"mean": estimate.mean, "ci95": estimate.ci95}
