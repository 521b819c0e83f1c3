"""Who dies on a Ray cluster changes no tree: `python -m benchmarks.kills` kills workers, nodes and drivers in mid-run.

A cluster of two nodes runs on this machine (`ray start` twice). Each run is distilled on it while somebody is killed,
at another moment each time, and its trees are compared, bit for bit, with those of the local engine with one and with
two workers. A driver that was killed is called again and goes on from its journal. What was found is kept after every
run in results/scaling/kills.json, so a call that was interrupted goes on. `--overhead` measures instead what Ray
costs beside the local engine on corridor rollouts, in processor time of all processes involved and by the clock.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

import hydraviper
from hydraviper.engines.cluster import RayEngine
from hydraviper.games import catalogue

FOUND = Path(__file__).resolve().parents[1] / "results" / "scaling" / "kills.json"
GAME = "cologne-corridor:steps=10"
BUDGET = {"iterations": 2, "train_budget": 8, "valid_budget": 8, "rollouts_per_iteration": 8}
KINDS = ("worker", "node", "driver")
CORRIDOR, ROLLOUTS, ROUNDS = "cologne-corridor", 8, 3
TICKS = os.sysconf("SC_CLK_TCK")


class Nodes:
    """A Ray cluster by the command that people use: `ray start` for the head, and once more for a second node."""

    def __init__(self) -> None:
        """Start the head, with one core."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        port = self.address.rpartition(":")[2]
        self._head = _start_node("--head", f"--port={port}", "--include-dashboard=false")
        self._second: subprocess.Popen[str] | None = None

    def complete(self) -> None:
        """Start the second node, with one core as well, if there is none."""
        if self._second is None:
            self._second = _start_node(f"--address={self.address}")

    def strike(self) -> None:
        """Kill the second node: all of its processes at once."""
        if self._second is not None:
            _end_node(self._second, signal.SIGKILL)
            self._second = None

    def end(self) -> None:
        """End both nodes."""
        self.strike()
        _end_node(self._head, signal.SIGTERM)


