"""Trees as nested JSON, which any language reads: questions by name inside each other."""

import json

from hydraviper.export.common import heading, programs
from hydraviper.trees.file import TreesFile
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.version import __version__

FORMAT = "hydraviper-nested-trees-1"


def to_json(trees: TreesFile) -> str:
    """One object; a node is `{"node", "feature", "at_most", "then", "else"}` or `{"node", "action"}`."""
    agents = []
    for program in programs(trees):
        agent, tree = program.agent, program.tree
        entry: dict[str, object] = {"name": agent.name, "features": agent.features, "actions": agent.actions}
        entry["derived"] = [
            {
                "name": feature.name,
                **({"formula": feature.formula} if feature.formula else {}),
                "terms": [
                    {"kind": term.kind, "of": [agent.features[i] for i in term.inputs], "sign": term.sign}
                    | ({"number": term.number} if term.kind == "number" else {})
                    for term in feature.terms
                ],
            }
            for _, feature in program.computed()
        ]
        agents.append({**entry, "tree": _node(tree, tree.names(agent), agent.actions, 0)})
    document = {"format": FORMAT, "version": __version__, "about": heading(trees), "game": trees.game, "agents": agents}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _node(tree: Tree, names: tuple[str, ...], actions: tuple[str, ...], node: int) -> dict[str, object]:
    weight = float(tree.counts[node].sum())
    if tree.feature[node] == LEAF:
        return {"node": node, "action": actions[tree.action[node]], "weight": weight}
    return {
        "node": node,
        "feature": names[tree.feature[node]],
        "at_most": float(tree.threshold[node]),  # all digits of the single precision number
        "weight": weight,
        "then": _node(tree, names, actions, int(tree.left[node])),
        "else": _node(tree, names, actions, int(tree.right[node])),
    }
