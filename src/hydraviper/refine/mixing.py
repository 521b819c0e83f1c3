"""The best candidate's tree for each agent, where episodes are dear and agents have neighbours.

A candidate is a tree for every agent, and most are better for some agents and worse for others. So every episode draws
a candidate for each agent on its own, and an agent's trees are judged by what it and its neighbours earn: one episode
tells of all agents at once. Within a block all candidates of an agent play the same seed, so what a seed brings
cancels. After each heat the worse half of an agent's candidates is out; its own tree stays to be compared with.
"""

from collections.abc import Sequence

import numpy as np

from hydraviper.profile import Profile
from hydraviper.protocols import offers
from hydraviper.refine.records import SEARCH, SearchState, Trees
from hydraviper.seeding import Purpose, generator
from hydraviper.trees.tree import Tree

NUMBER = 800_000  # of the seeds that blocks are played on
HEATS = 3
OUTLIER = (
    4.0  # an episode counts as at most so many times the usual distance from its block's mean: a jam tells no more
)


def mixed(state: SearchState, candidates: Sequence[Trees], episodes: int) -> tuple[Trees, int]:
    """Trees of several candidates, for each agent the best one's, and how many episodes were played.

    The first candidate's trees stay where no other is clearly better.
    """
    near = offers(state.game).graph.near(len(state.game.agents))[:, list(state.team)]
    alive = [_distinct([trees[i] for trees in candidates]) for i in state.team]
    gains = np.zeros((len(state.team), len(candidates), 0))  # of each block; not a number where it was not played
    played = 0
    for heat in range(HEATS):
        width = max(map(len, alive))
        blocks = (episodes - played) // (HEATS - heat) // width
        if width < 2 or blocks < 1 or state.left() <= 0:
            break
        draws = generator(state.settings.seed, Purpose.REFINE, 4000 + heat)
        plan = np.stack([[_spread(draws, ones, width) for ones in alive] for _ in range(blocks)])  # [blocks, A, width]
        returns = _play(state, candidates, plan, NUMBER + 1000 * heat)
        gains = np.append(gains, _gains(plan, returns @ near, len(candidates)), axis=2)
        played += blocks * width
        alive = [_better_half(ones, gains[a]) for a, ones in enumerate(alive)]
    chosen = [_best(ones, gains[a]) for a, ones in enumerate(alive)]
    return {i: candidates[k][i] for i, k in zip(state.team, chosen, strict=True)}, played


def _distinct(trees: Sequence[Tree]) -> list[int]:
    """The places of trees that ask or answer otherwise than all before."""
    first: dict[tuple[bytes, ...], int] = {}
    for k, tree in enumerate(trees):
        first.setdefault(tuple(part.tobytes() for part in (tree.feature, tree.threshold, tree.action)), k)
    return list(first.values())


def _spread(draws: np.random.Generator, ones: Sequence[int], width: int) -> np.ndarray:
    """Each of these about as often, in a random order, [width]."""
    whole = np.concatenate([draws.permutation(ones) for _ in range(-(-width // len(ones)))])
    return draws.permutation(whole[:width])


def _play(state: SearchState, candidates: Sequence[Trees], plan: np.ndarray, number: int) -> np.ndarray:
    """What every agent earns, weighed as in the score, higher is better: [blocks, width, N]."""
    blocks, _, width = plan.shape
    seeds = state.seeds(SEARCH, number, blocks)
    profiles = [
        Profile(state.expert, {i: candidates[k][i] for i, k in zip(state.team, plan[block, :, w], strict=True)})
        for block in range(blocks)
        for w in range(width)
    ]
    rollouts = state.engine.play_many(profiles, [seeds[k // width : k // width + 1] for k in range(len(profiles))])
    returns = np.concatenate([one.returns for one in rollouts]).reshape(blocks, width, -1)
    return state.sign * returns * np.array(state.game.score.weights)


def _gains(plan: np.ndarray, earned: np.ndarray, count: int) -> np.ndarray:
    """What each candidate's tree earned more than its block's middle, [A, candidates, blocks]; outliers count less."""
    blocks, agents = plan.shape[:2]
    gains = np.full((agents, count, blocks), np.nan)
    apart = earned - np.median(earned, axis=1, keepdims=True)  # [blocks, width, A]
    usual = np.median(np.abs(apart), axis=(0, 1))
    apart = apart.clip(-OUTLIER * usual, OUTLIER * usual)
    for block in range(blocks):
        for a in range(agents):
            for k in np.unique(plan[block, a]):
                gains[a, k, block] = apart[block, plan[block, a] == k, a].mean()
    return gains


def _better_half(ones: Sequence[int], gains: np.ndarray) -> list[int]:
    """The better half of an agent's candidates, and its own tree."""
    order = sorted(ones, key=lambda k: -np.nanmean(gains[k]))
    return sorted({0, *order[: -(-len(ones) // 2)]})


def _best(ones: Sequence[int], gains: np.ndarray) -> int:
    """The candidate that is furthest above an agent's own tree, if it is clearly above, else that tree (0)."""
    best, sure = 0, 0.0
    for k in ones:
        apart = gains[k] - gains[0]
        apart = apart[~np.isnan(apart)]
        if k and len(apart) > 1:
            lower = apart.mean() - apart.std(ddof=1) / np.sqrt(len(apart))
            best, sure = (k, lower) if lower > sure else (best, sure)
    return best
