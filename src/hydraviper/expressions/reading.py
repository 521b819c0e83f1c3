"""Text to conditions, by the grammar in `grammar.lark`; nothing else reads what people write about features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from hydraviper.data import InputError
from hydraviper.expressions.expression import All, Comparison, Condition, Feature, Size, Some, Sum
from hydraviper.expressions.names import Vocabulary

LARGEST = Fraction(10) ** 38  # below the largest float32, 3.4e38
SMALLEST = Fraction(1, 10**60)  # below the smallest float32, 1.4e-45
LONGEST = 2_000  # characters of a condition
_DIGITS = 60  # characters of a number
_DEEPEST = 20  # brackets and bars within each other

Bound = Mapping[str, Feature]  # what each pattern stands for in one case


def conditions(texts: Sequence[str], vocabulary: Vocabulary, owner: int | None) -> All:
    """All of some conditions; `owner` is whose features are meant where no agent is named (None: name one).

    `every other` leaves out the features that the conditions without a quantifier name.
    """
    read = [_Reader(text, vocabulary, owner) for text in texts]
    named = {feature for one in read if not one.quantifier for feature in one.named()}
    return All(tuple(one.condition(named) for one in read))


class _Reader:
    """One condition, with what its names mean."""

    def __init__(self, text: str, vocabulary: Vocabulary, owner: int | None) -> None:
        self.text, self.vocabulary, self.owner = text, vocabulary, owner
        quantifier, *self.parts = _parsed(text)
        self.quantifier = str(quantifier or "")
        if self.parts[-1] is None:
            self.parts = self.parts[:3]

    def condition(self, named: set[Feature]) -> Condition:
        """What it says; `named` is what `every other` leaves out."""
        patterns = dict.fromkeys(name for side in self.parts[::2] for name in self._names(side) if "*" in name)
        if bool(self.quantifier) != (len(patterns) == 1):
            raise InputError(
                f"{self.text.strip()!r} must have one name with * if it says every or some, and only then (or sum)."
            )
        if not self.quantifier:
            return self._compared({})
        (pattern,) = patterns
        found = self._features(pattern)
        if self.quantifier == "every other":
            found = [feature for feature in found if feature not in named]
        cases = tuple(self._compared({pattern: feature}) for feature in found)
        return Some(cases) if self.quantifier == "some" else All(cases)

    def named(self) -> Iterator[Feature]:
        """The features that it names one by one, not by a pattern."""
        for side in self.parts[::2]:
            for name in self._names(side):
                if "*" not in name:
                    yield from self._features(name)

    def _compared(self, bound: Bound) -> Condition:
        sides = [self._sum(side, bound) for side in self.parts[::2]]
        if not any(side.terms for side in sides) and not any(_has_name(side) for side in self.parts[::2]):
            raise self._unreadable("it names no feature")
        operators = ["==" if operator == "=" else str(operator) for operator in self.parts[1::2]]
        pairs = zip(sides, operators, sides[1:], strict=False)
        made = tuple(Comparison.between(left, operator, right) for left, operator, right in pairs)
        for one in made:
            self._check_size(one.sum)
        return made[0] if len(made) == 1 else All(made)

    def _check_size(self, total: Sum) -> None:
        """Refuse products of numbers that no float32 comes near."""
        inner = [term.of for term, _ in total.terms if isinstance(term, Size)]
        for number in (total.number, *(factor for _, factor in total.terms)):
            if number != 0 and not SMALLEST <= abs(number) <= LARGEST:
                raise self._unreadable("its numbers multiply to more than 1e38 or less than 1e-60")
        for one in inner:
            self._check_size(one)

    def _sum(self, node: Any, bound: Bound) -> Sum:
        """A part of the syntax tree as a sum."""
        if not hasattr(node, "data"):
            return self._token(node, bound)
        if node.data == "times":
            return self._times(node.children, bound)
        if node.data == "size":
            return Sum.of([(Size(self._sum(node.children[0], bound)), Fraction(1))])
        if node.data == "total":
            return self._total(node.children[0], bound)
        total, sign = Sum.of(()), Fraction(1)
        for child in node.children:
            if child is None or getattr(child, "type", "") == "SIGN":
                sign = Fraction(-1 if child == "-" else 1)
            else:
                total = total.plus(self._sum(child, bound), sign)
        return total

    def _times(self, factors: Sequence[Any], bound: Bound) -> Sum:
        sums = [self._sum(factor, bound) for factor in factors]
        if sum(_has_name(factor) for factor in factors) > 1:
            raise self._unreadable("it multiplies features: only a number may stand before or behind *")
        result = Sum.of((), Fraction(1))
        for one in sums:
            result = one.times(result.number) if not result.terms else result.times(one.number)
        return result

    def _total(self, inner: Any, bound: Bound) -> Sum:
        """The sum over all that the pattern inside matches."""
        patterns = dict.fromkeys(name for name in self._names(inner) if "*" in name)
        if len(patterns) != 1:
            raise self._unreadable("sum needs one name with *")
        (pattern,) = patterns
        result = Sum.of(())
        for feature in self._features(pattern):
            result = result.plus(self._sum(inner, {**bound, pattern: feature}))
        return result

    def _token(self, token: Any, bound: Bound) -> Sum:
        if token.type in ("NUMBER", "BARE_NUMBER"):
            return Sum.of((), self._number(str(token)))
        name = _inner(token)
        (feature,) = [bound[name]] if name in bound else self._features(name)
        return Sum.of([(feature, Fraction(1))])

    def _number(self, text: str) -> Fraction:
        digits, _, power = text.replace(" ", "").lower().partition("e")
        if len(text) <= _DIGITS and len(power) <= 4 and abs(int(power or 0)) <= 2 * _DIGITS:
            value = Fraction(digits) * Fraction(10) ** int(power or 0)
            if value == 0 or SMALLEST <= abs(value) <= LARGEST:
                return value
        shown = text.strip() if len(text) <= 20 else text.strip()[:17] + "..."
        raise self._unreadable(f"{shown} is no number that a float32 could be compared with: write one up to 1e38")

    def _features(self, name: str) -> list[Feature]:
        agent, colon, feature = name.partition(": ")
        if not colon or (self.owner is not None and name in self.vocabulary.agents[self.owner].features):
            if self.owner is None:
                raise InputError(f"say whose {name!r} it is: write [AGENT: {name}].")
            return self.vocabulary.features(self.owner, name)
        return self.vocabulary.features(self.vocabulary.agent(agent.strip()), feature.strip())

    def _names(self, node: Any) -> Iterator[str]:
        """The names of a part, those below a `sum` left out."""
        if hasattr(node, "data"):
            for child in node.children:
                if getattr(child, "data", "") != "total":
                    yield from self._names(child)
        elif node is not None and node.type in ("NAME", "BARE_NAME"):
            yield _inner(node)

    def _unreadable(self, why: str) -> InputError:
        return unreadable(self.text, why)


def _inner(token: Any) -> str:
    """A name without its brackets."""
    return str(token).strip().removeprefix("[").removesuffix("]").strip()


def _has_name(node: Any) -> bool:
    if hasattr(node, "data"):
        return any(map(_has_name, node.children))
    return node is not None and node.type in ("NAME", "BARE_NAME")


@lru_cache(maxsize=4096)
def _parsed(text: str) -> list[Any]:
    """The children of the syntax tree: a quantifier or None, then sides and operators in turn."""
    if len(text) > LONGEST:
        raise unreadable(text[:40] + "...", f"it has more than {LONGEST} characters")
    _check_nesting(text)
    import lark

    try:
        return _grammar().parse(text.strip(), start="bracketed" if "[" in text else "bare").children
    except lark.UnexpectedInput as error:
        raise unreadable(text, _why(text.strip(), error)) from None


def _check_nesting(text: str) -> None:
    if text.count("(") > _DEEPEST or text.count("|") > 2 * _DEEPEST:
        raise unreadable(text, f"it has more than {_DEEPEST} brackets or pairs of bars")


def _why(text: str, error: Any) -> str:
    """What is wrong, from where the parser stopped."""
    at = getattr(error, "pos_in_stream", None)
    rest = text[at:].strip() if isinstance(at, int) and 0 <= at < len(text) else ""
    if not any(operator in text for operator in "<>="):
        return "it must compare something with a number: use <, <=, >, >= or =="
    if "[" in rest and rest.startswith("["):
        return f"{rest!r} stands behind another name: write +, - or a comparison between them"
    return f"{rest!r} is not understood there" if rest else "something is missing at its end"


@cache
def _grammar() -> Any:
    import lark

    text = (resources.files("hydraviper.expressions") / "grammar.lark").read_text(encoding="utf-8")
    return lark.Lark(text, start=["bracketed", "bare"], parser="lalr")


def unreadable(text: str, why: str) -> InputError:
    """A complaint about a condition."""
    return InputError(
        f"the condition {text.strip()!r} cannot be read ({why}): write it like 'queue from west, left >= 10' or "
        "'[x] - 2 [y] <= 0.5'."
    )
