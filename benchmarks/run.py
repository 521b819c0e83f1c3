"""Measure this package against the usual way, in one run on one machine: `python -m benchmarks.run [--quick]`.

Whatever is short is repeated and the quickest repetition counts, on both sides. Exit code 1 if a requirement is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from benchmarks import plain
from benchmarks.distillation import GAME, SMALL, find_expert
from hydraviper.data import InputError
from hydraviper.experts.networks import NetworkExpert
from hydraviper.games.catalogue import make
from hydraviper.profile import Profile
from hydraviper.rollout import play
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.trees.bins import Bins
from hydraviper.trees.cart import grow
from hydraviper.trees.tree import Tree

ROOT = Path(__file__).resolve().parents[1]
CORES = os.cpu_count() or 1
HIGH = {"train_budget": 5000, "valid_budget": 5000}
LOW = {"train_budget": 500, "valid_budget": 1500}
MOST_MEGABYTES, MOST_COMPILE_SECONDS = 1500.0, 20.0
ACCURACY_POINTS, WEIGHT_TOLERANCE = 0.5, 1e-3
SELECTION = "ours selects by its default race, theirs by the paper's UCB1, on the same budget"
NEW_SAMPLES = 50 * plain.HORIZON  # what an iteration weighs at once


@dataclass(frozen=True)
class Row:
    """One line of the table. Without theirs, `required` is the most that ours may be; else the least ratio."""

    ours: float
    theirs: float | None
    unit: str
    required: float | None
    note: str
    more_is_better: bool = False
    fault: str = ""  # a check that failed in the same run

    @property
    def ratio(self) -> float | None:
        """How many times better ours is."""
        if self.theirs is None:
            return None
        return self.ours / self.theirs if self.more_is_better else self.theirs / self.ours

    @property
    def miss(self) -> str:
        """What is wrong with this row; empty if nothing is."""
        if self.fault:
            return self.fault
        if self.required is None:
            return ""
        if self.ratio is None:
            missed = self.ours > self.required
            return f"{self.ours:.4g} {self.unit}, at most {self.required:g} required" if missed else ""
        return f"{self.ratio:.1f} times, at least {self.required:g} required" if self.ratio < self.required else ""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        names = ("ours", "theirs", "unit", "ratio", "required", "note")
        return {name: getattr(self, name) for name in names} | ({"fault": self.fault} if self.fault else {})


@dataclass(frozen=True)
class Material:
    """What all measurements share, made once."""

    expert: NetworkExpert
    expert_file: str | None
    trees: dict[int, Tree]  # ours, one per agent
    their_trees: plain.Trees  # scikit-learn's, of the same data
    observations: np.ndarray  # [S, N, F], trees playing, in mpe2's physics
    actions: np.ndarray  # [S, N], the expert's
    weights: np.ndarray  # [S]
    repetitions: int

    @property
    def actors(self) -> list[plain.Layers]:
        """The expert's actors as plain layers."""
        return [network.layers for network in self.expert.actors]

    @property
    def critics(self) -> list[plain.Layers]:
        """The expert's critics as plain layers."""
        return [network.layers for network in self.expert.critics]


def seconds_of(work: Callable[[], Any], repetitions: int) -> float:
    """The quickest of some repetitions, after one that does not count."""
    work()
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def prepare(expert_file: str | None, episodes: int, repetitions: int) -> Material:
    """Let expert and trees play in the twin of mpe2's world, so that both sides work on the same kind of data."""
    game = make(f"{GAME}:physics=mpe2")
    expert = find_expert(expert_file, game)
    seeds = rollout_seeds(0, Purpose.COLLECT, 0, episodes)
    warm_up = play(game, Profile(expert), seeds[:500], record=True).observations or ()
    labels = expert.act(warm_up)
    trees = {i: _tree(rows, labels[:, i]) for i, rows in enumerate(warm_up)}
    theirs = [DecisionTreeClassifier(max_depth=plain.DEPTH).fit(rows, labels[:, i]) for i, rows in enumerate(warm_up)]
    seen = play(game, Profile(expert, trees), seeds, record=True).observations or ()
    actions = np.ascontiguousarray(expert.act(seen))
    weights = _our_weights(expert, seen, actions)
    return Material(expert, expert_file, trees, theirs, np.stack(seen, axis=1), actions, weights, repetitions)


