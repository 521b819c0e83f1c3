"""RLlib: train PPO on CartPole for a minute, and one command leads from the checkpoint to trees and a report.

    make example-rllib      or, with hydraviper[rllib] installed: python examples/experts/from_rllib.py

A checkpoint is made of pickles, which run code when they are loaded: hence --trust, for files that you made yourself.
"""

import subprocess
import sys
import tempfile

import ray
from ray.rllib.algorithms.ppo import PPOConfig

folder = tempfile.mkdtemp()
ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
config = PPOConfig().environment("CartPole-v1").env_runners(num_env_runners=0).debugging(seed=0)
config = config.training(train_batch_size_per_learner=2_000, lr=1e-3, gamma=0.98, num_epochs=10)
algorithm = config.build_algo()
for _ in range(12):
    algorithm.train()
algorithm.save_to_path(folder)
ray.shutdown()

expert = ["--expert", f"rllib:{folder}", "--trust"]
distil = ["distill", "gymnasium:CartPole-v1", *expert, "--iterations", "20", "--episodes", "100"]
sys.exit(subprocess.call([sys.executable, "-m", "hydraviper.cli", *distil]))
