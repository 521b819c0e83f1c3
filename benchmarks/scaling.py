"""How seconds and memory of each step grow with agents, samples and joint actions: `python -m benchmarks.scaling`.

Every point is measured in a process of its own and kept in results/scaling/points.json, so a call that was interrupted
goes on; `--again NAME ...` measures points anew. Seconds are processor time, which a busy machine hardly changes;
memory is the most that the process held during a step. In the end the table and the picture are made.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hydraviper
from benchmarks import scaling_page
from hydraviper.dataset import Dataset
from hydraviper.experts import linear
from hydraviper.experts.local_q import LocalQExpert
from hydraviper.experts.networks import Network, NetworkExpert
from hydraviper.games import catalogue
from hydraviper.games.scripts import navigators
from hydraviper.ledger import Ledger
from hydraviper.memory import peak_megabytes
from hydraviper.steps.resample import team_weights
from hydraviper.steps.task import Task

POINTS = Path(__file__).resolve().parents[1] / "results" / "scaling" / "points.json"
HIDDEN = 64  # units of a layer, as in the critics that ship
FEW = {"iterations": 3, "train_budget": 40, "valid_budget": 60, "rollouts_per_iteration": 20}
SHORT = {"iterations": 2, "train_budget": 2, "valid_budget": 4, "rollouts_per_iteration": 2}
SIGNAL_STEPS = 72  # decisions in an episode of a grid: six minutes, so that a point is short
AGENTS, GRIDS = (3, 5, 10, 20, 30), (3, 5, 7, 10)
SAMPLES = (2_500, 5_000, 10_000, 20_000, 40_000, 80_000, 160_000)
TEAMS = (1, 2, 3, 4, 5, 6)  # members of a team in a game of six agents: 5 to 15,625 joint actions


class Weighed(Ledger):
    """A ledger that charges processor time, and the most memory that was held during each step."""

    def __init__(self) -> None:
        super().__init__()
        self.most: dict[str, float] = {}

    @contextmanager
    def time(self, step: str) -> Iterator[None]:
        """Charge the enclosed work to one step."""
        _forget_peak()
        start = time.process_time()
        yield
        self.seconds[step] += time.process_time() - start
        self.most[step] = max(self.most.get(step, 0.0), peak_megabytes())


def _forget_peak() -> None:
    """From now on, the most memory is that of what follows; where the system cannot, it is that of all before."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


@dataclass(frozen=True)
class Crowd:
    """An expert for any number of navigators: a script acts, untrained critics of everybody's observations value."""

    script: Any
    critics: NetworkExpert

    def act(self, observations: Any, agents: Any = None) -> np.ndarray:
        return self.script.act(observations)

    def q(self, observations: Any, actions: np.ndarray) -> np.ndarray:
        return self.critics.q(observations, actions)

    def worst_team_q(self, observations: Any, actions: np.ndarray, team: Any, judges: Any = None) -> np.ndarray:
        return self.critics.worst_team_q(observations, actions, team, judges)


def crowd(game: hydraviper.Game) -> Crowd:
    """Everybody goes to the landmark of the same number."""
    draws = np.random.default_rng(0)
    sizes, counts = ([len(getattr(one, what)) for one in game.agents] for what in ("features", "actions"))

    def network(inputs: int, outputs: int) -> Network:
        shapes = [(inputs, HIDDEN), (HIDDEN,), (HIDDEN, HIDDEN), (HIDDEN,), (HIDDEN, outputs), (outputs,)]
        return Network(tuple(draws.normal(size=shape, scale=shape[0] ** -0.5).astype(np.float32) for shape in shapes))

    actors = tuple(network(size, count) for size, count in zip(sizes, counts, strict=True))
    critics = tuple(network(sum(sizes) + sum(counts), 1) for _ in sizes)
    script = navigators(len(game.agents))["agent i to landmark i"]
    return Crowd(script, NetworkExpert(actors, critics, {"game": game.name}))


def max_pressure(game: hydraviper.Game) -> LocalQExpert:
    """Every signal values a phase by the pressure that it relieves: local values, without any training."""
    rules = (linear._linear(linear._parts(game, i), [0, 1, 0, 0]) for i in range(len(game.agents)))
    return LocalQExpert(tuple(rules))


def distilled(
    game: hydraviper.Game, expert: Any, settings: hydraviper.Settings, rehearse: bool = True, workers: int = 1
) -> dict[str, Any]:
    """Seconds and memory of each step of a run; kernels are compiled before, unless an episode is too dear for that."""
    with hydraviper.LocalEngine(catalogue.maker(game), workers) as engine:
        if rehearse:
            tiny = {"iterations": 2, "train_budget": 1, "valid_budget": 2, "rollouts_per_iteration": 1}
            small = hydraviper.Settings(**settings.to_json() | tiny)
            hydraviper.distill(game, expert, small, engine=engine, ledger=Ledger())
        ledger, before, start = Weighed(), peak_megabytes(), time.perf_counter()
        result = hydraviper.distill(game, expert, settings, engine=engine, ledger=ledger)
    teams = [math.prod(len(game.agents[i].actions) for i in team) for team in result.teams]
    return {
        "agents": len(game.agents),
        "features": sum(len(agent.features) for agent in game.agents),
        "teams": len(teams),
        "joint_actions": max(teams) if len(game.agents) < 64 or max(teams) < 2**53 else float(max(teams)),
        "rollouts": dict(ledger.rollouts),
        "samples": ledger.lines[-1].samples // len(teams),
        "seconds": {step: ledger.seconds[step] for step in scaling_page.STEPS},
        "megabytes": {step: ledger.most[step] for step in scaling_page.STEPS} | {"before": before},
        "workers": {"seconds": _children(), "megabytes": ledger.megabytes["workers"]},
        "wall": time.perf_counter() - start,
    }


