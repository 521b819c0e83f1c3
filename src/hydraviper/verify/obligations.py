"""Obligations: what the properties of a file demand of the trees of one scene, every name and variable resolved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hydraviper.controllers import Controller
from hydraviper.data import InputError, Knowledge
from hydraviper.expressions.expression import All
from hydraviper.expressions.names import matches, matching, nearest, substitute
from hydraviper.expressions.parser import parse_conditions
from hydraviper.protocols import Game, offers
from hydraviper.trees.tree import Tree
from hydraviper.verify.properties import Clause, Properties, Property, Texts, shipped
from hydraviper.verify.scene import Scene, Values
from hydraviper.verify.world import World, world_of


@dataclass(frozen=True)
class Obligation:
    """One case of a property. Violated where `when` holds and every agent's action is in its `bad` set."""

    property: str
    description: str  # agents and conditions, in words
    agents: tuple[int, ...]
    when: All
    bad: tuple[frozenset[int], ...]  # per agent

    @cached_property
    def observers(self) -> tuple[int, ...]:
        """The agents whose observations decide: its own, and those whose features `when` names."""
        return tuple(dict.fromkeys((*self.agents, *sorted({agent for agent, _ in self.when.features()}))))


@dataclass(frozen=True)
class ShapeLimits:
    """Limits of one agent's tree as such: its size, and the features that it must not ask for."""

    property: str
    agent: int
    never_asks: frozenset[str]
    most_leaves: int | None
    most_depth: int | None


@dataclass(frozen=True)
class Service:
    """A signal whose controller, tree and state machine together, must serve whoever waits."""

    property: str
    agent: int
    controller: Controller


@dataclass(frozen=True)
class Obligations:
    """All that a file of properties demands of the trees of a scene, in a world."""

    scene: Scene
    names: tuple[str, ...]  # of the properties, in the order of the file
    behaviour: tuple[Obligation, ...]
    shapes: tuple[ShapeLimits, ...]
    world: World
    services: tuple[Service, ...] = ()

    def only(self, names: Sequence[str]) -> Obligations:
        """The obligations of some of the properties."""
        return replace(
            self,
            names=tuple(name for name in self.names if name in names),
            behaviour=tuple(obligation for obligation in self.behaviour if obligation.property in names),
            shapes=tuple(shape for shape in self.shapes if shape.property in names),
            services=tuple(service for service in self.services if service.property in names),
        )

    def of_trees(self) -> Obligations:
        """The obligations that trees keep by themselves, without the state machines behind them."""
        others = {service.property for service in self.services}
        return self.only([name for name in self.names if name not in others])


def obligations_for(
    game: Game, properties: Properties | None = None, students: Mapping[int, Tree] | None = None
) -> Obligations:
    """The obligations of some properties (default: those that ship) in a game.

    With trees, conditions may also name the derived features of these trees.
    """
    properties = properties or shipped(game.name, game.agents if offers(game).graph.served is not None else ())
    if properties is None:
        raise InputError(f"no properties ship for {game.name}: pass a file of your own (docs/verify.md).")
    return resolve(properties, Scene.of(game).with_trees(students or {}))


def resolve(properties: Properties, scene: Scene) -> Obligations:
    """Resolve every name of some properties; the game's own knowledge holds too, unless `game_facts = false`."""
    knowledge = scene.knowledge if properties.game_facts else Knowledge()
    world = world_of(scene, knowledge, properties.knowledge)
    behaviour: list[Obligation] = []
    shapes: list[ShapeLimits] = []
    services: list[Service] = []
    for one in properties.properties:
        try:
            unique: dict[object, Obligation] = {}
            for obligation in _obligations(scene, one):
                unique.setdefault(_unordered(obligation), obligation)
            behaviour += unique.values()
            shapes += _shapes(scene, one)
            services += _services(scene, one)
        except InputError as error:
            raise InputError(f"property {one.name!r}: {error}") from None
    names = tuple(one.name for one in properties.properties)
    return Obligations(scene, names, tuple(behaviour), tuple(shapes), world, tuple(services))


def _unordered(obligation: Obligation) -> object:
    """An obligation without the order of its agents and conditions, in which variables i and j may be swapped."""
    return frozenset(zip(obligation.agents, obligation.bad, strict=True)), frozenset(obligation.when.parts)


