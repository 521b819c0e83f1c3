"""Recorded rollouts: somebody has played CartPole, and nothing is left but observations, actions and rewards.

    python examples/experts/from_rollouts.py

A network learns to do what was recorded, and is distilled in its place.
"""

import subprocess
import sys
import tempfile

import gymnasium
import numpy as np
from from_function import balance

observations, actions, rewards, lengths = [], [], [], []
environment = gymnasium.make("CartPole-v1")
for episode in range(40):
    (seen, _), over, steps = environment.reset(seed=episode), False, 0
    while not over:
        observations.append(seen)
        actions.append(balance(seen))
        seen, reward, ended, cut, _ = environment.step(actions[-1])
        rewards.append(reward)
        over, steps = ended or cut, steps + 1
    lengths.append(steps)

file = f"{tempfile.mkdtemp()}/cartpole.npz"
np.savez(file, observations=np.array(observations), actions=np.array(actions), rewards=rewards, lengths=lengths)

distil = ["distill", "gymnasium:CartPole-v1", "--expert", f"rollouts:{file}", "--iterations", "20", "--episodes", "100"]
sys.exit(subprocess.call([sys.executable, "-m", "hydraviper.cli", *distil]))
