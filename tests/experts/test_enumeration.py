"""Trying all joint actions, against a table in which the worst one can be looked up."""

import numpy as np

from hydraviper.experts.enumeration import joint_actions, worst_team_q

COUNTS = (2, 3, 2)
TABLE = np.random.default_rng(0).normal(size=(4, *COUNTS, 3))  # state, actions of three agents, their values


def q(observations, actions):
    return TABLE[observations[0][:, 0].astype(int), actions[:, 0], actions[:, 1], actions[:, 2]]


def test_the_worst_joint_action_is_looked_up():
    states = np.arange(4)
    observations = [states[:, None].astype(np.float32)] * 3
    actions = np.array([[0, 0, 1], [1, 2, 0], [0, 1, 1], [1, 1, 0]])
    team = worst_team_q(q, observations, actions, (0, 1), None, COUNTS)
    np.testing.assert_allclose(team, TABLE[states, :, :, actions[:, 2], :2].mean(axis=3).min(axis=(1, 2)))
    judged = worst_team_q(q, observations, actions, (2,), (0,), COUNTS)
    np.testing.assert_allclose(judged, TABLE[states, actions[:, 0], actions[:, 1], :, 0].min(axis=1))
    assert len(list(joint_actions(actions, (0, 1), COUNTS))) == 6
