"""Prove properties of a run's trees."""

from collections.abc import Mapping
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
    run = opened(run)
    obligations, students, game = _obligations(run, read_properties(properties))
    if properties is not None and not obligations.names:
        raise InputError(f"{properties} has no property to prove: write a [[property]] (docs/verify.md).")
    checked = _check_facts(obligations, students, game, episodes)
    verdicts = prove(obligations, students, seconds)
    fine = (HOLDS, NOWHERE) if allow_empty else (HOLDS,)
    return Verification(
        game=run.trees.game,
        run=str(run.path),
        holds=(bool(verdicts) or allow_empty) and all(verdict.outcome in fine for verdict in verdicts),
        facts_checked_on=checked,
        properties=tuple(_answer(obligations, verdict, students) for verdict in verdicts),
    )


def _obligations(run: Run, properties: Properties | None) -> tuple[Obligations, dict[int, Tree], Game | None]:
    """The obligations for a run's trees, the trees by agent, and the game, which is not needed for all."""
    trees = run.trees
    try:
        game = run.game
    except InputError as error:
        signals = traffic_facts.looks_like_signals(trees.agents)
        knowledge = traffic_facts.knowledge(trees.agents) if signals else Knowledge()
        scene = Scene.of_file(trees, str(error).rstrip("."), knowledge)
        about = properties or book.shipped(trees.game, trees.agents if signals else ())
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


def _answer(obligations: Obligations, verdict: Verdict, students: Mapping[int, Tree]) -> PropertyAnswer:
    """What the prover says, with the names of agents, features and actions."""
    agents = obligations.scene.agents
    counterexamples = [
        Counterexample(
            case=example.obligation.description,
            observations={
                agents[i].name: dict(zip(agents[i].features, map(float, seen), strict=True))
                for i, seen in example.observations.items()
            },
            actions={agents[i].name: agents[i].actions[a] for i, a in example.actions.items()},
            words=in_words(obligations, example, students),
        )
        for example in verdict.counterexamples
    ]
    return PropertyAnswer(
        property=verdict.property,
        answer=verdict.outcome,
        holds=verdict.holds,
        cases=verdict.cases,
        broken=verdict.broken,
        nowhere=verdict.nowhere,
        problems=verdict.problems,
        seconds=verdict.seconds,
        counterexamples=tuple(counterexamples),
    )
