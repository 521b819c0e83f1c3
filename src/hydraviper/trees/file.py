"""trees.json: versioned, checked against a schema, never pickle."""

import json
import os
import reprlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
from jsonschema.exceptions import best_match

from hydraviper.data import UNWRITABLE, Agent, InputError, Values, check_names, naming
from hydraviper.expressions.names import nearest
from hydraviper.protocols import Game
from hydraviper.records import Edit, ScoreRecord, from_json, to_json
from hydraviper.trees.shown import html_of
from hydraviper.trees.tree import LEAF, Tree

FORMAT = "hydraviper-trees-1"
DEEPEST = 200  # levels of a tree: ten times what `distill` grows


@dataclass(frozen=True)
class TreesFile:
    """The trees of a run, with what is needed to read, check and play them."""

    game: str
    parameters: Mapping[str, object]
    agents: tuple[Agent, ...]  # the distilled ones
    trees: tuple[Tree, ...]  # one per agent
    made: Mapping[str, Any]  # algorithm, settings, expert's hash, version
    score: ScoreRecord | None = None
    edits: tuple[Edit, ...] = ()  # what people changed since, the first one first: see `trees.edit`
    tells_values: bool = True  # of the features; files of older versions do not, and stay as they are

    def __post_init__(self) -> None:
        check_names("a game", [self.game])
        if len({agent.name for agent in self.agents}) != len(self.agents):
            raise InputError("two of the trees are for the same agent: make the trees again.")
        for agent, tree in zip(self.agents, self.trees, strict=True):
            if tree.depth > DEEPEST:
                raise InputError(f"the tree of {agent.name} has {tree.depth:,} levels: at most {DEEPEST} can be read.")
            inner = tree.feature[tree.feature != LEAF]
            if tree.counts.shape[1] != len(agent.actions) or tree.action.max() >= len(agent.actions):
                raise InputError(f"the tree of {agent.name} knows other actions than its {len(agent.actions)}.")
            inputs = [i for feature in tree.derived for i in feature.inputs]
            if max(inner, default=0) >= len(tree.names(agent)) or max(inputs, default=0) >= len(agent.features):
                raise InputError(f"the tree of {agent.name} asks for a feature that the agent does not have.")
            if len(set(tree.names(agent))) != len(tree.names(agent)):
                raise InputError(f"the tree of {agent.name} knows two features of the same name.")

    def place(self, agent: str) -> int:
        """The index of an agent's tree."""
        return place_of(agent, [one.name for one in self.agents], "there is no tree for")

    def to_json(self) -> dict[str, object]:
        """The document."""
        document: dict[str, object] = {
            "format": FORMAT,
            "game": {"name": self.game, "parameters": dict(self.parameters)},
            "agents": [
                {
                    "name": agent.name,
                    "features": list(agent.features),
                    "actions": list(agent.actions),
                    **self._values_to_json(agent),
                    "tree": tree.to_json(),
                }
                for agent, tree in zip(self.agents, self.trees, strict=True)
            ],
            "made": dict(self.made),
            "score": None if self.score is None else to_json(self.score),
        }
        return document | ({"edits": [to_json(edit) for edit in self.edits]} if self.edits else {})

    def _repr_html_(self) -> str | None:
        """What notebooks show: every tree as a drawing, with zoom and paths that light up."""
        return html_of(self)

    def _values_to_json(self, agent: Agent) -> dict[str, object]:
        if not agent.values or not self.tells_values:
            return {}
        told = [{name: value for name, value in vars(one).items() if value != _PLAIN[name]} for one in agent.values]
        return {"values": told}

    def students(self, game: Game) -> dict[int, Tree]:
        """The trees by the numbers of the game's agents; refuses a game that they were not made for."""
        by_name = {agent.name: i for i, agent in enumerate(game.agents)}
        students = {}
        for agent, tree in zip(self.agents, self.trees, strict=True):
            i = by_name.get(agent.name)
            if i is None or game.agents[i] != agent:
                raise InputError(
                    f"{game.name} has no agent {agent.name} with these features and actions: the trees were made for "
                    f"{self.game}; distill them for this game or pass the file that belongs to it."
                )
            students[i] = tree
        return students


def place_of(name: str, names: Sequence[str], missing: str) -> int:
    """The index of a name among names; if it is missing, the error suggests the nearest ones."""
    if name in names:
        return names.index(name)
    raise InputError(f"{missing} {shortened(name)}: {nearest(name, names)}")


