"""Crossover: trees of other islands that do better than a team's own.

Once roles are settled, agents' trees hardly depend on each other: the best tree of each agent, wherever it grew, is
worth more than the best island.
"""

import math
import time
from itertools import product

import numpy as np

from hydraviper.protocols import offers
from hydraviper.refine.budget import MIXED, OF_DECISION, OF_MIXING, affordable
from hydraviper.refine.islands import arena_of
from hydraviper.refine.records import SEARCH, SearchState
from hydraviper.trees.packed import FEATURE, Packed
from hydraviper.trees.tree import LEAF


def mixed(state: SearchState, trees: Packed, donors: list[Packed], number: int) -> tuple[Packed, int]:
    """Trees in which each agent's is replaced by a donor's if that does better; also the episodes it took.

    Where agents are alike, one agent's tree, its features renamed, may also serve another agent.
    """
    arena = arena_of(state, trees, SEARCH, affordable(state, MIXED, OF_DECISION), 910_000 + number)
    spent, members = len(arena), np.arange(len(state.team))
    most = math.inf if state.settings.rollouts is None else OF_MIXING * state.settings.rollouts
    longest = math.inf if state.settings.seconds is None else OF_MIXING * state.settings.seconds
    begun = time.perf_counter()
    tried: set[bytes] = set()  # renaming features that a tree does not ask for changes nothing
    for a, donor, b in product(members, [*donors, trees], members):
        for renaming in _renamings(state, int(b), int(a)):
            if time.perf_counter() - begun > longest * (a + 1) / len(members):  # every agent has its share
                break
            changed = _transplanted(state, arena.trees, int(a), donor, int(b), renaming)
            key = b"" if changed is None else bytes([a]) + changed.nodes[a].tobytes() + changed.threshold[a].tobytes()
            if changed is None or key in tried or spent + len(arena) > most:
                continue
            tried.add(key)
            gains = arena.compare(changed, members == a, 0.0)
            spent += len(gains)
            if len(gains) == len(arena) and gains.mean() > 0 and state.allows(changed):
                arena.adopt(changed, members == a)
    return arena.trees, spent


def _renamings(state: SearchState, b: int, a: int) -> list[np.ndarray]:
    """The ways in which member b's plain features correspond to member a's."""
    alike = offers(state.game).search.alike
    if alike is not None:
        return alike(state.team[b], state.team[a])
    return [np.arange(state.vocabulary.plain[a])] if a == b else []


def _transplanted(
    state: SearchState, trees: Packed, a: int, donor: Packed, b: int, renaming: np.ndarray
) -> Packed | None:
    """The trees with the donor's tree b, its features renamed, as tree a; None if that is impossible or no change."""
    nodes, plain = donor.nodes[b].copy(), state.vocabulary.plain[b]
    asks = nodes[:, FEATURE] != LEAF
    if (nodes[asks, FEATURE] >= plain).any():
        if a != b or (renaming != np.arange(plain)).any():
            return None  # it asks for derived features, which have no counterpart
    else:
        nodes[asks, FEATURE] = renaming[nodes[asks, FEATURE]]
    if (nodes == trees.nodes[a]).all() and (donor.threshold[b] == trees.threshold[a]).all():
        return None
    changed = trees.copy()
    changed.nodes[a], changed.threshold[a] = nodes, donor.threshold[b]
    return changed
