"""Prove properties of a run's trees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hydraviper.data import InputError, Knowledge
from hydraviper.games import traffic_facts
from hydraviper.protocols import Game
from hydraviper.records import Counterexample, PropertyAnswer, Verification
from hydraviper.runs.properties import read_properties
from hydraviper.runs.run import Run, Source, opened
from hydraviper.trees.tree import Tree
from hydraviper.verify import properties as book
from hydraviper.verify.facts import check_facts
from hydraviper.verify.obligations import Obligations, obligations_for, resolve
from hydraviper.verify.properties import Properties
from hydraviper.verify.prover.proof import SECONDS
from hydraviper.verify.prover.proof import verify as prove
from hydraviper.verify.scene import Scene
from hydraviper.verify.verdicts import HOLDS, NOWHERE, Verdict, in_words

EPISODES_FOR_FACTS = 50


@dataclass(frozen=True)
class Proofs:
    """What the prover said about a run's trees, with what it takes to put it into words."""

    record: Verification
    obligations: Obligations
    students: Mapping[int, Tree]
    verdicts: Sequence[Verdict]

    def counterexamples(self, verdict: Verdict, most: int) -> list[tuple[str, str]]:
        """What a verdict's first counterexamples break, and how, in words."""
        examples = verdict.counterexamples[:most]
        return [(one.obligation.description, in_words(self.obligations, one, self.students)) for one in examples]


def verify(
    run: Source,
    properties: Path | str | None = None,
    *,
    seconds: float = SECONDS,
    episodes: int | None = None,
    allow_empty: bool = False,
) -> Verification:
    """Prove properties of trees, or find observations at which they break.

    `properties` is a TOML file (default: what ships for the game), `seconds` the most that one property may take.
    What is taken to be true of the game is checked on `episodes` first (default: 50, none in simulators). A property
    whose conditions no observation meets counts as broken, unless `allow_empty`.
    """
    return proofs(run, properties, seconds=seconds, episodes=episodes, allow_empty=allow_empty).record


def proofs(
    run: Source,
    properties: Path | str | None = None,
    *,
    seconds: float = SECONDS,
    episodes: int | None = None,
    allow_empty: bool = False,
) -> Proofs:
    """As `verify`, with all that the prover knows."""
    run = opened(run)
    obligations, students, game = _obligations(run, read_properties(properties))
    checked = _check_facts(obligations, students, game, episodes)
    verdicts = prove(obligations, students, seconds)
    fine = (HOLDS, NOWHERE) if allow_empty else (HOLDS,)
    record = Verification(
        game=run.trees.game,
        run=str(run.path),
        holds=(bool(verdicts) or allow_empty) and all(verdict.outcome in fine for verdict in verdicts),
        facts_checked_on=checked,
        properties=property_answers(obligations, verdicts),
    )
    return Proofs(record, obligations, students, verdicts)


def _obligations(run: Run, properties: Properties | None) -> tuple[Obligations, dict[int, Tree], Game | None]:
    """The obligations for a run's trees, the trees by agent, and the game, which is not needed for all."""
    trees = run.trees
    try:
        game = run.game
    except InputError as error:
        signals = traffic_facts.looks_like_signals(trees.agents)
        knowledge = traffic_facts.knowledge(trees.agents) if signals else Knowledge()
        scene = Scene.of_file(trees, str(error).rstrip("."), knowledge)
        about = properties or book.shipped(trees.game, signals)
        if about is None or (not signals and properties is None):
            raise  # without the game, what ships for it may not be true
        return resolve(about, scene), dict(enumerate(trees.trees)), None
    students = run.students
    return obligations_for(game, properties, students), students, game


def _check_facts(
    obligations: Obligations, students: Mapping[int, Tree], game: Game | None, episodes: int | None
) -> int:
    """Check what is taken to be true of every observation on some; how many were looked at."""
    count = (EPISODES_FOR_FACTS if game is not None and game.width != 1 else 0) if episodes is None else episodes
    if game is None or count == 0:
        return 0
    return check_facts(obligations, game, students, count)


def property_answers(obligations: Obligations, verdicts: Sequence[Verdict]) -> tuple[PropertyAnswer, ...]:
    """What the prover says, with the names of agents, features and actions."""
    agents = obligations.scene.agents
    return tuple(
        PropertyAnswer(
            property=verdict.property,
            answer=verdict.outcome,
            holds=verdict.holds,
            cases=verdict.cases,
            broken=verdict.broken,
            nowhere=verdict.nowhere,
            problems=tuple(verdict.problems),
            seconds=verdict.seconds,
            counterexamples=tuple(
                Counterexample(
                    case=example.obligation.description,
                    observations={
                        agents[i].name: dict(zip(agents[i].features, map(float, seen), strict=True))
                        for i, seen in example.observations.items()
                    },
                    actions={agents[i].name: agents[i].actions[a] for i, a in example.actions.items()},
                )
                for example in verdict.counterexamples
            ),
        )
        for verdict in verdicts
    )
