"""A run that is there: its trees, with the game that they play and the expert that they came from."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from hydraviper.algorithm import Distilled
from hydraviper.data import InputError
from hydraviper.experts import elsewhere, store
from hydraviper.experts.store import StoredExpert
from hydraviper.experts.worth import AnyExpert
from hydraviper.games import catalogue, traffic_facts
from hydraviper.protocols import Expert, Game
from hydraviper.records import Iteration, Recipe, ScoreRecord, Summary, decode, from_json
from hydraviper.runs import trust
from hydraviper.runs.opening import EXPERT, Tell, expert_named
from hydraviper.trees import file
from hydraviper.trees.file import TreesFile
from hydraviper.trees.shown import html_of
from hydraviper.trees.tree import Tree
from hydraviper.version import __version__


def _warn(sentence: str) -> None:
    warnings.warn(sentence, stacklevel=3)


class Run:
    """Trees with the game that they play and the expert that they came from.

    Game and expert are made when they are first asked for: to read, verify or export trees neither is needed.
    """

    def __init__(
        self,
        trees: TreesFile,
        *,
        path: Path | None = None,
        game: Game | None = None,
        expert: Expert | None = None,
        expert_name: Path | str | None = None,
        workers: int = 1,
        ask: trust.Ask = lambda question: False,
        tell: Tell = _warn,
        trust_code: bool = False,
    ) -> None:
        self.trees = trees
        self.path = path  # a run's folder or a trees.json; None if it was not saved
        self.workers = workers
        self._game, self._expert, self._expert_name = game, expert, expert_name
        self._ask, self._tell, self._trust_code = ask, tell, trust_code

    @property
    def folder(self) -> Path | None:
        """The folder that the trees lie in."""
        return self.path if self.path is None or self.path.is_dir() else self.path.parent

    @cached_property
    def game(self) -> Game:
        """The game that the trees play; a file that only trees.json names is opened if the user agrees."""
        if self._game is not None:
            return self._game
        parameters = catalogue.completed(self.trees.game, self.trees.parameters)
        source = catalogue.named_source(self.trees.game, parameters)
        if source is not None:
            trust.check(source, self._ask)
        return catalogue.make(self.trees.game, parameters)

    def changed(
        self, students: Mapping[int, Tree], folder: Path, *, made: Mapping[str, object], score: ScoreRecord
    ) -> Run:
        """The run with other trees, which go to a folder of their own."""
        by_name = {self.game.agents[i].name: tree for i, tree in students.items()}
        trees = replace(
            self.trees,
            trees=tuple(by_name[agent.name] for agent in self.trees.agents),
            made={**self.trees.made, **made},
            score=score,
        )
        return Run(trees, path=folder, game=self.game, expert=self.expert, workers=self.workers)

    @property
    def students(self) -> dict[int, Tree]:
        """The trees by the game's agents; refuses trees that do not belong to the game."""
        return self.trees.students(self.game)

    def check_expert(self) -> None:
        """Refuse an expert that was asked for and does not fit the game, also where nobody needs it."""
        if self._expert_name is not None:
            self.expert  # noqa: B018 (opened, which checks it)

    @cached_property
    def expert(self) -> Expert:
        """The expert that made the trees: as given, as the run's folder says, or the shipped one."""
        if self._expert is not None:
            return self._expert
        expert = self._find_expert()
        if expert_hash(expert) != self.trees.made["expert"]:
            self._tell("Note: the trees were made from another expert than the one they are compared with.")
        return replace(expert, workers=self.workers)

    def _find_expert(self) -> AnyExpert:
        if self._expert_name is not None:
            return expert_named(self.game, self._expert_name, trust_code=self._trust_code)
        if self.expert_file is not None:
            if elsewhere.is_name(self.expert_file) and elsewhere.runs_code(self.expert_file):
                trust.check_expert(self.expert_file, self._ask)
            return expert_named(self.game, self.expert_file, trust_code=self._trust_code)
        makers = (one for one in store.all_shipped(self.game) if store.digest(one) == self.trees.made["expert"])
        return next(makers, None) or store.shipped(self.game)

    @property
    def expert_file(self) -> str | None:
        """The expert's file that settings.json names, if it is that of the expert that made the trees."""
        recipe = None if self.folder is None else read_recipe(self.folder)
        if self.folder is None or recipe is None or recipe.expert.hash != self.trees.made["expert"]:
            return None
        name = recipe.expert.file
        return name if name is None or elsewhere.is_name(name) else str((self.folder / name).resolve())

    def hand_on_expert(self, folder: Path) -> str | None:
        """The expert's file as settings.json of a run made from this one names it; one of the run's own is copied."""
        name = self.expert_file
        if name is None or self.folder is None or Path(name) != (self.folder / EXPERT).resolve():
            return name
        file.write_whole(folder / EXPERT, Path(name).read_bytes())
        return EXPERT

    @cached_property
    def summary(self) -> Summary | None:
        """What the run's summary.json says; None if there is none."""
        return None if self.folder is None else read_summary(self.folder)

    def _repr_html_(self) -> str | None:
        """What notebooks show: the verdict and every tree as a drawing, with zoom and paths that light up."""
        return html_of(self)

    @property
    def saved(self) -> tuple[Path, Summary]:
        """The folder and the summary of a run that has both."""
        if self.folder is None or self.summary is None:
            raise InputError("this run was not saved with its score: save it first.")
        return self.folder, self.summary


