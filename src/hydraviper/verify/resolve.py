"""What the names in a file of properties mean for a game's agents: rules, and the world in which they must hold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from hydraviper.data import Agent, Derived, Domain, Each, Fact, InputError, Knowledge
from hydraviper.expressions.expression import All, Condition, Some
from hydraviper.expressions.names import Vocabulary, fill, found, matches, nearest, star
from hydraviper.expressions.reading import conditions
from hydraviper.protocols import Game, offers
from hydraviper.trees.file import TreesFile
from hydraviper.trees.tree import Tree
from hydraviper.verify.properties import Names, Properties, Property, RuleText, shipped

FARTHEST = 1e6  # features lie between minus this and this, unless a domain says otherwise
MOST_CASES = 20_000  # of one property or fact
Values = Mapping[str, str]  # what the variables of for_each stand for


@dataclass(frozen=True)
class Scene:
    """Whose trees are looked at: agents with what they see and do, and what each phase of a signal serves."""

    agents: tuple[Agent, ...]
    derived: tuple[tuple[Derived, ...], ...]  # per agent, the derived features that may be named
    distilled: tuple[int, ...]  # who has a tree
    served: tuple[np.ndarray, ...] | str  # per agent bool [A, G]; or why that is not known
    knowledge: Knowledge = field(default_factory=Knowledge)  # what the game knows about its values

    @staticmethod
    def of(game: Game) -> Scene:
        """A game's own."""
        offered = offers(game)
        derived = offered.search.derived or ((),) * len(game.agents)
        distilled = tuple(sorted(i for team in game.teams for i in team))
        served = f"{game.name} has no signals" if offered.graph.served is None else offered.graph.served
        return Scene(game.agents, derived, distilled, served, offered.knowledge)

    @staticmethod
    def of_file(trees: TreesFile, reason: str, knowledge: Knowledge) -> Scene:
        """What trees.json tells where the game itself cannot be made, for a reason."""
        derived = tuple(tree.derived for tree in trees.trees)
        return Scene(trees.agents, derived, tuple(range(len(trees.agents))), reason, knowledge)

    def with_trees(self, students: Mapping[int, Tree]) -> Scene:
        """The same with what the trees derive as well."""
        known = [
            dict.fromkeys((*own, *(students[i].derived if i in students else ()))) for i, own in enumerate(self.derived)
        ]
        return replace(self, derived=tuple(map(tuple, known)))

    @property
    def vocabulary(self) -> Vocabulary:
        """What conditions may name."""
        return Vocabulary(self.agents, self.derived, self.distilled)

    def check_trees(self, students: Mapping[int, Tree]) -> None:
        """Refuse trees that lack an agent."""
        for i in self.distilled:
            if i not in students:
                raise InputError(f"there is no tree for {self.agents[i].name}: pass trees for every agent.")


@dataclass(frozen=True)
class Rule:
    """Violated where `when` holds and every agent's action is in its `bad` set."""

    property: str
    words: str  # which case of the property this is
    agents: tuple[int, ...]
    when: All
    bad: tuple[frozenset[int], ...]  # per agent

    @cached_property
    def seers(self) -> tuple[int, ...]:
        """The agents whose observations decide: its own, and those that `when` names."""
        return tuple(dict.fromkeys((*self.agents, *sorted({agent for agent, _ in self.when.features()}))))


@dataclass(frozen=True)
class Shape:
    """A limit of one agent's tree."""

    property: str
    agent: int
    never_asks: frozenset[str]
    most_leaves: int | None
    most_depth: int | None


@dataclass(frozen=True)
class Space:
    """Which values one agent's plain features take."""

    low: np.ndarray  # float64 [F], each a float32
    high: np.ndarray  # float64 [F], each a float32
    whole: np.ndarray  # bool [F]


@dataclass(frozen=True)
class World:
    """Which observations there are: every agent's values, and facts about them that hold up to rounding."""

    spaces: tuple[Space, ...]  # per agent
    facts: tuple[Condition, ...]
    who: tuple[frozenset[int], ...]  # per fact, the agents that it is about

    def about(self, agents: Sequence[int]) -> tuple[Condition, ...]:
        """The facts that are about some of these agents and nobody else."""
        return tuple(fact for fact, who in zip(self.facts, self.who, strict=True) if who <= set(agents))

    def tied(self, agents: Sequence[int]) -> tuple[int, ...]:
        """These agents, and all that facts tie to them."""
        known = set(agents)
        while True:
            more = set().union(known, *(who for who in self.who if who & known))
            if more == known:
                return (*agents, *sorted(known - set(agents)))
            known = more


@dataclass(frozen=True)
class Rules:
    """Properties for the agents of one scene."""

    scene: Scene
    names: tuple[str, ...]  # of the properties, in the order of the file
    rules: tuple[Rule, ...]
    shapes: tuple[Shape, ...]
    world: World

    def only(self, names: Sequence[str]) -> Rules:
        """The same with some of the properties."""
        return replace(
            self,
            names=tuple(name for name in self.names if name in names),
            rules=tuple(rule for rule in self.rules if rule.property in names),
            shapes=tuple(shape for shape in self.shapes if shape.property in names),
        )


