"""What actions are worth by experience: the trees play with some random actions, and forests learn what followed.

Fitted Q-evaluation (Ernst et al. 2005, for a fixed policy): per agent, the worth of an action in what the agent sees is
what it earned at once and, discounted, what the trees' own answer is worth in what it saw next. No expert is asked, so
trees that act on it can be better than the expert they came from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

from hydraviper.data import Rollouts
from hydraviper.experts.exploring import Exploring
from hydraviper.profile import Profile
from hydraviper.refine.records import SEARCH, Search, Trees

MOST_RANDOM = 0.3  # of the actions, in the episodes with most random ones
SOON, LATER = 0.8, 0.9  # worth of a reward one step later
SWEEPS, FOREST, LEAST_IN_A_LEAF = 8, 40, 10  # rounds of the fit, trees of a forest, rows of a leaf
DISASTER = 2.0  # an episode so many times worse than the median one teaches nothing about the others
# what an agent may care for: parts of (own, own later, team's, team's later)
VIEWS = {
    "own reward": (1.0, 0.0, 0.0, 0.0),
    "own reward, later too": (0.0, 1.0, 0.0, 0.0),
    "own and a little of the team's": (0.0, 0.7, 0.0, 0.3),
    "own and the team's": (0.0, 0.5, 0.0, 0.5),
}


@dataclass(frozen=True)
class _Episodes:
    """Steps that were played, and what was done and earned there."""

    observations: tuple[np.ndarray, ...]  # per agent [S, F_i]
    actions: np.ndarray  # [S, N]
    earned: np.ndarray  # [S, N] what each agent's rewards add to the score, higher is better
    following: np.ndarray  # [S] the row of the next step; -1 where the episode ended there, -2 where it was cut off
    useful: np.ndarray  # bool [S]


class Experience:
    """All that trees have met on their way, with some random actions."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self._episodes: list[_Episodes] = []

    @property
    def observations(self) -> tuple[np.ndarray, ...]:
        """What was seen, per agent [S, F_i]."""
        return tuple(map(np.concatenate, zip(*(own.observations for own in self._episodes), strict=True)))

    def gather(self, trees: Trees, turn: int, episodes: int) -> None:
        """Play the trees, with random actions now and then."""
        search = self.search
        counts = tuple(len(agent.actions) for agent in search.game.agents)
        profile = Profile(search.expert, trees)
        exploring = Exploring(profile, counts, MOST_RANDOM, turn)
        seeds = search.seeds(SEARCH, 100 + turn, episodes)
        rollouts = search.engine.play(exploring, seeds, record=True)
        assert rollouts.observations is not None
        assert rollouts.rewards is not None
        lengths = rollouts.lengths
        step = np.concatenate([np.arange(length) for length in lengths])
        done = exploring.changed(profile.act(rollouts.observations), np.repeat(seeds, lengths), step)
        earned = search.sign * rollouts.rewards * np.array(search.game.score.weights)
        following = np.arange(1, len(step) + 1)
        last = np.cumsum(lengths) - 1
        following[last] = np.where(lengths < search.game.horizon, -1, -2)
        useful = np.repeat(_ordinary(search, rollouts), lengths)
        self._episodes.append(_Episodes(rollouts.observations, done, earned, following, useful))

    def worth(self, trees: Trees) -> dict[str, list[np.ndarray]]:
        """Per view and tree [S, actions]: what each action is worth in everything seen, if the trees go on."""
        worth = [self._of_agent(trees, i) for i in self.search.team]
        return {name: [own @ np.array(parts) for own in worth] for name, parts in VIEWS.items()}

    def _of_agent(self, trees: Trees, i: int) -> np.ndarray:
        """The worth of each action in each row, own and team's, soon and later, [S, actions, 4]."""
        seen = np.concatenate([own.observations[i] for own in self._episodes])
        useful = np.concatenate([own.useful for own in self._episodes])
        actions = np.concatenate([own.actions[:, i] for own in self._episodes])
        earned = np.concatenate([own.earned for own in self._episodes])
        following = self._following()
        count = len(self.search.game.agents[i].actions)
        rows = np.flatnonzero(useful & (following != -2))
        ended, after = following[rows] == -1, np.maximum(following[rows], 0)
        reward = np.stack([earned[rows, i]] * 2 + [earned[rows].sum(axis=1)] * 2, axis=1)
        discount = np.array([SOON, LATER, SOON, LATER])
        inputs, answers = _with_action(seen[rows], actions[rows], count), trees[i].predict(seen[after])
        next_inputs = _with_action(seen[after], answers, count)
        forest = self._fitted(inputs, reward, 0)
        for sweep in range(1, SWEEPS):
            then = np.where(ended[:, None], 0.0, forest.predict(next_inputs))
            forest = self._fitted(inputs, reward + discount * then, sweep)
        values = [forest.predict(_with_action(seen, np.full(len(seen), action), count)) for action in range(count)]
        return np.stack(values, axis=1)

    def _fitted(self, inputs: np.ndarray, target: np.ndarray, sweep: int) -> ExtraTreesRegressor:
        forest = ExtraTreesRegressor(
            FOREST,
            min_samples_leaf=LEAST_IN_A_LEAF,
            max_features=0.7,
            n_jobs=getattr(self.search.engine, "workers", 1),
            random_state=1000 * (self.search.settings.seed % 1000) + sweep,
        ).fit(inputs, target)
        forest.n_jobs = 1  # threads would add up in any order, and results must repeat to the last bit
        return forest

    def _following(self) -> np.ndarray:
        parts, start = [], 0
        for own in self._episodes:
            parts.append(np.where(own.following >= 0, own.following + start, own.following))
            start += len(own.following)
        return np.concatenate(parts)


def _ordinary(search: Search, rollouts: Rollouts) -> np.ndarray:
    """Which episodes are no disasters, bool [E]."""
    scores = search.sign * search.game.score.of(rollouts.returns)
    middle = float(np.median(scores))
    return scores >= middle - (DISASTER - 1) * abs(middle)


def _with_action(seen: np.ndarray, actions: np.ndarray, count: int) -> np.ndarray:
    return np.concatenate([seen, np.eye(count, dtype=np.float32)[actions]], axis=1)
