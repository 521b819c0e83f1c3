"""The scene of a verification: the agents and their features, and the choices that `for_each` stands for among them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hydraviper.controllers import Controller
from hydraviper.data import Agent, Derived, Each, InputError, Knowledge
from hydraviper.expressions.names import Scope, captured, matches, nearest, substitute
from hydraviper.protocols import Game, offers
from hydraviper.trees.file import TreesFile
from hydraviper.trees.tree import Tree

MOST_CASES = 20_000  # of one property or fact
Values = Mapping[str, str]  # variable of for_each -> the text that stands for it in one case


@dataclass(frozen=True)
class Scene:
    """The agents, what each can see and do, and which of them have trees."""

    agents: tuple[Agent, ...]
    derived: tuple[tuple[Derived, ...], ...]  # per agent, the derived features that may be named
    distilled: tuple[int, ...]  # the agents that have trees
    served: tuple[np.ndarray, ...] | str  # per agent, which phase serves which movement, bool [A, G]; or why unknown
    knowledge: Knowledge = field(default_factory=Knowledge)  # what the game says about its observations
    # per agent, the state machine between its choices and its lights; or why they are not known
    controllers: tuple[Controller, ...] | str = "there are no signals"

    @staticmethod
    def of(game: Game) -> Scene:
        """The scene of a game."""
        offered = offers(game)
        derived = offered.search.derived or ((),) * len(game.agents)
        distilled = tuple(sorted(i for team in game.teams for i in team))
        served = f"{game.name} has no signals" if offered.graph.served is None else offered.graph.served
        controllers = offered.controllers or f"{game.name} has no signals"
        return Scene(game.agents, derived, distilled, served, offered.knowledge, controllers)

    @staticmethod
    def of_file(trees: TreesFile, reason: str, knowledge: Knowledge) -> Scene:
        """The scene that trees.json describes, where the game itself cannot be made for the given reason."""
        derived = tuple(tree.derived for tree in trees.trees)
        return Scene(trees.agents, derived, tuple(range(len(trees.agents))), reason, knowledge, reason)

    def with_trees(self, students: Mapping[int, Tree]) -> Scene:
        """The same scene, in which the trees' derived features may be named as well."""
        by_tree = [students[i].derived if i in students else () for i in range(len(self.agents))]
        both = zip(self.derived, by_tree, strict=True)
        return replace(self, derived=tuple(tuple(dict.fromkeys((*game, *tree))) for game, tree in both))

    @property
    def scope(self) -> Scope:
        """The names that conditions may use."""
        return Scope(self.agents, self.derived, self.distilled)

    def check_trees(self, students: Mapping[int, Tree]) -> None:
        """Refuse trees if an agent lacks one."""
        for i in self.distilled:
            if i not in students:
                raise InputError(f"there is no tree for {self.agents[i].name}: pass trees for every agent.")

    def matching(self, patterns: Sequence[str], values: Values, required: bool = True) -> list[int]:
        """The agents with trees whose names fit a pattern; if required, every pattern must fit one."""
        names = [self.agents[i].name for i in self.distilled]
        chosen: dict[int, None] = {}
        for pattern in patterns:
            fitting = [k for k, name in enumerate(names) if matches(substitute(pattern, values), name)]
            if not fitting and required:
                raise InputError(f"no tree is for {substitute(pattern, values)!r}: {nearest(pattern, names)}")
            chosen |= dict.fromkeys(self.distilled[k] for k in fitting)
        return list(chosen)

    def agent_choices(self, for_each: Mapping[str, Each]) -> Iterator[dict[str, str]]:
        """Every choice of words and of agents, no agent twice, for the variables that stand for them."""
        names = [self.agents[i].name for i in self.distilled]
        variables = {name: each for name, each in for_each.items() if each.kind != "feature"}
        choices: list[list[tuple[str, str | None]]] = []  # per variable: the text, and the agent it means if any
        for each in variables.values():
            if each.kind == "word":
                choices.append([(word, None) for word in each.words])
                continue
            fits = [(text, name) for pattern in each.words for text, name in _captures(pattern, names)]
            if not fits:
                raise InputError(f"no agent is called {each.words[0]!r}: {nearest(each.words[0], names)}")
            choices.append(list(dict.fromkeys(fits)))
        for chosen in _product(choices):
            agents = [name for _, name in chosen if name is not None]
            if len(set(agents)) == len(agents):
                yield dict(zip(variables, (text for text, _ in chosen), strict=True))

    def feature_choices(self, for_each: Mapping[str, Each], values: Values, agent: int) -> Iterator[dict[str, str]]:
        """The given values with every choice for the variables that stand for parts of an agent's feature names."""
        variables = {name: each for name, each in for_each.items() if each.kind == "feature"}
        who, derived = self.agents[agent], [feature.name for feature in self.derived[agent]]
        choices: list[list[str]] = []
        for each in variables.values():
            patterns = [substitute(pattern, values) for pattern in each.words]
            texts = [text for pattern in patterns for text, _ in _captures(pattern, who.features)]
            texts = texts or [text for pattern in patterns for text, _ in _captures(pattern, derived)]
            if not texts:
                hint = nearest(patterns[0], who.features)
                raise InputError(f"{who.name} has no feature {patterns[0]!r}: {hint}")
            choices.append(list(dict.fromkeys(texts)))
        for chosen in _product(choices):
            yield {**values, **dict(zip(variables, chosen, strict=True))}


def _captures(pattern: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What the * of a pattern stands for in each name that fits, and the name."""
    for name in names:
        if (text := captured(pattern, name)) is not None:
            yield text, name


def _product(choices: Sequence[Sequence]) -> Iterator[tuple]:
    """Every combination of one choice each; refuses too many."""
    count = math.prod(map(len, choices))
    if count > MOST_CASES:
        raise InputError(f"for_each makes {count:,} cases, more than {MOST_CASES:,}: use fewer variables or patterns.")
    return itertools.product(*choices)
