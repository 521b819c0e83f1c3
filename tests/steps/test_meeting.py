"""The last round of selection: what is good among experts may be bad together."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import hydraviper
from hydraviper.ledger import Ledger
from hydraviper.settings import Settings
from hydraviper.steps import meeting, partition, select
from hydraviper.steps.task import Task
from tests.helpers.experts import random_expert

AMONG_EXPERTS = {0: 1.0, 1: 2.0, 2: -3.0}  # what a student brings while the others are experts


class Couple:
    """Plays students that are numbers: 1 is best among experts, but two of them are worth much less than 1 and 0."""

    workers = 1

    def __init__(self):
        self.seeds, self.played = [], 0

    def play_many(self, profiles, seeds):
        return [self._play(profile.students, own) for profile, own in zip(profiles, seeds, strict=True)]

    def _play(self, students, seeds):
        self.seeds.append(set(seeds.tolist()))
        self.played += len(seeds)
        value = sum(AMONG_EXPERTS[one] for one in students.values()) - 10.0 * (list(students.values()).count(1) > 1)
        noise = np.array([np.random.default_rng(seed).normal() for seed in seeds.tolist()])
        return SimpleNamespace(returns=np.repeat((value + noise)[:, None], 4, axis=1) * 25)


@pytest.fixture
def couple():
    game = hydraviper.make("cooperative-navigation:agents=4")
    task = Task(game, None, Couple(), Settings(valid_budget=800), Ledger())
    teams = ((0, 1), (2, 3))
    students = [[{team[0]: one} for one in (0, 1, 2)] for team in teams]
    each, together = meeting.budgets(task, teams, meets=True)
    shared = Task(game, None, task.engine, Settings(valid_budget=each), task.ledger)
    choices = tuple(select.race(shared, team, own) for team, own in zip(teams, students, strict=True))
    return task, teams, students, choices, together


def test_teams_that_spoil_each_other_are_told_apart(couple):
    task, teams, students, choices, together = couple
    assert [choice.chosen for choice in choices] == [1, 1]  # the best among experts, the worst pair
    met = meeting.meet(task, teams, students, choices, together)
    assert sorted(choice.chosen for choice in met) == [0, 1]
    assert any("When the teams played together, other trees proved better" in note for note in task.ledger.notes)
    assert [choice.means for choice in met] == [choice.means for choice in choices]


def test_the_whole_budget_is_kept_and_no_episode_was_seen_before(couple):
    task, teams, students, choices, together = couple
    before = set.union(*task.engine.seeds)
    task.engine.seeds.clear()
    meeting.meet(task, teams, students, choices, together)
    assert not before & set.union(*task.engine.seeds)
    assert task.engine.played <= task.settings.valid_budget
    assert task.ledger.rollouts["valid"] == task.engine.played


def test_those_that_were_chosen_stay_where_nothing_is_better(couple):
    task, teams, students, choices, together = couple
    good = (select.Choice(0, choices[0].means, choices[0].pulls), choices[1])
    assert [choice.chosen for choice in meeting.meet(task, teams, students, good, together)] == [0, 1]


def test_only_teams_that_were_split_have_a_last_round():
    game = hydraviper.make("cooperative-navigation:agents=4")
    task = Task(game, None, None, Settings(valid_budget=800), Ledger())
    assert meeting.budgets(task, ((0, 1, 2, 3),), meets=True) == (800, 0)
    assert meeting.budgets(task, ((0, 1), (2, 3)), meets=False) == (400, 0)
    assert meeting.budgets(task, ((0, 1), (2, 3)), meets=True) == (300, 200)
    few = Task(game, None, None, Settings(valid_budget=63), Ledger())
    assert meeting.budgets(few, ((0, 1), (2, 3)), meets=True) == (31, 0)  # too few for a round
    choices = (select.Choice(0, [1.0], [0]), select.Choice(0, [1.0], [0]))
    assert meeting.meet(task, ((0, 1), (2, 3)), [[], []], choices, 0) == choices


@pytest.mark.parametrize(("limit", "sizes"), [(20_000, [3, 3]), (100, [2, 2, 2]), (24, [1] * 6)])
def test_metis_makes_teams_that_can_be_valued(limit, sizes):
    game = hydraviper.make("cooperative-navigation:agents=6")
    settings = Settings(partition="marginal-metis", teams=2, max_joint_actions=limit)
    task = Task(game, random_expert(game), hydraviper.LocalEngine(lambda: game), settings, Ledger())
    assert sorted(map(len, partition.by_settings(task))) == sizes
    told = f"METIS made {len(sizes)} teams instead of 2, so that none has more than {limit:,} joint actions."
    assert (told in task.ledger.notes) == (len(sizes) > 2)
