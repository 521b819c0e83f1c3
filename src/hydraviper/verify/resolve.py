"""What the names in a file of properties mean for a game's agents: rules, facts and values by number."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hydraviper.data import Agent, Derived, InputError, Term
from hydraviper.protocols import Game, HasDerived, HasPhases
from hydraviper.trees.file import TreesFile
from hydraviper.trees.tree import Tree
from hydraviper.verify.conditions import Condition, Part, parse
from hydraviper.verify.linear import Linear, Variable
from hydraviper.verify.properties import Each, Fact, Names, Properties, Property, RuleText, nearest, shipped

FARTHEST = 1e6  # features lie between minus this and this, unless a domain says otherwise
Values = Mapping[str, str]  # what the variables of for_each stand for


@dataclass(frozen=True)
class Scene:
    """Whose trees are looked at: agents with what they see and do, and what each phase of a signal serves."""

    agents: tuple[Agent, ...]
    derived: tuple[tuple[Derived, ...], ...]  # per agent, the derived features that may be named
    distilled: tuple[int, ...]  # who has a tree
    served: tuple[np.ndarray, ...] | str  # per agent bool [A, G]; or why that is not known

    @staticmethod
    def of(game: Game) -> Scene:
        """A game's own."""
        derived = game.derived if isinstance(game, HasDerived) else ((),) * len(game.agents)
        served = game.served if isinstance(game, HasPhases) else f"{game.name} has no signals"
        return Scene(game.agents, derived, tuple(sorted(i for team in game.teams for i in team)), served)

    @staticmethod
    def of_file(trees: TreesFile, reason: str) -> Scene:
        """What trees.json tells where the game itself cannot be made."""
        derived = tuple(tree.derived for tree in trees.trees)
        return Scene(trees.agents, derived, tuple(range(len(trees.agents))), reason)

    def with_trees(self, students: Mapping[int, Tree]) -> Scene:
        """The same with what the trees derive as well."""
        known = [
            dict.fromkeys((*own, *(students[i].derived if i in students else ()))) for i, own in enumerate(self.derived)
        ]
        return Scene(self.agents, tuple(map(tuple, known)), self.distilled, self.served)


@dataclass(frozen=True)
class Rule:
    """Where `when` and `facts` hold, not all of the agents may act as in `bad`."""

    property: str
    words: str  # which case of the property this is
    agents: tuple[int, ...]
    when: tuple[Linear, ...]  # all of them
    facts: tuple[Linear, ...]  # all of them
    bad: tuple[frozenset[int], ...]  # per agent


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

    low: np.ndarray  # float64 [F]
    high: np.ndarray  # float64 [F]
    whole: np.ndarray  # bool [F]


@dataclass(frozen=True)
class Rules:
    """Properties for the agents of one scene."""

    scene: Scene
    names: tuple[str, ...]  # of the properties, in the order of the file
    rules: tuple[Rule, ...]
    shapes: tuple[Shape, ...]
    spaces: tuple[Space, ...]  # per agent

    def only(self, names: Sequence[str]) -> Rules:
        """The same with some of the properties."""
        return Rules(
            self.scene,
            tuple(name for name in self.names if name in names),
            tuple(rule for rule in self.rules if rule.property in names),
            tuple(shape for shape in self.shapes if shape.property in names),
            self.spaces,
        )


def resolve(properties: Properties, scene: Scene, about: Properties | None = None) -> Rules:
    """Settle every name; `about` holds what is known of the game's values, used unless the file declines."""
    known = about if properties.game_facts and about is not None and about is not properties else None
    domains = (*(known.domains if known else ()), *properties.domains)
    spaces = tuple(_space(agent, domains) for agent in scene.agents)
    facts = [found for fact in (*(known.facts if known else ()), *properties.facts) for found in _facts(scene, fact)]
    rules, shapes = [], []
    for one in properties.properties:
        try:
            rules += [made for rule in _rules(scene, one) for made in _with_facts(rule, facts)]
            shapes += _shapes(scene, one)
        except InputError as error:
            raise InputError(f"property {one.name!r}: {error}") from None
    unique = {
        (
            rule.property,
            frozenset(zip(rule.agents, rule.bad, strict=True)),
            frozenset(rule.when),
            frozenset(rule.facts),
        ): rule
        for rule in reversed(rules)
    }
    names = tuple(one.name for one in properties.properties)
    return Rules(scene, names, tuple(reversed(unique.values())), tuple(shapes), spaces)