def _tree(rows: np.ndarray, actions: np.ndarray) -> Tree:
    bins = Bins(rows.shape[1])
    bins.append(rows)
    return grow(bins, actions, np.ones(len(rows)), plain.ACTIONS, plain.DEPTH)


def _our_weights(expert: NetworkExpert, observations: Sequence[np.ndarray], actions: np.ndarray) -> np.ndarray:
    team = tuple(range(actions.shape[1]))
    value = expert.q(observations, actions).mean(axis=1)
    return np.maximum(value - expert.worst_team_q(observations, actions, team), 0)


def environment_steps(material: Material, episodes: int) -> Row:
    """Trees playing cooperative navigation, one process and one thread on either side."""
    game, profile = make(f"{GAME}:physics=mpe2"), Profile(material.expert, material.trees)
    seeds = rollout_seeds(0, Purpose.EVALUATE, 0, episodes)
    ours = episodes * game.horizon / seconds_of(partial(play, game, profile, seeds), material.repetitions)

    def our_act(rows: Sequence[np.ndarray]) -> list[int]:
        return [int(material.trees[i].predict(row[None])[0]) for i, row in enumerate(rows)]

    ways = {"scikit-learn's": plain.student_act(material.their_trees), "our": our_act}
    rates = {name: plain.HORIZON / _rollout_seconds(act, material.repetitions) for name, act in ways.items()}
    faster = max(rates, key=lambda name: rates[name])
    listed = ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items())
    ours_penalty, theirs_penalty = game.score.of(play(game, profile, seeds).returns).mean(), _penalties(our_act)
    error = theirs_penalty.std(ddof=1) / np.sqrt(len(theirs_penalty))
    penalties = f"penalty {ours_penalty:.1f}, in mpe2 {theirs_penalty.mean():.1f} ± {1.96 * error:.1f}"
    fault = f"not the same game: {penalties}" if abs(theirs_penalty.mean() - ours_penalty) > 4 * error else ""
    note = f"mpe2 with {faster} predict, one row at a time (the faster: {listed}); the same trees' {penalties}"
    return Row(ours, rates[faster], "steps/s", 1000, note, more_is_better=True, fault=fault)


def _penalties(act: plain.Act, rollouts: int = 200) -> np.ndarray:
    """The total penalty of some mpe2 rollouts."""
    environment = _environment()
    means = np.array([plain.play(environment, act)[1] for _ in range(rollouts)])
    return plain.HORIZON * (len(plain.AGENTS) - 2 * means)


def _environment():
    environment = plain.simple_spread_v3.parallel_env(N=len(plain.AGENTS), max_cycles=plain.HORIZON)
    environment.reset(seed=0)
    return environment


def _rollout_seconds(act: plain.Act, repetitions: int, rollouts: int = 20) -> float:
    """Seconds of one mpe2 rollout."""
    environment = _environment()

    def work() -> None:
        for _ in range(rollouts):
            plain.play(environment, act)

    return seconds_of(work, repetitions) / rollouts


