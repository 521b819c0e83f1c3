"""What a traffic engineer would ask at a signal, as lines `name = formula` (docs/features.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hydraviper.data import Agent
from hydraviper.games.road_network import Signal

KINDS = {"queue": ("queue",), "vehicles": ("queue", "moving"), "pressure": ("pressure",)}


def lines(agents: Sequence[Agent], signals: Sequence[Signal]) -> str:
    """Per signal: who waits for each phase, all of them and the longest queue, and how much more than for any other."""
    return "\n".join(line for both in zip(agents, signals, strict=True) for line in _signal(*both))


def _signal(agent: Agent, signal: Signal) -> Iterator[str]:
    phases, known = range(len(signal.greens)), set(agent.features)
    yield f"for {agent.name}:"
    for title, kinds in KINDS.items():
        served = {}
        for phase in phases:
            groups = [group.name for group in signal.groups if phase in group.phases]
            names = [f"[{kind} from {group}]" for kind in kinds for group in groups]
            served[phase] = [name for name in names if name[1:-1] in known]
        if not all(f"{kind} from {group.name}" in known for kind in kinds for group in signal.groups):
            continue  # it does not see this
        yield from _phases(title, {phase: names for phase, names in served.items() if names})
    waiting = [f"[queue from {group.name}]" for group in signal.groups if f"queue from {group.name}" in known]
    if len(waiting) > 1:
        yield f"all queues = {' + '.join(waiting)}"
        yield f"longest queue = max({', '.join(waiting)})"


def _phases(title: str, served: dict[int, list[str]]) -> Iterator[str]:
    for phase, names in served.items():
        yield f"{title} of phase {phase + 1} = {' + '.join(names)}"
        if title == "queue" and len(names) > 1:
            yield f"longest queue of phase {phase + 1} = max({', '.join(names)})"
    for phase in served if len(served) > 1 else ():
        others = [f"[{title} of phase {other + 1}]" for other in served if other != phase]
        most = others[0] if len(others) == 1 else f"max({', '.join(others)})"
        yield f"{title} of phase {phase + 1} less the most of others = [{title} of phase {phase + 1}] - {most}"
