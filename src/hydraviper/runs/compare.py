"""Algorithms side by side: several seeds each, all scored on the same unseen episodes, with intervals over seeds."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hydraviper.algorithm import distill
from hydraviper.data import Estimate, InputError
from hydraviper.engines.local import LocalEngine
from hydraviper.experts.store import StoredExpert
from hydraviper.games import catalogue
from hydraviper.protocols import Game
from hydraviper.runs import evaluate as evaluation
from hydraviper.runs.folder import check_new_file
from hydraviper.settings import Settings
from hydraviper.trees.file import write_whole
from hydraviper.variants import Variant

REFERENCE = "hydraviper"  # whom the others are compared with, seed by seed; the first one where it is not there


def compare(
    game: Game,
    expert: StoredExpert,
    variants: Sequence[Variant],
    settings: Settings,
    seeds: int,
    episodes: int,
    workers: int,
    progress: Callable[[str, int, int], None],
) -> dict[str, Any]:
    """Run each algorithm with seeds 0 .. seeds - 1 and score every result on the same unseen episodes."""
    result: dict[str, Any] = {"game": game.name, "seeds": seeds, "settings": settings.to_json(), "algorithms": {}}
    with LocalEngine(catalogue.maker(game), workers) as engine:
        references = evaluation.play_references(game, expert, engine, episodes)
        for variant in variants:
            rows = []
            for seed in range(seeds):
                start = time.perf_counter()
                distilled = distill(game, expert, replace(settings, seed=seed), variant, engine)
                seconds = time.perf_counter() - start
                # the evaluation's own seed: every algorithm and seed meets the same episodes
                fields = evaluation.evaluate(
                    game, expert, distilled.profile.students, engine, episodes, references=references
                )
                rows.append({"seed": seed, "seconds": seconds, "rollouts": distilled.ledger.rollouts, **fields})
                progress(variant.name, seed + 1, seeds)
            result["algorithms"][variant.name] = _summary(rows)
            result.update({key: rows[0][key] for key in ("expert", "yardsticks") if key in rows[0]})
    _compare_on_common_seeds(result["algorithms"])
    result["score"] = {"name": game.score.name, "lower_is_better": game.score.lower_is_better, "episodes": episodes}
    return result


def _summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    score = Estimate.of([row["score"]["mean"] for row in rows])
    seconds = Estimate.of([row["seconds"] for row in rows])
    summary: dict[str, Any] = {
        "mean": score.mean,
        "ci95": _known(score.ci95),
        "seconds": {"mean": seconds.mean, "ci95": _known(seconds.ci95)},
        "rollouts": rows[0]["rollouts"],
        "scores": [row["score"]["mean"] for row in rows],
    }
    if "jammed" in rows[0]["score"]:
        summary["median"] = float(np.median([row["score"]["median"] for row in rows]))
        summary["worst"] = max(row["score"]["worst"] for row in rows)
        summary["jammed"] = sum(row["score"]["jammed"] for row in rows)
    for field in ("measures", "opponents"):
        if field in rows[0]:
            summary[field] = {
                name: {
                    who: float(np.mean([row[field][name][who]["mean"] for row in rows])) for who in ("trees", "expert")
                }
                for name in rows[0][field]
            }
    return summary


def _compare_on_common_seeds(rows: dict[str, Any]) -> None:
    """Add each algorithm's difference from the reference: its score minus the reference's on the same seed."""
    reference = REFERENCE if REFERENCE in rows else next(iter(rows))
    for name, row in rows.items():
        if name != reference:
            difference = Estimate.of(np.subtract(row["scores"], rows[reference]["scores"]))
            row["difference"] = {"from": reference, "mean": difference.mean, "ci95": _known(difference.ci95)}


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value  # JSON has no word for it


def _with_interval(value: dict[str, Any], digits: int) -> str:
    interval = "" if value["ci95"] is None else f" ± {value['ci95']:.{digits}f}"
    return f"{value['mean']:.{digits}f}{interval}"


def to_markdown(result: dict[str, Any], command: str) -> str:
    """The comparison as a table for people."""
    score = result["score"]
    better = "lower" if score["lower_is_better"] else "higher"
    reference = next((row["difference"]["from"] for row in result["algorithms"].values() if "difference" in row), "")
    budget = f"{result['settings']['train_budget']:,} / {result['settings']['valid_budget']:,}"
    lines = [
        f"### {result['game']}, {budget} rollouts",
        "",
        f"{score['name'].capitalize()} ({better} is better), mean and 95 % interval over {result['seeds']} seeds, "
        f"{score['episodes']:,} unseen episodes each. Made by `{command}`.",
        "",
        f"| policy | score | minus {reference}'s, seed by seed | seconds | rollouts (warm-up / train / valid) |",
        "|---|---|---|---|---|",
        f"| expert | {result['expert']['mean']:.2f} | | | |",
    ]
    for name, row in result["algorithms"].items():
        spent = " / ".join(f"{row['rollouts'][key]:,}" for key in ("warmup", "train", "valid"))
        apart = _with_interval(row["difference"], 2) if "difference" in row else ""
        lines.append(f"| {name} | {_with_interval(row, 2)} | {apart} | {_with_interval(row['seconds'], 1)} | {spent} |")
    for name, row in result.get("yardsticks", {}).items():
        lines.append(f"| script: {name} | {row['mean']:.2f} | | | |")
    lines += _jams(result) + _beside(result)
    return "\n".join(lines) + "\n"


def _jams(result: dict[str, Any]) -> list[str]:
    """Lines for the median, the worst and the jammed episodes, where a game can jam."""
    rows = {"expert": result["expert"], **result["algorithms"]}
    rows |= {f"script: {name}": row for name, row in result.get("yardsticks", {}).items()}
    lines = [
        f"| {name} | {row['median']:.2f} | {row['worst']:.2f} | {row['jammed']} |"
        for name, row in rows.items()
        if "jammed" in row
    ]
    header = [
        "",
        "| policy | median | worst | jammed episodes (algorithms: all seeds) |",
        "|---|---|---|---|",
    ]
    return header + lines if lines else []


def _beside(result: dict[str, Any]) -> list[str]:
    """Lines for measures beside the score and for scripted opponents."""
    lines = []
    for field, title in (("measures", "{name}"), ("opponents", "{score} against the scripted adversary: {name}")):
        for algorithm, row in result["algorithms"].items():
            for name, values in row.get(field, {}).items():
                words = title.format(name=name, score=result["score"]["name"])
                lines.append(f"| {algorithm} | {words} | {values['trees']:.3f} | {values['expert']:.3f} |")
    header = ["", "| algorithm | beside the score | trees | expert |", "|---|---|---|---|"]
    return header + lines if lines else []


def save(result: dict[str, Any], path: Path, command: str) -> None:
    """Write the table as JSON and, beside it, as Markdown; the path is without an ending."""
    write_whole(path.with_name(path.name + ".json"), json.dumps({**result, "command": command}, indent=1))
    write_whole(path.with_name(path.name + ".md"), to_markdown(result, command))


def target(path: Path) -> Path:
    """The path without an ending to which both files go; refuses to write over one."""
    plain = path.with_suffix("") if path.suffix in (".json", ".md") else path
    if not plain.name:
        raise InputError(f"{path} is a folder: pass a file's name with --out.")
    for ending in (".json", ".md"):
        check_new_file(plain.with_name(plain.name + ending))
    return plain
