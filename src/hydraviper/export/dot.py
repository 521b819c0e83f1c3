"""Trees as DOT, the language of Graphviz."""

from hydraviper.drawing.svg import paint
from hydraviper.export.common import Program, heading, one_line, programs
from hydraviper.trees.file import TreesFile
from hydraviper.trees.questions import questions
from hydraviper.trees.words import agreement, percent, shares


def to_dot(trees: TreesFile) -> str:
    """One graph, a cluster per agent; under each node the share of the data and the agreement with the expert."""
    comments = "".join(f"// {one_line(line)}\n" for line in heading(trees))
    head = [
        "digraph trees {",
        '  graph [fontname="sans-serif", labeljust=l];',
        '  node [fontname="sans-serif", fontsize=11, shape=box, style="rounded,filled", fillcolor=white];',
        '  edge [fontname="sans-serif", fontsize=9, arrowsize=0.5];',
    ]
    body = [line for number, program in enumerate(programs(trees)) for line in _cluster(program, number)]
    return comments + "\n".join([*head, *body, "}"]) + "\n"


def _cluster(program: Program, number: int) -> list[str]:
    agent, tree = program.agent, program.tree
    asked, share, agrees = questions(agent, tree), shares(tree), agreement(tree)
    lines = [f"  subgraph cluster_{number} {{", f"    label={_string(agent.name)}; color=gray;"]
    for node, question in enumerate(asked):
        facts = f"{percent(share[node])} of the data, {percent(agrees[node])} agree"
        name = f"{program.name}_{node}"
        if question is None:
            look = paint(int(tree.action[node]))
            label = f"{node}: {agent.actions[tree.action[node]]}\n{facts}"
            lines.append(f'    {name} [label={_string(label)}, fillcolor="{look.light}", color="{look.edge}"];')
            continue
        label = f"{node}: {question.yes}?\n{facts}"
        lines.append(f"    {name} [label={_string(label)}];")
        for child, answer in ((tree.left[node], "yes"), (tree.right[node], "no")):
            lines.append(f'    {name} -> {program.name}_{child} [label="{answer}"];')
    return [*lines, "  }"]


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + "".join(c for c in escaped if c.isprintable()) + '"'
