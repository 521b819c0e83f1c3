"""The parser: text to expressions, by the grammar in `grammar.lark`."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from hydraviper.data import Derived, InputError
from hydraviper.expressions.expression import Absolute, All, Comparison, Condition, Feature, Some, Sum
from hydraviper.expressions.formulas import FormulaParser, names_in, without_brackets
from hydraviper.expressions.names import Scope

LARGEST = Fraction(10) ** 38  # below the largest float32, 3.4e38
SMALLEST = Fraction(1, 10**60)  # below the smallest float32, 1.4e-45
LONGEST = 2_000  # characters of a condition
_DIGITS = 60  # characters of a number
_DEEPEST = 20  # brackets and bars within each other
_LONGEST_FORMULA = 20_000  # characters

Binding = Mapping[str, Feature]  # pattern -> the feature that it stands for in one case


def parse_conditions(texts: Sequence[str], scope: Scope, owner: int | None) -> All:
    """The conjunction of some conditions.

    `owner` is the agent whose features are meant where no agent is named; None requires `[AGENT: FEATURE]`.
    `every other` excludes the features that the conditions without a quantifier name.
    """
    parsed = [_ConditionParser(text, scope, owner) for text in texts]
    named = {feature for one in parsed if not one.quantifier for feature in one.named()}
    return All(tuple(one.condition(named) for one in parsed))


def parse_formula(name: str, text: str, scope: Scope, owner: int) -> Derived:
    """A feature of an agent's own, `name = text`."""

    def complain(why: str) -> InputError:
        shown = text.strip() if len(text) <= 80 else text.strip()[:77] + "..."
        return InputError(
            f"the feature {f'{name} = {shown}'!r} cannot be read ({why}): write it like "
            "'name = [x] - 2 * [y]' or 'name = min(distance([here]), distance([there]))'."
        )

    if len(text) > _LONGEST_FORMULA:
        raise complain(f"it has more than {_LONGEST_FORMULA:,} characters")
    sums = SumParser(text, scope, owner, complain)
    (node,) = _formula_syntax(text.strip(), complain)
    formulas = sums.formulas()
    feature = formulas.derived(node, name, " ".join(text.split()))
    if formulas.agent != owner:
        raise complain("an agent's trees cannot ask for what another one sees")
    return feature


class _ConditionParser:
    """One condition: an optional quantifier and a comparison of two or three sums."""

    def __init__(self, text: str, scope: Scope, owner: int | None) -> None:
        self.sums = SumParser(text, scope, owner)
        quantifier, *parts = _syntax(text)
        self.quantifier = str(quantifier or "")
        parts = parts[:3] if parts[-1] is None else parts
        self.sides, self.operators = parts[::2], parts[1::2]

    def condition(self, named: set[Feature]) -> Condition:
        """The condition; `every other` excludes the `named` features."""
        patterns = dict.fromkeys(name for side in self.sides for name in names_in(side, points=False) if "*" in name)
        if bool(self.quantifier) != (len(patterns) == 1):
            raise InputError(
                f"{self.sums.text.strip()!r} must have one name with * if it says every or some, and only then "
                "(or sum)."
            )
        if not self.quantifier:
            return self._comparison({})
        (pattern,) = patterns
        features = self.sums.features(pattern)
        if self.quantifier == "every other":
            features = [feature for feature in features if feature not in named]
        cases = tuple(self._comparison({pattern: feature}) for feature in features)
        return Some(cases) if self.quantifier == "some" else All(cases)

    def named(self) -> Iterator[Feature]:
        """The features that it names one by one, not by a pattern."""
        for side in self.sides:
            for name in names_in(side, points=False):
                if "*" not in name:
                    yield from self.sums.features(name)

    def _comparison(self, binding: Binding) -> Condition:
        sides = [self.sums.parse(side, binding) for side in self.sides]
        if not any(side.terms for side in sides) and not any(map(_has_name, self.sides)):
            raise self.sums.unreadable("it names no feature")
        operators = ["==" if operator == "=" else str(operator) for operator in self.operators]
        pairs = zip(sides, operators, sides[1:], strict=False)
        comparisons = tuple(Comparison.between(left, operator, right) for left, operator, right in pairs)
        for comparison in comparisons:
            self.sums.check_factors(comparison.sum)
        return comparisons[0] if len(comparisons) == 1 else All(comparisons)


