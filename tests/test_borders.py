"""What comes from people's own games and experts is checked where it comes in, and refused with one sentence."""

from __future__ import annotations

import numpy as np
import pytest

import hydraviper
from hydraviper.data import Agent, Recommended, Score
from hydraviper.settings import Settings

SMALL = Settings(iterations=2, train_budget=4, valid_budget=4, rollouts_per_iteration=3)


class Walk:
    """Two walkers on a line; each sees where it is and the step's number, and may stay, or go left or right."""

    name, parameters = "walk", {}
    agents = tuple(Agent(name, ("place", "step"), ("stay", "left", "right")) for name in ("ann", "bob"))
    teams = ((0, 1),)
    horizon, width = 5, None
    score = Score("way", "", False, (1.0, 1.0))
    recommended = Recommended()

    def reset(self, seeds):
        self.clock = 0
        self.buffer = np.zeros((2, len(seeds), 2), np.float32)
        self.buffer[:, :, 0] = seeds % 7
        return self.show()

    def step(self, actions):
        self.clock += 1
        self.buffer[:, :, 0] += np.array([0, -1, 1])[actions.T]
        self.buffer[:, :, 1] = self.clock
        return self.show(), self.pay(), np.zeros(self.buffer.shape[1], bool)

    def show(self):
        return list(self.buffer)  # its own memory, used again for every step

    def pay(self):
        return self.buffer[:, :, 0].T

    def measures(self):
        return {}


class Right:
    """An expert that goes right."""

    answer = 2

    def act(self, observations, agents=None):
        return np.full((len(observations[0]), 2), self.answer)

    def q(self, observations, actions):
        return actions.astype(float)

    def worst_team_q(self, observations, actions, team, judges=None):
        return np.zeros(len(actions))


def distill(game=None, expert=None):
    return hydraviper.distill(game or Walk(), expert or Right(), SMALL)


def made(kind, **changed):
    return type(kind.__name__, (kind,), changed)()


def test_a_game_that_uses_its_buffers_again_teaches_every_step():
    played = hydraviper.play(Walk(), Right(), np.array([3], np.uint64), record=True)
    np.testing.assert_array_equal(played.observations[0], [[3, 0], [4, 1], [5, 2], [6, 3], [7, 4]])
    np.testing.assert_array_equal(played.rewards[:, 1], [4, 5, 6, 7, 8])


@pytest.mark.parametrize("answer", [3, 1_000_000, -2])
def test_labels_outside_the_actions_are_refused(answer):
    sentence = rf"action {answer} for ann, whose actions are 0 to 2"
    with pytest.raises(hydraviper.InputError, match=sentence):
        distill(expert=made(Right, answer=answer))


def test_actions_outside_an_array_do_not_reach_a_kernel(navigation):
    policy = made(Right, act=lambda self, seen: np.full((1, 3), 10**6))
    with pytest.raises(hydraviper.InputError, match=r"action 1000000 for agent-0"):
        hydraviper.play(navigation, policy, np.zeros(1, np.uint64))


def test_an_expert_may_not_leave_a_label_out():
    with pytest.raises(hydraviper.InputError, match="action -1 for ann"):
        distill(expert=made(Right, answer=-1))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"show": lambda self: list(self.buffer[:, :, :1])}, r"observations for ann of shape \(3, 1\), not \(3, 2\)"),
        ({"show": lambda self: self.buffer[:1]}, "showed 1 observations to 2 agents"),
        ({"show": lambda self: [["x"], ["y"]]}, "observations for ann that are no plain numbers"),
        ({"show": lambda self: self.buffer.astype(float) + 1e39}, "showed ann a value that is not a number"),
        ({"pay": lambda self: self.buffer[0, :, 0]}, r"rewards of shape \(3,\), not \(3, 2\)"),
        ({"agents": (Walk.agents[0],) * 2}, "two agents called 'ann'"),
        ({"teams": ((0, 1), (1,))}, "bob in two teams"),
        ({"teams": ((0, 2),)}, "a team with agent 2"),
        ({"teams": ()}, "no teams"),
        ({"teams": ((0, 1), ())}, "an empty team"),
        ({"score": Score("way", "", False, (1.0,))}, "scores 1 agents, but has 2"),
        ({"horizon": 0}, "episodes of 0 steps"),
    ],
)
def test_games_that_do_not_fit_are_refused(changed, sentence):
    with pytest.raises(hydraviper.InputError, match=sentence):
        distill(made(Walk, **changed))


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda self, seen, agents=None: np.zeros((len(seen[0]), 1), int), r"actions of shape \(3, 1\), not \(3, 2\)"),
        (lambda self, seen, agents=None: np.zeros((len(seen[0]), 2)), "actions of type float64, not whole numbers"),
    ],
)
def test_actions_that_do_not_fit_are_refused(act, sentence):
    with pytest.raises(hydraviper.InputError, match=sentence):
        distill(expert=made(Right, act=act))


def test_the_game_itself_is_fine():
    assert len(distill().profile.students) == 2