def _children() -> float:
    """Processor time of the worker processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def navigation(agents: int) -> dict[str, Any]:
    """Navigators in teams of at most three, 125 joint actions each."""
    game = hydraviper.make(f"cooperative-navigation:agents={agents}")
    teams = -(-agents // 3)
    partition = {"partition": "contiguous", "teams": teams} if teams > 1 else {}
    return distilled(game, crowd(game), hydraviper.Settings(**FEW, **partition))


def grid(side: int) -> dict[str, Any]:
    """Signals of a square grid; local values need no teams."""
    game = hydraviper.make(f"traffic:grid,rows={side},columns={side},steps={SIGNAL_STEPS}")
    return distilled(game, max_pressure(game), hydraviper.Settings(**SHORT, features="derived"), rehearse=side < 6)


def city() -> dict[str, Any]:
    """100 signals, a whole iteration of the low budget: ten episodes of an hour, a tree for each signal."""
    game = hydraviper.make("traffic:grid,rows=10,columns=10")
    low = {"iterations": 1, "train_budget": 100, "valid_budget": 1, "rollouts_per_iteration": 10}
    return distilled(
        game, max_pressure(game), hydraviper.Settings(**low, features="derived"), rehearse=False, workers=2
    )


def samples(count: int) -> dict[str, Any]:
    """Three navigators with the expert that ships; two iterations, the first on so many samples."""
    game = hydraviper.make("cooperative-navigation")
    episodes = count // game.horizon
    one = {"iterations": 2, "train_budget": episodes, "valid_budget": episodes, "rollouts_per_iteration": episodes}
    return distilled(game, hydraviper.shipped_expert(game), hydraviper.Settings(**one))


def team(members: int) -> dict[str, Any]:
    """The weights of samples for a team of so many out of six navigators, whose critics see everybody."""
    game = hydraviper.make("cooperative-navigation:agents=6")
    expert, rows = crowd(game), 50 if members > 4 else 250
    task = Task(game, expert, hydraviper.LocalEngine(lambda: game), hydraviper.Settings(), Ledger())
    seen = task.engine.play(expert, np.arange(10, dtype=np.uint64), record=True).observations or ()
    dataset = Dataset(tuple(range(members)), [len(agent.features) for agent in game.agents])
    dataset.extend(seen, expert.act(seen), 10)
    team_weights(task, dataset, slice(0, 2))  # compile
    _forget_peak()
    before, start = peak_megabytes(), time.process_time()
    team_weights(task, dataset, slice(0, rows))
    spent, most = time.process_time() - start, peak_megabytes()
    return {
        "agents": 6,
        "members": members,
        "joint_actions": 5**members,
        "samples": rows,
        "seconds": {"resample": spent},
        "megabytes": {"resample": most, "before": before},
    }


MEASURED = {
    **{f"samples {count}": (samples, count) for count in SAMPLES},
    **{f"navigation {agents}": (navigation, agents) for agents in AGENTS},
    **{f"team {members}": (team, members) for members in TEAMS},
    **{f"grid {side * side}": (grid, side) for side in GRIDS},
    "city 100": (city,),
}


def main() -> int:
    """Measure what is missing, then write the table and the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", nargs="*", default=(), metavar="NAME", help="measure these anew")
    parser.add_argument("--only", nargs="*", default=("",), metavar="NAME", help="measure these alone")
    parser.add_argument("--point", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.point:
        work, *argument = MEASURED[options.point]
        print(json.dumps(work(*argument)))
        return 0
    points = json.loads(POINTS.read_text()) if POINTS.exists() else {}
    failed = []
    for name in MEASURED:
        again = any(name.startswith(word) for word in options.again)
        if (name in points and not again) or not any(name.startswith(word) for word in options.only):
            continue
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.scaling", "--point", name], capture_output=True, text=True, check=False
        )
        if done.returncode:
            failed.append(name)
            print(f"{name}: {(done.stderr.strip().splitlines() or ['no reason'])[-1]}", flush=True)
            continue
        points[name] = json.loads(done.stdout.splitlines()[-1])
        POINTS.parent.mkdir(parents=True, exist_ok=True)
        POINTS.write_text(json.dumps({key: points[key] for key in MEASURED if key in points}, indent=1) + "\n")
        print(name, json.dumps(points[name]["seconds"]), flush=True)
    scaling_page.write(points)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
