"""What trees are worth: trees, expert and yardsticks on the same unseen seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from msgspec import structs

from hydraviper.algorithm import Distilled
from hydraviper.data import Estimate, InputError, Progress, Rollouts, StreetRecord
from hydraviper.engines.counted import counted
from hydraviper.profile import Profile
from hydraviper.protocols import Engine, Expert, Game, Policy, Student, offers
from hydraviper.records import AtDemand, Course, Evaluation, Outcome, OverTime, ScoreRecord, Summary
from hydraviper.rollout import Watched
from hydraviper.runs.opening import engine_for, episodes_for, playing
from hydraviper.runs.remarks import remarks
from hydraviper.runs.run import Source, opened
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.settings import DEMAND, EPISODES

NEARLY = 0.5  # of the score above which an episode is jammed: it is nearly so
SMOOTHED = 3.0  # minutes of the running mean in which a score is followed through an episode


def evaluate(
    run: Source,
    *,
    episodes: int | None = None,
    seed: int = 0,
    demand: Sequence[float] = (),
    engine: Engine | None = None,
    workers: int = 1,
    progress: Progress = lambda step, done, of: None,
) -> Summary:
    """Score trees, expert and yardsticks on the same unseen episodes (default: as many as suit the game).

    Other seeds are other episodes. `demand` are factors: everybody plays also with so many times the traffic.
    `run` is a run, what `distill` returned, a run's folder or a trees.json.
    """
    if isinstance(run, Distilled):
        game, profile, algorithm, path = run.game, run.profile, run.algorithm, None
    else:
        run = opened(run)
        game, profile = run.game, Profile(students=run.students, expert=run.expert)
        algorithm, path, workers = run.trees.made["algorithm"], run.path, run.workers
    others, count = at_demands(game, demand), episodes_for(game, episodes)
    with playing(game, engine, workers) as engine:
        scores = evaluate_profile(game, profile, engine, count, seed, progress=progress)
    busier = []
    for factor, other in others.items():
        if other is game:
            found = scores
        else:
            with engine_for(other, workers) as own_engine:
                found = evaluate_profile(
                    other, profile, own_engine, count, seed, progress=beginning(f"demand {factor:g}: ", progress)
                )
        busier.append(AtDemand(**structs.asdict(structs.replace(found, over_time=None)), factor=factor))
    where = None if path is None else str(path)
    whole = {"game": game.name, "algorithm": algorithm, "seed": seed, "run": where, "demand": tuple(busier)}
    whole["notes"] = remarks(game, profile.students, scores)
    return Summary(**structs.asdict(scores), **whole)


def beginning(words: str, progress: Progress) -> Progress:
    """Progress whose steps begin with some words, so that those of like work are told apart."""
    return lambda step, done, of: progress(words + step, done, of)


def at_demands(game: Game, factors: Sequence[float]) -> dict[float, Game]:
    """The game with so many times its traffic, by factor; once is the game itself."""
    make = offers(game).scoring.with_demand
    if factors and make is None:
        raise InputError(f"{game.name} has no traffic of which there could be more or less: leave --demand out.")
    for factor in factors:
        DEMAND.check("--demand", factor)
    return {factor: game if make is None or factor == 1 else make(factor) for factor in factors}


@dataclass(frozen=True)
class References:
    """What trees are compared with, played once however many trees there are."""

    seeds: np.ndarray  # uint64 [E]
    expert: Rollouts
    yardsticks: Mapping[str, Rollouts]


def play_references(
    game: Game, expert: Expert, engine: Engine, episodes: int, seed: int = 0, *, watch: bool = False
) -> References:
    """Play the expert and the game's yardsticks on the seeds of an evaluation; `watch` those worth a close look."""
    EPISODES.check("--episodes", episodes)
    seeds, scoring = rollout_seeds(seed, Purpose.EVALUATE, 0, episodes), offers(game).scoring
    watched = scoring.closely.beside if watch and scoring.closely else ()
    return References(
        seeds,
        engine.play(Profile(expert), seeds),
        {
            name: engine.play(Watched(policy) if name in watched else policy, seeds)
            for name, policy in scoring.yardsticks.items()
        },
    )


def evaluate_profile(
    game: Game,
    profile: Profile,
    engine: Engine,
    episodes: int,
    seed: int = 0,
    references: References | None = None,
    *,
    watch: bool = True,
    earlier: Mapping[str, Policy] | None = None,
    progress: Progress = lambda step, done, of: None,
) -> Evaluation:
    """Score trees, expert and yardsticks on the same unseen episodes, and the trees against scripted opponents.

    Where a game can tell of its parts, the trees' episodes are watched for that. Of `earlier` policies, only how far
    the trees are from them is told.
    """
    students, expert = profile.students, profile.expert
    policies = (1 if students else 0) + len(earlier or {}) + 2 * len(offers(game).scoring.opponents)
    policies += 0 if references else 1 + len(offers(game).scoring.yardsticks)
    of = policies * episodes
    engine = counted(game, engine, lambda played: progress("evaluated", min(played, of), of))
    references = references or play_references(game, expert, engine, episodes, seed, watch=watch)
    teacher, seeds = references.expert, references.seeds
    trees = engine.play(Watched(profile) if watch else profile, seeds) if students else teacher
    jam, minutes = jam_threshold(game, references), offers(game).scoring.step_minutes
    everybody = {**({"trees": trees} if students else {}), "expert": teacher, **references.yardsticks}
    sides = {"trees": trees, "expert": teacher, **references.yardsticks}
    apart = {name: _difference(game, trees, other) for name, other in sides.items() if students and name != "trees"}
    apart |= {name: _difference(game, trees, engine.play(one, seeds)) for name, one in (earlier or {}).items()}
    return Evaluation(
        score=score_record(game, trees, jam),
        expert=outcome(game, teacher, jam),
        difference=apart.pop("expert", None),
        differences=apart,
        measures={
            name: {who: Estimate.of(played.measures[name]) for who, played in sides.items()}
            for name, values in trees.measures.items()
            if values.ndim == 1
        },
        yardsticks={name: outcome(game, played, jam) for name, played in references.yardsticks.items()},
        opponents=_against_scripts(game, expert, students, engine, seeds),
        over_time=None if minutes is None else over_time(game, minutes, everybody),
        **closer_look(game, everybody),
    )


