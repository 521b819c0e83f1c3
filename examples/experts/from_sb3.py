"""Stable-Baselines3: train PPO on CartPole, save it, and one command leads from the .zip to trees and a report.

make example-sb3        or, with hydraviper[sb3] installed: python examples/experts/from_sb3.py
"""

import subprocess
import sys
import tempfile

from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

file = f"{tempfile.mkdtemp()}/cartpole-ppo.zip"
environments = make_vec_env("CartPole-v1", 8, seed=0)
settings = {"n_steps": 32, "batch_size": 256, "n_epochs": 20, "gae_lambda": 0.8, "gamma": 0.98, "learning_rate": 1e-3}
model = PPO("MlpPolicy", environments, **settings, seed=0, device="cpu")
model.learn(40_000)
model.save(file)

distil = ["distill", "gymnasium:CartPole-v1", "--expert", f"sb3:{file}", "--iterations", "20", "--episodes", "100"]
sys.exit(subprocess.call([sys.executable, "-m", "hydraviper.cli", *distil]))
