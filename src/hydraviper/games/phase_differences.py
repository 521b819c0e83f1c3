"""Derived features of a signal: how many more vehicles some phases let go than others do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from hydraviper.data import Agent, Derived, Term
from hydraviper.games.road_network import Signal

KINDS = {"queue": ("queue",), "vehicles": ("queue", "moving")}  # those that stand, and all
LOAD = ("queue", "queue", "moving")  # those that stand count twice
MANY = 4  # phases; to find the best of more, two at a time, takes more questions than a small tree has


def between(agent: Agent, signal: Signal) -> tuple[Derived, ...]:
    """Per two phases, how many more vehicles the first lets go; what both let go cancels.

    Where there are many phases, also the most that one of several lets go less the most of others, as in a knockout:
    so a few questions find the best phase of all.
    """
    at = {name: k for k, name in enumerate(agent.features)}
    phases = range(len(signal.greens))
    pairs = [
        Derived(f"{title} of phase {a + 1} less phase {b + 1}", terms)
        for a, b in combinations(phases, 2)
        for title, kinds in KINDS.items()
        if (terms := _less(signal, at, kinds, a, b))
    ]
    rounds = [
        Derived(f"most vehicles (twice if standing) of {_named(first)} less {_named(second)}", terms)
        for first, second in (_knockout(phases) if len(phases) > MANY else ())
        if (terms := _most_less(signal, at, first, second))
    ]
    return tuple(dict.fromkeys(pairs + rounds))


def _less(signal: Signal, at: Mapping[str, int], kinds: Sequence[str], a: int, b: int) -> tuple[Term, ...]:
    signs = {group.name: (a in group.phases) - (b in group.phases) for group in signal.groups}
    return tuple(
        Term("value", (at[name],), sign)
        for only in (1, -1)
        for group, sign in signs.items()
        for name in (f"{kind} from {group}" for kind in kinds)
        if sign == only and name in at
    )


def _knockout(phases: Sequence[int]) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """The first half against the second half, and so on within each."""
    if len(phases) > 1:
        half = (len(phases) + 1) // 2
        yield phases[:half], phases[half:]
        yield from _knockout(phases[:half])
        yield from _knockout(phases[half:])


def _most_less(signal: Signal, at: Mapping[str, int], first: Sequence[int], second: Sequence[int]) -> tuple[Term, ...]:
    """The steps of the most of some phases less the most of others; none where nothing is seen of a phase."""
    sums = {phase: _sum(signal, at, phase) for phase in (*first, *second)}
    if not all(sums.values()):
        return ()
    return (*_most([sums[phase] for phase in first]), Term("open"), *_most([sums[p] for p in second]), Term("minus"))


def _most(sums: Sequence[tuple[Term, ...]]) -> tuple[Term, ...]:
    more = (step for terms in sums[1:] for step in (Term("open"), *terms, Term("max")))
    return (*sums[0], *more)


def _sum(signal: Signal, at: Mapping[str, int], phase: int) -> tuple[Term, ...]:
    names = (f"{kind} from {group.name}" for group in signal.groups if phase in group.phases for kind in LOAD)
    return tuple(Term("value", (at[name],)) for name in names if name in at)


def _named(phases: Sequence[int]) -> str:
    return f"phase {phases[0] + 1}" if len(phases) == 1 else f"phases {phases[0] + 1} to {phases[-1] + 1}"
