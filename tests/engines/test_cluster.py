"""A Ray cluster of two nodes on this machine: the same rollouts, whoever dies; nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest

import hydraviper
from hydraviper.engines import cluster
from hydraviper.engines.cluster import RayEngine
from hydraviper.engines.workers import KEPT_POLICIES
from hydraviper.experts.exploring import Exploring
from hydraviper.games.scripts import Staying
from tests.engines.test_workers import Fragile
from tests.helpers.command_line import refuses
from tests.helpers.slow_world import Slow

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning", "ignore::DeprecationWarning"),
]
ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'hydraviper[ray]'")

SEEDS = np.arange(24, dtype=np.uint64)


@pytest.fixture(scope="module")
def nodes():
    """A cluster with a node that stays, on which the driver is; a test adds the one that dies."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    own = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield own
    own.shutdown()


@pytest.fixture
def engine(nodes):
    made = []

    def make(game, **more):
        made.append(RayEngine(game, nodes.address, **more))
        return made[-1]

    yield make
    for one in made:
        one.close()


class Named(Slow):
    """A world that takes its time, and leaves the number of its process in a folder."""

    def __init__(self, folder):
        super().__init__("cooperative-navigation")
        (folder / str(os.getpid())).touch()

    def reset(self, seeds):
        time.sleep(0.2)
        return self._game.reset(seeds)


def players(folder):
    return [int(path.name) for path in folder.iterdir() if int(path.name) != os.getpid()]


@pytest.mark.parametrize("kill", ["a worker", "a node", "a node that says good-bye"])
def test_whoever_dies_the_rollouts_are_the_same(nodes, engine, navigation, tmp_path, kill):
    whole = hydraviper.play(navigation, Staying(3), SEEDS, record=True)
    other = nodes.add_node(num_cpus=1)
    players_of = engine(partial(Named, tmp_path), workers=2)
    assert players_of.workers == 2

    def strike():
        while len(players(tmp_path)) < 2:
            time.sleep(0.05)
        time.sleep(0.5)
        if kill == "a worker":
            os.kill(players(tmp_path)[0], signal.SIGKILL)
        else:
            nodes.remove_node(other, allow_graceful=kill != "a node")

    hand = threading.Thread(target=strike)
    hand.start()
    told = []
    played = players_of.each(
        [(Staying(3), part, True) for part in players_of.parts(SEEDS)], lambda k, one: told.append(k)
    )
    hand.join()
    joined = hydraviper.Rollouts.join(played)
    np.testing.assert_array_equal(joined.returns, whole.returns)
    assert sorted(told) == list(range(len(played)))
    if kill == "a worker":
        nodes.remove_node(other)


@pytest.mark.parametrize(
    ("word", "error", "words"),
    [("die", hydraviper.JobError, "3 times at the same rollout"), ("refuse", hydraviper.InputError, "not played here")],
)
def test_what_cannot_be_played_leaves_nobody_behind(engine, tmp_path, word, error, words):
    with pytest.raises(error, match=words):
        engine(partial(Fragile, tmp_path, 100, word)).play(Staying(3), SEEDS[:6])
    assert not cluster._ENGINES
    assert not ray.is_initialized()


def test_workers_that_end_before_they_play_end_the_run(engine, monkeypatch):
    class Dying(cluster.Player):
        def about(self):
            os._exit(1)

    monkeypatch.setattr(cluster, "Player", Dying)
    with pytest.raises(hydraviper.JobError, match="end before they can play"):
        engine(partial(Slow, "cooperative-navigation")).play(Staying(3), SEEDS[:2])
    assert not ray.is_initialized()


def test_policies_travel_once_and_engines_share_cores(engine, navigation):
    whole = hydraviper.play(navigation, Staying(3), SEEDS)
    first, second = engine(partial(Slow, "cooperative-navigation")), engine(partial(Slow, "cooperative-navigation"))
    for one in (first, second, first):
        np.testing.assert_array_equal(one.play(Staying(3), SEEDS).returns, whole.returns)
    assert len(first._policies) == 1
    seeds = [SEEDS[:1]] * 20
    for rollouts in first.play_many([Exploring(Staying(3), (5, 5, 5), 0.0, salt) for salt in range(20)], seeds):
        np.testing.assert_array_equal(rollouts.returns, whole.returns[:1])
    assert len(first._policies) == KEPT_POLICIES  # the others need no room any more


def test_nodes_with_another_version_are_refused():
    with pytest.raises(hydraviper.InputError, match=r"the node there has hydraviper 9.9.9 on Python 2.7.1"):
        cluster._check(("there", "9.9.9", "2.7.1"))


def test_the_same_trees_as_on_this_machine_by_the_command_line(tmp_path):
    options = ["--iterations", "3", "--train-budget", "60", "--valid-budget", "9", "--episodes", "20"]
    trees = []
    for more in ([], ["--engine", "ray"]):
        out = tmp_path / f"run{len(more)}"
        call = [sys.executable, "-m", "hydraviper.cli", "distill", "cooperative-navigation", *options, *more]
        subprocess.run([*call, "--out", str(out)], check=True, capture_output=True, timeout=200, cwd=tmp_path)
        trees.append((out / "trees.json").read_bytes())
    assert trees[0] == trees[1]


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("there is no engine 'spark': choose one of local, ray", ["--engine", "spark"]),
        ("--address is for --engine ray", ["--address", "127.0.0.1:6379"]),
        ("must be HOST:PORT", ["--engine", "ray", "--address", "nowhere"]),
        ("nobody answers at 127.0.0.1:1 ", ["--engine", "ray", "--address", "127.0.0.1:1"]),
    ],
)
def test_bad_addresses(call, words, options):
    refuses(call, words, "distill", "cooperative-navigation", *options)