def rules_for(game: Game, own: Properties | None = None, students: Mapping[int, Tree] | None = None) -> Rules:
    """The rules of a file for a game, or of what ships for it; with trees, what they derive may be named as well."""
    properties = own or shipped(game.name, offers(game).graph.served is not None)
    if properties is None:
        raise InputError(f"no properties ship for {game.name}: pass a file of your own (docs/verify.md).")
    return resolve(properties, Scene.of(game).with_trees(students or {}))


def resolve(properties: Properties, scene: Scene) -> Rules:
    """Settle every name of a file; what the game knows of its values holds as well, unless the file declines."""
    known = scene.knowledge if properties.game_facts else Knowledge()
    world = world_of(scene, known, properties.knowledge)
    rules: list[Rule] = []
    shapes: list[Shape] = []
    for one in properties.properties:
        try:
            unique: dict[object, Rule] = {}
            for rule in _rules(scene, one):
                unique.setdefault(_unordered(rule), rule)
            rules += unique.values()
            shapes += _shapes(scene, one)
        except InputError as error:
            raise InputError(f"property {one.name!r}: {error}") from None
    return Rules(scene, tuple(one.name for one in properties.properties), tuple(rules), tuple(shapes), world)


def _unordered(rule: Rule) -> object:
    """A rule up to the order of its agents and conditions: `i` and `j` with swapped names say the same."""
    return frozenset(zip(rule.agents, rule.bad, strict=True)), frozenset(rule.when.parts)


# --------------------------------------------------------------------------- values and facts


def world_of(scene: Scene, *sources: Knowledge) -> World:
    """Which observations there are, by everything that is known of them together."""
    domains = [domain for source in sources for domain in source.domains]
    spaces = tuple(_space(agent, domains) for agent in scene.agents)
    facts = list(dict.fromkeys(made for source in sources for fact in source.facts for made in _facts(scene, fact)))
    return World(spaces, tuple(facts), tuple(frozenset(agent for agent, _ in fact.features()) for fact in facts))


def _space(agent: Agent, domains: Sequence[Domain]) -> Space:
    """Where all domains of an agent's features meet; a limit is the float32 next to the number that was written."""
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


def _facts(scene: Scene, fact: Fact) -> Iterator[Condition]:
    """A fact's cases."""
    for values in _over_agents(scene, fact.for_each):
        names_agents = any(_names_an_agent(scene, fill(text, values)) for texts in fact.either for text in texts)
        owners = [None] if names_agents else _agents(scene, fact.agent, values, strict=False)
        for owner in owners:
            whose = scene.distilled[0] if owner is None else owner
            for known in _over_features(scene, fact.for_each, values, whose):
                parts = [
                    conditions([fill(text, known) for text in texts], scene.vocabulary, owner) for texts in fact.either
                ]
                if len(parts) > 1:
                    yield Some(tuple(parts))
                else:
                    yield from parts[0].parts


def _names_an_agent(scene: Scene, text: str) -> bool:
    return any(f"[{scene.agents[i].name}: " in text.replace("[ ", "[") for i in scene.distilled)


# --------------------------------------------------------------------------- properties


def _shapes(scene: Scene, one: Property) -> Iterator[Shape]:
    if not (one.never_asks or one.most_leaves is not None or one.most_depth is not None):
        return
    for i in _agents(scene, one.agent, {}):
        names = [*scene.agents[i].features, *(feature.name for feature in scene.derived[i])]
        banned = {
            names[k]
            for pattern in one.never_asks
            for k in found(pattern, names, f"{scene.agents[i].name} has no feature")
        }
        yield Shape(one.name, i, frozenset(banned), one.most_leaves, one.most_depth)


def _rules(scene: Scene, one: Property) -> Iterator[Rule]:
    for values in _over_agents(scene, one.for_each):
        if one.agents:
            team = tuple(i for name in one.agents for i in _agents(scene, (fill(name, values),), {})[:1])
            if len(set(team)) != len(team):
                raise InputError("agents names one agent twice: name each once.")
            owners = [team]
        else:
            owners = [(i,) for i in _agents(scene, one.agent, values)] if one.rules else []
        for owner in owners:
            for known in _over_features(scene, one.for_each, values, owner[0]):
                for rule in one.rules:
                    yield from _rule(scene, one, rule, owner, known)


def _rule(scene: Scene, one: Property, rule: RuleText, team: tuple[int, ...], values: Values) -> Iterator[Rule]:
    texts = [fill(text, values) for text in rule.when]
    when = conditions(texts, scene.vocabulary, None if one.agents else team[0])
    words = f"{', '.join(scene.agents[i].name for i in team)}: when {' and '.join(texts) or 'always'}"
    for sets in _bad(scene, rule, team, values):
        # whoever may do anything is not asked; that `when` may speak of it is another matter
        asked = [k for k, i in enumerate(team) if len(sets[k]) < len(scene.agents[i].actions)]
        kept = asked or [0]
        yield Rule(one.name, words, tuple(team[k] for k in kept), when, tuple(sets[k] for k in kept))


