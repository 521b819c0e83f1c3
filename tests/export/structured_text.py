"""A small interpreter of Structured Text that works on the parsed tree: what a controller would do, REAL by REAL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tree_sitter
import tree_sitter_iec61131_3_st as grammar

PARSER = tree_sitter.Parser(tree_sitter.Language(grammar.language()))
TYPES = {"REAL": np.float32, "LREAL": np.float64, "INT": int}
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "<=": lambda a, b: a <= b,
}


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


def load(code: str) -> dict[str, Callable[..., Any]]:
    """Every function block and function by its name, as a Python function of its inputs in order."""
    units: dict[str, Callable[..., Any]] = {}
    for node in parse(code).children:
        if node.type in ("function_block_declaration", "function_declaration"):
            name, unit = _unit(node, units)
            assert name not in units  # in Structured Text capitals do not count; ours are all small
            units[name] = unit
        else:
            assert node.type == "comment", node.type
    return units


def _unit(node: tree_sitter.Node, units: dict[str, Callable[..., Any]]) -> tuple[str, Callable[..., Any]]:
    name = next(text(child) for child in node.children if child.type == "identifier")
    kinds: dict[str, Callable[[Any], Any]] = {}
    inputs: list[str] = []
    output, body = name, []
    for child in node.children:
        if child.type in ("var_input", "var_output", "var_block"):
            for declared in (part for part in child.children if part.type == "variable_declaration"):
                word, kind = text(declared.children[0]), text(declared.children[2])
                assert word.lower() not in kinds
                kinds[word.lower()] = TYPES[kind]
                if child.type == "var_input":
                    inputs.append(word)
                elif child.type == "var_output":
                    output = word
        elif child.type == "elementary_type":
            kinds[name] = TYPES[text(child)]  # what a function returns
        elif child.type in ("assignment_statement", "if_statement"):
            body.append(_statement(child, kinds, units))
        else:
            known = ("FUNCTION_BLOCK", "END_FUNCTION_BLOCK", "FUNCTION", "END_FUNCTION", ":", "identifier", "comment")
            assert child.type in (*known, "empty_statement"), child.type

    def run(*values: Any) -> Any:
        memory = {word: kinds[word](value) for word, value in zip(inputs, values, strict=True)}
        for statement in body:
            statement(memory)
        return memory[output]

    return name, run


def _statement(node: tree_sitter.Node, kinds: Any, units: Any) -> Callable[[dict[str, Any]], None]:
    if node.type == "assignment_statement":
        word, value = text(node.children[0]), _expression(node.children[2], units)
        kind = kinds[word]

        def assign(memory: dict[str, Any]) -> None:
            result = value(memory)
            # no conversion happens by itself: what is stored has the variable's type
            assert isinstance(result, kind), (word, type(result))
            memory[word] = result

        return assign
    test = _expression(node.children[1], units)
    parts = {"then": [], "else": []}
    for child in node.children[3:]:
        if child.type == "else_clause":
            own = (part for part in child.children if part.type in ("assignment_statement", "if_statement"))
            parts["else"] += [_statement(part, kinds, units) for part in own]
        elif child.type in ("assignment_statement", "if_statement"):
            parts["then"].append(_statement(child, kinds, units))

    def branch(memory: dict[str, Any]) -> None:
        for statement in parts["then"] if test(memory) else parts["else"]:
            statement(memory)

    return branch


def _expression(node: tree_sitter.Node, units: Any) -> Callable[[dict[str, Any]], Any]:
    if node.type == "identifier":
        word = text(node)
        return lambda memory: memory[word]
    if node.type == "integer_literal":
        number = int(text(node))
        return lambda memory: number
    if node.type == "typed_literal":
        real = TYPES[text(node.children[0])](text(node.children[2]))
        return lambda memory: real
    if node.type == "unary_expression":
        assert text(node.children[0]) == "-"
        inside = _expression(node.children[1], units)
        return lambda memory: -inside(memory)
    if node.type == "binary_expression":
        operator = OPERATORS[text(node.children[1])]
        first, second = _expression(node.children[0], units), _expression(node.children[2], units)

        def compute(memory: dict[str, Any]) -> Any:
            a, b = first(memory), second(memory)
            assert type(a) is type(b)
            return operator(a, b)

        return compute
    assert node.type == "call_expression", node.type
    name = text(node.children[0])
    given = [_expression(part, units) for part in node.children[1].children if part.is_named]
    known = {"ABS": np.abs, "SQRT": np.sqrt, "REAL_TO_LREAL": np.float64, "LREAL_TO_REAL": np.float32}
    return lambda memory: (known.get(name) or units[name])(*(part(memory) for part in given))
