"""`hydraviper verify` and `hydraviper repair`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from hydraviper.cli.application import app
from hydraviper.cli.common import (
    CORES,
    AsJson,
    Episodes,
    ExpertFile,
    RunPath,
    Workers,
    command_line,
    engine_for,
    expert_of,
    game_of,
    out,
    within,
)
from hydraviper.cli.printing import with_interval
from hydraviper.data import InputError, Knowledge
from hydraviper.games import traffic_facts
from hydraviper.profile import Profile
from hydraviper.protocols import Game
from hydraviper.runs import distil as runs
from hydraviper.runs import price as pricing
from hydraviper.runs.folder import new_folder, point_to_latest
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.settings import DEPTH, FACTS_EPISODES, SOME_SECONDS
from hydraviper.trees import file
from hydraviper.trees.tree import Tree
from hydraviper.verify import properties as book
from hydraviper.verify.facts import check_facts
from hydraviper.verify.obligations import Obligations, obligations_for, resolve
from hydraviper.verify.prover.proof import SECONDS
from hydraviper.verify.prover.proof import verify as prove
from hydraviper.verify.repair import refuse_impossible
from hydraviper.verify.repair import repair as mend
from hydraviper.verify.scene import Scene
from hydraviper.verify.verdicts import HOLDS, NOWHERE, Verdict, in_words
from hydraviper.version import __version__

EPISODES_FOR_FACTS = 50
PropertiesFile = Annotated[
    Path | None, typer.Argument(metavar="[PROPERTIES]", help="A TOML file; default: what ships for the game.")
]


@app.command()
def verify(
    run: RunPath,
    properties: PropertiesFile = None,
    seconds: Annotated[
        float,
        typer.Option(help="The most that one property may take.", callback=within("--seconds", SOME_SECONDS)),
    ] = SECONDS,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="Exit with 0 also where a property applies nowhere.")
    ] = False,
    episodes: Annotated[
        int | None,
        typer.Option(
            help="Episodes on which the facts about the game are checked; default: 50, none in simulators.",
            callback=within("--episodes", FACTS_EPISODES),
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Prove properties of trees, or show observations at which they break: 0 all hold, 1 some do not."""
    trees = file.load(run)
    own = None if properties is None else book.load(properties)
    obligations, students, game = _obligations(trees, own)
    checked = _check_facts(obligations, students, game, episodes)
    verdicts = prove(obligations, students, seconds)
    fine = (HOLDS, NOWHERE) if allow_empty else (HOLDS,)
    held = (bool(verdicts) or allow_empty) and all(verdict.outcome in fine for verdict in verdicts)
    if as_json:
        found = pricing.answers_to_json(obligations, verdicts)
        print(
            json.dumps(
                {"game": trees.game, "run": str(run), "holds": held, "facts checked on": checked, "properties": found}
            )
        )
    else:
        _print_answers(obligations, students, verdicts)
    if not held:
        raise typer.Exit(1)


