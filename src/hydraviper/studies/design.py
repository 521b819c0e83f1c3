"""What a study is made of: arms that are compared in every game, and the cells (one seed each) that they come to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hydraviper.games import catalogue
from hydraviper.protocols import Game
from hydraviper.settings import Settings, settings_for
from hydraviper.studies.published import COLOGNE, DECEPTION, GAMES, INGOLSTADT, NAVIGATION

LEVELS = ("high", "mid", "low")  # of a budget; mid is half of high
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


def titled(game: str, expert: str) -> str:
    """A game, with the expert where there is a choice."""
    return game if BETTER_EXPERTS.get(game) == (expert,) else f"{game}, {expert} expert"


@dataclass(frozen=True)
class Arm:
    """What is compared within each game: an algorithm at a budget, with settings of its own."""

    algorithm: str
    train: str = "high"  # level of the training budget
    valid: str = "high"  # level of the validation budget
    settings: Mapping[str, Any] = field(default_factory=dict)  # what differs from the defaults
    label: str = ""  # what it is called in tables and figures; default: the algorithm
    group: str = ""  # which bars stand together; default: the budget
    refine: float = 0.0  # seconds of direct search over the trees afterwards
    per_agent: bool = False  # every distilled agent has the whole budget, where algorithms share one otherwise

    @property
    def name(self) -> str:
        """What it is called."""
        return self.label or self.algorithm

    @property
    def level(self) -> str:
        """The budget in words: `high/high`."""
        return f"{self.train}/{self.valid}"

    @property
    def key(self) -> str:
        """Unlike every other arm of its study."""
        return "; ".join(filter(None, (self.group, self.name, self.level)))


def arms_of(
    algorithms: Iterable[str],
    train: str = "high",
    valid: str = "high",
    settings: Mapping[str, Any] | None = None,
    group: str = "",
) -> tuple[Arm, ...]:
    """An arm for each algorithm; HYDRAVIPER has two, with the paper's selection and with ours."""
    given = dict(settings or {})
    arms: list[Arm] = []
    for algorithm in algorithms:
        named = HYDRAVIPERS if algorithm == "hydraviper" else {"": {}}
        arms += [Arm(algorithm, train, valid, {**given, **own}, label, group) for label, own in named.items()]
    return tuple(arms)


@dataclass(frozen=True)
class Study:
    """A table or a figure of the paper, or one of ours, as data."""

    name: str
    title: str
    about: str  # a sentence for readers
    arms: tuple[Arm, ...]
    figures: tuple[str, ...] = ("bars",)  # of figures.FIGURES
    questions: tuple[str, ...] = ()  # of questions.QUESTIONS
    games: tuple[str, ...] = GAMES
    experts: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: PAPER_EXPERTS)
    reference: str = OURS  # the arm that others of its group and budget are compared with on common seeds
    timed: bool = False  # runtime is measured: one cell at a time
    pooled: bool = False  # all experts of a game are told together, too


@dataclass(frozen=True)
class Cell:
    """One job: what it takes to run it, and nothing else, tells it from all others."""

    game: str
    parameters: Mapping[str, Any]
    algorithm: str
    settings: Settings  # the seed included
    expert: str  # maddpg, mplight, idqn, ...
    expert_hash: str
    episodes: int
    scale: float = 1.0
    refine: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The cell as it stands in its result file."""
        return {
            "kind": "refined" if self.refine else "distill",
            "game": {"name": self.game, "parameters": dict(self.parameters)},
            "algorithm": self.algorithm,
            "settings": self.settings.to_json(),
            "expert": {"name": self.expert, "hash": self.expert_hash},
            "seed": self.settings.seed,
            "episodes": self.episodes,
            "scale": self.scale,
            "refine": self.refine,
        }

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Cell:
        """The cell that `to_json` wrote; settings that are newer than the file take their defaults."""
        game, expert = values["game"], values["expert"]
        return Cell(
            game["name"],
            catalogue.completed(game["name"], game["parameters"]),
            values["algorithm"],
            Settings.from_json(values["settings"]),
            expert["name"],
            expert["hash"],
            int(values["episodes"]),
            float(values["scale"]),
            float(values["refine"]),
        )

    @property
    def key(self) -> str:
        """Equal for equal cells; an expert is its networks, not its name."""
        values = self.to_json()
        return json.dumps({**values, "expert": self.expert_hash}, sort_keys=True)

    @property
    def name(self) -> str:
        """A file's name that people can read and that no other cell has."""
        budget = f"{self.settings.train_budget}-{self.settings.valid_budget}"
        digest = hashlib.sha256(self.key.encode()).hexdigest()[:10]
        return f"{self.game}.{self.expert}.{self.algorithm}.{budget}.seed-{self.settings.seed}.{digest}"

    @property
    def command(self) -> str:
        """The call of `distill` that makes the same trees; a scaled cell's warm-up is beyond its options."""
        spec = self.game
        if self.parameters:
            spec += ":" + ",".join(f"{name}={value}" for name, value in self.parameters.items())
        default, names = Settings().to_json(), {"most_leaves": "leaves"}
        values = {"algorithm": self.algorithm, **self.settings.to_json(), "episodes": self.episodes}
        values.pop("rollouts_per_iteration")
        told = ("seed", "ucb_scale")  # whatever they are: games have defaults of their own
        changed = [
            f"--{names.get(name, name).replace('_', '-')} {value}"
            for name, value in values.items()
            if value is not None and (name in told or value != default.get(name))
        ]
        expert = [] if self.expert == "maddpg" else [f"--expert {self.expert}"]
        refine = [f"--refine {self.refine:g}"] if self.refine else []
        scaled = [] if self.scale == 1 else [f"# {self.settings.rollouts_per_iteration} rollouts per iteration"]
        return " ".join(["hydraviper distill", spec, *expert, *changed, *refine, *scaled])


def cell_of(arm: Arm, game: Game, expert: tuple[str, str], seed: int, scale: float) -> Cell:
    """The cell of an arm in a game, with an expert (name, hash) and a seed."""
    settings = replace(settings_of(arm, game), seed=seed)
    episodes = game.recommended.evaluation_episodes
    if scale != 1:
        settings, episodes = _scaled(settings, scale, len(game.agents)), max(10, round(scale * episodes))
    refine = arm.refine * scale
    return Cell(game.name, dict(game.parameters), arm.algorithm, settings, *expert, episodes, scale, refine)


def settings_of(arm: Arm, game: Game) -> Settings:
    """The game's own budgets at the arm's levels, and what the arm changes."""
    settings = settings_for(game.recommended, train=arm.train, valid=arm.valid, **arm.settings)
    if not arm.per_agent:
        return settings
    agents = sum(map(len, game.teams))
    return replace(settings, train_budget=agents * settings.train_budget, valid_budget=agents * settings.valid_budget)


def _scaled(settings: Settings, scale: float, agents: int) -> Settings:
    """A quick look: the same run with fewer iterations and rollouts, and still one rollout per agent and iteration."""
    iterations = max(2, round(scale * settings.iterations))
    least = {"train_budget": agents * iterations, "valid_budget": iterations, "rollouts_per_iteration": 2}
    counts = {name: max(count, round(scale * getattr(settings, name))) for name, count in least.items()}
    return replace(settings, iterations=iterations, **counts)
