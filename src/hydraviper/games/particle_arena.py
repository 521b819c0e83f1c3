"""Whole episodes of a particle world with trees as players, in one kernel, and what a changed tree changes in them.

The steps are those of `games.particle`, one episode at a time, so returns equal those of `rollout.play`, bit for bit.
An arena remembers every step that its trees have played. A changed tree plays the same until it first answers
differently, so only the rest of those episodes is played again: most changes of a small tree concern few episodes.

Kernels take arrays one by one, since numba's reference counts of a tuple of arrays cost more than a node of a tree.
What is done in every step is inlined for the same reason, and `play_changed` stays one function: with the rewards and
the score in functions of their own, even inlined ones, it took 3 % longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np

from hydraviper.data import JobError
from hydraviper.kernels.networks import greedy_row, lists
from hydraviper.kernels.particles import (
    draw,
    move,
    observe_deception,
    observe_navigation,
    reward_deception,
    reward_navigation,
)
from hydraviper.trees.packed import Packed, Vocabulary, leaf_of

FIRST_LOOK = 64  # episodes after which we first ask whether a change can still win; then twice as many, and so on
CERTAINTY = 1.6  # a change is hopeless if its mean difference is this many standard errors below the limit


@nb.njit(cache=True, nogil=True)
def _departure(e, views, played, changed, nodes, threshold, starts, terms):
    """The first step of an episode at which a changed tree answers differently; the horizon if none does."""
    episodes, horizon = played.shape[1], played.shape[2]
    for t in range(horizon):
        for a in range(changed.shape[0]):
            if changed[a]:
                leaf = leaf_of(views, (a * episodes + e) * horizon + t, a, nodes, threshold, starts, terms)
                if nodes[a, leaf, 3] != played[a, e, t]:
                    return t
    return horizon


@nb.njit(cache=True, nogil=True, inline="always")
def _restore(e, t, landmarks, goals, states, spots, goal, position, velocity, total):
    """Copy an episode's landmarks and goal, where its agents were before a step, and what they had got until then."""
    for k in range(landmarks.shape[1]):
        spots[0, k, 0], spots[0, k, 1] = landmarks[e, k, 0], landmarks[e, k, 1]
    goal[0] = goals[e]
    for i in range(total.shape[0]):
        for d in range(2):
            position[0, i, d], velocity[0, i, d] = states[e, t, i, d], states[e, t, i, 2 + d]
        total[i] = states[e, t, i, 4]


@nb.njit(cache=True, nogil=True, inline="always")
def _keep_answers(e, t, seen, actions, hidden, views, played):
    """Note what the trees saw in a step and what they answered."""
    episodes, horizon = played.shape[1], played.shape[2]
    for a in range(played.shape[0]):
        row = (a * episodes + e) * horizon + t
        for f in range(views.shape[1]):
            views[row, f] = seen[a, f]
        played[a, e, t] = actions[0, a + hidden]


@nb.njit(cache=True, nogil=True, inline="always")
def _keep_state(e, t, position, velocity, total, states):
    """Note where the agents are before a step, and what they have got until then."""
    for i in range(total.shape[0]):
        for d in range(2):
            states[e, t, i, d], states[e, t, i, 2 + d] = position[0, i, d], velocity[0, i, d]
        states[e, t, i, 4] = total[i]


@nb.njit(cache=True, nogil=True, inline="always")
def _is_hopeless(added, squares, count, limit, certainty):
    """Whether the mean of differences is surely below the limit, from their sum and the sum of their squares."""
    mean = added / count
    spread = np.sqrt(max(squares / count - mean * mean, 0.0) / count)
    return not mean + certainty * spread >= limit


