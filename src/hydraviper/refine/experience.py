"""Action values from experience: the trees play with some random actions, and forests learn what followed.

Fitted Q-evaluation (Ernst et al. 2005, for a fixed policy): for each agent, the value of an action at an observation is
its reward plus the discounted value of the tree's own action at the next observation. No expert is asked, so trees that
act on these values can be better than the expert they came from.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

from hydraviper.data import Rollouts
from hydraviper.experts.exploring import Exploring
from hydraviper.profile import Profile
from hydraviper.refine.records import SEARCH, SearchState, Trees

MOST_RANDOM = 0.3  # the largest share of random actions in an episode
SOON, LATER = 0.8, 0.9  # two discount factors
SWEEPS, FOREST, LEAST_IN_A_LEAF = 8, 40, 10  # iterations, trees of a forest, rows of a leaf
LOOKED_AT = 10_000  # the most steps that forests learn from and moves are judged by: neighbouring ones tell the same
DISASTER = 2.0  # episodes this many times worse than the median one are left out
# what an agent may maximise: weights of (own return, own by LATER, team's return, team's by LATER)
VIEWS = {
    "own reward": (1.0, 0.0, 0.0, 0.0),
    "own reward, later too": (0.0, 1.0, 0.0, 0.0),
    "own and a little of the team's": (0.0, 0.7, 0.0, 0.3),
    "own and the team's": (0.0, 0.5, 0.0, 0.5),
}


@dataclass(frozen=True)
class _Episodes:
    """Recorded steps of some episodes."""

    observations: tuple[np.ndarray, ...]  # per agent [S, F_i]
    actions: np.ndarray  # [S, N]
    earned: np.ndarray  # [S, N] what each agent's reward adds to the score, higher is better
    following: np.ndarray  # [S] the row of the next step; -1 where the episode ended there, -2 where it was cut off
    useful: np.ndarray  # bool [S], whether the step belongs to no disaster
    acting: np.ndarray  # bool [S, N] whose actions counted


class Experience:
    """Everything that trees have met so far, playing with some random actions."""

    def __init__(self, state: SearchState) -> None:
        self.state = state
        self._episodes: list[_Episodes] = []

    @property
    def observations(self) -> tuple[np.ndarray, ...]:
        """All observations, per agent [S, F_i]."""
        return tuple(map(np.concatenate, zip(*(part.observations for part in self._episodes), strict=True)))

    @property
    def acting(self) -> np.ndarray:
        """Whose actions counted at these observations, bool [S, N]."""
        return np.concatenate([part.acting for part in self._episodes])

    def gather(self, trees: Trees, turn: int, episodes: int) -> None:
        """Play episodes with the trees and some random actions, and record them."""
        state = self.state
        counts = tuple(len(agent.actions) for agent in state.game.agents)
        profile = Profile(state.expert, trees)
        exploring = Exploring(profile, counts, MOST_RANDOM, turn)
        seeds = state.seeds(SEARCH, 100 + turn, episodes)
        rollouts = state.engine.play(exploring, seeds, record=True)
        assert rollouts.observations is not None
        assert rollouts.rewards is not None
        lengths = rollouts.lengths
        step = np.concatenate([np.arange(length) for length in lengths])
        done = exploring.changed(profile.act(rollouts.observations), np.repeat(seeds, lengths), step)
        earned = state.sign * rollouts.rewards * np.array(state.game.score.weights)
        following = np.arange(1, len(step) + 1)
        last = np.cumsum(lengths) - 1
        following[last] = np.where(rollouts.ended(state.game.horizon), -1, -2)
        useful = np.repeat(_ordinary(state, rollouts), lengths)
        acting = np.ones(earned.shape, bool) if rollouts.acting is None else rollouts.acting
        self._episodes.append(_Episodes(rollouts.observations, done, earned, following, useful, acting))

    def worth(self, trees: Trees) -> dict[str, list[np.ndarray]]:
        """Per view and tree [S, actions]: the value of each action at every observation, if the trees act then."""
        worth = [self._of_agent(trees, i) for i in self.state.team]
        return {name: [values @ np.array(weights) for values in worth] for name, weights in VIEWS.items()}

    def _of_agent(self, trees: Trees, i: int) -> np.ndarray:
        """The values of each action at each observation, one per weight of a view, [S, actions, 4]; 0 out of turn."""
        acting = self.acting[:, i]
        seen = np.concatenate([part.observations[i] for part in self._episodes])[acting]
        useful = np.concatenate([part.useful for part in self._episodes])[acting]
        actions = np.concatenate([part.actions[:, i] for part in self._episodes])[acting]
        earned, following = _until_next(
            np.concatenate([part.earned for part in self._episodes]), self._following(), acting
        )
        count = len(self.state.game.agents[i].actions)
        rows = np.flatnonzero(useful & (following != -2))
        rows = rows[thinning(len(rows))]
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
        whole = np.zeros((len(acting), count, len(discount)))
        whole[acting] = np.stack(values, axis=1)
        return whole

    def _fitted(self, inputs: np.ndarray, target: np.ndarray, sweep: int) -> ExtraTreesRegressor:
        forest = ExtraTreesRegressor(
            FOREST,
            min_samples_leaf=LEAST_IN_A_LEAF,
            max_features=0.7,
            n_jobs=getattr(self.state.engine, "workers", 1),
            random_state=1000 * (self.state.settings.seed % 1000) + sweep,
        ).fit(inputs, target)
        forest.n_jobs = 1  # threads add up in any order, but results must repeat to the last bit
        return forest

    def _following(self) -> np.ndarray:
        parts, start = [], 0
        for part in self._episodes:
            parts.append(np.where(part.following >= 0, part.following + start, part.following))
            start += len(part.following)
        return np.concatenate(parts)


def thinning(rows: int) -> slice:
    """Every so many rows, so that at most as many are left as are looked at."""
    return slice(None, None, max(1, -(-rows // LOOKED_AT)))


def _until_next(earned: np.ndarray, following: np.ndarray, acting: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the steps in which an agent acts (bool [S]): what is earned until it acts again, and which step that is."""
    own = np.flatnonzero(acting)
    last = following < 0  # rows with which an episode is over
    starts = np.append(0, np.flatnonzero(last)[:-1] + 1)
    pieces = np.union1d(own, starts)
    sums = np.add.reduceat(earned, pieces, axis=0)[np.searchsorted(pieces, own)]
    episode = np.cumsum(last) - last
    again = np.append(episode[own[1:]] == episode[own[:-1]], False)  # whether it acts once more in the same episode
    ends = following[last][episode[own]]
    return sums, np.where(again, np.arange(1, len(own) + 1), ends)


def _ordinary(state: SearchState, rollouts: Rollouts) -> np.ndarray:
    """Which episodes are no disasters, bool [E]."""
    scores = state.sign * state.game.score.of(rollouts.returns)
    middle = float(np.median(scores))
    return scores >= middle - (DISASTER - 1) * abs(middle)


def _with_action(seen: np.ndarray, actions: np.ndarray, count: int) -> np.ndarray:
    return np.concatenate([seen, np.eye(count, dtype=np.float32)[actions]], axis=1)