Source: TypeAlias = Run | Distilled | Path | str  # a run, what `distill` returns, a run's folder or a trees.json


def load_run(
    path: Path | str,
    *,
    expert: Path | str | None = None,
    game: Game | None = None,
    workers: int = 1,
    trust_path: bool = False,
    ask: trust.Ask = lambda question: False,
    tell: Tell = _warn,
    trust_code: bool = False,
) -> Run:
    """Open a run's folder or a trees.json.

    `expert` is a file or the name of an expert to compare with, instead of the one that made the trees. `game` is for
    trees of a game that has no name here, such as some of `from_pettingzoo`. What only the run's files name is not
    opened, unless `trust_path` says so or `ask` agrees; an expert whose file runs code when it is loaded needs
    `trust_code`.
    """
    agree = (lambda question: True) if trust_path else ask
    trees = file.load(path)
    trees = replace(trees, agents=traffic_facts.described(trees.agents))  # older files lack words for 0
    return Run(
        trees,
        path=Path(path),
        game=game,
        expert_name=expert,
        workers=workers,
        ask=agree,
        tell=tell,
        trust_code=trust_code,
    )


def opened(source: Source) -> Run:
    """The run that a source stands for."""
    if isinstance(source, Run):
        return source
    if isinstance(source, Distilled):
        return Run(trees_of(source), game=source.game, expert=source.profile.expert)
    return load_run(source)


def trees_of(result: Distilled, constraints: str | None = None) -> TreesFile:
    """Distilled trees as a document, not yet scored; `constraints` are the properties that they were grown to have."""
    students = sorted(result.profile.students.items())
    for i, student in students:
        if not isinstance(student, Tree):
            raise InputError(
                f"the student of {result.game.agents[i].name} is no tree and cannot be saved as trees.json."
            )
    made = {
        "algorithm": result.algorithm,
        "settings": result.settings.to_json(),
        "seed": result.settings.seed,
        "expert": expert_hash(result.profile.expert),
        "version": __version__,
    } | ({} if constraints is None else {"constraints": constraints})
    if result.refined is not None:
        made["refined"] = [result.refined.to_json()]
    return TreesFile(
        game=result.game.name,
        parameters=dict(result.game.parameters),
        agents=tuple(result.game.agents[i] for i, _ in students),
        trees=tuple(student for _, student in students if isinstance(student, Tree)),
        made=made,
    )


def expert_hash(expert: Expert) -> str:
    """What tells which expert made a tree; an expert of the user's own is known by its content or by its class."""
    if isinstance(expert, StoredExpert):
        with suppress(InputError, AttributeError, TypeError):  # tables that no file holds
            return store.digest(expert)
    try:
        return store.policy_digest(expert)[:16]
    except (pickle.PicklingError, AttributeError, TypeError):
        return f"python:{type(expert).__qualname__}"


# --------------------------------------------------------------------------- what lies beside the trees


def read_summary(folder: Path) -> Summary | None:
    """summary.json of a run's folder; None if there is none or if it is not JSON."""
    text = _json_text(folder / "summary.json")
    return None if text is None else decode(Summary, text, f"{folder / 'summary.json'}")


def read_recipe(folder: Path) -> Recipe | None:
    """settings.json of a run's folder; None if there is none or if it does not fit."""
    text = _json_text(folder / "settings.json")
    try:
        return None if text is None else decode(Recipe, text, "settings.json")
    except InputError:
        return None


def read_ledger(folder: Path) -> list[Iteration]:
    """The lines of ledger.jsonl up to the first that is torn: a run that was killed ends in the middle of one."""
    lines = []
    path = folder / "ledger.jsonl"
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else ():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            break
        lines.append(from_json(Iteration, value, str(path)))
    return lines


def _json_text(path: Path) -> str | None:
    """The text of a JSON file; None if it is not there or not JSON."""
    try:
        text = path.read_text(encoding="utf-8")
        return text if isinstance(json.loads(text), dict) else None
    except (OSError, ValueError, RecursionError):
        return None