def one_tree(samples: int, repetitions: int) -> dict[str, Row]:
    """A weighted tree of depth 4 on 18 continuous features and 5 classes, with bins laid before and anew."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(samples, 18)).astype(np.float32)
    scores = rows @ generator.normal(size=(18, plain.ACTIONS)) + generator.normal(size=(samples, plain.ACTIONS))
    actions = scores.argmax(axis=1)
    chances = generator.random(samples)
    weights = generator.multinomial(samples, chances / chances.sum()).astype(float)
    bins = Bins(rows.shape[1])
    bins.append(rows)

    def grow_ours() -> Tree:
        return grow(bins, actions, weights, plain.ACTIONS, plain.DEPTH)

    def bin_rows() -> None:
        Bins(rows.shape[1]).append(rows)

    drawn = weights > 0
    their_rows, their_actions, their_weights = rows[drawn], actions[drawn], weights[drawn]

    def grow_theirs() -> DecisionTreeClassifier:
        tree = DecisionTreeClassifier(max_depth=plain.DEPTH, random_state=0)
        return tree.fit(their_rows, their_actions, sample_weight=their_weights)

    ours, binning = seconds_of(grow_ours, 2 * repetitions), seconds_of(bin_rows, repetitions)
    theirs = seconds_of(grow_theirs, repetitions)
    accuracies = [
        100 * float(weights[tree.predict(rows) == actions].sum() / weights.sum())
        for tree in (grow_ours(), grow_theirs())
    ]
    note = f"weighted accuracy {accuracies[0]:.2f} % against {accuracies[1]:.2f} %"
    apart = abs(accuracies[0] - accuracies[1])
    fault = f"accuracies are {apart:.2f} points apart" if apart > ACCURACY_POINTS else ""
    name = f"one tree, {samples:,} x 18"
    return {
        name: Row(
            ours, theirs, "s", 40, f"{note}; bins are appended to, laying all of them took {binning:.3f} s", fault=fault
        ),
        "one tree, binning included": Row(ours + binning, theirs, "s", None, "as if all rows were new"),
    }


@dataclass(frozen=True)
class Weighing:
    """The usual way's quickest C-Q."""

    seconds_per_sample: float
    threads: int  # of BLAS


def team_weights(material: Material, samples: int) -> tuple[Row, Weighing]:
    """C-Q weights in the portions that an iteration collects; also how the usual way is quickest."""
    parts = [slice(start, start + NEW_SAMPLES) for start in range(0, samples, NEW_SAMPLES)]
    observations, actions = material.observations[:samples], material.actions[:samples]
    columns = [np.ascontiguousarray(observations[:, i]) for i in range(actions.shape[1])]

    def ours(expert: NetworkExpert) -> np.ndarray:
        return np.concatenate([_our_weights(expert, [rows[part] for rows in columns], actions[part]) for part in parts])

    def theirs() -> np.ndarray:
        return np.concatenate([plain.weigh(material.critics, observations[part], actions[part]) for part in parts])

    our_seconds = seconds_of(partial(ours, material.expert), material.repetitions)
    single = seconds_of(partial(ours, replace(material.expert, workers=1)), material.repetitions)
    their_seconds = {}
    for threads in range(1, CORES + 1):  # on a busy machine BLAS can be quicker with fewer threads
        with threadpool_limits(threads, "blas"):
            their_seconds[threads] = seconds_of(theirs, material.repetitions)
    best_threads = min(their_seconds, key=lambda threads: their_seconds[threads])
    with threadpool_limits(best_threads, "blas"):
        apart = float(np.abs(ours(material.expert) - theirs()).max())
    fault = f"the weights differ by {apart:.2g}" if apart > WEIGHT_TOLERANCE else ""
    note = f"ours {CORES} threads (with one: {1e6 * single / samples:.0f}); numpy with " + ", ".join(
        f"{threads} BLAS threads {1e6 * seconds / samples:.0f}" for threads, seconds in their_seconds.items()
    )
    row = Row(
        1e6 * our_seconds / samples,
        1e6 * their_seconds[best_threads] / samples,
        "us per sample",
        3,
        f"{note}, the quickest counts; the weights differ by at most {apart:.1g}",
        fault=fault,
    )
    return row, Weighing(their_seconds[best_threads] / samples, best_threads)


