"""What all languages share: identifiers, a tree as nested ifs, and derived features step by step."""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate

from hydraviper.data import HIGHEST, OPERATIONS, Agent, Derived, Term
from hydraviper.trees.file import TreesFile
from hydraviper.trees.questions import questions
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.version import __version__

PILE = "hv_pile_{}"  # variables for numbers on a pile
PILES = tuple(PILE.format(k) for k in range(1, HIGHEST))  # their names, which nothing else may have
_LONGEST = 57  # characters of a name, without prefix and number: C promises to tell 63 apart


@dataclass(frozen=True)
class Program:
    """One agent's tree with identifiers for everything that its program needs."""

    agent: Agent
    tree: Tree
    name: str  # of the agent, as an identifier
    inputs: Mapping[int, str]  # plain features that are needed -> identifier, in the order of the observation
    derived: Mapping[int, str]  # derived features that are asked for (their numbers in the tree) -> identifier

    @property
    def names(self) -> Mapping[int, str]:
        """The identifier of every feature that the tree asks for."""
        return {**self.inputs, **self.derived}

    def computed(self) -> list[tuple[str, Derived]]:
        """The derived features to compute before the first question."""
        plain = len(self.agent.features)
        return [(name, self.tree.derived[number - plain]) for number, name in self.derived.items()]

    def has_distances(self) -> bool:
        """Whether anything needs a square root."""
        return any(term.kind in ("distance", "length") for _, feature in self.computed() for term in feature.terms)

    def pile(self) -> list[str]:
        """The variables that derived features need beside their own, for numbers on a pile (see `data.Term`)."""
        opened = [list(accumulate(map(_rises, feature.terms))) for _, feature in self.computed()]
        return [PILE.format(k) for k in range(1, 1 + max((max(heights) for heights in opened), default=0))]


def programs(
    trees: TreesFile, reserved: Collection[str] = (), every_input: bool = False, prefix: str = ""
) -> list[Program]:
    """Every agent's tree as a program; `reserved` are words that nothing may be called.

    With `every_input`, features that the tree does not need get an identifier as well. `prefix` stands before features.
    """
    reserved = (*reserved, *PILES)
    agents = identifiers((agent.name for agent in trees.agents), reserved)
    result = []
    for name, agent, tree in zip(agents, trees.agents, trees.trees, strict=True):
        asked = sorted(set(tree.feature.tolist()) - {LEAF})
        plain = len(agent.features)
        needed = {number for number in asked if number < plain}
        needed |= {i for number in asked if number >= plain for i in tree.derived[number - plain].inputs}
        inputs = list(range(plain)) if every_input else sorted(needed)
        numbers = inputs + [number for number in asked if number >= plain]
        words = identifiers((tree.names(agent)[number] for number in numbers), {*reserved, *agents})
        named = {number: prefix + word for number, word in zip(numbers, words, strict=True)}
        result.append(
            Program(
                agent,
                tree,
                name,
                {number: word for number, word in named.items() if number < plain},
                {number: word for number, word in named.items() if number >= plain},
            )
        )
    return result


def identifiers(names: Iterable[str], reserved: Collection[str] = ()) -> list[str]:
    """A legible identifier for each name, all different, also in languages that ignore case."""
    taken, unique_words = {word.lower() for word in reserved}, []
    for name in names:
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower().replace("'", "")
        word = re.sub("[^a-z0-9]+", "_", plain).strip("_")[:_LONGEST].strip("_")
        word = word if word[:1].isalpha() else f"n_{word}".rstrip("_")
        unique, number = word, 2
        while unique in taken:
            unique, number = f"{word}_{number}", number + 1
        taken.add(unique)
        unique_words.append(unique)
    return unique_words


def nested(
    tree: Tree,
    question: Callable[[int], str],
    otherwise: str,
    end: str | None,
    answer: Callable[[int], str],
    depth: int = 1,
    node: int = 0,
    deepest: int | None = None,
) -> list[str]:
    """The tree as nested ifs, a line each; the language says how a question, an else, an end and an answer look.

    A language that nests at most `deepest` levels gives an `answer` for the questions below them as well.
    """
    space = "    " * depth
    if tree.feature[node] == LEAF or (deepest is not None and depth > deepest):
        return [space + answer(node)]
    sides = [
        nested(tree, question, otherwise, end, answer, depth + 1, int(child), deepest)
        for child in (tree.left[node], tree.right[node])
    ]
    closing = [] if end is None else [space + end]
    return [space + question(node), *sides[0], space + otherwise, *sides[1], *closing]


