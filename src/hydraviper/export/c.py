"""Trees as C99 without dependencies; only trees that ask for distances need <math.h>."""

from collections.abc import Sequence

from hydraviper.export.common import Arithmetic, Program, conditions, decimal, heading, nested, one_line, programs
from hydraviper.trees.file import TreesFile

PREFIX = "x_"  # of every local name: no keyword, and no macro of any system (linux, unix), begins with it

# Every step is stored as a volatile float: compilers that compute with more digits than that, or in another order,
# must round there.
_ARITHMETIC = Arithmetic(
    assign="{target} = {value};",
    single="{value}",
    size="({x} < 0.0f ? -{x} : {x})",
    distance="hv_distance({x}, {y})",
    number="(float){value}f",
    replace="if ({value} {comparison} {target}) {target} = {value};",
)
_GUARD = """\
#if defined(__FAST_MATH__) || defined(_M_FP_FAST) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "compile this file without -ffast-math (or /fp:fast): its answers would not be those of the trees"
#endif"""
_DISTANCE = """\
#include <float.h>
#include <math.h>

/* Inside a distance, double precision must be just that: x87 is told so, other wide arithmetic is refused. */
#if defined(FLT_EVAL_METHOD) && (FLT_EVAL_METHOD < 0 || FLT_EVAL_METHOD == 2)
#if defined(__GNUC__) && (defined(__i386__) || defined(__x86_64__))
#define HV_X87 1
#else
#error "double arithmetic must round to double: compile with options for which FLT_EVAL_METHOD is 0 or 1"
#endif
#endif

static float hv_distance(float x, float y)
{
    volatile float rounded = x, other = y;
    volatile double wide_x = rounded, wide_y = other, length;
#ifdef HV_X87
    unsigned short before, narrow;

    __asm__ __volatile__("fnstcw %0" : "=m"(before));
    narrow = (unsigned short)((before & ~0x300u) | 0x200u);
    __asm__ __volatile__("fldcw %0" : : "m"(narrow) : "memory");
#endif
    length = wide_x * wide_x + wide_y * wide_y;
    length = sqrt(length);
#ifdef HV_X87
    __asm__ __volatile__("fldcw %0" : : "m"(before) : "memory");
#endif
    rounded = (float)length;
    return rounded;
}"""


def to_c(trees: TreesFile) -> str:
    """A C file with one function per agent: `int agent_0_act(const float x[18])` gives the number of the action."""
    return "\n\n".join(parts_of(trees, programs(trees, prefix=PREFIX))) + "\n"


def parts_of(trees: TreesFile, agents: Sequence[Program]) -> list[str]:
    """The parts of a C file: its heading, what the trees need, and the trees."""
    parts = ["/*\n" + "".join(f" * {comment(line)}\n" for line in heading(trees)) + " */", _GUARD]
    if any(program.has_distances() for program in agents):
        parts.append(_DISTANCE)
    return [*parts, *(function(program) for program in agents)]


def function(program: Program) -> str:
    """One agent's tree as a C function, with the names of its features and actions."""
    agent, tree, name, words = program.agent, program.tree, program.name, conditions(program)
    identifiers = program.names

    def question(node: int) -> str:
        # the cast: a constant may have more digits than its type, too
        test = f"{identifiers[int(tree.feature[node])]} <= (float){decimal(float(tree.threshold[node]))}f"
        return f"if ({test}) {{ /* node {node}: {comment(words[node])} */"

    def answer(node: int) -> str:
        return f"return {tree.action[node]}; /* node {node}: {comment(words[node])} */"

    head = f"int {name}_act(const float x[{len(agent.features)}])"
    body = [
        f"    const float {word} = x[{number}]; /* {comment(agent.features[number])} */"
        for number, word in program.inputs.items()
    ] or ["    (void)x;"]
    for word, feature in program.computed():
        body.append(f"    volatile float {word}; /* {comment(feature.name)} */")
    body += [f"    volatile float {word};" for word in program.pile()]
    body.append("")
    for word, feature in program.computed():
        body += ["    " + line for line in _ARITHMETIC.steps(word, feature, program.inputs)]
    lines = [
        f"/* {comment(agent.name)} */",
        f"{head};",
        names(f"{name}_features", agent.features),
        names(f"{name}_actions", agent.actions),
        "",
        head,
        "{",
        *body,
        *nested(tree, question, "} else {", "}", answer),
        "}",
    ]
    return "\n".join(lines)


def names(variable: str, words: Sequence[str]) -> str:
    """An array of strings."""
    inside = "".join(f"    {_string(name)},\n" for name in words)
    return f"const char *const {variable}[{len(words)}] = {{\n{inside}}};"


def _string(text: str) -> str:
    """A string literal; question marks are escaped because of trigraphs, everything unusual byte by byte."""
    plain = {ord('"'): '\\"', ord("\\"): "\\\\", ord("?"): "\\?"}
    return '"' + "".join(plain.get(b, chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in text.encode()) + '"'


def comment(text: str) -> str:
    """A text that may stand inside a comment."""
    return one_line(text).replace("*/", "* /").replace("/*", "/ *").replace("??/", "? ?/").replace("\\", "/")
