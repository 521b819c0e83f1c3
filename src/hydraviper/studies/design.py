"""Arms: what a study compares in every game."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from hydraviper.data import Estimate
from hydraviper.protocols import Game
from hydraviper.settings import Settings, settings_for
from hydraviper.studies.paper import COLOGNE, DECEPTION, INGOLSTADT, NAVIGATION

PAPER_EXPERTS = {NAVIGATION: ("maddpg",), DECEPTION: ("maddpg",), COLOGNE: ("linear",), INGOLSTADT: ("idqn",)}
BETTER_EXPERTS = PAPER_EXPERTS  # the same, as long as no MPLight ships that sees as far
PAPERS, OURS = "hydraviper (VR-UCB)", "hydraviper (race)"  # by how validation rollouts are spent
HYDRAVIPERS = {PAPERS: {"selection": "ucb1"}, OURS: {"selection": "race"}}
BASELINES = ("iviper", "maviper")


@dataclass(frozen=True)
class Arm:
    """What is compared within each game: an algorithm at a budget, with settings of its own."""

    algorithm: str
    train: str = "high"  # level of the training budget: high, mid (half of high) or low
    valid: str = "high"  # level of the validation budget
    settings: Mapping[str, object] = field(default_factory=dict)  # what differs from the defaults
    label: str = ""  # its name in tables and figures; default: the algorithm
    group: str = ""  # the series that it belongs to; default: the budget
    refine: float = 0.0  # seconds of direct search over the trees afterwards
    refine_rollouts: int = 0  # the same, limited by episodes: such a search repeats
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
    settings: Mapping[str, object] | None = None,
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


def titled(game: str, expert: str) -> str:
    """A game, with the expert where there is a choice."""
    return game if BETTER_EXPERTS.get(game) == (expert,) else f"{game}, {expert} expert"


def settings_of(arm: Arm, game: Game, there: Mapping[str, object]) -> Settings:
    """The game's own budgets at the arm's levels, what the study changes `there`, and what the arm changes."""
    changes = {"features": "plain", **there, **arm.settings}  # plain: as in the paper, whatever suits the game
    settings = settings_for(game.recommended, train=arm.train, valid=arm.valid, **changes)
    if not arm.per_agent:
        return settings
    agents = sum(map(len, game.teams))
    return replace(settings, train_budget=agents * settings.train_budget, valid_budget=agents * settings.valid_budget)
