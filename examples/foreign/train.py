"""Train the experts of the study of other people's games by Stable-Baselines3: `python examples/foreign/train.py`.

    .venv-experts/bin/python examples/foreign/train.py                    # all of them, about half an hour of one core
    .venv-experts/bin/python examples/foreign/train.py cartpole tag       # some of them

Every expert is a file in examples/foreign/experts, made from seed 0. The files are committed, so that the study
(foreign.toml) runs without this. Games of one agent: PPO with settings close to those of RL Baselines3 Zoo; MountainCar
(solved.py) and LunarLander (lander.py) need no training. Games of several agents: a PPO for each role (all adversaries
share one), which learn in turn while the others play as they have learnt so far (roles.py). Tic-tac-toe: MaskablePPO
against an opponent that moves at random (first_player.py).
"""

import argparse
import time
from pathlib import Path

import torch
from first_player import tic_tac_toe
from roles import learn_in_turn, write
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

EXPERTS = Path(__file__).parent / "experts"
SEED = 0


def cartpole() -> None:
    """PPO, 60,000 steps."""
    settings = {"n_steps": 32, "batch_size": 256, "n_epochs": 20, "gae_lambda": 0.8, "gamma": 0.98}
    schedules = {"learning_rate": lambda left: 1e-3 * left, "clip_range": lambda left: 0.2 * left}
    environments = make_vec_env("CartPole-v1", 8, seed=SEED)
    save(PPO("MlpPolicy", environments, **settings, **schedules, seed=SEED).learn(60_000), "cartpole")


def acrobot() -> None:
    """PPO, 100,000 steps."""
    environments = make_vec_env("Acrobot-v1", 8, seed=SEED)
    settings = {"n_steps": 128, "n_epochs": 4, "gae_lambda": 0.94}
    save(PPO("MlpPolicy", environments, **settings, seed=SEED).learn(100_000), "acrobot")


def tag() -> None:
    """PPO for three adversaries and one for the agent that they chase."""
    learn_in_turn("simple_tag_v3", 40, EXPERTS, "tag", SEED)


def reference() -> None:
    """One PPO for both agents, each of which alone knows where the other must go."""
    learn_in_turn("simple_reference_v3", 90, EXPERTS, "reference", SEED)


def speaker() -> None:
    """PPO for the speaker and one for the listener."""
    learn_in_turn("simple_speaker_listener_v4", 40, EXPERTS, "speaker", SEED)


def world() -> None:
    """PPO for the leader, the other adversaries and the agents that they chase."""
    learn_in_turn("simple_world_comm_v3", 20, EXPERTS, "world", SEED)


def tictactoe() -> None:
    """MaskablePPO for the first player, 40,000 moves."""
    model = MaskablePPO(
        "MlpPolicy", tic_tac_toe(SEED), n_steps=1024, batch_size=256, gamma=1.0, seed=SEED, device="cpu"
    )
    save(model.learn(40_000), "tictactoe", measured=False)


def save(model: PPO, file: str, measured: bool = True) -> None:
    """Write the expert and print its return on 50 episodes."""
    write(model, EXPERTS / f"{file}.zip")
    if measured:
        name = model.env.get_attr("spec")[0].id
        mean, deviation = evaluate_policy(model, make_vec_env(name, 1, seed=SEED + 1_000), n_eval_episodes=50)
        print(f"{file}: {mean:.1f}, standard deviation {deviation:.1f}, 50 episodes", flush=True)


TRAININGS = (cartpole, acrobot, tictactoe, speaker, tag, reference, world)


def main() -> None:
    """Make the experts that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = {training.__name__: training for training in TRAININGS}
    parser.add_argument("names", nargs="*", help=", ".join(names))
    chosen = parser.parse_args().names or list(names)
    if unknown := set(chosen) - set(names):
        parser.error(f"there is no training {', '.join(sorted(unknown))}: choose among {', '.join(names)}")
    torch.set_num_threads(1)
    EXPERTS.mkdir(exist_ok=True)
    for name in chosen:
        start = time.process_time()
        names[name]()
        print(f"{name}: {time.process_time() - start:.0f} s of processor time", flush=True)


if __name__ == "__main__":
    main()