def matching(pattern: str, names: Sequence[str]) -> list[tuple[int, str]]:
    """The names that a pattern with * matches, with what its first * stands for."""
    shape = re.compile("(.+)".join(map(re.escape, pattern.split("*"))))
    found = ((k, shape.fullmatch(name)) for k, name in enumerate(names))
    return [(k, match[1] if "*" in pattern else "") for k, match in found if match]


# --------------------------------------------------------------------------- values and facts


def _space(agent: Agent, domains: Sequence) -> Space:
    low, high = np.full(len(agent.features), -FARTHEST), np.full(len(agent.features), FARTHEST)
    whole = np.zeros(len(agent.features), bool)
    for domain in domains:
        if not any(matching(pattern, [agent.name]) for pattern in domain.agent):
            continue
        for k in {k for pattern in domain.features for k, _ in matching(pattern, agent.features)}:
            whole[k] = domain.values != "real"
            least = {"count": 0.0, "flag": 0.0}.get(domain.values, -FARTHEST)
            low[k] = least if domain.least is None else domain.least
            high[k] = (1.0 if domain.values == "flag" else FARTHEST) if domain.most is None else domain.most
            if low[k] > high[k] or max(-low[k], high[k]) > FARTHEST:
                raise InputError(f"the domain of {agent.features[k]!r} is empty or beyond {FARTHEST:,.0f}.")
    return Space(low, high, whole)


Alternatives = tuple[tuple[Linear, ...], ...]


def _facts(scene: Scene, fact: Fact) -> Iterator[Alternatives]:
    """A fact's cases: each is a choice of conjunctions of which one is true."""
    joint = any(part.agent is not None for texts in fact.either for text in texts for part in parse(text).parts)
    for values in _over_agents(scene, fact.for_each):
        owners = [None] if joint else _agents(scene, fact.agent, values, strict=False)
        for owner in owners:
            for known in _over_features(
                scene, fact.for_each, values, owner if owner is not None else scene.distilled[0]
            ):
                alternatives: list[tuple[Linear, ...]] = []
                for texts in fact.either:
                    conjunctions = _conjunctions(scene, [parse(_filled(text, known)) for text in texts], owner)
                    alternatives += conjunctions
                yield tuple(alternatives)


def _with_facts(rule: Rule, facts: Sequence[Alternatives]) -> Iterator[Rule]:
    """The rule with every fact about its agents; a rule for each alternative."""
    own = [
        fact
        for fact in facts
        if {agent for part in fact for line in part for (agent, _), _ in line.terms} <= set(rule.agents)
    ]
    for chosen in itertools.product(*own):
        lines = dict.fromkeys(line for part in chosen for line in part)
        yield Rule(rule.property, rule.words, rule.agents, rule.when, tuple(lines), rule.bad)


# --------------------------------------------------------------------------- properties


def _shapes(scene: Scene, one: Property) -> Iterator[Shape]:
    if not (one.never_asks or one.most_leaves is not None or one.most_depth is not None):
        return
    for i in _agents(scene, one.agent, {}):
        names = [*scene.agents[i].features, *(feature.name for feature in scene.derived[i])]
        banned = {
            names[k]
            for pattern in one.never_asks
            for k in _found(pattern, names, f"{scene.agents[i].name} has no feature")
        }
        yield Shape(one.name, i, frozenset(banned), one.most_leaves, one.most_depth)


def _rules(scene: Scene, one: Property) -> Iterator[Rule]:
    for values in _over_agents(scene, one.for_each):
        if one.agents:
            team = tuple(_agents(scene, (_filled(name, values),), {})[0] for name in one.agents)
            owners = [team]
        else:
            owners = [(i,) for i in _agents(scene, one.agent, values)] if one.rules else []
        for owner in owners:
            for known in _over_features(scene, one.for_each, values, owner[0]):
                for rule in one.rules:
                    yield from _rule(scene, one, rule, owner, known)


def _rule(scene: Scene, one: Property, rule: RuleText, team: tuple[int, ...], values: Values) -> Iterator[Rule]:
    texts = [_filled(text, values) for text in rule.when]
    owner = None if one.agents else team[0]
    bad = list(_bad(scene, rule, team, values))
    words = (" and ".join(texts) or "always", *(f"{scene.agents[i].name}" for i in team))
    for conjunction in _conjunctions(scene, [parse(text) for text in texts], owner):
        for sets in bad:
            # an agent about which nothing is said or asked is left out
            named = {agent for line in conjunction for (agent, _), _ in line.terms}
            kept = [k for k, i in enumerate(team) if i in named or len(sets[k]) < len(scene.agents[i].actions)]
            who = ", ".join(words[1:])
            yield Rule(
                one.name,
                f"{who}: when {words[0]}",
                tuple(team[k] for k in kept),
                conjunction,
                (),
                tuple(sets[k] for k in kept),
            )


