"""Trees as a Python module without dependencies, for any Python from 3.8 on."""

import builtins
import keyword
from collections.abc import Iterator

from hydraviper.export.common import Arithmetic, Program, conditions, heading, nested, one_line, programs
from hydraviper.trees.file import TreesFile
from hydraviper.trees.tree import LEAF
from hydraviper.version import __version__

_OWN = ("observation", "act", "struct", "math", "_single", "_distance", "version", "features", "actions", "functions")
_DEEPEST = 40  # Python reads at most 99 levels of indentation
_ARITHMETIC = Arithmetic(
    assign="{target} = {value}",
    single="_single({value})",
    size="abs({x})",
    distance="_distance({x}, {y})",
    number="_single({value})",  # a decimal of nine digits is not yet the number
    replace="{target} = {value} if {value} {comparison} {target} else {target}",
)

_HELPERS = '''\
import math
import struct


def _single(value):
    """Round to single precision, as the trees do."""
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _distance(x, y):
    return _single(math.sqrt(x * x + y * y))
'''

_ACT = '''\
def act(agent, observation):
    """The name of the action that an agent, by its name, takes for an observation (its features in order)."""
    return ACTIONS[agent][FUNCTIONS[agent](observation)]
'''


def to_python(trees: TreesFile) -> str:
    """A module with one function per agent, `agent_0(observation)`, and `act(agent, observation)` for all."""
    reserved = (*keyword.kwlist, *dir(builtins), *_OWN)
    agents = programs(trees, reserved)
    constants = [f"VERSION = {__version__!r}"]
    for name, field in (("FEATURES", "features"), ("ACTIONS", "actions")):
        entries = "".join(f"    {p.agent.name!r}: {_tuple(getattr(p.agent, field))},\n" for p in agents)
        constants.append(f"{name} = {{\n{entries}}}")
    functions = "".join(f"    {program.agent.name!r}: {program.name},\n" for program in agents)
    parts = [
        "".join(f"# {one_line(line)}\n" for line in heading(trees)) + "\n" + _HELPERS.rstrip(),
        "\n".join(constants),
        *(_agent(program) for program in agents),
        f"FUNCTIONS = {{\n{functions}}}",
        _ACT.rstrip(),
    ]
    return "\n\n\n".join(parts) + "\n"


def _tuple(names: tuple[str, ...]) -> str:
    return "(\n" + "".join(f"        {name!r},\n" for name in names) + "    )"


def _agent(program: Program) -> str:
    agent = program.agent
    lines = [
        f"def {program.name}(observation):",
        f'    """The number of the action for {len(agent.features)} numbers in the order of FEATURES."""',
        f"    if len(observation) != {len(agent.features)}:",
        f'        raise ValueError("an observation has {len(agent.features)} numbers")',
        *(f"    {word} = _single(observation[{number}])" for number, word in program.inputs.items()),
    ]
    for word, feature in program.computed():
        steps = _ARITHMETIC.steps(word, feature, program.inputs)
        lines += [f"    # {one_line(feature.name)}", *(f"    {line}" for line in steps)]
    first, *deeper = _pieces(program)
    return "\n\n\n".join("\n".join(piece) for piece in ([*lines, *first], *deeper))


def _pieces(program: Program) -> Iterator[list[str]]:
    """The lines of the tree's upper levels, then a function for each part that stands too deep to be nested."""
    tree, words, identifiers = program.tree, conditions(program), program.names
    asked = ", ".join(identifiers[number] for number in sorted(set(tree.feature.tolist()) - {LEAF}))
    deeper: list[int] = []

    def question(node: int) -> str:
        test = f"{identifiers[int(tree.feature[node])]} <= {float(tree.threshold[node])!r}"
        return f"if {test}:  # node {node}: {one_line(words[node])}"

    def answer(node: int) -> str:
        if tree.feature[node] == LEAF:
            return f"return {tree.action[node]}  # node {node}: {one_line(words[node])}"
        deeper.append(node)
        return f"return _{program.name}_from_{node}({asked})"

    yield nested(tree, question, "else:", None, answer, deepest=_DEEPEST)
    for node in deeper:  # grows meanwhile
        head = f"def _{program.name}_from_{node}({asked}):"
        yield [head, *nested(tree, question, "else:", None, answer, node=node, deepest=_DEEPEST)]
