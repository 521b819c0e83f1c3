"""What a study consists of: arms that are compared in every game, and the questions that they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hydraviper.data import Estimate
from hydraviper.protocols import Game
from hydraviper.settings import Settings, settings_for
from hydraviper.studies.paper import COLOGNE, DECEPTION, GAMES, INGOLSTADT, NAVIGATION

if TYPE_CHECKING:
    from hydraviper.studies.claims import Question
    from hydraviper.studies.figures import Drawing
    from hydraviper.studies.rows import Row
    from hydraviper.studies.tables import Table

PAPER_EXPERTS = {
    NAVIGATION: ("maddpg",),
    DECEPTION: ("maddpg",),
    COLOGNE: ("mplight",),
    INGOLSTADT: ("mplight",),
}
BETTER_EXPERTS = {
    **PAPER_EXPERTS,
    COLOGNE: ("mplight", "idqn"),
    INGOLSTADT: ("mplight", "idqn"),
}
PAPERS, OURS = "hydraviper (VR-UCB)", "hydraviper (race)"  # by how validation rollouts are spent
HYDRAVIPERS = {PAPERS: {"selection": "ucb1"}, OURS: {"selection": "race"}}
BASELINES = ("iviper", "maviper")


@dataclass(frozen=True)
class Arm:
    """What is compared within each game: an algorithm at a budget, with settings of its own."""

    algorithm: str
    train: str = "high"  # level of the training budget: high, mid (half of high) or low
    valid: str = "high"  # level of the validation budget
    settings: Mapping[str, Any] = field(default_factory=dict)  # what differs from the defaults
    label: str = ""  # its name in tables and figures; default: the algorithm
    group: str = ""  # the series that it belongs to; default: the budget
    refine: float = 0.0  # seconds of direct search over the trees afterwards
    per_agent: bool = False  # every distilled agent has the whole budget; otherwise agents share it
    published_seconds: Estimate | None = None  # where the paper's tables of all studies do not have it

    @property
    def name(self) -> str:
        """Its name in tables and figures."""
        return self.label or self.algorithm

    @property
    def level(self) -> str:
        """The budget in words: `high/high`."""
        return f"{self.train}/{self.valid}"

    @property
    def key(self) -> str:
        """A name that no other arm of its study has."""
        return "; ".join(filter(None, (self.group, self.name, self.level)))


def arms_of(
    algorithms: Iterable[str],
    train: str = "high",
    valid: str = "high",
    settings: Mapping[str, Any] | None = None,
    group: str = "",
) -> tuple[Arm, ...]:
    """An arm for each algorithm; HYDRAVIPER has two, with the paper's selection and with ours."""
    arms: list[Arm] = []
    for algorithm in algorithms:
        selections = HYDRAVIPERS if algorithm == "hydraviper" else {"": {}}
        arms += [
            Arm(algorithm, train, valid, {**(settings or {}), **selection}, label, group)
            for label, selection in selections.items()
        ]
    return tuple(arms)


@dataclass(frozen=True, kw_only=True)
class Study:
    """A table or a figure of the paper, or one of ours, as data."""

    name: str
    title: str
    about: str  # a sentence for readers
    arms: tuple[Arm, ...]
    questions: tuple[Question, ...] = ()
    figures: tuple[Callable[[Sequence[Row]], list[Drawing]], ...] = ()  # beside scores, which every study has
    tables: tuple[Callable[[Study, Sequence[Row]], list[Table]], ...] = ()  # beside scores, seeds and jams
    games: tuple[str, ...] = GAMES
    experts: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: PAPER_EXPERTS)
    reference: str = OURS  # the arm that others of its group and budget are compared with on common seeds
    timed: bool = False  # runtime is measured: one cell at a time


def titled(game: str, expert: str) -> str:
    """A game, with the expert where there is a choice."""
    return game if BETTER_EXPERTS.get(game) == (expert,) else f"{game}, {expert} expert"


def settings_of(arm: Arm, game: Game) -> Settings:
    """The game's own budgets at the arm's levels, and what the arm changes."""
    settings = settings_for(game.recommended, train=arm.train, valid=arm.valid, **arm.settings)
    if not arm.per_agent:
        return settings
    agents = sum(map(len, game.teams))
    return replace(settings, train_budget=agents * settings.train_budget, valid_budget=agents * settings.valid_budget)
