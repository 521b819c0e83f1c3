"""ONNX: export a network of any framework, and one command leads from there to trees and a report.

make example-onnx       or, with hydraviper[onnx], torch and onnxscript: python examples/experts/from_onnx.py
"""

import subprocess
import sys
import tempfile

import torch
from network import trained

file = f"{tempfile.mkdtemp()}/cartpole.onnx"
torch.onnx.export(trained(), (torch.zeros(1, 4),), file, input_names=["observation"], output_names=["preferences"])

distil = ["distill", "gymnasium:CartPole-v1", "--expert", f"onnx:{file}", "--iterations", "20", "--episodes", "100"]
sys.exit(subprocess.call([sys.executable, "-m", "hydraviper.cli", *distil]))
