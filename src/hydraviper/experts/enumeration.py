"""Joint actions one after the other: the worst one for any Q-function, where an expert knows no quicker way."""

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hydraviper.data import Observations, Team


def joint_actions(actions: np.ndarray, movers: Team, action_counts: Sequence[int]) -> Iterator[np.ndarray]:
    """The actions [B, N] with each of the movers' joint actions in turn; `action_counts` [N] has all agents'."""
    for choice in itertools.product(*(range(action_counts[i]) for i in movers)):
        played = actions.copy()
        played[:, list(movers)] = choice
        yield played


def worst_team_q(
    q: Callable[[Observations, np.ndarray], np.ndarray],
    observations: Observations,
    actions: np.ndarray,
    team: Team,
    judges: Team | None,
    action_counts: Sequence[int],
) -> np.ndarray:
    """`Expert.worst_team_q` by trying all joint actions of a team: one call of `q` (-> [B, N]) for each."""
    columns, worst = list(team if judges is None else judges), np.full(len(actions), np.inf)
    for played in joint_actions(actions, team, action_counts):
        worst = np.minimum(worst, q(observations, played)[:, columns].mean(axis=1))
    return worst
