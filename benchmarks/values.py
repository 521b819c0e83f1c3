"""What an expert's values bring: `.venv-experts/bin/python -m benchmarks.values` (make test-experts), at the root.

The same policy is distilled with values of its own (an exact solution's, MADDPG's critics), with values by fitted
Q-evaluation, with its log-probabilities, and without any. The experts are those of examples/foreign, and for
cooperative navigation the one that ships. Scores go to results/values/; only what is missing there is run.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import hydraviper
from hydraviper.experts import worth
from hydraviper.experts.adapted import PREFERENCES, AdaptedQ
from hydraviper.experts.chains import Chain
from hydraviper.experts.local_q import LocalQExpert
from hydraviper.games import catalogue
from hydraviper.runs.evaluate import evaluate_profile, play_references

SETTINGS = hydraviper.Settings(iterations=20, train_budget=40, valid_budget=60, rollouts_per_iteration=10, depth=3)
EPISODES = 200
WAYS = {"PPO": ("policy", "fitted", "none"), "solved": ("own", "fitted", "none")}
WAYS["MADDPG"] = ("own", "policy", "fitted", "none")
EXPERTS = {"gymnasium:CartPole-v1": ("PPO", "sb3:examples/foreign/experts/cartpole.zip")}
EXPERTS["gymnasium:Acrobot-v1"] = ("PPO", "sb3:examples/foreign/experts/acrobot.zip")
EXPERTS["gymnasium:MountainCar-v0"] = ("solved", "python:examples.foreign.solved:MountainCar")
EXPERTS["cooperative-navigation"] = ("MADDPG", "")
RESULTS = Path(__file__).parents[1] / "results" / "values"


def main() -> None:
    """Run what is missing, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    RESULTS.mkdir(parents=True, exist_ok=True)
    file = RESULTS / "scores.json"
    scores: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    for game_name, (algorithm, _) in EXPERTS.items():
        for way in WAYS[algorithm]:
            key = f"{game_name} {algorithm} {way}"
            if len(scores.get(key, {}).get("scores", ())) < seeds:
                scores[key] = measured(game_name, way, seeds)
                file.write_text(json.dumps(scores, indent=1) + "\n")
                print(key, scores[key], flush=True)
    (RESULTS / "report.md").write_text(report(scores))


def measured(game_name: str, way: str, seeds: int) -> dict[str, Any]:
    """The scores of trees, a seed each, and of the expert, all on the same unseen episodes."""
    game = hydraviper.make(game_name)
    with hydraviper.LocalEngine(catalogue.maker(game)) as engine:
        policy = expert_of(game, game_name, way)
        expert = policy if way == "own" else worth.weighed(game, policy, way, engine)
        references = play_references(game, expert, engine, EPISODES)
        found = []
        for seed in range(seeds):
            result = hydraviper.distill(game, expert, replace(SETTINGS, seed=seed), engine=engine)
            found.append(evaluate_profile(game, result.profile, engine, EPISODES, references=references))
    return {"expert": found[0].expert.mean, "scores": [one.score.mean for one in found]}


def expert_of(game: Any, game_name: str, way: str) -> Any:
    """The policy; MADDPG's actors by themselves where its critics are not asked for."""
    algorithm, name = EXPERTS[game_name]
    if algorithm != "MADDPG":
        return hydraviper.load_expert(name, game)
    shipped = hydraviper.shipped_expert(game)
    if way == "own":
        return shipped
    chains = [Chain(net.layers[::2], net.layers[1::2], ("relu", "relu")) for net in shipped.actors]
    q_functions = (AdaptedQ(net, net.inputs, net.outputs, PREFERENCES, agent=i) for i, net in enumerate(chains))
    return LocalQExpert(tuple(q_functions), {"game": game.name, "settings": shipped.about["settings"]})


def report(scores: dict[str, Any]) -> str:
    """The table: a row per expert, a column per way to value its actions."""
    columns = ("own", "policy", "fitted", "none")
    lines = [
        "# What an expert's values bring",
        "",
        "`.venv-experts/bin/python -m benchmarks.values` (after `make test-experts`). Trees of depth "
        f"{SETTINGS.depth} by HYDRAVIPER, {SETTINGS.train_budget} training and {SETTINGS.valid_budget} validation "
        f"rollouts; mean over seeds with its 95 % interval, {EPISODES} unseen episodes each. Cooperative navigation: "
        "total penalty, lower is better; the others: return, higher is better.",
        "",
        f"| game | expert | its score | {' | '.join(columns)} |",
        "|---|---|---|" + "---|" * len(columns),
    ]
    for game, (algorithm, _) in EXPERTS.items():
        cells = [scores.get(f"{game} {algorithm} {way}") for way in columns]
        told = [hydraviper.Estimate.of(cell["scores"]) if cell else None for cell in cells]
        score = next((f"{cell['expert']:.1f}" for cell in cells if cell), "")
        row = [game, algorithm, score, *(f"{one:.1f}" if one else "-" for one in told)]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