def _bad(scene: Scene, rule: RuleText, team: tuple[int, ...], values: Values) -> Iterator[tuple[frozenset[int], ...]]:
    """Which joint actions break the rule, as products of sets of actions."""
    everything = [frozenset(range(len(scene.agents[i].actions))) for i in team]
    if rule.serves is not None:
        serving = _serving(scene, team[0], _filled(rule.serves, values))
        if serving:  # a movement that no phase lets go cannot be starved by the tree
            yield (everything[0] - serving,)
        return
    given = rule.never if rule.never is not None else rule.action
    by_agent = given if isinstance(given, Mapping) else {scene.agents[team[0]].name: given or ()}
    names = {_filled(name, values): patterns for name, patterns in by_agent.items()}
    for name in names:
        if name not in [scene.agents[i].name for i in team]:
            raise InputError(f"{name!r} is none of its agents: {nearest(name, [scene.agents[i].name for i in team])}")
    chosen = {}
    for k, i in enumerate(team):
        agent = scene.agents[i]
        if agent.name in names:
            patterns = [_filled(pattern, values) for pattern in names[agent.name]]
            chosen[k] = frozenset(a for p in patterns for a in _found(p, agent.actions, f"{agent.name} has no action"))
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
    feature = _found(name, agent.features, f"{agent.name} has no feature")[0]
    if feature < len(agent.actions):
        raise InputError(f"{name!r} is no movement: name a queue.")
    return frozenset(np.flatnonzero(served[:, (feature - len(agent.actions)) % served.shape[1]]).tolist())


# --------------------------------------------------------------------------- names


def _over_agents(scene: Scene, each: Mapping[str, Each]) -> Iterator[dict[str, str]]:
    """Every choice of different agents, and of words, for the variables that stand for them."""
    names = [scene.agents[i].name for i in scene.distilled]
    variables = {name: one for name, one in each.items() if one.kind != "feature"}
    choices = []
    for one in variables.values():
        found = [word for pattern in one.words for _, word in matching(pattern, names)]
        if one.kind == "agent" and not found:
            raise InputError(f"no agent is called {one.words[0]!r}: {nearest(one.words[0], names)}")
        choices.append(list(one.words) if one.kind == "word" else found)
    for chosen in itertools.product(*choices):
        agents = [word for word, one in zip(chosen, variables.values(), strict=True) if one.kind == "agent"]
        if len(set(agents)) == len(agents):
            yield dict(zip(variables, chosen, strict=True))


def _over_features(scene: Scene, each: Mapping[str, Each], values: Values, i: int) -> Iterator[dict[str, str]]:
    """Every choice for the variables that stand for parts of the agent's feature names."""
    variables = {name: one for name, one in each.items() if one.kind == "feature"}
    choices = []
    for one in variables.values():
        patterns = [_filled(pattern, values) for pattern in one.words]
        found = [word for pattern in patterns for _, word in matching(pattern, scene.agents[i].features)]
        if not found:
            raise InputError(
                f"{scene.agents[i].name} has no feature {patterns[0]!r}: "
                + nearest(patterns[0], scene.agents[i].features)
            )
        choices.append(list(dict.fromkeys(found)))
    for chosen in itertools.product(*choices):
        yield {**values, **dict(zip(variables, chosen, strict=True))}


def _agents(scene: Scene, patterns: Names, values: Values, strict: bool = True) -> list[int]:
    names = [scene.agents[i].name for i in scene.distilled]
    found: dict[int, None] = {}
    for pattern in patterns:
        here = matching(_filled(pattern, values), names)
        if not here and strict:
            raise InputError(f"no tree is for {_filled(pattern, values)!r}: {nearest(pattern, names)}")
        found |= dict.fromkeys(scene.distilled[k] for k, _ in here)
    return list(found)


def _found(pattern: str, names: Sequence[str], complaint: str) -> list[int]:
    found = [k for k, _ in matching(pattern, names)]
    if not found:
        raise InputError(f"{complaint} {pattern!r}: {nearest(pattern, names)}")
    return found


def _filled(text: str, values: Values) -> str:
    """The text with {variables} put in; other braces are a mistake."""
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


# --------------------------------------------------------------------------- conditions


