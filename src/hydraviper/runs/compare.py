"""Algorithms side by side: several seeds each, all scored on the same unseen episodes, with intervals over seeds."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from msgspec import structs

from hydraviper.algorithm import distill
from hydraviper.data import Estimate, InputError, Progress
from hydraviper.engines.counted import counted
from hydraviper.experts.worth import AnyExpert
from hydraviper.protocols import Game, offers
from hydraviper.records import AlgorithmScores, Comparison, Difference, Evaluation, Outcome, ScoreMeaning, encode
from hydraviper.runs import evaluate as evaluation
from hydraviper.runs.folder import check_new_file
from hydraviper.runs.opening import engine_for
from hydraviper.settings import Settings
from hydraviper.trees.file import write_whole
from hydraviper.variants import Variant

REFERENCE = "hydraviper"  # whom the others are compared with, seed by seed; the first one where it is not there


def compare(
    game: Game,
    expert: AnyExpert,
    variants: Sequence[Variant],
    settings: Settings,
    *,
    seeds: int,
    episodes: int,
    workers: int = 1,
    progress: Progress = lambda step, done, of: None,
) -> Comparison:
    """Run each algorithm with seeds 0 .. seeds - 1 and score every result on the same unseen episodes."""
    algorithms: dict[str, AlgorithmScores] = {}
    evaluations: list[Evaluation] = []
    with engine_for(game, workers) as engine:
        of = episodes * (1 + len(offers(game).scoring.yardsticks))
        telling = counted(game, engine, lambda played: progress("expert and yardsticks", played, of))
        references = evaluation.play_references(game, expert, telling, episodes)
        for variant in variants:
            evaluations, seconds, rollouts = [], [], {}
            for seed in range(seeds):
                start = time.perf_counter()
                own = replace(settings, seed=seed)
                steps = evaluation.beginning(f"{variant.name}: ", progress)
                distilled = distill(game, expert, own, variant, engine, progress=steps)
                seconds.append(time.perf_counter() - start)
                rollouts = rollouts or distilled.ledger.rollouts
                # the evaluation's own seed: every algorithm and seed meets the same episodes
                scores = evaluation.evaluate_profile(
                    game, distilled.profile, engine, episodes, references=references, watch=False
                )
                evaluations.append(scores)
                progress(variant.name, seed + 1, seeds)
            algorithms[variant.name] = _over_seeds(evaluations, seconds, rollouts)
    return Comparison(
        game=game.name,
        seeds=seeds,
        settings=settings.to_json(),
        algorithms=_with_differences(algorithms),
        expert=evaluations[0].expert,
        yardsticks=evaluations[0].yardsticks,
        score=ScoreMeaning(name=game.score.name, lower_is_better=game.score.lower_is_better, episodes=episodes),
    )


def _over_seeds(runs: Sequence[Evaluation], seconds: Sequence[float], rollouts: dict[str, int]) -> AlgorithmScores:
    scores = [run.score for run in runs]
    jams = {}
    if scores[0].jammed is not None:
        jams = {
            "median": float(np.median([score.median or 0.0 for score in scores])),
            "worst": max(score.worst or 0.0 for score in scores),
            "jammed": sum(score.jammed or 0 for score in scores),
            "nearly_jammed": sum(score.nearly_jammed or 0 for score in scores),
        }
    return AlgorithmScores(
        **structs.asdict(Estimate.of([score.mean for score in scores])),
        **jams,
        seconds=Estimate.of(seconds),
        rollouts=rollouts,
        scores=tuple(score.mean for score in scores),
        measures=_means([run.measures for run in runs]),
        opponents=_means([run.opponents for run in runs]),
    )


def _means(runs: Sequence[Mapping[str, Mapping[str, Estimate]]]) -> dict[str, dict[str, float]]:
    """The mean over seeds of what trees and expert have by name."""
    return {
        name: {who: float(np.mean([run[name][who].mean for run in runs])) for who in ("trees", "expert")}
        for name in runs[0]
    }


def _with_differences(algorithms: Mapping[str, AlgorithmScores]) -> dict[str, AlgorithmScores]:
    """Add each algorithm's difference from the reference: its score minus the reference's on the same seed."""
    reference = REFERENCE if REFERENCE in algorithms else next(iter(algorithms))

    def compared(row: AlgorithmScores) -> AlgorithmScores:
        apart = Estimate.of(np.subtract(row.scores, algorithms[reference].scores))
        return structs.replace(row, difference=Difference(**structs.asdict(apart), from_=reference))

    return {name: row if name == reference else compared(row) for name, row in algorithms.items()}


def to_markdown(result: Comparison, command: str) -> str:
    """The comparison as a table for people."""
    score = result.score
    better = "lower" if score.lower_is_better else "higher"
    reference = next((row.difference.from_ for row in result.algorithms.values() if row.difference), "")
    budget = f"{result.settings['train_budget']:,} / {result.settings['valid_budget']:,}"
    seeds = f"{result.seeds} seed" if result.seeds == 1 else f"{result.seeds} seeds"
    difference = f"minus {reference}'s, seed by seed" if reference else "difference"
    lines = [
        f"### {result.game}, {budget} rollouts",
        "",
        f"{score.name.capitalize()} ({better} is better), mean and 95 % interval over {seeds}, "
        f"{score.episodes:,} unseen episodes each. Made by `{command}`.",
        "",
        f"| policy | score | {difference} | seconds | rollouts (warm-up / train / valid) |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| expert | {result.expert.mean:.2f} | | | |"] if result.expert else []
    for name, row in result.algorithms.items():
        spent = " / ".join(f"{row.rollouts[key]:,}" for key in ("warmup", "train", "valid"))
        apart = str(row.difference) if row.difference else ""
        lines.append(f"| {name} | {row} | {apart} | {row.seconds:.1f} | {spent} |")
    lines += [f"| script: {name} | {row.mean:.2f} | | | |" for name, row in result.yardsticks.items()]
    lines += _jams(result) + _beside(result)
    return "\n".join(lines) + "\n"


def _jams(result: Comparison) -> list[str]:
    """Lines for the median, the worst and the jammed episodes, where a game can jam."""
    rows: dict[str, Outcome] = {"expert": result.expert} if result.expert else {}
    rows |= result.algorithms
    rows |= {f"script: {name}": row for name, row in result.yardsticks.items()}
    jams = [(name, row) for name, row in rows.items() if row.jammed is not None]
    lines = [
        f"| {name} | {row.median:.2f} | {row.worst:.2f} | {row.jammed} | {row.nearly_jammed} |" for name, row in jams
    ]
    header = [
        "",
        "| policy | median | worst | jammed episodes (algorithms: all seeds) | nearly |",
        "|---|---|---|---|---|",
    ]
    return header + lines if lines else []


def _beside(result: Comparison) -> list[str]:
    """Lines for measures beside the score and for scripted opponents."""
    lines = []
    against = f"{result.score.name} against the scripted adversary: "
    for prefix, of in (("", lambda row: row.measures), (against, lambda row: row.opponents)):
        for algorithm, row in result.algorithms.items():
            for name, values in of(row).items():
                lines.append(f"| {algorithm} | {prefix}{name} | {values['trees']:.3f} | {values['expert']:.3f} |")
    header = ["", "| algorithm | beside the score | trees | expert |", "|---|---|---|---|"]
    return header + lines if lines else []


def save(result: Comparison, path: Path, command: str) -> None:
    """Write the table as JSON and, beside it, as Markdown; the path is without an ending."""
    write_whole(path.with_name(path.name + ".json"), encode(structs.replace(result, command=command), indent=1))
    write_whole(path.with_name(path.name + ".md"), to_markdown(result, command))


def target(path: Path) -> Path:
    """The path without an ending to which both files go; refuses to write over one."""
    plain = path.with_suffix("") if path.suffix in (".json", ".md") else path
    if not plain.name:
        raise InputError(f"{path} is a folder: pass a file's name with --out.")
    for ending in (".json", ".md"):
        check_new_file(plain.with_name(plain.name + ending))
    return plain
