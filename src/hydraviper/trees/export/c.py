"""Trees as C99 without dependencies; only trees that ask for distances need <math.h>."""

from __future__ import annotations

from hydraviper.trees.export.common import Arithmetic, Program, conditions, decimal, heading, nested, one_line, programs
from hydraviper.trees.file import TreesFile

_WORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while main x sqrt "
    "hv_distance asm"
)
KEYWORDS = frozenset(_WORDS.split())

_ARITHMETIC = Arithmetic(
    assign="{target} = {value};",
    single="(float)({value})",
    size="({x} < 0.0f ? -{x} : {x})",
    distance="hv_distance({x}, {y})",
)
_DISTANCE = """\
#include <float.h>
#include <math.h>

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 2
#error "double arithmetic must round to double: compile with -mfpmath=sse, or for a processor without x87 arithmetic"
#endif

static float hv_distance(float x, float y)
{
    const double wide_x = x, wide_y = y;

    return (float)sqrt(wide_x * wide_x + wide_y * wide_y);
}
"""


def to_c(trees: TreesFile) -> str:
    """A C file with one function per agent: `int agent_0_act(const float x[18])` gives the number of the action."""
    made = programs(trees, KEYWORDS)
    parts = ["/*\n" + "".join(f" * {_comment(line)}\n" for line in heading(trees)) + " */"]
    if any(program.has_distances() for program in made):
        parts.append(_DISTANCE.rstrip())
    return "\n\n".join([*parts, *(_agent(program) for program in made)]) + "\n"


def _agent(program: Program) -> str:
    agent, tree, name, words = program.agent, program.tree, program.name, conditions(program)
    identifiers = program.names

    def question(node: int) -> str:
        test = f"{identifiers[int(tree.feature[node])]} <= {decimal(float(tree.threshold[node]))}f"
        return f"if ({test}) {{ /* node {node}: {_comment(words[node])} */"

    def answer(node: int) -> str:
        return f"return {tree.action[node]}; /* node {node}: {_comment(words[node])} */"

    head = f"int {name}_act(const float x[{len(agent.features)}])"
    body = [
        f"    const float {word} = x[{number}]; /* {_comment(agent.features[number])} */"
        for number, word in program.inputs.items()
    ] or ["    (void)x;"]
    for word, feature in program.computed():
        body.append(f"    float {word}; /* {_comment(feature.name)} */")
    body.append("")
    for word, feature in program.computed():
        body += ["    " + line for line in _ARITHMETIC.steps(word, feature, program.inputs)]
    lines = [
        f"/* {_comment(agent.name)} */",
        f"{head};",
        _names(f"{name}_features", agent.features),
        _names(f"{name}_actions", agent.actions),
        "",
        head,
        "{",
        *body,
        *nested(tree, question, "} else {", "}", answer),
        "}",
    ]
    return "\n".join(lines)


def _names(variable: str, names: tuple[str, ...]) -> str:
    inside = "".join(f"    {_string(name)},\n" for name in names)
    return f"const char *const {variable}[{len(names)}] = {{\n{inside}}};"


def _string(text: str) -> str:
    """A string literal; question marks are escaped because of trigraphs, everything unusual byte by byte."""
    plain = {ord('"'): '\\"', ord("\\"): "\\\\", ord("?"): "\\?"}
    return '"' + "".join(plain.get(b, chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in text.encode()) + '"'


def _comment(text: str) -> str:
    return one_line(text).replace("*/", "* /").replace("/*", "/ *").replace("??/", "? ?/").replace("\\", "/")