@dataclass(frozen=True)
class Arithmetic:
    """How a language computes a derived feature, so that every step is rounded to single precision."""

    assign: str  # {target}, {value}
    single: str  # {value} rounded to single precision
    size: str  # {x} without its sign
    distance: str  # the length of ({x}, {y})
    number: str  # {value}, a float32 as text
    replace: str  # {target} becomes {value} where {value} {comparison} {target}

    def steps(self, target: str, feature: Derived, names: Mapping[int, str]) -> list[str]:
        """The assignments that compute a derived feature, one per step; the lowest number of the pile is the target."""
        lines: list[str] = []
        pile, empty = [target], True
        for term in feature.terms:
            top = pile[-1]
            if term.kind == "open":
                pile.append(PILE.format(len(pile)))
                empty = True
            elif term.kind == "absolute":
                lines.append(self.assign.format(target=top, value=self.size.format(x=top)))
            elif term.kind in OPERATIONS:
                pile.pop()
                lines.append(self._operation(term.kind, pile[-1], top))
            else:
                value = self._summand(term, [names[number] for number in term.inputs])
                if not empty:
                    value = self.single.format(value=f"{top} {'+' if term.sign > 0 else '-'} {value}")
                elif term.sign < 0:
                    value = f"-{value}"
                lines.append(self.assign.format(target=top, value=value))
                empty = False
        return lines

    def _summand(self, term: Term, x: list[str]) -> str:
        """A summand without its sign."""
        if term.kind == "number":
            return self.number.format(value=decimal(term.number).upper())
        if term.kind == "value":
            return x[0]
        if term.kind == "size":
            return self.size.format(x=x[0])
        ends = x if len(x) == 2 else [self.single.format(value=f"{x[k]} - {x[k + 2]}") for k in (0, 1)]
        return self.distance.format(x=ends[0], y=ends[1])

    def _operation(self, kind: str, lower: str, upper: str) -> str:
        """The assignment of an operation's result to the lower of two numbers."""
        if kind in ("min", "max"):
            return self.replace.format(target=lower, value=upper, comparison="<" if kind == "min" else ">")
        if kind == "length":
            return self.assign.format(target=lower, value=self.distance.format(x=lower, y=upper))
        sign = {"plus": "+", "minus": "-", "times": "*"}[kind]
        return self.assign.format(target=lower, value=self.single.format(value=f"{lower} {sign} {upper}"))


def _rises(term: Term) -> int:
    """By how much a step makes the pile higher."""
    return 1 if term.kind == "open" else -1 if OPERATIONS.get(term.kind) == 2 else 0


def decimal(value: float) -> str:
    """A single precision number with nine digits, which read back as the same number."""
    text = f"{value:.9g}"
    mantissa, _, power = text.partition("e")
    mantissa = mantissa if "." in mantissa else mantissa + ".0"
    return f"{mantissa}e{int(power)}" if power else mantissa


def conditions(program: Program) -> list[str]:
    """Every node's question or action in the words of the game, [nodes]."""
    agent, tree = program.agent, program.tree
    return [
        agent.actions[action] if asked is None else asked.yes.replace("≤", "<=")
        for asked, action in zip(questions(agent, tree), tree.action.tolist(), strict=True)
    ]


def heading(trees: TreesFile) -> list[str]:
    """The first lines of an exported file: what it is and how it was made."""
    made = trees.made
    edits = f", edited {len(trees.edits)} times by hand" if len(trees.edits) > 1 else ""
    edits = ", edited once by hand" if len(trees.edits) == 1 else edits
    return [
        f"Decision trees for {trees.game}: {', '.join(agent.name for agent in trees.agents)}.",
        f"Made by hydraviper {made['version']} ({made['algorithm']}){edits}; exported by hydraviper {__version__}.",
        "An observation goes to the first branch when its feature is at most the threshold, in single precision.",
    ]


def one_line(text: str) -> str:
    """A name without line breaks and other control characters, for comments."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
