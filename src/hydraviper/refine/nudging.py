"""Thresholds tuned by the score itself, where episodes are dear.

Imitation puts a threshold where actions change, not where the score is best. Here all thresholds of all trees are moved
at once, by random amounts, and the same seed is played with the amounts added and taken away. Half the difference of
the two scores, times what a threshold was moved by, tells on average which way that threshold should go: each pair of
episodes tells of all thresholds together. Where a game says who is next to whom, a tree's thresholds are judged by what
the agent and its neighbours earn: what the others earn is chance to them.
"""

from dataclasses import replace

import numpy as np

from hydraviper.profile import Profile
from hydraviper.protocols import offers
from hydraviper.refine.experience import Experience
from hydraviper.refine.records import SEARCH, SearchState, Trees
from hydraviper.seeding import Purpose, generator
from hydraviper.trees.derived import extend
from hydraviper.trees.packed import FEATURE, LEFT, RIGHT, Packed

NUMBER = 700_000  # of the seeds that pairs are played on
SHARE = 0.5  # of a feature's deviation at a node, by which its threshold is moved
STEPS = (0.7, 1.4, 2.8)  # how far candidates go, in what the threshold with the surest way was moved by
OUTLIER = 4.0  # a pair counts as at most so many times the usual difference: a jam tells no more than that
LEAST_PAIRS = 4


def nudged(state: SearchState, trees: Trees, experience: Experience, pairs: int) -> tuple[dict[str, Trees], int]:
    """Candidates whose thresholds went where pairs of episodes point, by name; and how many episodes were played."""
    packed = state.pack(trees)
    width = _widths(state, packed, experience)
    where = np.nonzero(width)
    if pairs < LEAST_PAIRS or not len(where[0]):
        return {}, 0
    draws = generator(state.settings.seed, Purpose.REFINE, 3000)
    moves = draws.standard_normal((pairs, len(where[0]))).clip(-2, 2)
    seeds = state.seeds(SEARCH, NUMBER, pairs)
    both = [_moved(packed, where, sign * width[where] * move) for move in moves for sign in (1, -1)]
    played = state.engine.play_many(
        [Profile(state.expert, state.unpack(one)) for one in both],
        [seeds[k // 2 : k // 2 + 1] for k in range(2 * pairs)],
    )
    returns = (
        state.sign * np.concatenate([rollouts.returns for rollouts in played]) * np.array(state.game.score.weights)
    )
    gains = _near(state, (returns[::2] - returns[1::2]) / 2)
    direction = np.zeros(len(where[0]))
    for a in range(len(state.team)):
        direction[where[0] == a] = _direction(moves[:, where[0] == a], gains[:, a])
    if not direction.any():
        return {}, 2 * pairs
    way = direction / np.abs(direction).max() * width[where]
    named = {f"thresholds moved ({step:g})": state.unpack(_moved(packed, where, step * way)) for step in STEPS}
    return named, 2 * pairs


def _near(state: SearchState, gains: np.ndarray) -> np.ndarray:
    """Per tree what its agent and the agent's neighbours gain, [E, N] -> [E, A]; without neighbours, what all gain."""
    near = offers(state.game).graph.near(gains.shape[1])
    return np.stack([gains[:, near[i]].sum(axis=1) for i in state.team], axis=1)


def _direction(moves: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """Per threshold, what moving it gains; ways that may be chance shrink to 0."""
    usual = np.median(np.abs(gains))
    gains = gains.clip(-OUTLIER * usual, OUTLIER * usual)
    products = moves * gains[:, None]
    slope, error = products.mean(axis=0), products.std(axis=0, ddof=1) / np.sqrt(len(gains))
    with np.errstate(divide="ignore", invalid="ignore"):
        sure = np.nan_to_num(1 - (error / slope) ** 2, nan=0.0, neginf=0.0)
    return slope * sure.clip(0, 1)


def _moved(packed: Packed, where: tuple[np.ndarray, ...], amounts: np.ndarray) -> Packed:
    threshold = packed.threshold.copy()
    threshold[where] += amounts.astype(np.float32)
    return replace(packed, threshold=threshold)


def _widths(state: SearchState, packed: Packed, experience: Experience) -> np.ndarray:
    """How far each threshold is moved, [A, M]: by what its feature varies among those who are asked; 0 for the others.

    Features with two values at a node, such as whether a phase is green, have but one threshold.
    """
    width = np.zeros(packed.threshold.shape)
    for a, i in enumerate(state.team):
        seen = extend(experience.observations[i], state.vocabulary.derived[a])
        rows_at = {0: np.arange(len(seen))}
        while rows_at:
            node, rows = rows_at.popitem()
            feature, left, right = packed.nodes[a, node][[FEATURE, LEFT, RIGHT]]
            if feature < 0 or not len(rows):
                continue
            values = seen[rows, feature]
            if len(np.unique(values)) > 2:
                width[a, node] = SHARE * float(values.std())
            below = values <= packed.threshold[a, node]
            rows_at |= {int(left): rows[below], int(right): rows[~below]}
    return width
