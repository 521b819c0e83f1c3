"""Conditions in words: `queue from west, left >= 10`, `every other queue from * == 0`, `[x] - 2 [y] <= 0.5`.

A condition compares a sum of features with numbers. Names stand in square brackets; a single name may go without.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from hydraviper.data import InputError

QUANTIFIERS = ("every other", "every", "some")
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}
_OPERATOR = re.compile(r"<=|>=|==|<|>|=")
_NUMBER = r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?"
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>{_NUMBER})|(?P<sum>sum)\b|(?P<size>\|)?\[(?P<name>[^\]]+)\](?P<end>\|)?"
    r"|(?P<sign>[+*-]))"
)


@dataclass(frozen=True)
class Part:
    """A feature, or all that a pattern matches, times a factor."""

    factor: Fraction
    name: str
    agent: str | None = None  # None for the one agent that the property is about
    kind: str = "value"  # value; size: |x|; sum: of all that match


@dataclass(frozen=True)
class Condition:
    """A sum of parts compared with one number or two, for one feature, every one or some of a pattern."""

    text: str
    quantifier: str  # "", every, every other, some
    parts: tuple[Part, ...]
    comparisons: tuple[tuple[str, Fraction], ...]  # <, <=, >, >=, == and a number


def parse(text: str) -> Condition:
    """Read a condition."""
    body, quantifier = text.strip(), ""
    for word in QUANTIFIERS:
        if body.startswith(word + " "):
            body, quantifier = body[len(word) + 1 :], word
            break
    sides, operators = _split(body)
    if not 2 <= len(sides) <= 3:
        raise _unreadable(text, "it must compare something with a number")
    if "[" not in body:
        sides = [side if _is_number(side) else f"[{side.strip()}]" for side in sides]
    sums = [_sum(text, side) for side in sides]
    if len(sides) == 2:
        (parts, number), (others, other) = sums
        parts = parts + tuple(Part(-part.factor, part.name, part.agent, part.kind) for part in others)
        comparisons = ((operators[0], other - number),)
        if not sums[0][0]:  # 3 < [x]
            parts = tuple(Part(-part.factor, part.name, part.agent, part.kind) for part in parts)
            comparisons = ((_MIRRORED[operators[0]], number - other),)
    else:
        (left, low), (parts, number), (right, high) = sums
        if left or right:
            raise _unreadable(text, "of two comparisons the outer sides must be numbers")
        comparisons = ((_MIRRORED[operators[0]], low - number), (operators[1], high - number))
    if not parts:
        raise _unreadable(text, "it names no feature")
    return Condition(text.strip(), quantifier, parts, comparisons)


def _split(body: str) -> tuple[list[str], list[str]]:
    """The sides of the comparisons and the operators between them; names in brackets are left alone."""
    hidden = re.sub(r"\[[^\]]*\]", lambda match: "[" + "_" * (len(match[0]) - 2) + "]", body)
    sides, operators, start = [], [], 0
    for match in _OPERATOR.finditer(hidden):
        sides.append(body[start : match.start()])
        operators.append("==" if match[0] == "=" else match[0])
        start = match.end()
    return [*sides, body[start:]], operators


def _sum(text: str, side: str) -> tuple[tuple[Part, ...], Fraction]:
    """One side: the parts and the numbers."""
    parts, constant = [], Fraction(0)
    sign, factor, pending, summed, at = Fraction(1), None, False, False, 0
    side = side.strip()
    if not side:
        raise _unreadable(text, "one side is empty")
    while at < len(side):
        match = _TOKEN.match(side, at)
        if match is None or (match["size"] is None) != (match["end"] is None):
            raise _unreadable(text, f"{side[at:].strip()!r} is not understood")
        at = match.end()
        if match["sign"] in ("+", "-"):
            if factor is not None:
                constant, factor, sign = constant + sign * factor, None, Fraction(1)
            sign *= -1 if match["sign"] == "-" else 1
            pending = True
        elif match["number"]:
            if factor is not None:
                raise _unreadable(text, "two numbers stand behind each other")
            factor, pending = Fraction(match["number"]), True
        elif match["sum"]:
            summed = True
        elif match["name"]:
            agent, colon, name = _owner(match["name"])
            kind = "sum" if summed else "size" if match["size"] else "value"
            value = sign * (Fraction(1) if factor is None else factor)
            parts.append(Part(value, name.strip(), agent.strip() if colon else None, kind))
            sign, factor, pending, summed = Fraction(1), None, False, False
    if factor is not None:
        constant, pending = constant + sign * factor, False
    if pending or summed:
        raise _unreadable(text, "something is missing at its end")
    return tuple(parts), constant


def _owner(name: str) -> tuple[str, str, str]:
    """`agent: feature` in its parts; a bare feature has no agent."""
    agent, colon, feature = name.partition(": ")
    return (agent, colon, feature) if colon else ("", "", name)


def _is_number(side: str) -> bool:
    return re.fullmatch(rf"\s*-?\s*(?:{_NUMBER})\s*", side) is not None


def _unreadable(text: str, why: str) -> InputError:
    return InputError(
        f"the condition {text!r} cannot be read ({why}): write it like 'queue from west, left >= 10' or "
        "'[x] - 2 [y] <= 0.5'."
    )
