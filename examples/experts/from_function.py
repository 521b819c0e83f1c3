"""A Python function: one observation in, one action out. Nothing is trained; a rule balances the pole.

python examples/experts/from_function.py
"""

import subprocess
import sys


def balance(observation):
    """Push to where the pole falls."""
    position, velocity, angle, turning = observation
    return int(0.3 * position + 0.6 * velocity + 6 * angle + 1.5 * turning > 0)


if __name__ == "__main__":
    expert = "python:examples.experts.from_function:balance"
    distil = ["distill", "gymnasium:CartPole-v1", "--expert", expert, "--iterations", "20", "--episodes", "100"]
    sys.exit(subprocess.call([sys.executable, "-m", "hydraviper.cli", *distil]))