def _shapes(scene: Scene, one: Property) -> Iterator[ShapeLimits]:
    if not (one.never_asks or one.most_leaves is not None or one.most_depth is not None):
        return
    for i in scene.matching(one.agent, {}):
        names = [*scene.agents[i].features, *(feature.name for feature in scene.derived[i])]
        complaint = f"{scene.agents[i].name} has no feature"
        # a name must be there, lest a slip proves anything; a pattern may fit nothing in this game
        fitting = [word for word in one.never_asks if "*" not in word or any(matches(word, name) for name in names)]
        banned = {names[k] for pattern in fitting for k in matching(pattern, names, complaint)}
        yield ShapeLimits(one.name, i, frozenset(banned), one.most_leaves, one.most_depth)


def _services(scene: Scene, one: Property) -> Iterator[Service]:
    if not one.never_starves:
        return
    if isinstance(scene.controllers, str):
        raise InputError(f"what stands between the trees and the lights is not known: {scene.controllers}.")
    for i in scene.matching(one.agent, {}):
        yield Service(one.name, i, scene.controllers[i])


def _obligations(scene: Scene, one: Property) -> Iterator[Obligation]:
    for values in scene.agent_choices(one.for_each):
        if one.agents:
            team = tuple(i for name in one.agents for i in scene.matching((substitute(name, values),), {})[:1])
            if len(set(team)) != len(team):
                raise InputError("agents names one agent twice: name each once.")
            teams = [team]
        else:
            teams = [(i,) for i in scene.matching(one.agent, values)] if one.clauses else []
        for team in teams:
            for chosen in scene.feature_choices(one.for_each, values, team[0]):
                for clause in one.clauses:
                    yield from _of_clause(scene, one, clause, team, chosen)


def _of_clause(
    scene: Scene, one: Property, clause: Clause, team: tuple[int, ...], values: Values
) -> Iterator[Obligation]:
    texts = [substitute(text, values) for text in clause.when]
    when = parse_conditions(texts, scene.scope, None if one.agents else team[0])
    description = f"{', '.join(scene.agents[i].name for i in team)}: when {' and '.join(texts) or 'always'}"
    for bad in _bad(scene, clause, team, values):
        # an agent whose every action is bad decides nothing, although `when` may name its features
        deciding = [k for k, i in enumerate(team) if len(bad[k]) < len(scene.agents[i].actions)] or [0]
        agents, sets = tuple(team[k] for k in deciding), tuple(bad[k] for k in deciding)
        yield Obligation(one.name, description, agents, when, sets)


def _bad(scene: Scene, clause: Clause, team: tuple[int, ...], values: Values) -> Iterator[tuple[frozenset[int], ...]]:
    """The joint actions that a clause forbids, as products of one set of actions per agent."""
    everything = [frozenset(range(len(scene.agents[i].actions))) for i in team]
    if clause.serves is not None:
        serving = _serving(scene, team[0], substitute(clause.serves, values))
        if serving:  # if no phase serves the movement, no action of the tree can
            yield (everything[0] - serving,)
    elif clause.never is not None:
        never = _actions(scene, clause.never, team, values)
        yield tuple(never.get(k, everything[k]) for k in range(len(team)))
    else:
        for k, required in _actions(scene, clause.action or (), team, values).items():
            yield tuple(everything[m] - required if m == k else everything[m] for m in range(len(team)))


def _actions(
    scene: Scene, written: Texts | Mapping[str, Texts], team: tuple[int, ...], values: Values
) -> dict[int, frozenset[int]]:
    """The actions that a clause names, by the agent's position in the team."""
    members = [scene.agents[i].name for i in team]
    by_agent = written if isinstance(written, Mapping) else {members[0]: written}
    patterns = {substitute(name, values): texts for name, texts in by_agent.items()}
    for name in patterns:
        if name not in members:
            raise InputError(f"{name!r} is none of its agents: {nearest(name, members)}")
    return {
        k: frozenset(
            action
            for pattern in patterns[name]
            for action in matching(substitute(pattern, values), scene.agents[i].actions, f"{name} has no action")
        )
        for k, (i, name) in enumerate(zip(team, members, strict=True))
        if name in patterns
    }


def _serving(scene: Scene, agent: int, name: str) -> frozenset[int]:
    """The phases that give green to a movement, which one of its features names."""
    if isinstance(scene.served, str):
        raise InputError(f"what a phase serves is not known: {scene.served}.")
    signal, served = scene.agents[agent], scene.served[agent]
    feature = matching(name, signal.features, f"{signal.name} has no feature")[0]
    kind, of_a_movement, _ = signal.features[feature].partition(" from ")
    if not of_a_movement:
        raise InputError(f"{name!r} is no movement: name a queue.")
    # every kind is told of all movements, in the same order
    alike = [k for k, one in enumerate(signal.features) if one.startswith(f"{kind} from ")]
    return frozenset(np.flatnonzero(served[:, alike.index(feature) % served.shape[1]]).tolist())
