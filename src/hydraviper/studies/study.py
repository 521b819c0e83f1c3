"""What a study consists of: arms that are compared in every game, the questions that they answer, and what is shown."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hydraviper.studies.claims import Question
from hydraviper.studies.design import OURS, PAPER_EXPERTS, Arm
from hydraviper.studies.figures import Drawing
from hydraviper.studies.paper import GAMES
from hydraviper.studies.rows import Row
from hydraviper.studies.tables import Table


@dataclass(frozen=True, kw_only=True)
class Study:
    """A table or a figure of the paper, or one of ours, as data."""

    name: str
    title: str
    about: str  # a sentence for readers
    arms: tuple[Arm, ...]
    questions: tuple[Question, ...] = ()
    figures: tuple[Callable[[Sequence[Row]], list[Drawing]], ...] = ()  # beside scores, which every study has
    tables: tuple[Callable[[Sequence[Row]], list[Table]], ...] = ()  # beside scores, seeds and jams
    games: tuple[str, ...] = GAMES
    experts: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: PAPER_EXPERTS)
    reference: str = OURS  # the arm that others of its group and budget are compared with on common seeds
    episodes: int | None = None  # unseen ones, for the score; None: as many as suit the game
    timed: bool = False  # runtime is measured: one cell at a time
