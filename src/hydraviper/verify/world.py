"""The world of a verification: which observations can occur, by domains of features and by facts that relate them.

Domains and facts come from the game and from the file of properties. A proof holds for every observation of the world.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hydraviper.data import Agent, Domain, Fact, InputError, Knowledge
from hydraviper.expressions.expression import Condition, Some
from hydraviper.expressions.names import matches, substitute
from hydraviper.expressions.parser import parse_conditions
from hydraviper.verify.scene import Scene

FARTHEST = 1e6  # without a domain, a feature lies between minus this and this


@dataclass(frozen=True)
class Space:
    """The values that one agent's plain features can take."""

    low: np.ndarray  # float64 [F], each a float32
    high: np.ndarray  # float64 [F], each a float32
    whole: np.ndarray  # bool [F], whether only whole numbers occur


@dataclass(frozen=True)
class World:
    """Every agent's space, and the facts that relate features; facts hold up to float32 rounding."""

    spaces: tuple[Space, ...]  # per agent
    facts: tuple[Condition, ...]
    fact_agents: tuple[frozenset[int], ...]  # per fact, the agents whose features it names

    def facts_about(self, agents: Sequence[int]) -> tuple[Condition, ...]:
        """The facts that name features of these agents only."""
        pairs = zip(self.facts, self.fact_agents, strict=True)
        return tuple(fact for fact, named in pairs if named <= set(agents))

    def related(self, agents: Sequence[int]) -> tuple[int, ...]:
        """These agents, then all others that facts relate to them, directly or through other agents."""
        reached = set(agents)
        while True:
            more = set().union(reached, *(named for named in self.fact_agents if named & reached))
            if more == reached:
                return (*agents, *sorted(reached - set(agents)))
            reached = more


def world_of(scene: Scene, *sources: Knowledge) -> World:
    """The observations that all sources of knowledge together allow."""
    domains = [domain for source in sources for domain in source.domains]
    spaces = tuple(_space(agent, domains) for agent in scene.agents)
    facts = dict.fromkeys(case for source in sources for fact in source.facts for case in _cases(scene, fact))
    return World(spaces, tuple(facts), tuple(frozenset(agent for agent, _ in fact.features()) for fact in facts))


def _space(agent: Agent, domains: Sequence[Domain]) -> Space:
    """The intersection of an agent's domains; a limit is rounded to the nearest float32."""
    size = len(agent.features)
    low, high, whole = np.full(size, -np.inf), np.full(size, np.inf), np.zeros(size, bool)
    for domain in domains:
        if not any(matches(pattern, agent.name) for pattern in domain.agent):
            continue
        least = 0.0 if domain.values in ("count", "flag") else -math.inf
        most = 1.0 if domain.values == "flag" else math.inf
        for k, name in enumerate(agent.features):
            if any(matches(pattern, name) for pattern in domain.features):
                whole[k] |= domain.values != "real"
                low[k] = max(low[k], least, -math.inf if domain.least is None else np.float32(domain.least))
                high[k] = min(high[k], most, math.inf if domain.most is None else np.float32(domain.most))
    low, high = (
        np.where(np.isinf(low), np.minimum(-FARTHEST, high), low),
        np.where(np.isinf(high), np.maximum(FARTHEST, low), high),
    )
    low[whole], high[whole] = np.ceil(low[whole]), np.floor(high[whole])
    if (low > high).any():
        name = agent.features[int(np.argmax(low > high))]
        raise InputError(f"the domains of {name!r} leave no value for {agent.name}: correct least, most or values.")
    return Space(low, high, whole)


def _cases(scene: Scene, fact: Fact) -> Iterator[Condition]:
    """A fact as conditions, one for each choice of its variables and agents."""
    for values in scene.agent_choices(fact.for_each):
        names_agents = any(_names_an_agent(scene, substitute(text, values)) for part in fact.either for text in part)
        owners = [None] if names_agents else scene.matching(fact.agent, values, required=False)
        for owner in owners:
            whose = scene.distilled[0] if owner is None else owner
            for chosen in scene.feature_choices(fact.for_each, values, whose):
                options = [[substitute(text, chosen) for text in part] for part in fact.either]
                parts = [parse_conditions(texts, scene.scope, owner) for texts in options]
                if len(parts) > 1:
                    yield Some(tuple(parts))
                else:
                    yield from parts[0].parts


def _names_an_agent(scene: Scene, text: str) -> bool:
    return any(f"[{scene.agents[i].name}: " in text.replace("[ ", "[") for i in scene.distilled)
