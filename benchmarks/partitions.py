"""What a partition saves: `python -m benchmarks.partitions --expert FILE --critic FILE`.

The same expert with a joint critic (`hydraviper critic`) and with its local Q, as one team and as two by each method:
the largest team's joint actions, the time of the resample step, the score. Teams and processor times come first, since
they need few rollouts; then the runs. One file per cell; a cell that is finished never runs again, and no rollout is
played twice.
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import time
from pathlib import Path
from typing import Any

import numpy as np

import hydraviper
from hydraviper.dataset import Dataset
from hydraviper.engines.remembered import RememberedEngine
from hydraviper.experts import store
from hydraviper.experts.local_q import LocalQExpert
from hydraviper.games import catalogue
from hydraviper.ledger import Ledger
from hydraviper.runs import distil as runs
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.settings import PARTITIONS
from hydraviper.steps.partition import by_settings
from hydraviper.steps.resample import team_weights
from hydraviper.steps.task import Task
from hydraviper.trees.file import write_whole

WEIGHED = 250  # samples for the processor time per sample


def main() -> None:
    """Run what is missing and write the table."""
    asked = _asked()
    game = hydraviper.make(asked.game)
    experts = {
        "joint critic": hydraviper.load_expert(asked.critic, game),
        "local Q": hydraviper.load_expert(asked.expert, game),
    }
    journal = asked.out / "rollouts.journal"
    journal.parent.mkdir(parents=True, exist_ok=True)
    wanted = [
        (values, method)
        for method in PARTITIONS
        for values, expert in experts.items()
        if not (method.startswith("marginal") and isinstance(expert, LocalQExpert))  # needs a joint critic, and says so
    ]
    rows: list[dict[str, Any]] = []
    with hydraviper.LocalEngine(catalogue.maker(game), asked.workers) as place:
        engine = RememberedEngine(place, journal, runs.subject(game), store.policy_digest)
        for values, method in wanted:
            rows.append(_started(game, experts[values], engine, asked, values, method))
        for number, row in enumerate(rows):
            if row["score"] is None:
                _write(game, experts["joint critic"], asked, rows)
                rows[number] = _scored(game, experts[row["values"]], engine, asked, row)
            print(_line(rows[number]), flush=True)
        _write(game, experts["joint critic"], asked, rows)
    journal.unlink(missing_ok=True)


def _started(
    game: hydraviper.Game,
    expert: store.StoredExpert,
    engine: RememberedEngine,
    asked: argparse.Namespace,
    values: str,
    method: str,
) -> dict[str, Any]:
    """A cell from its file, or its teams and times."""
    path, wanted = _path(asked, values, method), _wanted(asked, method, expert)
    if path.exists() and (row := json.loads(path.read_text()))["wanted"] == wanted:
        return row
    settings = _settings(game, asked, method)
    teams = by_settings(Task(game, expert, engine, settings, Ledger()))
    row = {
        "values": values,
        "wanted": wanted,
        "partition": method,
        "teams": [[i + 1 for i in team] for team in teams],
        "largest": max(math.prod(len(game.agents[i].actions) for i in team) for team in teams),
        "milliseconds_per_sample": 1000 * _seconds_per_sample(game, expert, engine, settings, teams),
        "score": None,
    }
    write_whole(path, json.dumps(row, indent=1))
    return row


def _path(asked: argparse.Namespace, values: str, method: str) -> Path:
    return asked.out / "cells" / f"{values.replace(' ', '-').lower()}-{method}.json"


def _write(
    game: hydraviper.Game,
    critic: store.StoredExpert,
    asked: argparse.Namespace,
    rows: list[dict[str, Any]],
) -> None:
    """The table of what is finished, whole or not."""
    options = {name: value for name, value in vars(asked).items() if name != "out"}
    options |= {"expert": asked.expert.name, "critic": asked.critic.name}
    words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    result = {
        "command": shlex.join(["python", "-m", "benchmarks.partitions", *words]),
        "game": game.name,
        "score": game.score.name,
        "critic": dict(critic.about).get("fit"),
        "cells": {"finished": sum(row["score"] is not None for row in rows), "wanted": len(rows)},
        "rows": rows,
    }
    write_whole(asked.out / "partitions.json", json.dumps(result, indent=1))
    write_whole(asked.out / "README.md", _markdown(result, asked))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="ingolstadt-corridor")
    parser.add_argument("--expert", type=Path, required=True, help="an expert with a local Q")
    parser.add_argument("--critic", type=Path, required=True, help="the same with a joint critic")
    parser.add_argument("--teams", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=8)
    parser.add_argument("--train-budget", type=int, default=16)
    parser.add_argument("--valid-budget", type=int, default=16)
    parser.add_argument("--episodes", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/partitions"))
    return parser.parse_args()


def _wanted(asked: argparse.Namespace, method: str, expert: store.StoredExpert) -> dict[str, Any]:
    names = ("game", "teams", "iterations", "train_budget", "valid_budget", "episodes", "seed")
    return {**{name: getattr(asked, name) for name in names}, "method": method, "expert": store.digest(expert)}


def _settings(game: hydraviper.Game, asked: argparse.Namespace, method: str) -> hydraviper.Settings:
    return hydraviper.Settings(
        seed=asked.seed,
        iterations=asked.iterations,
        train_budget=asked.train_budget,
        valid_budget=asked.valid_budget,
        rollouts_per_iteration=game.recommended.rollouts_per_iteration,
        ucb_scale=game.recommended.ucb_scale,
        partition=method,
        teams=asked.teams,
    )


def _scored(
    game: hydraviper.Game,
    expert: store.StoredExpert,
    engine: RememberedEngine,
    asked: argparse.Namespace,
    row: dict[str, Any],
) -> dict[str, Any]:
    """Run a cell and put it into its file."""
    ledger = Ledger()
    result = hydraviper.distill(game, expert, _settings(game, asked, row["partition"]), engine=engine, ledger=ledger)
    seeds = rollout_seeds(0, Purpose.EVALUATE, 0, asked.episodes)
    played = {"score": result.profile, "expert": hydraviper.Profile(expert)}
    row = {
        **row,
        **{name: _estimate(game, engine.play(policy, seeds).returns) for name, policy in played.items()},
        "samples": ledger.lines[-1]["samples"] // len(result.teams),
        "resample_seconds": ledger.seconds["resample"],
        "rollouts": ledger.rollouts,
        "notes": ledger.notes,
    }
    write_whole(_path(asked, row["values"], row["partition"]), json.dumps(row, indent=1))
    return row


def _seconds_per_sample(
    game: hydraviper.Game,
    expert: store.StoredExpert,
    engine: RememberedEngine,
    settings: hydraviper.Settings,
    teams: tuple[hydraviper.Team, ...],
) -> float:
    """Processor time to weigh a sample for all teams; unlike the seconds of a run, a busy machine hardly changes it."""
    seeds = rollout_seeds(settings.seed, Purpose.COLLECT, 1, settings.rollouts_per_iteration)
    observations = engine.play(hydraviper.Profile(expert), seeds, record=True).observations or ()
    rows = np.linspace(0, len(observations[0]) - 1, WEIGHED).astype(int)
    seen = [own[rows] for own in observations]
    actions = expert.act(seen)
    task = Task(game, expert, engine, settings, Ledger())
    total = 0.0
    for team in teams:
        dataset = Dataset(team, [own.shape[1] for own in seen])
        dataset.extend(seen, actions, 1)
        team_weights(task, dataset, slice(0, 2))  # compile
        start = time.process_time()
        team_weights(task, dataset, slice(0, len(dataset)))
        total += time.process_time() - start
    return total / len(rows)


def _estimate(game: hydraviper.Game, returns: np.ndarray) -> dict[str, float]:
    scores = game.score.of(returns)
    return {"mean": float(scores.mean()), "ci95": hydraviper.Estimate.of(scores).ci95, "worst": float(scores.max())}


def _line(row: dict[str, Any]) -> str:
    teams = " ".join(str(team).replace(" ", "") for team in row["teams"])
    parts = [row["values"], row["partition"], teams, f"{row['largest']:,}", f"{row['milliseconds_per_sample']:.3f}"]
    if row["score"] is None:
        parts += ["", "", ""]
    else:
        score = row["score"]
        parts += [
            f"{row['resample_seconds']:.2f}",
            f"{score['mean']:.2f} ± {score['ci95']:.2f}",
            f"{score['worst']:.1f}",
        ]
    return f"| {' | '.join(parts)} |"


def _markdown(result: dict[str, Any], asked: argparse.Namespace) -> str:
    rows, cells = result["rows"], result["cells"]
    scored = [row for row in rows if row["score"] is not None]
    samples = sorted({row["samples"] for row in scored}) or [0]
    lines = [
        f"# Partitions of {result['game']}",
        "",
        f"    {result['command']}",
        "",
        f"{asked.train_budget} training and {asked.valid_budget} validation rollouts (the paper: 1,000 and 1,000), "
        f"{asked.iterations} iterations, one seed; {result['score']} (lower is better) of {asked.episodes} unseen "
        "episodes. Per sample: processor time to weigh a sample for all teams, in one thread. Resample: seconds of the "
        f"step in the run ({samples[0]:,} to {samples[-1]:,} samples), on a machine that was busy with other things.",
        "",
        "| values | partition | teams | largest team's joint actions | per sample, ms | resample, s | score | worst |",
        "|---|---|---|---|---|---|---|---|",
        *map(_line, sorted(rows, key=lambda row: row["values"])),
        "",
        *_conclusion(rows),
    ]
    if cells["finished"] < cells["wanted"]:
        lines += [f"**{cells['finished']} of {cells['wanted']} runs are finished**; the command goes on from here.", ""]
    if scored:
        expert = scored[0]["expert"]
        lines += [
            f"The expert itself on the same episodes: {expert['mean']:.2f} ± {expert['ci95']:.2f}. So few rollouts and "
            "one seed do not rank the methods by their score.",
            "",
        ]
    return "\n".join(lines)


def _conclusion(rows: list[dict[str, Any]]) -> list[str]:
    """What the table says, as far as it is filled."""
    said = []
    joint = [row for row in rows if row["values"] == "joint critic"]
    if len(joint) > 1 and joint[0]["partition"] == "none":
        fastest = min(joint[1:], key=_per_sample)
        said.append(
            f"With the joint critic, two teams by `{fastest['partition']}` weigh a sample "
            f"{_per_sample(joint[0]) / _per_sample(fastest):.0f} times faster than one team of all "
            f"({fastest['largest']:,} joint actions at most instead of {joint[0]['largest']:,})."
        )
    local = [row for row in rows if row["values"] == "local Q" and row["partition"] == "none"]
    if local:
        said.append(
            "With a local Q the team's mean is least where each agent's own value is least, so nothing is enumerated: "
            f"one team of all agents costs {_per_sample(local[0]):.3f} ms per sample, and there is nothing to cut. "
            "`marginal-metis` and `marginal-kmeans` need the joint critic, since a local value does not react to "
            "others."
        )
    return [" ".join(said), ""]


def _per_sample(row: dict[str, Any]) -> float:
    return row["milliseconds_per_sample"]


if __name__ == "__main__":
    main()
