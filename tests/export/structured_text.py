"""A small interpreter of Structured Text that works on the parsed tree: what a controller would do, REAL by REAL.

It is stricter than a compiler may be: nothing is converted by itself, AND and OR always compute both sides, an index
must lie in its array, and a variable must be declared before it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tree_sitter
import tree_sitter_iec61131_3_st as grammar

PARSER = tree_sitter.Parser(tree_sitter.Language(grammar.language()))
TYPES = {"REAL": np.float32, "LREAL": np.float64, "INT": int, "BOOL": bool}
LARGEST = 32767  # of an INT
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "<=": lambda a, b: bool(a <= b),
    "<": lambda a, b: bool(a < b),
    ">=": lambda a, b: bool(a >= b),
    ">": lambda a, b: bool(a > b),
    "=": lambda a, b: bool(a == b),
    "<>": lambda a, b: bool(a != b),
    "AND": lambda a, b: a and b,
    "OR": lambda a, b: a or b,
}
LOGIC = ("AND", "OR")
STATEMENTS = ("assignment_statement", "if_statement", "for_statement", "invocation_statement")
Memory = dict[str, Any]
Expression = Callable[[Memory], Any]
Statement = Callable[[Memory], None]


@dataclass(frozen=True)
class Array:
    """The type of an array that begins at 0."""

    size: int
    kind: type

    def __call__(self, values: Any) -> list[Any]:
        assert len(values) == self.size
        return [self.kind(value) for value in values]


@dataclass(frozen=True)
class Unit:
    """A function or a function block."""

    kinds: Mapping[str, Any]  # the type of every variable: a plain one, an Array, or the Unit that it is an instance of
    first: Mapping[str, Any]  # what variables are at the beginning
    inputs: tuple[str, ...]
    shared: tuple[str, ...]  # arrays and instances, of which every instance has its own
    output: str  # its first output, or itself
    body: list[Statement]

    def memory(self) -> Memory:
        """A fresh instance."""
        own = {word: _fresh(self.kinds[word], self.first.get(word)) for word in self.shared}
        return {**self.first, **own}

    def call(self, memory: Memory, **given: Any) -> None:
        """Call an instance with some of its inputs; others keep the values that they had."""
        for word, value in given.items():
            assert word in self.inputs, word
            memory[word] = self.kinds[word](value)
        for statement in self.body:
            statement(memory)

    def __call__(self, *values: Any) -> Any:
        """What a fresh instance answers to inputs in their order."""
        memory = self.memory()
        self.call(memory, **dict(zip(self.inputs, values, strict=True)))
        return memory[self.output]


def _fresh(kind: Any, first: Any) -> Any:
    return kind.memory() if isinstance(kind, Unit) else list(first)


def _zero(kind: Any) -> Any:
    return [kind.kind()] * kind.size if isinstance(kind, Array) else None if isinstance(kind, Unit) else kind()


def parse(code: str) -> tree_sitter.Node:
    """The parsed program; nothing in it may be wrong or missing."""
    root = PARSER.parse(code.encode()).root_node
    stack = [root]
    while stack:
        node = stack.pop()
        assert not node.is_error, node.text
        assert not node.is_missing, node.text
        stack += node.children
    assert not root.has_error
    return root


def text(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode()


def load(code: str) -> dict[str, Unit]:
    """Every function block and function by its name."""
    units: dict[str, Unit] = {}
    for node in parse(code).children:
        if node.type in ("function_block_declaration", "function_declaration"):
            name, unit = _unit(node, units)
            assert name not in units  # in Structured Text capitals do not count; ours are all small
            units[name] = unit
        else:
            assert node.type == "comment", node.type
    return units


def _unit(node: tree_sitter.Node, units: Mapping[str, Unit]) -> tuple[str, Unit]:
    name = next(text(child) for child in node.children if child.type == "identifier")
    kinds: dict[str, Any] = {}
    first: dict[str, Any] = {}
    words: dict[str, list[str]] = {"var_input": [], "var_output": [], "var_block": []}
    constants: list[str] = []
    body: list[Statement] = []
    for child in node.children:
        if child.type in words:
            fixed = any(part.type == "var_qualifier_list" for part in child.children)
            for declared in (part for part in child.children if part.type == "variable_declaration"):
                word = text(declared.children[0])
                assert word == word.lower()
                assert word not in kinds
                kinds[word] = _kind(declared.children[2], units)
                if values := [_literal(part) for part in declared.children[3:] if part.type.endswith("_literal")]:
                    first[word] = kinds[word](values if isinstance(kinds[word], Array) else values[0])
                words[child.type].append(word)
                constants += [word] if fixed else []
        elif child.type == "elementary_type":
            kinds[name] = TYPES[text(child)]  # what a function returns
        elif child.type in STATEMENTS:
            body.append(_statement(child, kinds, frozenset(constants), units))
        else:
            known = ("FUNCTION_BLOCK", "END_FUNCTION_BLOCK", "FUNCTION", "END_FUNCTION", ":", "identifier", "comment")
            assert child.type in (*known, "empty_statement"), child.type
    output = next(iter(words["var_output"]), name)
    shared = tuple(word for word, kind in kinds.items() if isinstance(kind, Array | Unit))
    first = {word: first.get(word, _zero(kind)) for word, kind in kinds.items()}
    return name, Unit(kinds, first, tuple(words["var_input"]), shared, output, body)


def _kind(node: tree_sitter.Node, units: Mapping[str, Unit]) -> Any:
    if node.type == "identifier":
        return units[text(node)]
    if node.type == "elementary_type":
        return TYPES[text(node)]
    assert node.type == "array_type", node.type
    low, _, high = next(child for child in node.children if child.type == "subrange").children
    assert text(low) == "0"
    return Array(int(text(high)) + 1, TYPES[text(node.children[-1])])


def _literal(node: tree_sitter.Node) -> Any:
    if node.type == "integer_literal":
        return int(text(node))
    if node.type == "boolean_literal":
        return text(node) == "TRUE"
    assert node.type == "typed_literal", node.type
    return TYPES[text(node.children[0])](text(node.children[2]))


def _statement(node: tree_sitter.Node, kinds: Any, constants: frozenset[str], units: Any) -> Statement:
    def block(parts: list[tree_sitter.Node]) -> list[Statement]:
        return [_statement(part, kinds, constants, units) for part in parts if part.type in STATEMENTS]

    if node.type == "assignment_statement":
        return _assignment(node, kinds, constants, units)
    if node.type == "invocation_statement":
        return _invocation(node.children[0], kinds, units)
    if node.type == "for_statement":
        word = text(node.children[1])
        start, end = (_expression(node.children[k], kinds, units) for k in (3, 5))
        inside = block(node.children)

        def loop(memory: Memory) -> None:
            for number in range(start(memory), end(memory) + 1):
                memory[word] = number
                for statement in inside:
                    statement(memory)

        return loop
    branches = [(_expression(node.children[1], kinds, units), block(node.children))]
    for child in node.children:
        if child.type == "elsif_clause":
            branches.append((_expression(child.children[1], kinds, units), block(child.children)))
        elif child.type == "else_clause":
            branches.append((lambda memory: True, block(child.children)))

    def branch(memory: Memory) -> None:
        for test, statements in branches:
            value = test(memory)
            assert isinstance(value, bool)
            if value:
                for statement in statements:
                    statement(memory)
                return

    return branch


def _assignment(node: tree_sitter.Node, kinds: Any, constants: frozenset[str], units: Any) -> Statement:
    target, value = node.children[0], _expression(node.children[2], kinds, units)
    word = text(target.children[0] if target.type == "index_expression" else target)
    assert word not in constants, word
    index = _expression(target.children[2], kinds, units) if target.type == "index_expression" else None
    kind = kinds[word] if index is None else kinds[word].kind

    def assign(memory: Memory) -> None:
        result = value(memory)
        # no conversion happens by itself: what is stored has the variable's type
        assert type(result) is kind, (word, type(result))
        assert kind is not int or abs(result) <= LARGEST
        if index is None:
            memory[word] = result
        else:
            assert 0 <= index(memory) < kinds[word].size, word
            memory[word][index(memory)] = result

    return assign


def _invocation(node: tree_sitter.Node, kinds: Any, units: Any) -> Statement:
    """The call of an instance, its inputs by their names."""
    word = text(node.children[0])
    unit: Unit = kinds[word]
    arguments = [part for part in node.children[1].children if part.type == "named_argument"]
    given = {text(part.children[0]): _expression(part.children[2], kinds, units) for part in arguments}

    def invoke(memory: Memory) -> None:
        values = {name: value(memory) for name, value in given.items()}
        for name, value in values.items():
            assert type(value) is unit.kinds[name], (word, name)
        unit.call(memory[word], **values)

    return invoke


def _expression(node: tree_sitter.Node, kinds: Any, units: Any) -> Expression:
    if node.type == "identifier":
        word = text(node)
        assert word in kinds, word
        return lambda memory: memory[word]
    if node.type.endswith("_literal"):
        constant = _literal(node)
        return lambda memory: constant
    if node.type == "parenthesized_expression":
        return _expression(node.children[1], kinds, units)
    if node.type == "member_access_expression":
        instance, member = text(node.children[0]), text(node.children[2])
        assert member in kinds[instance].kinds
        return lambda memory: memory[instance][member]
    if node.type == "index_expression":
        return _indexed(node, kinds, units)
    if node.type == "unary_expression":
        inside, negates = _expression(node.children[1], kinds, units), text(node.children[0]) == "NOT"
        assert negates or text(node.children[0]) == "-"
        return (lambda memory: not inside(memory)) if negates else (lambda memory: -inside(memory))
    if node.type == "binary_expression":
        return _computed(node, kinds, units)
    assert node.type == "call_expression", node.type
    name = text(node.children[0])
    given = [_expression(part, kinds, units) for part in node.children[1].children if part.is_named]
    known = {
        "ABS": lambda x: abs(x),
        "SQRT": np.sqrt,
        "REAL_TO_LREAL": np.float64,
        "LREAL_TO_REAL": np.float32,
        "INT_TO_REAL": np.float32,
    }
    return lambda memory: (known.get(name) or units[name])(*(part(memory) for part in given))


def _indexed(node: tree_sitter.Node, kinds: Any, units: Any) -> Expression:
    array, index = text(node.children[0]), _expression(node.children[2], kinds, units)

    def look_up(memory: Memory) -> Any:
        place = index(memory)
        assert 0 <= place < kinds[array].size, (array, place)
        return memory[array][place]

    return look_up


def _computed(node: tree_sitter.Node, kinds: Any, units: Any) -> Expression:
    sign = text(node.children[1])
    operator = OPERATORS[sign]
    first, second = _expression(node.children[0], kinds, units), _expression(node.children[2], kinds, units)

    def compute(memory: Memory) -> Any:
        a, b = first(memory), second(memory)
        assert type(a) is type(b)
        assert (type(a) is bool) == (sign in LOGIC)
        return operator(a, b)

    return compute