class SumParser:
    """Turns parts of a text's syntax tree into sums of features."""

    def __init__(
        self, text: str, scope: Scope, owner: int | None, complain: Callable[[str], InputError] | None = None
    ) -> None:
        self.text, self.scope, self.owner = text, scope, owner
        self.unreadable = complain or (lambda why: unreadable(text, why))  # an error about the text

    def formulas(self) -> FormulaParser:
        """A parser of what functions compute, each step of which is rounded."""
        return FormulaParser(self.scope, self._whose, self._number, self.unreadable)

    def parse(self, node: Any, binding: Binding) -> Sum:
        """The sum that a node of the syntax tree stands for."""
        if not hasattr(node, "data"):
            return self._token(node, binding)
        if node.data == "times":
            return self._product(node.children, binding)
        if node.data == "absolute":
            return Sum.of([(Absolute(self.parse(node.children[0], binding)), Fraction(1))])
        if node.data == "total":
            return self._total(node.children[0], binding)
        if node.data == "call":
            return self._call(node, binding)
        total, sign = Sum.of(()), Fraction(1)
        for child in node.children:
            if child is None or getattr(child, "type", "") == "SIGN":
                sign = Fraction(-1 if child == "-" else 1)
            else:
                total = total.plus(self.parse(child, binding), sign)
        return total

    def features(self, name: str) -> list[Feature]:
        """The features that a name or pattern stands for."""
        return self.scope.features(*self._whose(name))

    def _whose(self, name: str) -> tuple[int, str]:
        """The agent that a name in brackets means, and the feature's name or pattern."""
        agent, colon, feature = name.partition(": ")
        if not colon or (self.owner is not None and name in self.scope.agents[self.owner].features):
            if self.owner is None:
                raise InputError(f"say whose {name!r} it is: write [AGENT: {name}].")
            return self.owner, name
        return self.scope.agent(agent.strip()), feature.strip()

    def check_factors(self, total: Sum) -> None:
        """Refuse products of numbers far outside the range of float32."""
        for number in (total.constant, *(factor for _, factor in total.terms)):
            if number != 0 and not SMALLEST <= abs(number) <= LARGEST:
                raise self.unreadable("its numbers multiply to more than 1e38 or less than 1e-60")
        for term, _ in total.terms:
            if isinstance(term, Absolute):
                self.check_factors(term.of)

    def _product(self, factors: Sequence[Any], binding: Binding) -> Sum:
        divisors = [factor.children[0] for factor in factors if getattr(factor, "data", "") == "divisor"]
        factors = [factor for factor in factors if getattr(factor, "data", "") != "divisor"]
        sums = [self.parse(factor, binding) for factor in factors]
        if sum(map(_has_name, factors)) > 1:
            raise self.unreadable("it multiplies features: only a number may stand before or behind *")
        result = Sum.of((), Fraction(1))
        for one in sums:
            result = one.times(result.constant) if not result.terms else result.times(one.constant)
        for divisor in divisors:
            number = None if _has_name(divisor) else self.parse(divisor, binding).constant
            result = result.times(1 / self.formulas().divisor(number))
        return result

    def _call(self, node: Any, binding: Binding) -> Sum:
        """A function as a derived feature, or its value if it names none."""
        function, *arguments = node.children
        if function == "abs" and len(arguments) == 1:
            return Sum.of([(Absolute(self.parse(arguments[0], binding)), Fraction(1))])
        bound = {
            pattern: (agent, self.scope.agents[agent].features[which] if isinstance(which, int) else which.name)
            for pattern, (agent, which) in binding.items()
        }
        formulas, text = self.formulas(), self.text.strip()[node.meta.start_pos : node.meta.end_pos]
        for pattern, (_, name) in bound.items():
            text = text.replace(pattern, name)
        feature = formulas.derived(node, text, bound=bound)
        if formulas.agent is None:
            raise self.unreadable("it names no feature")
        return Sum.of([((formulas.agent, feature), Fraction(1))])

    def _total(self, inner: object, binding: Binding) -> Sum:
        """`sum ...`: the sum over all features that fit the pattern inside."""
        patterns = dict.fromkeys(name for name in names_in(inner) if "*" in name)
        if len(patterns) != 1:
            raise self.unreadable("sum needs one name with *")
        (pattern,) = patterns
        result = Sum.of(())
        for feature in self.features(pattern):
            result = result.plus(self.parse(inner, {**binding, pattern: feature}))
        return result

    def _token(self, token: Any, binding: Binding) -> Sum:
        if token.type in ("NUMBER", "BARE_NUMBER"):
            return Sum.of((), self._number(str(token)))
        name = without_brackets(token)
        (feature,) = [binding[name]] if name in binding else self.features(name)
        return Sum.of([(feature, Fraction(1))])

    def _number(self, text: str) -> Fraction:
        digits, _, power = text.replace(" ", "").lower().partition("e")
        if len(text) <= _DIGITS and len(power) <= 4 and abs(int(power or 0)) <= 2 * _DIGITS:
            value = Fraction(digits) * Fraction(10) ** int(power or 0)
            if value == 0 or SMALLEST <= abs(value) <= LARGEST:
                return value
        shown = text.strip() if len(text) <= 20 else text.strip()[:17] + "..."
        raise self.unreadable(f"{shown} is no number that a float32 could be compared with: write one up to 1e38")


