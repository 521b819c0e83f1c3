"""What is true of every observation of a traffic signal, told by the names of its features: for proofs and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hydraviper.controllers import LONGEST_MEMORY
from hydraviper.data import KINDS, Agent, Domain, Fact, Knowledge, Values

# What the features of signals are called, the values that they take, and the words for them.
_FEATURES = {
    "phase * is green": Values("flag", nought="phase * is red", own=True),
    "phase * has been red for, s": Values("count", "s", own=True),
    "queue from *": Values("count", nought="queue from * is empty"),
    "moving from *": Values("count", nought="moving from *: none"),
    "coming from *": Values("count", nought="coming from *: none"),
    "standing in *": Values("count", nought="standing in *: none"),
    "pressure from *": Values("whole"),
    "loop *: occupied": Values("flag", nought="loop *: free"),
    "loop *: vehicles in the last step": Values("count", nought="loop *: no vehicles in the last step"),
    "loop *: seconds since the last vehicle": Values("count"),
}


def values(features: Sequence[str]) -> tuple[Values, ...]:
    """Which values a signal's features take, by their names."""
    return tuple(map(_values_of, features))


def _values_of(name: str) -> Values:
    for pattern, values in _FEATURES.items():
        start, _, end = pattern.partition("*")
        if name.startswith(start) and name.endswith(end) and len(name) > len(start) + len(end):
            between = name[len(start) : len(name) - len(end)]
            return replace(values, nought=values.nought.replace("*", between))
    return Values()


def described(agents: Sequence[Agent]) -> tuple[Agent, ...]:
    """The agents of a file, with the values that their features take if they are signals and the file does not say."""
    if not looks_like_signals(agents):
        return tuple(agents)
    return tuple(agent if agent.values else replace(agent, values=values(agent.features)) for agent in agents)


def knowledge(agents: Sequence[Agent]) -> Knowledge:
    """The values of signals' features: counts are whole, at most one phase is green, pressures are at most queues."""
    domains, facts = [], []
    for agent in agents:
        who = (agent.name,)
        for kind in KINDS:
            known = zip(agent.features, values(agent.features), strict=True)
            names = tuple(name for name, value in known if kind == value.kind != "real")
            if names:
                domains.append(Domain(names, kind, agent=who))
        for number, phase in enumerate(phases := _phases(agent), 1):
            red_for = f"phase {number} has been red for, s"
            if red_for in agent.features:
                domains.append(Domain((red_for,), most=LONGEST_MEMORY, agent=who))
                facts.append(Fact(((f"[{phase}] <= 0",), (f"[{red_for}] <= 0",)), who))  # not while it is green
        if phases:
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