@nb.njit(cache=True, nogil=True)
def play_changed(
    flags, landmarks, goals, views, played, states, scores, weights,
    nodes, threshold, starts, terms, w0, b0, w1, b1, w2, b2, changed, keep, limit, look, certainty, differences,
):  # fmt: skip
    """Play all episodes with changed trees, from where they first answer differently; returns how many were played.

    With `keep`, what they play is logged (from the start if no tree is changed). Without, the paired differences of
    the score, changed less logged, are written to `differences`, until their mean has no hope of reaching `limit`.
    """
    hidden, collide, mpe2 = flags[0], flags[1] == 1, flags[2] == 1
    episodes, horizon, agents, team = played.shape[1], played.shape[2], states.shape[2], played.shape[0]
    first, second, third = np.empty_like(b0), np.empty_like(b1), np.empty_like(b2)
    index, scale = lists(w0.shape[0], w1.shape[0], w2.shape[0])
    position, velocity, force = np.empty((1, agents, 2)), np.empty((1, agents, 2)), np.empty((agents, 2))
    spots, goal = np.empty((1, landmarks.shape[1], 2)), np.empty(1, np.int64)
    seen, spied = np.empty((team, views.shape[1]), np.float32), np.empty((1, w0.shape[0]), np.float32)
    seen_by_episode, spied_row = seen.reshape(team, 1, views.shape[1]), spied[0]
    actions, rewards, distance = np.zeros((1, agents), np.int64), np.zeros((1, agents)), np.zeros(1)
    total, added, squares, fresh = np.empty(agents), 0.0, 0.0, not changed.any()
    for e in range(episodes):
        start = 0 if fresh else _departure(e, views, played, changed, nodes, threshold, starts, terms)
        score = scores[e]
        if start < horizon:
            _restore(e, start, landmarks, goals, states, spots, goal, position, velocity, total)
            for t in range(start, horizon):
                if hidden == 1:
                    observe_deception(position, spots, goal, spied, seen_by_episode)
                    actions[0, 0] = greedy_row(spied_row, w0, b0, w1, b1, w2, b2, first, second, third, index, scale)
                    if actions[0, 0] < 0:
                        total[0] = np.nan
                else:
                    observe_navigation(position, velocity, spots, seen_by_episode)
                for a in range(team):
                    actions[0, a + hidden] = nodes[a, leaf_of(seen, a, a, nodes, threshold, starts, terms), 3]
                if keep:
                    _keep_answers(e, t, seen, actions, hidden, views, played)
                move(position, velocity, actions, collide, mpe2, force)
                if hidden == 1:
                    reward_deception(position, spots, goal, mpe2, rewards, distance)
                else:
                    reward_navigation(position, spots, mpe2, rewards)
                for i in range(agents):
                    total[i] += rewards[0, i]
                if keep:
                    _keep_state(e, t + 1, position, velocity, total, states)
            score = 0.0
            for i in range(agents):
                score += weights[i] * total[i]
        if keep:
            scores[e] = score
            continue
        differences[e] = score - scores[e]
        added += differences[e]
        squares += differences[e] * differences[e]
        if e + 1 == look and e + 1 < episodes:
            look *= 2
            if _is_hopeless(added, squares, e + 1, limit, certainty):
                return e + 1
    return episodes


@dataclass(frozen=True)
class World:
    """Which particle world is played."""

    agents: int
    landmarks: int
    horizon: int
    collide: bool
    mpe2: bool  # the order of physics and the rewards of that package


class Arena:
    """A team's trees and the episodes that they have played; a score is the returns times the weights."""

    def __init__(
        self,
        world: World,
        network: tuple[np.ndarray, ...] | None,
        vocabulary: Vocabulary,
        trees: Packed,
        seeds: np.ndarray,
        weights: np.ndarray,
    ) -> None:
        """The network, if there is one, plays agent 0; trees play all others."""
        agents, landmarks = world.agents, world.landmarks
        hidden, episodes, horizon = (0 if network is None else 1), len(seeds), world.horizon
        team, features = agents - hidden, max(vocabulary.plain)
        none = np.zeros((1, 1), np.float32), np.zeros(1, np.float32)
        self._network = network or none * 3
        self._tables = vocabulary.tables()
        self._world = (
            np.array([hidden, world.collide, world.mpe2]),
            np.empty((episodes, landmarks, 2)),
            np.empty(episodes, int),
        )
        self.trees = trees
        self.views = np.empty((team * episodes * horizon, features), np.float32)  # row (tree, episode, step)
        self.played = np.empty((team, episodes, horizon), np.int64)
        self.states = np.zeros((episodes, horizon + 1, agents, 5))  # position, velocity and return before each step
        self.scores = np.zeros(episodes)
        self._weights = np.asarray(weights, float)
        positions = np.empty((episodes, agents, 2))
        draw(np.asarray(seeds, np.uint64), positions, *self._world[1:])
        self.states[:, 0, :, :2] = positions
        self.adopt(trees, np.zeros(team, np.bool_))

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def returns(self) -> np.ndarray:
        """All agents' returns, [E, N]."""
        return self.states[:, -1, :, 4]

    def compare(self, trees: Packed, changed: np.ndarray, limit: float) -> np.ndarray:
        """Paired differences of the score, these trees less the arena's; fewer than all episodes if hopeless."""
        out = np.empty(len(self))
        return out[: self._run(trees, changed, False, limit, out)]

    def adopt(self, trees: Packed, changed: np.ndarray) -> None:
        """Make these trees the arena's."""
        self.trees = trees
        self._run(trees, changed, True, 0.0, self.scores)
        if not np.isfinite(self.scores).all():
            raise JobError("an episode's score is not a number: check the game and its expert.")

    def _run(self, trees: Packed, changed: np.ndarray, keep: bool, limit: float, out: np.ndarray) -> int:
        log = self.views, self.played, self.states, self.scores
        arguments: list[Any] = [
            *self._world,
            *log,
            self._weights,
            trees.nodes,
            trees.threshold,
            *self._tables,
            *self._network,
            *(changed, keep, limit, FIRST_LOOK, CERTAINTY, out),
        ]
        return play_changed(*arguments)