@app.command()
def repair(
    run: RunPath,
    properties: PropertiesFile = None,
    depth: Annotated[
        int | None,
        typer.Option(
            help="The most questions a tree may ask; default: up to four more.", callback=within("--depth", DEPTH)
        ),
    ] = None,
    episodes: Episodes = None,
    expert: ExpertFile = None,
    workers: Workers = CORES,
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="Where the repaired run goes; default: beside.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change trees as little as lets them have all properties, and say what that costs; RUN itself stays as it is."""
    trees = file.load(run)
    own = None if properties is None else book.load(properties)
    if own is not None and not own.properties:
        raise InputError(f"{properties} has no property to repair: write [[property]] (docs/verify.md).")
    game = game_of(trees)
    students = trees.students(game)
    obligations = obligations_for(game, own, students)
    refuse_impossible(obligations, students)
    now = max(tree.depth for tree in trees.trees)
    deepest = max(now, min(now + 4, int(DEPTH.most))) if depth is None else depth
    count = game.recommended.evaluation_episodes if episodes is None else episodes
    beside = (run if run.is_dir() else run.parent).resolve()
    target = new_folder(out_folder, beside.parent, f"{beside.name}-repaired")
    with target as folder, engine_for(game, workers) as place:
        teacher = expert_of(run, trees, game, expert, workers)
        seeds = rollout_seeds(0, Purpose.REFINE, 0, min(count, 100))
        seen = place.play(Profile(teacher, students), seeds, record=True).observations or ()
        mended = mend(obligations, students, {i: seen[i] for i in students}, deepest)
        scored = rollout_seeds(0, Purpose.EVALUATE, 0, count)
        profiles = [Profile(teacher, students), Profile(teacher, mended.students)]
        played = place.play_many(profiles, [scored, scored])
        before, after = (game.score.of(rollouts.returns) for rollouts in played)
        summary = _summary(trees, game, mended.to_json(obligations), pricing.paired(game, before, after), count)
        summary |= {"out": str(folder), "command": command_line(), "properties": list(obligations.names)}
        _write(run, trees, game, mended.students, summary, own, folder)
    point_to_latest(folder)
    print(json.dumps(summary)) if as_json else _print_repair(summary)


def _obligations(
    trees: file.TreesFile, own: book.Properties | None
) -> tuple[Obligations, dict[int, Tree], Game | None]:
    """The obligations for a run's trees, the trees by agent, and the game, which is not needed for all."""
    try:
        game = game_of(trees)
    except InputError as error:
        signals = traffic_facts.looks_like_signals(trees.agents)
        known = traffic_facts.knowledge(trees.agents) if signals else Knowledge()
        scene = Scene.of_file(trees, str(error).rstrip("."), known)
        about = own or book.shipped(trees.game, signals)
        if about is None or (not signals and own is None):  # without the game, what ships for it may not be true
            raise
        return resolve(about, scene), dict(enumerate(trees.trees)), None
    students = trees.students(game)
    return obligations_for(game, own, students), students, game


def _check_facts(
    obligations: Obligations, students: Mapping[int, Tree], game: Game | None, episodes: int | None
) -> int:
    """Check what is taken to be true of every observation on some; how many were looked at."""
    count = (EPISODES_FOR_FACTS if game is not None and game.width is None else 0) if episodes is None else episodes
    if game is None or count == 0:
        return 0
    return check_facts(obligations, game, students, count)


def _print_answers(obligations: Obligations, students: Mapping[int, Tree], verdicts: list[Verdict]) -> None:
    table = Table("property", "answer", "cases", "broken", "seconds")
    for verdict in verdicts:
        table.add_row(
            verdict.property, verdict.outcome, str(verdict.cases), str(verdict.broken), f"{verdict.seconds:.2f}"
        )
    out.print(table)
    if not verdicts:
        out.print("There is no property in the file, so nothing was proved: write [[property]] (docs/verify.md).")
    for verdict in verdicts:
        if verdict.outcome == NOWHERE:
            out.print(
                f"\n{verdict.property}: no observation fits its conditions, so it says nothing about the trees: "
                "check its conditions (--allow-empty takes it for kept).",
                highlight=False,
                soft_wrap=True,
            )
        shown = verdict.counterexamples[:3]
        for example in shown:
            out.print(f"\n{verdict.property}\n  {example.obligation.description}", highlight=False, soft_wrap=True)
            out.print(f"  but {in_words(obligations, example, students)}", highlight=False, soft_wrap=True)
        left = len(verdict.counterexamples) - len(shown)
        if left > 0:
            out.print(f"  ... and {left} more cases (see --json)", highlight=False)
        for problem in verdict.problems[:5]:
            out.print(f"\n{verdict.property}: {problem}", highlight=False, soft_wrap=True)


def _summary(
    trees: file.TreesFile, game: Game, change: dict[str, Any], costs: dict[str, Any], episodes: int
) -> dict[str, Any]:
    score = {"name": game.score.name, **costs["with"], "episodes": episodes}
    return {
        "game": game.name,
        "algorithm": trees.made["algorithm"],
        "score": {**score, "lower_is_better": game.score.lower_is_better},
        "before": costs["without"],
        "cost": costs["cost"],
        **change,
        "version": __version__,
    }


def _write(
    run: Path,
    trees: file.TreesFile,
    game: Game,
    students: Mapping[int, Tree],
    summary: dict[str, Any],
    own: book.Properties | None,
    folder: Path,
) -> None:
    by_name = {game.agents[i].name: tree for i, tree in students.items()}
    note = {key: summary[key] for key in ("properties", "changed", "nodes", "smallest", "before", "cost", "version")}
    document = replace(
        trees,
        trees=tuple(by_name[agent.name] for agent in trees.agents),
        made={**trees.made, "repair": note},
        score=summary["score"],
    )
    noted = runs.settings_in(run if run.is_dir() else run.parent)
    if noted:
        file.write_whole(folder / "settings.json", json.dumps(noted, indent=1))
    if own is not None:
        file.write_whole(folder / "properties.toml", own.source)
    file.write_whole(folder / "summary.json", json.dumps(summary, indent=1))
    file.save(document, folder / "trees.json")


def _print_repair(summary: dict[str, Any]) -> None:
    table = Table("agent", "observations with another action", "nodes before", "nodes after")
    for name, share in summary["changed"].items():
        before, after = summary["nodes"][name]
        table.add_row(name, f"{100 * share:.2f} %", str(before), str(after))
    out.print(table)
    score = summary["score"]
    better = "lower" if score["lower_is_better"] else "higher"
    out.print(
        f"{score['name']} ({better} is better): before {with_interval(summary['before'])}, "
        f"after {with_interval(score)}, cost on the same seeds {with_interval(summary['cost'])}",
        highlight=False,
        soft_wrap=True,
    )
    if not summary["smallest"]:
        out.print("note: a smaller change may exist; only changes at the borders of rules were looked for.")
    out.print(f"trees: {summary['out']}/trees.json", highlight=False, soft_wrap=True)
