"""Torch: train a network, save its state dict, and one command leads from there to trees and a report.

make example-torch      or, with hydraviper[torch] installed: python examples/experts/from_torch.py
"""

import subprocess
import sys
import tempfile

import torch
from network import trained

file = f"{tempfile.mkdtemp()}/cartpole.pt"
torch.save(trained().state_dict(), file)

# A state dict does not say what lies between its layers; TorchScript does, and needs no activation here.
expert = f"torch:{file},activation=tanh"
distil = ["distill", "gymnasium:CartPole-v1", "--expert", expert, "--iterations", "20", "--episodes", "100"]
sys.exit(subprocess.call([sys.executable, "-m", "hydraviper.cli", *distil]))