def _conjunctions(scene: Scene, conditions: Sequence[Condition], owner: int | None) -> list[tuple[Linear, ...]]:
    """The conditions as a choice of conjunctions: `some` and sizes make several."""
    named = {
        found
        for condition in conditions
        if not condition.quantifier
        for part in condition.parts
        if "*" not in part.name
        for found in _variables(scene, part, owner)
    }
    choices = [_alternatives(scene, condition, owner, named) for condition in conditions]
    return [tuple(dict.fromkeys(line for part in chosen for line in part)) for chosen in itertools.product(*choices)]


def _alternatives(
    scene: Scene, condition: Condition, owner: int | None, named: set[Variable]
) -> list[tuple[Linear, ...]]:
    several = [part for part in condition.parts if "*" in part.name and part.kind != "sum"]
    if bool(several) != bool(condition.quantifier) or len(several) > 1:
        raise InputError(f"{condition.text!r} must have one name with * if it says every or some, and only then.")
    fixed: dict[Variable, Fraction] = {}
    for part in condition.parts:
        if not several or part is not several[0]:
            for variable in _variables(scene, part, owner):
                fixed[variable] = fixed.get(variable, Fraction(0)) + part.factor
    if not several:
        return _compare(condition, fixed)
    found = _variables(scene, several[0], owner)
    if condition.quantifier == "every other":
        found = [variable for variable in found if variable not in named]
    cases = []
    for variable in found:
        terms = dict(fixed)
        terms[variable] = terms.get(variable, Fraction(0)) + several[0].factor
        cases.append(_compare(condition, terms))
    if condition.quantifier == "some":
        return [line for case in cases for line in case]
    return [tuple(line for part in chosen for line in part) for chosen in itertools.product(*cases)]


def _compare(condition: Condition, terms: dict[Variable, Fraction]) -> list[tuple[Linear, ...]]:
    """One comparison after another; the size of a single feature by its two cases."""
    lines = [Linear.of(terms, operator, bound) for operator, bound in condition.comparisons]
    choices: list[list[tuple[Linear, ...]]] = []
    for line in lines:
        if len(line.terms) != 1 or not _is_size(line.terms[0][0]):
            choices.append([(line,)])
            continue
        ((agent, feature), factor), bound = line.terms[0], line.bound
        assert isinstance(feature, Derived)
        plain: Variable = (agent, feature.terms[0].inputs[0])
        both = tuple(Linear.of({plain: sign * factor}, line.operator, bound) for sign in (1, -1))
        choices.append([both] if factor > 0 and line.operator != "==" else [(both[0],), (both[1],)])
        if line.operator == "==" and bound / factor < 0:
            choices[-1] = []
    return [tuple(part for chosen in combination for part in chosen) for combination in itertools.product(*choices)]


def _is_size(variable: Variable) -> bool:
    feature = variable[1]
    return (
        isinstance(feature, Derived)
        and len(feature.terms) == 1
        and feature.terms[0].kind == "size"
        and feature.terms[0].sign == 1
    )


def _variables(scene: Scene, part: Part, owner: int | None) -> list[Variable]:
    """What a part's name means."""
    if part.agent is None:
        if owner is None:
            raise InputError(f"say whose {part.name!r} it is: write [AGENT: {part.name}].")
        i = owner
    else:
        names = [scene.agents[k].name for k in scene.distilled]
        if part.agent not in names:
            raise InputError(f"no tree is for {part.agent!r}: {nearest(part.agent, names)}")
        i = scene.distilled[names.index(part.agent)]
    agent, derived = scene.agents[i], scene.derived[i]
    names = [*agent.features, *(feature.name for feature in derived)]
    if part.name in names:
        found = [names.index(part.name)]
    elif "*" in part.name:
        found = [k for k in _found(part.name, names, f"{agent.name} has no feature") if k < len(agent.features)]
    else:
        raise InputError(f"{agent.name} has no feature {part.name!r}: {nearest(part.name, names)}")
    variables: list[Variable] = [(i, k if k < len(agent.features) else derived[k - len(agent.features)]) for k in found]
    if part.kind != "size":
        return variables
    sizes: list[Variable] = []
    for k in found:
        if k >= len(agent.features):
            raise InputError(f"|[{names[k]}]| is the size of a derived feature: only plain ones have one here.")
        sizes.append((i, Derived(f"|{names[k]}|", (Term("size", (k,)),))))
    return sizes


def rules_for(game: Game, own: Properties | None = None) -> Rules:
    """The rules of a file for a game, with what the package knows of the game's values; without a file, what ships."""
    about = shipped(game.name, isinstance(game, HasPhases))
    if own is None and about is None:
        raise InputError(f"no properties ship for {game.name}: pass a file of your own (docs/verify.md).")
    return resolve(own or about or Properties((), (), (), True, ""), Scene.of(game), about)
