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
HEAVY = ("sb3", "torch", "ray", "rllib", "minari", "dev")
DISTIL = "distill cooperative-navigation --iterations 3 --train-budget 20 --valid-budget 20 --episodes 20 --out run"
# what an extra lets one do, in the folder of a run; Python where there is no command for it
SMOKE = {
    "alone": "show run --agent agent-0",
    "games": "python -c \"import hydraviper; hydraviper.make('gymnasium:CartPole-v1')\"",
    "train": "train cooperative-navigation --episodes 200 --out expert.safetensors",
    "traffic": "map cologne-corridor",
    "verify": "verify run --allow-empty",
    "export": "export run --to onnx --out trees.onnx",
    "studies": "study table1 --games cooperative-navigation --no-run --out study",
    "video": 'python -c "from PIL import Image"',
    "studio": 'python -c "import nicegui, hydraviper.studio.server"',
    "onnx": 'python -c "import onnxruntime"',
    "optimal": 'python -c "from pystreed import STreeDClassifier"',
    "docs": 'python -c "import mkdocs, material, mkdocstrings, nbclient, ipykernel"',
    "sb3": 'python -c "import stable_baselines3, sb3_contrib"',
    "torch": 'python -c "import torch"',
    "ray": 'python -c "import ray"',
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
    parser.add_argument("--run", type=Path, help="a run of cooperative navigation to use, instead of distilling one")
    call = parser.parse_args()
    if missing := set(extras) ^ (set(SMOKE) - {"alone"}):
        parser.error(f"SMOKE and the extras of pyproject.toml differ: {', '.join(sorted(missing))}")
    if unknown := set(call.extras) - set(SMOKE):
        parser.error(f"there is no extra {', '.join(sorted(unknown))}: choose among {', '.join(SMOKE)}")
    chosen = call.extras or ["alone", *(name for name in extras if name not in HEAVY)]
    uv = str(Path(call.uv).absolute())
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", folder, str(ROOT)], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
        if call.run is not None:
            shutil.copytree(call.run, Path(folder) / "run")
        failed = [name for name in chosen if not tried(uv, wheel, name, Path(folder))]
    return 1 if failed else 0


def tried(uv: str, wheel: Path, extra: str, folder: Path) -> bool:
    """Install into an empty environment and run the smoke command in a run's folder; print how that went.

    All environments lie at the same place, one after the other, so that kernels are compiled once.
    """
    start, programs = time.monotonic(), folder / "venv" / "bin"
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")  # nothing of this checkout or of its environment may be found
    own = {key: value for key, value in os.environ.items() if key not in hidden}
    inside = own | {"PATH": f"{programs}:/usr/bin:/bin", "XDG_CACHE_HOME": f"{folder}/cache"}
    smoke = SMOKE[extra] if SMOKE[extra].startswith("python ") else f"hydraviper {SMOKE[extra]}"
    what = f"{wheel}[{extra}]" if extra != "alone" else str(wheel)
    steps = [
        ([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder / "venv")], own),
        ([uv, "pip", "install", "--quiet", "--python", str(programs / "python"), what], own),
        *([] if (folder / "run").exists() else [(["sh", "-c", f"hydraviper {DISTIL}"], inside)]),
        (["sh", "-c", smoke], inside),
    ]
    for number, (step, environment) in enumerate(steps, 1):
        done = subprocess.run(step, cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode not in (ALLOWED.get(extra, (0,)) if number == len(steps) else (0,)):
            printed = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
            print(f"FAILED {extra}: {' '.join(step)}\n{printed}", flush=True)
            return False
    size = sum(path.stat().st_size for path in (folder / "venv").rglob("*") if path.is_file()) / 1e6
    print(f"ok {extra}: {size:,.0f} MB, {time.monotonic() - start:.0f} s", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