def _has_name(node: Any) -> bool:
    if hasattr(node, "data"):
        return any(map(_has_name, node.children))
    return node is not None and node.type in ("NAME", "BARE_NAME")


@lru_cache(maxsize=4096)
def _syntax(text: str) -> list[Any]:
    """A condition's syntax: a quantifier or None, then sides and operators in turn."""
    if len(text) > LONGEST:
        raise unreadable(text[:40] + "...", f"it has more than {LONGEST} characters")
    if text.count("(") > _DEEPEST or text.count("|") > 2 * _DEEPEST:
        raise unreadable(text, f"it has more than {_DEEPEST} brackets or pairs of bars")
    import lark

    try:
        return _grammar().parse(text.strip(), start="bracketed" if "[" in text else "bare").children
    except lark.UnexpectedInput as error:
        raise unreadable(text, _reason(text.strip(), error)) from None


def _formula_syntax(text: str, complain: Callable[[str], InputError]) -> list[Any]:
    """The syntax of a feature of one's own."""
    import lark

    depths = itertools.accumulate({"(": 1, ")": -1}.get(character, 0) for character in text)
    if max(depths, default=0) > _DEEPEST or text.count("|") > 2 * _DEEPEST:
        raise complain(f"it has more than {_DEEPEST} brackets within each other or pairs of bars")
    try:
        return _formula_tree(text).children
    except lark.UnexpectedInput as error:
        raise complain(_reason(text, error, "names stand in square brackets, such as [x]")) from None


@lru_cache(maxsize=4096)
def _formula_tree(text: str) -> Any:
    return _grammar().parse(text, start="formula")


def _reason(text: str, error: object, hint: str = "") -> str:
    """What is wrong with a text, by where the parser stopped."""
    at = getattr(error, "pos_in_stream", None)
    rest = text[at:].strip() if isinstance(at, int) and 0 <= at < len(text) else ""
    if hint and (rest[:1].isalpha() or not rest):
        return f"{rest!r} is not understood there: {hint}" if rest else "something is missing at its end"
    if not hint and not any(operator in text for operator in "<>="):
        return "it must compare something with a number: use <, <=, >, >= or =="
    if rest.startswith("[") and "]" not in rest:
        return f"{rest!r} has no ] behind its name"
    if rest.startswith("["):
        return f"{rest!r} stands behind another name: write +, - or a comparison between them"
    return f"{rest!r} is not understood there" if rest else "something is missing at its end"


@cache
def _grammar() -> Any:
    import lark

    text = (resources.files("hydraviper.expressions") / "grammar.lark").read_text(encoding="utf-8")
    starts = ["bracketed", "bare", "formula"]
    return lark.Lark(text, start=starts, parser="lalr", propagate_positions=True)


def unreadable(text: str, why: str) -> InputError:
    """An error about a condition that cannot be read."""
    return InputError(
        f"the condition {text.strip()!r} cannot be read ({why}): write it like 'queue from west, left >= 10' or "
        "'[x] - 2 [y] <= 0.5'."
    )