def measure_costs(material: Material, weighing: Weighing, sizes: Sequence[int]) -> plain.Costs:
    """What the steps of the usual way take one by one."""
    generator = np.random.default_rng(0)
    relabelling = partial(plain.relabel, material.actors, material.observations[:NEW_SAMPLES])
    trainings = []
    for size in sizes:
        data = (array[:size] for array in (material.observations, material.actions, material.weights))
        trainings.append(seconds_of(partial(plain.train, *data, generator), min(material.repetitions, 2)))
    with threadpool_limits(weighing.threads, "blas"):
        relabelled = seconds_of(relabelling, material.repetitions) / NEW_SAMPLES
        expert_rollout = _rollout_seconds(plain.expert_act(material.actors), material.repetitions)
    return plain.Costs(
        expert_rollout=expert_rollout,
        student_rollout=_rollout_seconds(plain.student_act(material.their_trees), material.repetitions),
        sample=weighing.seconds_per_sample + relabelled,
        sizes=sizes,
        trainings=trainings,
    )


def check_formula(material: Material, costs: plain.Costs, weighing: Weighing) -> str:
    """A short run of the usual way next to what the formula says of it."""
    budget = plain.Budget(iterations=5, train=100, valid=100)
    result, measured = _timed_plain(material, budget, weighing)
    predicted = sum(plain.extrapolate(costs, result.rollouts, budget.valid).values())
    return f"a short run took {measured:.1f} s, by the formula {predicted:.1f} s"


def _timed_plain(material: Material, budget: plain.Budget, weighing: Weighing) -> tuple[plain.Result, float]:
    with threadpool_limits(weighing.threads, "blas"):
        start = time.perf_counter()
        result = plain.distill(material.actors, material.critics, budget)
        return result, time.perf_counter() - start


def own_process(settings: dict[str, int], expert_file: str | None, *options: str, **variables: str) -> dict[str, Any]:
    """Distil in a process of its own; also the seconds from its start to its end."""
    command = [sys.executable, "-m", "benchmarks.distillation", json.dumps(settings), *options]
    command += ["--expert", expert_file] if expert_file else []
    start = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env=os.environ | variables, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout) | {"process_seconds": time.perf_counter() - start}


def whole_run(
    ours: dict[str, Any], settings: dict[str, int], costs: plain.Costs, required: float | None, remark: str
) -> Row:
    """A whole run, theirs extrapolated for the same rollouts in every iteration."""
    steps = plain.extrapolate(costs, ours["per_iteration"], settings["valid_budget"])
    note = (
        f"theirs extrapolated ({_listed(steps)}) = {plain.Costs.FORMULA}, for the rollouts that ours collected; "
        f"{remark}; ours measured wholly, kernels compiled before ({_listed(ours['steps'])}); {SELECTION}"
    )
    return Row(ours["seconds"], sum(steps.values()), "s", required, note)


def measured_whole_run(
    ours: dict[str, Any], settings: dict[str, int], material: Material, weighing: Weighing, required: float | None
) -> Row:
    """A whole run on either side, nothing extrapolated."""
    budget = plain.Budget(iterations=100, train=settings["train_budget"], valid=settings["valid_budget"])
    result, seconds = _timed_plain(material, budget, weighing)
    note = f"both measured wholly: theirs ({_listed(result.timers.seconds)}), ours ({_listed(ours['steps'])})"
    return Row(ours["seconds"], seconds, "s", required, f"{note}; {SELECTION}")


def _listed(seconds: dict[str, float]) -> str:
    return ", ".join(f"{step} {value:.2f}" for step, value in seconds.items() if value >= 0.005)


def compile_time(expert_file: str | None, repetitions: int) -> Row:
    """What the first use costs more than the second: kernels compiled, then loaded."""
    firsts, seconds = [], []
    for _ in range(repetitions):
        with tempfile.TemporaryDirectory() as folder:
            for times in (firsts, seconds):
                done = own_process(SMALL, expert_file, "--cold", NUMBA_CACHE_DIR=folder)
                times.append(done["process_seconds"])
    first, second = min(firsts), min(seconds)
    fault = (
        "" if first > second else "the second use was no quicker: the machine was busy or a source changed meanwhile"
    )
    note = f"a small run in a fresh process: {first:.1f} s with no kernel compiled, {second:.1f} s with all of them"
    return Row(
        first - second, None, "s", MOST_COMPILE_SECONDS, f"{note}; at most {MOST_COMPILE_SECONDS:g}", fault=fault
    )


