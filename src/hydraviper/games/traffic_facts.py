"""What is true of every observation of a traffic signal, told by the names of its features: for proofs."""

from __future__ import annotations

from collections.abc import Sequence

from hydraviper.controllers import LONGEST_MEMORY
from hydraviper.data import Agent, Domain, Fact, Knowledge


def knowledge(agents: Sequence[Agent]) -> Knowledge:
    """The values of signals' features: counts are whole, at most one phase is green, pressures are at most queues."""
    domains, facts = [], []
    for agent in agents:
        who = (agent.name,)
        kinds = {"count": ("queue from ", "moving from ", "standing in "), "whole": ("pressure from ",)}
        for values, starts in kinds.items():
            if names := tuple(name for name in agent.features if name.startswith(starts)):
                domains.append(Domain(names, values, agent=who))
        for values, end in (("flag", "occupied"), ("count", "in the last step"), ("count", "since the last vehicle")):
            if names := tuple(name for name in agent.features if name.startswith("loop ") and name.endswith(end)):
                domains.append(Domain(names, values, agent=who))
        for number, phase in enumerate(phases := _phases(agent), 1):
            red_for = f"phase {number} has been red for, s"
            if red_for in agent.features:
                domains.append(Domain((red_for,), "count", most=LONGEST_MEMORY, agent=who))
                facts.append(Fact(((f"[{phase}] <= 0",), (f"[{red_for}] <= 0",)), who))  # not while it is green
        if phases:
            domains.append(Domain(phases, "flag", agent=who))
            # none is green while the signal's own plan shows yellow
            facts.append(Fact(((" + ".join(f"[{name}]" for name in phases) + " <= 1",),), who))
        for name in agent.features:
            movement = name.removeprefix("pressure from ")
            if movement != name and f"queue from {movement}" in agent.features:
                # the pressure is the queue less the vehicles that stand further on
                facts.append(Fact(((f"[{name}] <= [queue from {movement}]",),), who))
    return Knowledge(tuple(domains), tuple(facts))


def _phases(agent: Agent) -> tuple[str, ...]:
    return tuple(name for name in agent.features if name.startswith("phase ") and name.endswith(" is green"))


def looks_like_signals(agents: Sequence[Agent]) -> bool:
    """Whether agents see what traffic signals see."""
    return all("phase 1 is green" in agent.features for agent in agents)
