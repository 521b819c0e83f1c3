"""What an expert's values bring where it has no Q: `.venv-experts/bin/python -m benchmarks.values` (make test-experts).

The same policy is distilled with values of its own (a DQN's Q, MADDPG's critics), with values by fitted Q-evaluation,
with its log-probabilities, and without any. CartPole and Acrobot by Stable-Baselines3, whose PPO and DQN are trained
first where the folder does not have them; cooperative navigation by the expert that ships. Scores go to
results/values/; only what is missing there is run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
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
WAYS = {"PPO": ("policy", "fitted", "none"), "DQN": ("own", "fitted", "none")}
WAYS["MADDPG"] = ("own", "policy", "fitted", "none")
GAMES = {"gymnasium:CartPole-v1": ("PPO", "DQN"), "gymnasium:Acrobot-v1": ("PPO", "DQN")}
GAMES["cooperative-navigation"] = ("MADDPG",)
RESULTS = Path(__file__).parents[1] / "results" / "values"


def main() -> None:
    """Run what is missing, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--experts", type=Path, default=Path("experts"), help="a folder of GAME-ALGORITHM.zip files")
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    file = RESULTS / "scores.json"
    scores: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    for game_name, algorithms in GAMES.items():
        for algorithm in algorithms:
            for way in WAYS[algorithm]:
                key = f"{game_name} {algorithm} {way}"
                if len(scores.get(key, {}).get("scores", ())) < arguments.seeds:
                    scores[key] = measured(game_name, algorithm, way, arguments)
                    file.write_text(json.dumps(scores, indent=1) + "\n")
                    print(key, scores[key], flush=True)
    (RESULTS / "report.md").write_text(report(scores))


def measured(game_name: str, algorithm: str, way: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """The scores of trees, a seed each, and of the expert, all on the same unseen episodes."""
    game = hydraviper.make(game_name)
    with hydraviper.LocalEngine(catalogue.maker(game)) as engine:
        policy = expert_of(game, game_name, algorithm, way, arguments.experts)
        expert = policy if way == "own" else worth.weighed(game, policy, way, engine)
        references = play_references(game, expert, engine, EPISODES)
        found = []
        for seed in range(arguments.seeds):
            result = hydraviper.distill(game, expert, replace(SETTINGS, seed=seed), engine=engine)
            found.append(evaluate_profile(game, result.profile, engine, EPISODES, references=references))
    return {"expert": found[0].expert.mean, "scores": [one.score.mean for one in found]}


def expert_of(game: Any, game_name: str, algorithm: str, way: str, folder: Path) -> Any:
    """The policy; MADDPG's actors by themselves where its critics are not asked for."""
    if algorithm == "MADDPG":
        shipped = hydraviper.shipped_expert(game)
        if way == "own":
            return shipped
        chains = [Chain(net.layers[::2], net.layers[1::2], ("relu", "relu")) for net in shipped.actors]
        q_functions = (AdaptedQ(net, net.inputs, net.outputs, PREFERENCES, agent=i) for i, net in enumerate(chains))
        return LocalQExpert(tuple(q_functions), {"game": game.name, "settings": shipped.about["settings"]})
    identity = game_name.removeprefix("gymnasium:")
    path = folder / f"{identity}-{algorithm}.zip"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        TRAINED[algorithm](identity, path)
    return hydraviper.load_expert(f"sb3:{path}", game)


def ppo(identity: str, path: Path) -> None:
    """Train PPO by Stable-Baselines3."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)
    settings: dict[str, Any] = {"n_steps": 128, "n_epochs": 4, "gae_lambda": 0.94}
    if identity.startswith("CartPole"):
        settings = {"n_steps": 32, "batch_size": 256, "n_epochs": 20, "gae_lambda": 0.8, "gamma": 0.98}
        settings |= {"learning_rate": lambda left: 1e-3 * left, "clip_range": lambda left: 0.2 * left}
    model = PPO("MlpPolicy", make_vec_env(identity, 8, seed=0), **settings, seed=0, device="cpu")
    model.learn(60_000 if identity.startswith("CartPole") else 100_000)
    model.save(path)


def dqn(identity: str, path: Path) -> None:
    """Train DQN by Stable-Baselines3; of its states, the one that scored best."""
    import gymnasium
    import torch
    from stable_baselines3 import DQN
    from stable_baselines3.common.callbacks import EvalCallback, StopTrainingOnRewardThreshold

    torch.set_num_threads(1)
    enough = StopTrainingOnRewardThreshold(499.9 if identity.startswith("CartPole") else -80.0)
    kept = EvalCallback(
        gymnasium.make(identity),
        callback_on_new_best=enough,
        eval_freq=1024,
        n_eval_episodes=20,
        best_model_save_path=str(path.with_suffix("")),
        verbose=0,
    )
    settings: dict[str, Any] = {"learning_rate": 2.3e-3, "batch_size": 64, "buffer_size": 100_000}
    settings |= {"learning_starts": 1000, "target_update_interval": 10, "train_freq": 256, "gradient_steps": 128}
    settings |= {"exploration_fraction": 0.16, "exploration_final_eps": 0.04, "policy_kwargs": {"net_arch": [256, 256]}}
    DQN("MlpPolicy", identity, **settings, seed=0, device="cpu").learn(60_000, callback=kept)
    (path.with_suffix("") / "best_model.zip").replace(path)


TRAINED: dict[str, Callable[[str, Path], None]] = {"PPO": ppo, "DQN": dqn}


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
    for game, algorithms in GAMES.items():
        for algorithm in algorithms:
            cells = [scores.get(f"{game} {algorithm} {way}") for way in columns]
            told = [hydraviper.Estimate.of(cell["scores"]) if cell else None for cell in cells]
            score = next((f"{cell['expert']:.1f}" for cell in cells if cell), "")
            row = [game, algorithm, score, *(f"{one:.1f}" if one else "-" for one in told)]
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