class CloserLook(TypedDict, total=False):
    """The parts of an evaluation that only games with signals have."""

    streets: dict[str, tuple[StreetRecord, ...]]
    shown: dict[str, dict[str, float]]


def _difference(game: Game, first: Rollouts, second: Rollouts) -> Estimate:
    """Of two scores on the same episodes, so that their luck is no part of it."""
    return Estimate.of(game.score.of(first.returns) - game.score.of(second.returns))


def closer_look(
    game: Game, who: Mapping[str, Rollouts], streets: Mapping[str, tuple[StreetRecord, ...]] | None = None
) -> CloserLook:
    """What episodes that were watched tell of the game's parts, for an evaluation; `streets` is known already."""
    closely = offers(game).scoring.closely
    if closely is None:
        return {}
    streets = {**(streets or {}), **{name: closely.streets(played.measures) for name, played in who.items()}}
    return {
        "streets": {name: table for name, table in streets.items() if table},
        "shown": closely.shown(who["trees"].measures) if "trees" in who else {},
    }


def _against_scripts(
    game: Game, expert: Expert, students: Mapping[int, Student], engine: Engine, seeds: np.ndarray
) -> dict[str, dict[str, Outcome]]:
    """Trees and expert against every script that the other side can play."""
    return {
        name: {
            who: outcome(game, engine.play(Profile(expert, {**mine, **script}), seeds))
            for who, mine in {"trees": students, "expert": {}}.items()
        }
        for name, script in offers(game).scoring.opponents.items()
    }


def score_record(game: Game, rollouts: Rollouts, jam: float | None = None) -> ScoreRecord:
    """A score with its name and direction; `jam` is the score above which an episode is jammed."""
    return ScoreRecord(
        **structs.asdict(outcome(game, rollouts, jam)),
        name=game.score.name,
        episodes=rollouts.episodes,
        lower_is_better=game.score.lower_is_better,
        jam_threshold=jam,
        unit=game.score.unit if game.score.unit and game.score.unit not in game.score.name else None,
    )


def outcome(game: Game, rollouts: Rollouts, jam: float | None = None) -> Outcome:
    """The score of some rollouts."""
    scores = game.score.of(rollouts.returns)
    estimate = structs.asdict(Estimate.of(scores))
    if jam is None:
        return Outcome(**estimate)
    nearly = (scores > NEARLY * jam) & (scores <= jam)
    return Outcome(
        **estimate,
        median=float(np.median(scores)),
        worst=float(scores.max()),
        jammed=int((scores > jam).sum()),
        nearly_jammed=int(nearly.sum()),
    )


def over_time(game: Game, step_minutes: float, who: Mapping[str, Rollouts]) -> OverTime:
    """How the score runs through an episode: per step the median, the middle 80 % and the worst episode's.

    Every episode is smoothed by a running mean first, because signals make queues come and go.
    """
    policies = {}
    window = 1 + 2 * min(round(SMOOTHED / step_minutes / 2), game.horizon // 16)  # odd, so that it has a middle
    for name, played in who.items():
        if played.trace is None:
            continue
        scores = game.score.of(played.returns)
        worst = int(scores.argmax() if game.score.lower_is_better else scores.argmin())
        reached = ~np.isnan(played.trace).all(axis=0)  # steps that some episode has
        trace = _running_mean(played.trace[:, reached], window)
        low, median, high = (_rounded(line) for line in np.nanpercentile(trace, (10, 50, 90), axis=0))
        policies[name] = Course(low=low, median=median, high=high, worst=_rounded(trace[worst]))
    smoothed = window * step_minutes if window > 1 else 0.0
    return OverTime(step_minutes=step_minutes, smoothed_minutes=smoothed, policies=policies)


def _running_mean(values: np.ndarray, window: int) -> np.ndarray:
    """The mean of what is there around each column, [E, T]; what is not there stays so."""
    there = ~np.isnan(values)
    padding = ((0, 0), (window // 2, window // 2))
    sums, counts = (
        np.lib.stride_tricks.sliding_window_view(np.pad(part, padding), window, axis=1).sum(axis=2)
        for part in (np.where(there, values, 0.0), there.astype(float))
    )
    return np.where(there, sums / np.maximum(counts, 1), np.nan)


def _rounded(values: np.ndarray) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(value) else round(float(value), 2) for value in values)


def jam_threshold(game: Game, references: References) -> float | None:
    """The score above which an episode is jammed: the best yardstick's median, times what the game says.

    None for a game that cannot jam, or one whose yardsticks have no score above zero to multiply.
    """
    multiple = offers(game).scoring.jam_multiple
    if multiple is None or not game.score.lower_is_better or not references.yardsticks:
        return None
    best = min(float(np.median(game.score.of(played.returns))) for played in references.yardsticks.values())
    return best * multiple if best > 0 else None
