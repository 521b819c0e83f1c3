"""Build the wheel and try it in empty environments: alone, and with each extra on its own. `make test-wheel` runs this.

python tests/wheel.py                 # the light extras
python tests/wheel.py sb3 rllib       # others, which bring gigabytes
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEAVY = ("sb3", "torch", "rllib", "minari", "dev")
DISTIL = "distill cooperative-navigation --iterations 3 --train-budget 20 --valid-budget 20 --episodes 20 --out run"
# what an extra lets one do, in the folder of a run; Python where there is no command for it
SMOKE = {
    "": "show run --agent agent-0",
    "games": "python -c \"import hydraviper; hydraviper.make('gymnasium:CartPole-v1')\"",
    "train": "train cooperative-navigation --episodes 200 --out expert.safetensors",
    "traffic": "map cologne-corridor",
    "verify": "verify run --allow-empty",
    "export": "export run --to onnx --out trees.onnx",
    "studies": "study table1 --no-run --out study",
    "video": 'python -c "from PIL import Image"',
    "studio": 'python -c "import nicegui, hydraviper.studio.server"',
    "onnx": 'python -c "import onnxruntime"',
    "optimal": 'python -c "from pystreed import STreeDClassifier"',
    "docs": 'python -c "import mkdocs, material, mkdocstrings, nbclient, ipykernel"',
    "sb3": 'python -c "import stable_baselines3, sb3_contrib"',
    "torch": 'python -c "import torch"',
    "rllib": 'python -c "import ray.rllib"',
    "minari": 'python -c "import minari"',
    "dev": "python -m pytest --version",
}
ALLOWED = {"verify": (0, 1)}  # 1: a property does not hold, which such small trees may well do


def main() -> int:
    """Try the extras, print a line for each, and return 1 if one failed."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extras", nargs="*", help="default: all but " + ", ".join(HEAVY))
    parser.add_argument("--uv", default=shutil.which("uv"), help="the program uv")
    call = parser.parse_args()
    if missing := set(extras) ^ (set(SMOKE) - {""}):
        parser.error(f"SMOKE and the extras of pyproject.toml differ: {', '.join(sorted(missing))}")
    if unknown := set(call.extras) - set(extras):
        parser.error(f"there is no extra {', '.join(sorted(unknown))}: choose among {', '.join(extras)}")
    chosen = call.extras or ["", *(name for name in extras if name not in HEAVY)]
    uv = str(Path(call.uv).absolute())
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", folder, str(ROOT)], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
        failed = [name for name in chosen if not tried(uv, wheel, name)]
    return 1 if failed else 0


def tried(uv: str, wheel: Path, extra: str) -> bool:
    """Install into an empty environment and run the smoke command; print how that went."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        programs = Path(folder) / "venv" / "bin"
        # nothing of this checkout or of this environment may be found
        hidden = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
        environment = {key: value for key, value in os.environ.items() if key not in hidden}
        environment |= {"PATH": f"{programs}:/usr/bin:/bin", "XDG_CACHE_HOME": f"{folder}/cache"}
        steps = [
            [uv, "venv", "--quiet", "--python", sys.executable, f"{folder}/venv"],
            [
                uv,
                "pip",
                "install",
                "--quiet",
                "--python",
                str(programs / "python"),
                f"{wheel}[{extra}]" if extra else str(wheel),
            ],
            ["sh", "-c", f"hydraviper {DISTIL}"],
            ["sh", "-c", SMOKE[extra] if SMOKE[extra].startswith("python ") else f"hydraviper {SMOKE[extra]}"],
        ]
        for step in steps:
            own = environment if step[0] != uv else dict(os.environ)
            done = subprocess.run(step, cwd=folder, env=own, capture_output=True, text=True)
            if done.returncode not in (ALLOWED.get(extra, (0,)) if step is steps[-1] else (0,)):
                print(
                    f"FAILED {extra or 'alone'}: {' '.join(step)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}",
                    flush=True,
                )
                return False
        size = sum(path.stat().st_size for path in (Path(folder) / "venv").rglob("*") if path.is_file()) / 1e6
    print(f"ok {extra or 'alone'}: {size:,.0f} MB, {time.monotonic() - start:.0f} s", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
