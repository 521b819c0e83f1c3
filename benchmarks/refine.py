"""What refining gains: `python -m benchmarks.refine` prints a table, per game and seed, before and after.

Every cell is a small JSON file under results/refine/, not measured twice, so the study can be stopped and resumed;
`--again` measures all of them afresh. Seconds are those of the clock: beside them stand the seconds of processor time
that the search really had, because on a busy machine these are fewer.

    python -m benchmarks.refine                                       the particle worlds, 5 seeds
    python -m benchmarks.refine --games cologne-corridor --seeds 1 --expert mplight --rollouts 200 --episodes 300
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import hydraviper
from hydraviper.data import Estimate
from hydraviper.games import catalogue
from hydraviper.records import to_json
from hydraviper.refine.records import RefineSettings
from hydraviper.refine.search import refine
from hydraviper.runs.distil import refinement
from hydraviper.runs.run import trees_of
from hydraviper.trees import file

FOLDER = Path("results/refine")
CELLS = {  # per game: (features, seconds)
    "cooperative-navigation": [("plain", 10.0), ("plain", 120.0), ("derived", 10.0)],
    "physical-deception": [("plain", 10.0), ("derived", 10.0)],
}


def main() -> None:
    arguments = _arguments()
    for name in arguments.games.split(","):
        game = hydraviper.make(name)
        file_given = arguments.expert is not None and Path(arguments.expert).exists()
        expert = (
            hydraviper.load_expert(Path(arguments.expert), game)
            if file_given
            else hydraviper.shipped_expert(game, arguments.expert)
        )
        with hydraviper.LocalEngine(catalogue.maker(game), arguments.workers) as engine:
            for seed in range(arguments.seeds):
                students = _distilled(game, expert, engine, seed, _label(game, arguments))
                for features, settings in _settings(name, arguments):
                    _cell(game, expert, engine, students, seed, features, settings, arguments)
    print(table())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", default=",".join(CELLS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--expert", help="a file, or the name of a shipped one (mplight)")
    parser.add_argument("--rollouts", type=int, help="a budget of rollouts instead of seconds")
    parser.add_argument("--features", default="plain", help="with --rollouts: plain or derived")
    parser.add_argument("--episodes", type=int, default=20_000, help="unseen ones")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--most-seconds", type=float, default=1e9, help="leave out longer cells")
    parser.add_argument("--again", action="store_true")
    return parser.parse_args()


def _settings(name: str, arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    if arguments.rollouts is not None:
        yield arguments.features, {"rollouts": arguments.rollouts}
        return
    for features, seconds in CELLS[name]:
        if seconds <= arguments.most_seconds:
            yield features, {"seconds": seconds}


def _label(game: Any, arguments: argparse.Namespace) -> str:
    """The game, and the expert if it is not the usual one."""
    return game.name if arguments.expert is None else f"{game.name}-{Path(arguments.expert).stem}"


def _distilled(game: Any, expert: Any, engine: Any, seed: int, label: str) -> dict[int, Any]:
    """The low-budget trees of a seed, distilled once."""
    path = FOLDER / "trees" / f"{label}-{seed}.json"
    if path.exists():
        return hydraviper.load_trees(path).students(game)
    settings = hydraviper.settings_for(game.recommended, seed=seed)
    result = hydraviper.distill(game, expert, settings, engine=engine)
    file.save(trees_of(result), path)
    return hydraviper.load_trees(path).students(game)


def _cell(
    game: Any, expert: Any, engine: Any, students: Any, seed: int, features: str, limit: Any, arguments: Any
) -> None:
    words = f"{limit['seconds']:g}s" if "seconds" in limit else f"{limit['rollouts']}-rollouts"
    label = _label(game, arguments)
    path = FOLDER / "cells" / f"{label}-{seed}-{features}-{words}.json"
    if path.exists() and not arguments.again:
        return
    if game.width is None:  # compile before the clock runs
        refine(game, expert, students, engine, RefineSettings(rollouts=2000, features=features))
    busy = time.process_time()
    found = refine(game, expert, students, engine, RefineSettings(features=features, seed=seed, **limit))
    busy = time.process_time() - busy
    fields = to_json(refinement(game, expert, found, engine, arguments.episodes))
    cell = {"game": label, "seed": seed, "features": features, "limit": words, "processor_seconds": busy, **fields}
    file.write_whole(path, json.dumps(cell, indent=1))
    trees = {game.agents[i].name: tree.to_json() for i, tree in found.students.items()}
    file.write_whole(path.with_suffix(".trees.json"), json.dumps(trees))
    print(_line(cell), flush=True)


def _line(cell: dict[str, Any]) -> str:
    unseen = cell["unseen"]
    numbers = " | ".join(f"{unseen[k]['mean']:.2f} ± {unseen[k]['ci95']:.2f}" for k in ("before", "after", "gain"))
    spent = f"{cell['spent']['rollouts']:,} | {cell['processor_seconds']:.0f}"
    where = f"{cell['game']} | {cell['features']} | {cell['limit']} | {cell['seed']}"
    return f"| {where} | {numbers} | {cell['start']} | {spent} | {unseen['episodes']:,} |"


def table() -> str:
    """All cells that are there, and their means over seeds, as Markdown; also written to results/refine/README.md."""
    paths = [path for path in sorted((FOLDER / "cells").glob("*.json")) if not path.name.endswith(".trees.json")]
    cells = [json.loads(path.read_text()) for path in paths]
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for cell in cells:
        groups.setdefault((cell["game"], cell["features"], cell["limit"]), []).append(cell["unseen"])
    lines = ["| game | features | limit | seeds | before | after |", "|---|---|---|---|---|---|"]
    for (game, features, limit), own in groups.items():
        means = [np.mean([unseen[k]["mean"] for unseen in own]) for k in ("before", "after")]
        spread = f" ± {Estimate.of(np.array([unseen['after']['mean'] for unseen in own])).ci95:.2f}" if own[1:] else ""
        lines.append(f"| {game} | {features} | {limit} | {len(own)} | {means[0]:.2f} | {means[1]:.2f}{spread} |")
    head = "| game | features | limit | seed | before | after | gain | start | rollouts | processor s | unseen |"
    lines += ["", head, "|" + "---|" * 11, *map(_line, cells)]
    text = "\n".join(["# Refining", "", "`python -m benchmarks.refine` (means over seeds first)", "", *lines, ""])
    file.write_whole(FOLDER / "README.md", text)
    return text


if __name__ == "__main__":
    main()