def show(rows: dict[str, Row], console: Console) -> None:
    """The table for people, notes below."""
    table = Table(title=f"hydraviper against the usual way ({CORES} cores)")
    for name in ("", "ours", "theirs", "unit", "ratio", "required"):
        table.add_column(name, justify="left" if name in ("", "unit") else "right")
    for name, row in rows.items():
        limit = "at most " if row.ratio is None else ""
        table.add_row(
            name,
            _number(row.ours),
            _number(row.theirs),
            row.unit,
            _number(row.ratio),
            "" if row.required is None else f"[{'red' if row.miss else 'green'}]{limit}{row.required:g}[/]",
        )
    console.print(table)
    for name, row in rows.items():
        console.print(f"[bold]{name}[/]: {row.note}", highlight=False)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def measure_all(options: argparse.Namespace, console: Console) -> dict[str, Row]:
    """Every row, in order; whole runs first, while the machine is as it was found."""
    repetitions = 2 if options.quick else 5
    rows: dict[str, Row] = {}
    with console.status("whole runs, each in its own process"):
        whole = ("--repetitions", "1" if options.quick else "2")
        low = own_process(LOW, options.expert, *whole)
        high = own_process(HIGH, options.expert, *whole)
        compiling = compile_time(options.expert, 1 if options.quick else 2)
    with console.status("preparing the data"):
        largest = (50 + HIGH["train_budget"]) * plain.HORIZON
        material = prepare(options.expert, largest // plain.HORIZON, repetitions)
    with console.status("environment steps"):
        rows["environment steps with trees playing"] = environment_steps(material, 8192 if options.quick else 40_960)
    with console.status("one tree"):
        rows |= one_tree(125_000, repetitions)
    with console.status("C-Q weights"):
        rows["C-Q weights"], weighing = team_weights(material, (2 if options.quick else 10) * NEW_SAMPLES)
    if options.whole_plain:
        with console.status("the usual way, wholly (minutes)"):
            high_row = measured_whole_run(high, HIGH, material, weighing, 20)
            low_row = measured_whole_run(low, LOW, material, weighing, None)
    else:
        with console.status("the usual way, step by step"):
            costs = measure_costs(material, weighing, (1250, 12_500, 50_000, largest))
            remark = check_formula(material, costs, weighing)
            high_row = whole_run(high, HIGH, costs, 20, remark)
            low_row = whole_run(low, LOW, costs, None, f"{remark}; the target for ours is 2-3 s")
    rows["whole high-budget run, cooperative navigation"] = high_row
    rows["low-budget run"] = low_row
    note = f"the most memory the process ever held; at most {MOST_MEGABYTES:g}"
    rows["peak memory of a high-budget run"] = Row(high["megabytes"], None, "MB", MOST_MEGABYTES, note)
    rows["first-use compile time"] = compiling
    return rows


def main() -> int:
    """Measure, show, write; 1 if something required is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--out", type=Path, default=Path("bench.json"), help="where the numbers go (bench.json)")
    parser.add_argument("--expert", help="an expert's file; default: the one that comes with the package")
    parser.add_argument(
        "--whole-plain", action="store_true", help="run the usual way wholly instead of extrapolating (minutes)"
    )
    options = parser.parse_args()
    options.expert = str(Path(options.expert).resolve()) if options.expert else None
    try:
        find_expert(options.expert, make(GAME))
    except InputError as error:
        parser.error(str(error))
    console = Console()
    rows = measure_all(options, console)
    show(rows, console)
    options.out.write_text(json.dumps({name: row.to_json() for name, row in rows.items()}, indent=2) + "\n")
    misses = {name: row.miss for name, row in rows.items() if row.miss}
    for name, miss in misses.items():
        console.print(f"[red]missed[/] {name}: {miss}", highlight=False)
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
