"""Rollouts that are dear are played once: the journal, and runs that were killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import hydraviper
from hydraviper.engines.journal import Journal, decode_rollouts, encode_rollouts
from hydraviper.engines.remembered import RememberedEngine
from hydraviper.experts import store
from hydraviper.games.scripts import Staying
from hydraviper.games.traffic import Traffic
from hydraviper.runs import distil as runs
from tests.helpers.command_line import refuses
from tests.helpers.experts import random_expert
from tests.helpers.slow_world import make_slow
from tests.helpers.street import FOLDER, STREET


@pytest.fixture(autouse=True)
def short_rollouts_are_kept(monkeypatch):
    """Rollouts of the tests' street are over so soon that nobody would keep them."""
    monkeypatch.setattr("hydraviper.runs.distil.QUICK", 0.0)


SEEDS = np.arange(5, dtype=np.uint64)


def same(first, second):
    np.testing.assert_array_equal(first.returns, second.returns)
    np.testing.assert_array_equal(first.lengths, second.lengths)
    assert (first.observations is None) == (second.observations is None)
    for ours, theirs in zip(first.observations or (), second.observations or (), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    if first.observations is not None:
        np.testing.assert_array_equal(first.rewards, second.rewards)
    assert {name: values.tolist() for name, values in first.measures.items()} == {
        name: values.tolist() for name, values in second.measures.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_nothing_is_played_twice(navigation, tmp_path, workers):
    with hydraviper.LocalEngine(partial(make_slow, navigation.name), workers) as place:
        expert, path = hydraviper.shipped_expert(navigation), tmp_path / "journal"
        engine = RememberedEngine(place, path, "game", store.policy_digest)
        first = engine.play(hydraviper.Profile(expert), SEEDS[:3], record=True)
        charged = []
        engine = RememberedEngine(place, path, "game", store.policy_digest, charged.append)  # another process, say
        whole = engine.play(hydraviper.Profile(replace(expert, workers=2)), SEEDS, record=True)
        assert (engine.resumed, engine.remembered, engine.played) == (3, 3, 2)
        assert len(charged) == 3
        assert min(charged) > 0
        same(whole, hydraviper.play(navigation, expert, SEEDS, record=True))
        same(first, hydraviper.play(navigation, expert, SEEDS[:3], record=True))
        many = engine.play_many([hydraviper.Profile(expert), Staying(3)], [SEEDS[:2], SEEDS[:1]])
        assert engine.played == 3  # what was recorded also answers those who need no observations
        assert len(charged) == 3  # once each
        same(many[0], hydraviper.play(navigation, expert, SEEDS[:2]))
        same(many[1], hydraviper.play(navigation, Staying(3), SEEDS[:1]))
        other = RememberedEngine(place, path, "another game", store.policy_digest)
        other.play(Staying(3), SEEDS[:1])
        assert other.played == 1
        assert engine.play(Staying(3), SEEDS[:0]).episodes == 0


def test_a_record_that_was_not_finished_is_dropped(tmp_path):
    path, keys = tmp_path / "journal", [bytes([k]) * 32 for k in range(3)]
    journal = Journal(path)
    for key in keys:
        journal.write(key, b"content of " + key[:1])
    whole = path.read_bytes()
    size = len(whole) // 3
    for cut in (*range(2 * size, 3 * size), 1):
        path.write_bytes(whole[:cut])
        journal = Journal(path)
        assert len(journal) == cut // size
        assert path.stat().st_size == cut // size * size
        journal.write(keys[2], b"again")
        assert Journal(path).read(keys[2]) == b"again"
    path.write_bytes(whole[: 2 * size - 1] + b"?" + whole[2 * size :])  # a broken one in the middle ends it
    assert len(Journal(path)) == 1


def test_rollouts_survive_every_bit(navigation):
    played = hydraviper.play(navigation, Staying(3), SEEDS, record=True)
    odd = replace(played, measures={"time lost, s": np.array([np.pi] * 5), "a/b": np.zeros(5)})
    again, seconds = decode_rollouts(encode_rollouts(odd, 1.5))
    same(again, odd)
    assert seconds == 1.5
    plain, _ = decode_rollouts(encode_rollouts(replace(played, observations=None, rewards=None)))
    same(plain, hydraviper.play(navigation, Staying(3), SEEDS))


BUDGET = ["--iterations", "4", "--train-budget", "6", "--valid-budget", "8", "--episodes", "3", "--seed", "5"]


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(call, monkeypatch):
    """Killed twice at a random moment, with two workers and with one: the same trees, nothing played again."""
    store.save(random_expert(hydraviper.make(STREET)), Path("expert.safetensors"))
    arguments = ["distill", STREET, *BUDGET, "--expert", "expert.safetensors", "--json", "--out"]
    played = []
    reset = Traffic.reset
    monkeypatch.setattr(Traffic, "reset", lambda self, seeds: played.append(int(seeds[0])) or reset(self, seeds))
    code, printed, complaint = call(*arguments, "whole", "--workers", 1)
    assert code == 0, complaint
    needed = len(played)
    assert not Path("whole/rollouts.journal").exists()
    assert not any("interrupted" in note for note in json.loads(printed)["notes"])

    journal, before = Path("run/rollouts.journal"), 0
    for workers in ("2", "1"):
        _killed_after(random.randint(needed // 5, 2 * needed // 5), [*arguments, "run", "--workers", workers])
        kept = len(Journal(journal))
        assert before < kept < needed
        before = kept
    records = Journal(journal)
    paid = sum(decode_rollouts(records.read(key))[1] for key in tuple(records.keys()))
    with journal.open("ab") as file:
        file.write(b"ROLL half a record")
    played.clear()
    code, printed, complaint = call(*arguments, "run", "--workers", 1)
    assert code == 0, complaint
    assert len(played) == needed - kept
    assert Path("run/trees.json").read_text() == Path("whole/trees.json").read_text()
    first, second = (json.loads(Path(folder, "summary.json").read_text()) for folder in ("whole", "run"))
    for field in ("score", "expert", "yardsticks", "rollouts", "selection"):
        assert first[field] == second[field]
    assert any(f"took {kept} rollouts from before" in note for note in second["notes"])
    assert second["seconds"]["collect"] + second["seconds"]["select"] > 0.5 * paid  # what was played before counts
    assert not journal.exists()


KILLED = """
import os, signal, sys
from hydraviper.cli import main
from hydraviper.engines.journal import Journal
from hydraviper.runs import distil

distil.QUICK, left, write = 0.0, int(sys.argv.pop(1)), Journal.write

def count(journal, *record):
    global left
    write(journal, *record)
    left -= 1
    if left == 0:
        os.killpg(0, signal.SIGKILL)

Journal.write = count
main()
"""


def _killed_after(records, arguments):
    """A run in a process of its own that is killed, workers and all, once it has kept so many more rollouts."""
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
    command = [sys.executable, "-c", KILLED, *map(str, (records, *arguments))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, start_new_session=True, timeout=300)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.slow
def test_what_a_resumed_run_cannot_do_keeps_what_was_played(call, monkeypatch):
    store.save(random_expert(hydraviper.make(STREET)), Path("expert.safetensors"))
    arguments = ["distill", STREET, *BUDGET, "--expert", "expert.safetensors", "--workers", 1, "--out", "run"]
    reset, count = Traffic.reset, iter(range(1000))

    def stop(self, seeds):
        if next(count) == 12:
            raise KeyboardInterrupt
        return reset(self, seeds)

    monkeypatch.setattr(Traffic, "reset", stop)
    assert call(*arguments)[0] == 130
    kept = len(Journal(Path("run/rollouts.journal")))
    assert kept > 5

    def refuse(self, seeds):
        raise hydraviper.InputError("SUMO is gone.")

    monkeypatch.setattr(Traffic, "reset", refuse)
    assert call(*arguments)[0] == 2
    assert len(Journal(Path("run/rollouts.journal"))) == kept
    monkeypatch.setattr(Traffic, "reset", reset)
    assert call(*arguments)[0] == 0
    assert Path("run/trees.json").is_file()


@pytest.mark.slow
def test_a_run_does_not_go_on_with_another_network(call, tmp_path, monkeypatch):
    """Interrupted, its routes changed, begun again: rollouts of the old demand must not count for the new one."""
    for name in ("street.net.xml", "street.rou.xml", "street.sumocfg"):
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    routes, spec = tmp_path / "street.rou.xml", f"traffic:{tmp_path / 'street.sumocfg'},steps=8"
    store.save(random_expert(hydraviper.make(spec)), Path("expert.safetensors"))
    arguments = ["distill", spec, *BUDGET, "--expert", "expert.safetensors", "--workers", 1, "--out", "run"]
    reset, count = Traffic.reset, iter(range(1000))

    def stop(self, seeds):
        if next(count) == 5:
            raise KeyboardInterrupt
        return reset(self, seeds)

    monkeypatch.setattr(Traffic, "reset", stop)
    assert call(*arguments)[0] == 130
    monkeypatch.setattr(Traffic, "reset", reset)
    before = routes.read_text()
    subject = runs.subject(hydraviper.make(spec))
    routes.write_text(before.replace('probability="0.25"', 'probability="0.05"'))
    refuses(call, "already holds another run", *arguments)
    assert runs.subject(hydraviper.make(spec)) != subject  # nor would a journal that is shared answer
    routes.write_text(before)
    code, _, complaint = call(*arguments)
    assert code == 0, complaint
    assert any("rollouts from before" in note for note in json.loads(Path("run/summary.json").read_text())["notes"])


@pytest.mark.slow
def test_a_run_says_when_seeds_do_not_repeat(call, monkeypatch):
    """A simulator that goes by something else as well, as SUMO does on resco:cologne1."""
    store.save(random_expert(hydraviper.make(STREET)), Path("expert.safetensors"))
    arguments = ["distill", STREET, *BUDGET, "--expert", "expert.safetensors", "--workers", 1, "--json", "--out"]
    reset, count = Traffic.reset, iter(range(1000))
    code, printed, complaint = call(*arguments, "steady")
    assert code == 0, complaint
    assert not any("played again" in note for note in json.loads(printed)["notes"])
    monkeypatch.setattr(Traffic, "reset", lambda self, seeds: reset(self, seeds + np.uint64(next(count))))
    code, printed, complaint = call(*arguments, "unsteady")
    assert code == 0, complaint
    assert any("4 of 4 rollouts came out differently" in note for note in json.loads(printed)["notes"])


def test_a_new_run_that_is_refused_leaves_nothing(call, monkeypatch):
    store.save(random_expert(hydraviper.make(STREET)), Path("expert.safetensors"))
    reset, count = Traffic.reset, iter(range(1000))

    def refuse(self, seeds):
        if next(count) == 4:
            raise hydraviper.InputError("SUMO is gone.")
        return reset(self, seeds)

    monkeypatch.setattr(Traffic, "reset", refuse)
    assert call("distill", STREET, *BUDGET, "--expert", "expert.safetensors", "--workers", 1, "--out", "run")[0] == 2
    assert not Path("run").exists()
