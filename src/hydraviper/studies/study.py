"""What a study consists of: arms that are compared in every game, the questions that they answer, and what is shown."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hydraviper.games import catalogue
from hydraviper.studies import tables
from hydraviper.studies.cells import GameName
from hydraviper.studies.claims import Question
from hydraviper.studies.design import OURS, PAPER_EXPERTS, Arm
from hydraviper.studies.figures import Drawing
from hydraviper.studies.paper import GAMES, SPECS
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
    scores: Callable[[Sequence[Row]], list[Table]] = tables.scores  # the first tables
    tables: tuple[Callable[[Sequence[Row]], list[Table]], ...] = ()  # beside scores, seeds and jams
    games: tuple[str, ...] = GAMES  # as tables name them
    # what such a name means, if it is no game of the catalogue or not as by default
    specs: Mapping[str, str] = field(default_factory=lambda: SPECS)
    identities: Mapping[str, GameName] = field(default_factory=dict)  # of games that only whoever made them knows whole
    settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # by game: what is not as by default
    # By game, the names of its experts; a game without one is distilled from whichever expert ships.
    experts: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: PAPER_EXPERTS)
    reference: str = OURS  # the arm that others of its group and budget are compared with on common seeds
    episodes: int | None = None  # unseen ones, for the score; None: as many as suit the game
    timed: bool = False  # runtime is measured: one cell at a time

    def spec(self, game: str) -> str:
        """A game of the study with its parameters, as the catalogue reads it."""
        return self.specs.get(game, game)

    def identity(self, game: str) -> GameName:
        """A game of the study with all of its parameters."""
        return self.identities.get(game) or GameName(*catalogue.whole(self.spec(game)))
