"""Samples are kept once; beyond a limit they lie in mapped files, which changes no bit and leaves nothing behind."""

from __future__ import annotations

import errno
import os
from functools import partial

import numpy as np
import pytest

import hydraviper
from hydraviper.dataset import Dataset
from hydraviper.games.scripts import Staying
from hydraviper.memory import LIMIT_SETTING, GrowingArray, Room, peak_megabytes
from hydraviper.settings import Settings
from hydraviper.steps import train
from hydraviper.steps.task import Task
from tests.helpers.experts import random_expert
from tests.helpers.slow_world import Slow

SMALL = Settings(iterations=3, train_budget=30, valid_budget=6, rollouts_per_iteration=10)


@pytest.mark.parametrize("megabytes", [0, 0.001, 100])
def test_an_array_grows_alike_wherever_it_lies(monkeypatch, tmp_path, megabytes):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rows = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
    array = GrowingArray((3,), np.float32, Room(megabytes))
    for start in range(0, 500, 7):
        array.append(rows[start : start + 7])
        np.testing.assert_array_equal(array.array, rows[: start + 7])
    assert array.mapped == (megabytes < 100)
    assert type(array.array) is np.ndarray
    assert not list(tmp_path.iterdir())  # the file has no name that could stay behind


def test_room_that_is_given_back_can_be_taken_again():
    room = Room(0.01)
    first = GrowingArray((), np.float64, room)
    first.append(np.ones(1000))
    second = GrowingArray((), np.float64, room)
    second.append(np.ones(1000))
    assert (first.mapped, second.mapped) == (False, True)
    del first
    third = GrowingArray((), np.float64, room)
    third.append(np.ones(1000))
    assert not third.mapped


def test_a_full_disk_is_one_sentence(monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(hydraviper.JobError, match=r"No space left on device.*set TMPDIR to a larger disk"):
        GrowingArray((), np.float64, Room(0)).append(np.ones(3))


@pytest.mark.parametrize("setting", ["much", "-1", "nan", "inf"])
def test_a_limit_that_is_no_number_is_refused(monkeypatch, setting):
    monkeypatch.setenv(LIMIT_SETTING, setting)
    with pytest.raises(hydraviper.InputError, match="must be a number of megabytes"):
        Room()


def test_teams_and_bins_keep_what_was_seen_once(navigation):
    settings = Settings(iterations=1, train_budget=5, valid_budget=1, rollouts_per_iteration=5)
    task = Task(
        navigation, random_expert(navigation), hydraviper.LocalEngine(lambda: navigation), settings, hydraviper.Ledger()
    )
    teams = [Dataset(team, [18] * 3) for team in ((0,), (1, 2))]
    hydraviper.VARIANTS["hydraviper"].collect(task, teams, hydraviper.Profile(task.expert), 1, np.inf)
    assert len(teams[0]) == len(teams[1]) == 125
    for one, other in zip(teams[0].observations, teams[1].observations, strict=True):
        assert np.shares_memory(one, other)
    bins = train._binned(task, teams[1])
    assert all(np.shares_memory(bins[i].features, teams[0].observations[i]) for i in (1, 2))
    with pytest.raises(ValueError, match="samples of its own"):
        teams[0].share(Dataset((1,), [18] * 3), 1)


@pytest.mark.slow
@pytest.mark.parametrize("partition", ["none", "contiguous"])
def test_mapped_samples_give_the_same_trees(monkeypatch, game, partition):
    expert, settings, runs = random_expert(game), hydraviper.Settings(**SMALL.to_json() | {"partition": partition}), []
    for megabytes in ("4096", "0.05", "0"):
        monkeypatch.setenv(LIMIT_SETTING, megabytes)
        runs.append(hydraviper.distill(game, expert, settings).profile.students)
    for students in runs[1:]:
        assert {i: tree.to_json() for i, tree in students.items()} == {i: t.to_json() for i, t in runs[0].items()}


def test_rollouts_go_into_the_data_piece_by_piece(monkeypatch, navigation):
    expert = random_expert(navigation)
    whole = hydraviper.distill(navigation, expert, SMALL, hydraviper.VARIANTS["imitation"]).profile.students
    played = []

    class Telling(hydraviper.LocalEngine):
        def play(self, policy, seeds, record=False):
            played.append(len(seeds))
            return super().play(policy, seeds, record)

    monkeypatch.setattr("hydraviper.steps.collect.PLAYED_AT_ONCE", 60_000)
    engine = Telling(lambda: navigation)
    pieces = hydraviper.distill(navigation, expert, SMALL, hydraviper.VARIANTS["imitation"], engine).profile.students
    assert max(played) < 30
    assert {i: tree.to_json() for i, tree in pieces.items()} == {i: tree.to_json() for i, tree in whole.items()}


def test_the_most_memory_is_told(navigation):
    ledger = hydraviper.distill(navigation, random_expert(navigation), SMALL).ledger
    assert 20 < ledger.lines[-1].megabytes["process"] <= peak_megabytes() + 0.1
    assert ledger.lines[-1].megabytes["workers"] == 0


@pytest.mark.slow
def test_workers_tell_the_most_memory_that_they_held():
    with hydraviper.LocalEngine(partial(Slow, "cooperative-navigation"), workers=2) as engine:
        engine._seconds_here = 1e9  # no time is spent in this process first
        engine.play(Staying(3), np.arange(6, dtype=np.uint64))
        assert engine.megabytes > 40


def test_teams_that_share_samples_have_the_experts_actions_valued_once(navigation):
    asked = []
    expert = random_expert(navigation)

    class Counting:
        joint = True

        def __getattr__(self, name):
            return getattr(expert, name)

        def q(self, observations, actions):
            asked.append(len(actions))
            return expert.q(observations, actions)

    settings = hydraviper.Settings(**SMALL.to_json() | {"partition": "contiguous", "teams": 3})
    shared = hydraviper.distill(navigation, Counting(), settings)
    assert len(shared.teams) == 3
    assert len(asked) == sum(line.rollouts > 0 for line in shared.ledger.lines)
