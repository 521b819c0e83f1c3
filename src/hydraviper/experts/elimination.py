"""Message passing: the least sum of values that each depend on a few agents' actions, without trying all of them.

Agents are eliminated one after the other. All tables that depend on an agent's action are added up, and the least over
its actions is a new table of the others: a message. That is exact. It costs as much as the largest such sum has
entries, which grows with how closely agents are tied, not with how many they are.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from hydraviper.data import Team

Scope = Team  # agents whose actions a value depends on


def order_of(scopes: Sequence[Scope], counts: Mapping[int, int]) -> tuple[list[int], int]:
    """An order of elimination, the cheapest agent first each time, and the most entries that a sum then has."""
    left, order, most = [frozenset(scope) for scope in scopes], [], 1

    def size(agent: int) -> int:
        return math.prod(counts[i] for i in frozenset().union(*(scope for scope in left if agent in scope)))

    remaining = sorted(frozenset().union(*left)) if left else []
    while remaining:
        agent = min(remaining, key=lambda one: (size(one), one))
        most = max(most, size(agent))
        joined = frozenset().union(*(scope for scope in left if agent in scope)) - {agent}
        left = [scope for scope in left if agent not in scope] + [joined]
        remaining.remove(agent)
        order.append(agent)
    return order, most


def least_sum(tables: Sequence[tuple[Scope, np.ndarray]], order: Sequence[int]) -> np.ndarray:
    """The least sum of tables [B, actions of each agent of its scope, ...] over all agents' actions, [B]."""
    left = list(tables)
    for agent in order:
        tied = [(scope, table) for scope, table in left if agent in scope]
        left = [(scope, table) for scope, table in left if agent not in scope]
        scope, table = _sum(tied)
        others = tuple(i for i in scope if i != agent)
        left.append((others, table.min(axis=1 + scope.index(agent))))
    return np.sum([table for _, table in left], axis=0)


def _sum(tables: Sequence[tuple[Scope, np.ndarray]]) -> tuple[Scope, np.ndarray]:
    """The sum of tables as one table of all agents that any of them depends on."""
    joined = tuple(sorted({i for scope, _ in tables for i in scope}))
    total: np.ndarray | None = None
    for scope, table in tables:
        places = sorted(range(len(scope)), key=lambda axis: scope[axis])
        table = table.transpose(0, *(1 + axis for axis in places))
        sizes = iter(table.shape[1:])
        table = table.reshape(len(table), *(next(sizes) if i in scope else 1 for i in joined))
        total = table if total is None else total + table
    assert total is not None
    return joined, total