def shortened(value: object) -> str:
    """A value as Python writes it, shortened for an error message."""
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80


def save(trees: TreesFile, path: Path | str) -> None:
    """Write trees.json whole or not at all."""
    write_whole(Path(path), json.dumps(trees.to_json(), indent=1))


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file through a temporary neighbour, so that nobody ever sees half of it."""
    half = path.with_name(path.name + ".part")
    try:
        with naming(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            half.write_bytes(content.encode() if isinstance(content, str) else content)
            half.replace(path)
    except OSError:
        with suppress(OSError):
            half.unlink()
        raise


def load(path: Path | str) -> TreesFile:
    """Read trees.json, or the one in a run's folder."""
    path = Path(path)
    path = path / "trees.json" if os.path.isdir(path) else path  # Path.is_dir raises where a name is too long
    is_file = os.path.isfile(path)
    if not is_file and (learner := _learner_beside(path)):
        raise InputError(
            f"{path.parent} holds a {learner} per agent and no tree: its score is in summary.json; for trees to show, "
            "check, change or export, distill with --learner tree."
        )
    if not is_file and os.path.isfile(path.parent / "settings.json"):
        raise InputError(f"{path.parent} has no trees yet: the command that began this run finishes it.")
    if not is_file:
        raise InputError(f"there are no trees at {path}: make some with `hydraviper distill`.")
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        _check_texts(document)
        misfit = best_match(_validator().iter_errors(document))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): pass a trees.json that you may read.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text: pass a trees.json made by `hydraviper distill`.") from None
    except (ValueError, RecursionError) as error:  # not JSON, too deep, or a number of thousands of digits
        raise InputError(f"{path} is not JSON ({error}): pass a trees.json made by `hydraviper distill`.") from None
    if misfit is not None:
        where = "/".join(map(str, misfit.absolute_path)) or "the document"
        problem = misfit.message if len(misfit.message) < 120 else misfit.message[:117] + "..."
        raise InputError(f"{path} is not a trees.json of this package: at {where}, {problem}.")
    try:
        return _read(document)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _check_texts(value: object, depth: int = 0) -> None:
    """Refuse control characters and lone surrogates in any text of a document."""
    if depth > DEEPEST:
        raise InputError(f"it nests deeper than {DEEPEST} levels: make the trees again.")
    if isinstance(value, str) and (found := UNWRITABLE.search(value.translate(_BREAKS))):
        raise InputError(
            f"the text {shortened(value)} holds {found.group()!r}: write it without, or make the trees again."
        )
    if isinstance(value, dict):
        _check_texts(list(value), depth)
        value = list(value.values())
    for one in value if isinstance(value, list) else ():
        _check_texts(one, depth + 1)


_BREAKS = str.maketrans("", "", "\n\r\t")  # texts may have lines; names may not, see `data.check_names`


def _learner_beside(path: Path) -> str | None:
    """The learner of a run whose students are no single trees, else None."""
    try:
        learner = json.loads((path.parent / "settings.json").read_text(encoding="utf-8"))["settings"]["learner"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return learner if learner in ("forest", "mixture") else None


def schema() -> dict[str, object]:
    """The JSON schema of trees.json."""
    return json.loads((resources.files("hydraviper.trees") / "schema.json").read_text())


@cache
def _validator() -> jsonschema.Draft202012Validator:
    """Made once: checking the schema itself, as `jsonschema.validate` does, takes longer than checking a file."""
    return jsonschema.Draft202012Validator(schema())


def _read(document: Mapping[str, Any]) -> TreesFile:
    entries, score = document["agents"], document.get("score")
    return TreesFile(
        game=document["game"]["name"],
        parameters=document["game"]["parameters"],
        agents=tuple(_agent(entry) for entry in entries),
        trees=tuple(Tree.from_json(entry["tree"]) for entry in entries),
        made=document["made"],
        score=None if score is None else from_json(ScoreRecord, score, "the score"),
        edits=tuple(from_json(Edit, edit, "an edit") for edit in document.get("edits", ())),
        tells_values=any("values" in entry for entry in entries),
    )


def _agent(entry: Mapping[str, Any]) -> Agent:
    values = tuple(Values(**{key: one[key] for key in _PLAIN if key in one}) for one in entry.get("values", ()))
    return Agent(entry["name"], tuple(entry["features"]), tuple(entry["actions"]), values)


_PLAIN = vars(Values())
