"""Teams with too many joint actions are refused before any work, with the number, the time and the way out."""

from __future__ import annotations

import re

import pytest

import hydraviper
from hydraviper.experts.local_q import LocalQExpert, NetworkQ
from hydraviper.settings import Settings
from tests.helpers.experts import random_expert

SMALL = {"iterations": 2, "train_budget": 3, "valid_budget": 4, "rollouts_per_iteration": 2, "teams": 2}


class Untouched:
    """An engine on which nobody may play."""

    workers = 1

    def play(self, *arguments, **named):
        raise AssertionError("work was begun")

    play_many = play


def crowd(agents=9, **settings):
    """Nine agents of five actions: 1,953,125 joint ones."""
    game = hydraviper.make(f"cooperative-navigation:agents={agents}")
    return game, random_expert(game, hidden=8), Settings(**{**SMALL, **settings})


def test_a_large_team_is_refused_before_any_work():
    game, expert, settings = crowd()
    with pytest.raises(hydraviper.InputError) as refused:
        hydraviper.distill(game, expert, settings, hydraviper.VARIANTS["maviper"], engine=Untouched())
    words = str(refused.value)
    assert "a team of 9 ask for the values of 1,953,125 joint actions per sample, more than 20,000" in words
    assert re.search(r"for 125 samples that takes about [\d,]+ \w+ here", words)
    assert all(way in words for way in ("local values", "--partition", "fewer agents", "--max-joint-actions"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [
        ("iviper", {}),  # looks at one agent's actions
        ("imitation", {}),  # at none
        ("hydraviper", {"partition": "contiguous", "teams": 3}),  # 125 joint actions per team
    ],
)
def test_what_does_not_enumerate_so_many_goes_on(algorithm, settings):
    game, expert, given = crowd(**{"train_budget": 9, "valid_budget": 18, **settings})
    result = hydraviper.distill(game, expert, given, hydraviper.VARIANTS[algorithm])
    assert len(result.profile.students) == 9


def test_local_values_are_not_affected():
    game, expert, settings = crowd()
    local = LocalQExpert(tuple(NetworkQ(actor) for actor in expert.actors))
    assert len(hydraviper.distill(game, local, settings).profile.students) == 9


def test_the_limit_can_be_set():
    maviper = hydraviper.VARIANTS["maviper"]
    game, expert, settings = crowd(3, max_joint_actions=124)
    with pytest.raises(hydraviper.InputError, match="125 joint actions per sample, more than 124"):
        hydraviper.distill(game, expert, settings, maviper)
    assert hydraviper.distill(*crowd(3, max_joint_actions=125), maviper).profile.students


@pytest.mark.slow
def test_a_large_team_is_searched_and_the_gap_is_told():
    result = hydraviper.distill(*crowd())
    assert len(result.profile.students) == 9
    assert any(
        "A team of 9 has too many joint actions to try all, so the worst was searched" in note
        for note in result.ledger.notes
    )


class Enumerating:
    """An expert with joint values that knows no way but to try them all."""

    joint = True

    def __init__(self, expert):
        self.act, self.q, self.worst_team_q = expert.act, expert.q, expert.worst_team_q


def test_an_expert_that_cannot_search_is_refused():
    game, expert, settings = crowd()
    with pytest.raises(hydraviper.InputError, match="1,953,125 joint actions"):
        hydraviper.distill(game, Enumerating(expert), settings, engine=Untouched())


def test_maviper_counts_the_opponents_actions_as_well(deception):
    settings = Settings(**SMALL, max_joint_actions=100)
    expert = random_expert(deception)
    with pytest.raises(hydraviper.InputError, match="125 joint actions"):
        hydraviper.distill(deception, expert, settings, hydraviper.VARIANTS["maviper"])
    assert hydraviper.distill(deception, expert, settings).profile.students  # 25, the adversary as it is