def _start_node(*options: str) -> subprocess.Popen[str]:
    """A node that lives as long as this process, or as `_end_node` lets it."""
    limits = {"RAY_raylet_start_wait_time_s": "600", "RAY_agent_register_timeout_ms": "600000"}  # if it is very busy
    environment = {**limits, **os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    call = [str(Path(sys.executable).with_name("ray")), "start", "--block", "--num-cpus=1", *options]
    node = subprocess.Popen(
        call, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    assert node.stdout is not None
    said = []
    for line in node.stdout:
        said.append(line)
        if "Ray runtime started" in line:
            threading.Thread(target=node.stdout.read, daemon=True).start()  # so that it never waits for a reader
            return node
    raise SystemExit("ray start failed: " + "".join(said)[-2000:])


def _end_node(node: subprocess.Popen[str], how: signal.Signals) -> None:
    for pid in family(node.pid):  # Ray gives some of its processes groups of their own
        with suppress(ProcessLookupError):
            os.kill(pid, how)
    node.wait()


@contextmanager
def two_nodes() -> Iterator[Nodes]:
    """A cluster with a core on each of two nodes, ended in the end."""
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # else a token left in the home folder locks the second node out
    nodes = Nodes()
    try:
        yield nodes
    finally:
        nodes.end()


def family(root: int) -> dict[int, tuple[str, float]]:
    """A process and all that descend from it: what each is called, and its processor time."""
    parents, about = {}, {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has ended meanwhile
        pid = int(folder.name)
        parents[pid] = int(fields[1])
        about[pid] = command, (int(fields[11]) + int(fields[12])) / TICKS
    own = {root}
    while new := {pid for pid, parent in parents.items() if parent in own} - own:
        own |= new
    return {pid: about[pid] for pid in own if pid in about}


def players() -> list[int]:
    """The worker processes of our cluster that play."""
    return [pid for pid, (command, _) in family(os.getpid()).items() if command.startswith("ray::Player")]


def digest(students: Any) -> str:
    """The trees of a run, as one number."""
    trees = {i: tree.to_json() for i, tree in sorted(students.items())}
    return hashlib.sha256(json.dumps(trees, sort_keys=True).encode()).hexdigest()[:16]


def distilled(engine: Any, told: threading.Event | None = None, after: int = 0) -> str:
    """A run's trees; `told` is set when so many rollouts have come back."""
    game, count = hydraviper.make(GAME), 0
    each = engine.each

    def counting(pieces: Any, done: Any = None) -> Any:
        def also(number: int, rollouts: Any) -> None:
            nonlocal count
            count += 1
            if told is not None and count >= after:
                told.set()
            if done is not None:
                done(number, rollouts)

        return each(pieces, also)

    engine.each = counting
    try:
        result = hydraviper.distill(game, hydraviper.shipped_expert(game), hydraviper.Settings(**BUDGET), engine=engine)
    finally:
        engine.each = each
    return digest(result.profile.students)


def struck(cluster: Nodes, kind: str, after: int) -> dict[str, Any]:
    """One run in which a worker or a node dies after so many rollouts."""
    cluster.complete()
    told, killed = threading.Event(), []

    def strike() -> None:
        told.wait()
        if kind == "node":
            cluster.strike()
            killed.append("a node")
        elif own := players():
            os.kill(own[after % len(own)], signal.SIGKILL)
            killed.append("a worker")

    hand = threading.Thread(target=strike, daemon=True)
    hand.start()
    start = time.perf_counter()
    with RayEngine(catalogue.maker(hydraviper.make(GAME)), cluster.address, workers=2) as engine:
        trees = distilled(engine, told, after)
    hand.join(10)
    return {"trees": trees, "killed": len(killed), "seconds": round(time.perf_counter() - start, 1), "after": after}


def driver_struck(cluster: Nodes, after: int) -> dict[str, Any]:
    """One run whose driver is killed after so many rollouts are in its journal, and called again."""
    cluster.complete()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        names = {"iterations": "iterations", "train_budget": "train-budget", "valid_budget": "valid-budget"}
        options = [text for name, option in names.items() for text in (f"--{option}", str(BUDGET[name]))]
        call = [sys.executable, "-m", "hydraviper.cli", "distill", GAME, *options, "--episodes", "2", "--json"]
        call += ["--out", str(out), "--engine", "ray", "--address", cluster.address]
        first = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        journal, sizes = out / "rollouts.journal", set()  # it grows with every rollout
        while first.poll() is None and len(sizes - {0}) < after:
            sizes.add(journal.stat().st_size if journal.exists() else 0)
            time.sleep(0.02)
        killed = first.poll() is None
        first.kill()
        first.wait()
        if not killed:
            return {"trees": "", "killed": 0, "after": after, "seconds": 0.0}
        second = subprocess.run(call, capture_output=True, text=True, check=False)
        trees = json.loads((out / "trees.json").read_text()) if (out / "trees.json").exists() else {}
        notes = json.loads(second.stdout)["notes"] if second.returncode == 0 else [second.stderr[-300:]]
    same = hashlib.sha256(json.dumps(trees.get("agents", second.stderr), sort_keys=True).encode()).hexdigest()[:16]
    resumed = [note for note in notes if "interrupted" in note]
    spent = round(time.perf_counter() - start, 1)
    return {"trees": same, "killed": 1, "after": after, "seconds": spent, "resumed": resumed}


def by_command_line(workers: int) -> str:
    """The trees that the local engine makes of the same call."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        options = [
            text
            for k in ("iterations", "train_budget", "valid_budget")
            for text in (f"--{k.replace('_', '-')}", str(BUDGET[k]))
        ]
        call = [sys.executable, "-m", "hydraviper.cli", "distill", GAME, *options, "--episodes", "2", "--out", str(out)]
        subprocess.run([*call, "--workers", str(workers)], check=True, capture_output=True)
        agents = json.loads((out / "trees.json").read_text())["agents"]
    return hashlib.sha256(json.dumps(agents, sort_keys=True).encode()).hexdigest()[:16]


def processor_time(engine: str) -> float:
    """Of this process and all that belong to an engine: Ray's servers and workers, or the local workers."""
    whole = family(os.getpid())
    rays = {pid for pid, (command, _) in whole.items() if "ray::" in command or "/ray/" in command}
    others = {pid for pid in whole if pid not in rays and "multiprocessing" in whole[pid][0]}
    return sum(seconds for pid, (_, seconds) in whole.items() if pid not in (rays if engine == "local" else others))


def overhead() -> dict[str, Any]:
    """Processor seconds and seconds of the same rollouts with two workers of each engine, in turns; medians."""
    game = hydraviper.make(CORRIDOR)
    profile = hydraviper.Profile(hydraviper.shipped_expert(game))
    spent: dict[str, list[tuple[float, float]]] = {"local": [], "ray": []}
    engines = {
        "local": hydraviper.LocalEngine(catalogue.maker(game), 2),
        "ray": RayEngine(catalogue.maker(game), workers=2),
    }
    try:
        for number in range(ROUNDS + 1):
            seeds = np.arange(number * ROLLOUTS, number * ROLLOUTS + (ROLLOUTS if number else 2), dtype=np.uint64)
            for name, engine in engines.items():
                before, start = processor_time(name), time.perf_counter()
                engine.play(profile, seeds, record=True)
                used = processor_time(name) - before
                if number:  # the first round starts the workers
                    spent[name].append((used, time.perf_counter() - start))
    finally:
        for engine in engines.values():
            engine.close()
    middle = {name: np.median(np.array(rounds), axis=0).round(2).tolist() for name, rounds in spent.items()}
    more = [round(100 * (middle["ray"][k] / middle["local"][k] - 1), 1) for k in (0, 1)]
    return {
        "game": CORRIDOR,
        "rollouts": ROLLOUTS,
        "rounds": ROUNDS,
        "processor seconds": {name: one[0] for name, one in middle.items()},
        "seconds": {name: one[1] for name, one in middle.items()},
        "overhead in processor time, %": more[0],
        "overhead by the clock, %": more[1],
        "all": spent,
    }


def main() -> int:
    """Strike what is missing; 1 if some trees came out differently."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--overhead", action="store_true")
    parser.add_argument("--out", type=Path, default=FOUND)
    options = parser.parse_args()
    found = json.loads(options.out.read_text()) if options.out.exists() else {}

    def keep(name: str, value: Any) -> None:
        found[name] = value
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(found, indent=1) + "\n")
        print(name, json.dumps(value), flush=True)

    if options.overhead:
        keep("overhead", overhead())
        return 0
    for workers in (1, 2):
        if "driver" not in options.kinds or len(options.kinds) > 1:
            with hydraviper.LocalEngine(catalogue.maker(hydraviper.make(GAME)), workers) as engine:
                keep(f"local, {workers} workers", distilled(engine))
        if "driver" in options.kinds:
            keep(f"local by the command line, {workers} workers", by_command_line(workers))
    with two_nodes() as cluster:
        for kind in options.kinds:
            for number in range(options.times):
                if f"{kind} {number}" not in found:
                    after = 1 + number
                    keep(
                        f"{kind} {number}",
                        driver_struck(cluster, after) if kind == "driver" else struck(cluster, kind, after),
                    )
    return judge(found, options.kinds)


def judge(found: dict[str, Any], kinds: Any) -> int:
    """Say how many runs of each kind ended with the trees of the local engine."""
    wrong = 0
    for kind in kinds:
        reference = "local by the command line" if kind == "driver" else "local"
        right = {found[f"{reference}, {workers} workers"] for workers in (1, 2)}
        runs = [one for name, one in found.items() if name.startswith(f"{kind} ")]
        same = sum(one["killed"] == 1 and right == {one["trees"]} for one in runs)
        wrong += len(runs) - same
        print(f"{kind}: {same} of {len(runs)} runs in which one was killed ended with the local engine's trees")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