def _bad(scene: Scene, rule: RuleText, team: tuple[int, ...], values: Values) -> Iterator[tuple[frozenset[int], ...]]:
    """Which joint actions break the rule, as products of sets of actions."""
    everything = [frozenset(range(len(scene.agents[i].actions))) for i in team]
    if rule.serves is not None:
        serving = _serving(scene, team[0], fill(rule.serves, values))
        if serving:  # a movement that no phase lets go cannot be starved by the tree
            yield (everything[0] - serving,)
        return
    given = rule.never if rule.never is not None else rule.action
    by_agent = given if isinstance(given, Mapping) else {scene.agents[team[0]].name: given or ()}
    names = {fill(name, values): patterns for name, patterns in by_agent.items()}
    for name in names:
        if name not in [scene.agents[i].name for i in team]:
            raise InputError(f"{name!r} is none of its agents: {nearest(name, [scene.agents[i].name for i in team])}")
    chosen = {}
    for k, i in enumerate(team):
        agent = scene.agents[i]
        if agent.name in names:
            patterns = [fill(pattern, values) for pattern in names[agent.name]]
            chosen[k] = frozenset(a for p in patterns for a in found(p, agent.actions, f"{agent.name} has no action"))
    if rule.never is not None:
        yield tuple(chosen.get(k, everything[k]) for k in range(len(team)))
        return
    for k, allowed in chosen.items():
        yield tuple(everything[m] - allowed if m == k else everything[m] for m in range(len(team)))


def _serving(scene: Scene, i: int, name: str) -> frozenset[int]:
    """The phases that let a movement go, named by one of its counts."""
    if isinstance(scene.served, str):
        raise InputError(f"what a phase serves is not known: {scene.served}.")
    agent, served = scene.agents[i], scene.served[i]
    feature = found(name, agent.features, f"{agent.name} has no feature")[0]
    if feature < len(agent.actions):
        raise InputError(f"{name!r} is no movement: name a queue.")
    return frozenset(np.flatnonzero(served[:, (feature - len(agent.actions)) % served.shape[1]]).tolist())


# --------------------------------------------------------------------------- variables and agents


def _over_agents(scene: Scene, each: Mapping[str, Each]) -> Iterator[dict[str, str]]:
    """Every choice of different agents, and of words, for the variables that stand for them."""
    names = [scene.agents[i].name for i in scene.distilled]
    variables = {name: one for name, one in each.items() if one.kind != "feature"}
    choices: list[list[tuple[str, str | None]]] = []  # what the variable stands for, and the agent that is meant
    for one in variables.values():
        if one.kind == "word":
            choices.append([(word, None) for word in one.words])
            continue
        fits = [(word, name) for pattern in one.words for name in names if (word := star(pattern, name)) is not None]
        if not fits:
            raise InputError(f"no agent is called {one.words[0]!r}: {nearest(one.words[0], names)}")
        choices.append(list(dict.fromkeys(fits)))
    for chosen in _product(choices):
        agents = [name for _, name in chosen if name is not None]
        if len(set(agents)) == len(agents):
            yield dict(zip(variables, (word for word, _ in chosen), strict=True))


def _over_features(scene: Scene, each: Mapping[str, Each], values: Values, i: int) -> Iterator[dict[str, str]]:
    """Every choice for the variables that stand for parts of the agent's feature names."""
    variables = {name: one for name, one in each.items() if one.kind == "feature"}
    agent, choices = scene.agents[i], []
    for one in variables.values():
        patterns = [fill(pattern, values) for pattern in one.words]
        words = [word for pattern in patterns for name in agent.features if (word := star(pattern, name)) is not None]
        if not words:
            derived = [feature.name for feature in scene.derived[i]]
            words = [word for pattern in patterns for name in derived if (word := star(pattern, name)) is not None]
        if not words:
            known = nearest(patterns[0], agent.features)
            raise InputError(f"{agent.name} has no feature {patterns[0]!r}: {known}")
        choices.append(list(dict.fromkeys(words)))
    for chosen in _product(choices):
        yield {**values, **dict(zip(variables, chosen, strict=True))}


def _product(choices: Sequence[Sequence]) -> Iterator[tuple]:
    """Every choice of one of each; refuses to go through too many."""
    count = math.prod(map(len, choices))
    if count > MOST_CASES:
        raise InputError(f"for_each makes {count:,} cases, more than {MOST_CASES:,}: use fewer variables or patterns.")
    return itertools.product(*choices)


def _agents(scene: Scene, patterns: Names, values: Values, strict: bool = True) -> list[int]:
    names = [scene.agents[i].name for i in scene.distilled]
    chosen: dict[int, None] = {}
    for pattern in patterns:
        here = [k for k, name in enumerate(names) if matches(fill(pattern, values), name)]
        if not here and strict:
            raise InputError(f"no tree is for {fill(pattern, values)!r}: {nearest(pattern, names)}")
        chosen |= dict.fromkeys(scene.distilled[k] for k in here)
    return list(chosen)
