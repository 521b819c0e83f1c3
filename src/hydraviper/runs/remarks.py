"""What stands out in trees before anybody reads them: phases never shown, and trees that ignore what they see."""

from collections.abc import Mapping, Sequence

from hydraviper.data import Agent, StreetRecord
from hydraviper.drawing.pages.streets import stands_out
from hydraviper.drawing.pages.words import listed
from hydraviper.protocols import Game, Student, offers
from hydraviper.records import Evaluation
from hydraviper.trees.tree import LEAF, Tree
from hydraviper.trees.words import short_actions

_NOTHING = Evaluation()
MOST = 3  # streets that a sentence names
Phases = dict[str, tuple[str, ...]]  # agent -> short names of some of its actions


def remarks(game: Game, students: Mapping[int, Student], evaluation: Evaluation = _NOTHING) -> tuple[str, ...]:
    """Sentences about trees, by what they ask and by what happened when they were scored."""
    trees = {game.agents[i]: tree.merged() for i, tree in sorted(students.items()) if isinstance(tree, Tree)}
    ignorant = (_ignores(agent, tree) for agent, tree in trees.items())
    unused = _unused(trees, evaluation.shown) if offers(game).graph.served is not None else ()
    return (*filter(None, ignorant), *unused, *_long_waits(evaluation.streets.get("trees", ())))


def _ignores(agent: Agent, tree: Tree) -> str:
    """A sentence about a tree that looks at nothing around it."""
    if tree.leaves == 1:
        answer = short_actions(agent)[tree.action[0]]
        return f"The tree of {agent.name} ignores what it sees: it always answers {answer}."
    values, names = tree.values(agent), tree.names(agent)
    asked = sorted(set(tree.feature.tolist()) - {LEAF})
    if all(values[k].own for k in asked):
        return (
            f"The tree of {agent.name} ignores what it sees: it asks only for its own state "
            f"({listed([names[k] for k in asked])}), so it merely takes turns."
        )
    return ""


def _unused(trees: Mapping[Agent, Tree], shown: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Sentences about phases that no leaf chooses, and about those that no episode has seen."""
    unchosen: Phases = {}
    unseen: Phases = {}
    for agent, tree in trees.items():
        chosen, short = set(tree.action[tree.feature == LEAF].tolist()), short_actions(agent)
        unchosen[agent.name] = tuple(name for k, name in enumerate(short) if k not in chosen)
        shares = shown.get(agent.name, {})
        unseen[agent.name] = tuple(
            name for name, action in zip(short, agent.actions, strict=True) if shares.get(action) == 0
        )
    if not shown:
        return _sentence("No leaf chooses", unchosen)
    never = {name: tuple(one for one in phases if one in unseen[name]) for name, phases in unchosen.items()}
    forced = {name: tuple(one for one in phases if one not in unseen[name]) for name, phases in unchosen.items()}
    missed = {name: tuple(one for one in phases if one not in unchosen[name]) for name, phases in unseen.items()}
    return [
        *_sentence("Never shown, since no leaf chooses it", never),
        *_sentence("No leaf chooses, but the rules of safety showed", forced),
        *_sentence("Never shown in these episodes, though a leaf chooses it", missed),
    ]


def _long_waits(streets: Sequence[StreetRecord]) -> list[str]:
    """A sentence about the streets on which people wait too long, the worst first."""
    poor = sorted(filter(stands_out, streets), key=lambda street: -street.longest_wait)
    if not poor:
        return []
    named = [
        f"{one.street}, level of service {one.level_of_service}, mean {one.mean_wait:.0f} s, longest "
        f"{one.longest_wait:.0f} s"
        for one in poor[:MOST]
    ]
    more = [f"and {len(poor) - MOST} more in report.html and --json"] if len(poor) > MOST else []
    return [f"Long waits: {'; '.join([*named, *more])}."]


def _sentence(start: str, phases: Phases) -> list[str]:
    parts = [f"{listed(names)} of {agent}" for agent, names in phases.items() if names]
    return [f"{start}: {'; '.join(parts)}."] if parts else []
