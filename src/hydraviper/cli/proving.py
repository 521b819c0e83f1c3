"""`hydraviper verify` and `hydraviper repair`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from hydraviper import pricing, runs
from hydraviper.cli.common import (
    CORES,
    AsJson,
    Episodes,
    ExpertFile,
    RunPath,
    Workers,
    app,
    check_episodes,
    command_line,
    engine_for,
    expert_of,
    out,
)
from hydraviper.cli.printing import with_interval
from hydraviper.data import InputError
from hydraviper.games import catalogue
from hydraviper.profile import Profile
from hydraviper.protocols import Game, HasPhases
from hydraviper.seeding import Purpose, rollout_seeds
from hydraviper.trees import file
from hydraviper.trees.tree import Tree
from hydraviper.verify import properties as book
from hydraviper.verify.proof import Answer, in_words
from hydraviper.verify.proof import verify as prove
from hydraviper.verify.repair import refuse_impossible
from hydraviper.verify.repair import repair as mend
from hydraviper.verify.resolve import Rules, Scene, resolve, rules_for
from hydraviper.version import __version__

PropertiesFile = Annotated[
    Path | None, typer.Argument(metavar="[PROPERTIES]", help="A TOML file; default: what ships for the game.")
]


@app.command()
def verify(
    run: RunPath,
    properties: PropertiesFile = None,
    seconds: Annotated[float, typer.Option(help="The most that one question to z3 may take.")] = 10.0,
    as_json: AsJson = False,
) -> None:
    """Prove properties of trees, or show observations at which they break: 0 all hold, 1 some do not."""
    if not 0 < seconds < 1e6:
        raise InputError(f"--seconds must be a number above 0, not {seconds}.")
    trees = file.load(run)
    own = None if properties is None else book.load(properties)
    rules, students = _rules(trees, own)
    answers = prove(rules, students, seconds)
    if as_json:
        found = pricing.answers_to_json(rules, answers)
        held = all(answer.holds for answer in answers)
        print(json.dumps({"game": trees.game, "run": str(run), "holds": held, "properties": found}))
    else:
        _print_answers(rules, students, answers)
    if not all(answer.holds for answer in answers):
        raise typer.Exit(1)


@app.command()
def repair(
    run: RunPath,
    properties: PropertiesFile = None,
    depth: Annotated[int | None, typer.Option(help="The most questions a tree may ask; default: four more.")] = None,
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
    game = catalogue.make(trees.game, trees.parameters)
    students = trees.students(game)
    rules = rules_for(game, own)
    refuse_impossible(rules, students)
    deepest = max(tree.depth for tree in trees.trees) + 4 if depth is None else depth
    if not 1 <= deepest <= 20:
        raise InputError(f"--depth must lie between 1 and 20, not {deepest}.")
    count = game.recommended.evaluation_episodes if episodes is None else episodes
    check_episodes(count)
    folder = _target(run, out_folder)
    teacher = expert_of(run, trees, game, expert, workers)
    with engine_for(game, workers) as place:
        seeds = rollout_seeds(0, Purpose.REFINE, 0, min(count, 100))
        seen = place.play(Profile(teacher, students), seeds, record=True).observations or ()
        mended = mend(rules, students, {i: seen[i] for i in students}, deepest)
        scored = rollout_seeds(0, Purpose.EVALUATE, 0, count)
        profiles = [Profile(teacher, students), Profile(teacher, mended.students)]
        played = place.play_many(profiles, [scored, scored])
    before, after = (game.score.of(rollouts.returns) for rollouts in played)
    summary = _summary(trees, game, mended.to_json(rules), pricing.paired(game, before, after), count)
    summary |= {"out": str(folder), "command": command_line(), "properties": list(rules.names)}
    _write(run, trees, game, mended.students, summary, own, folder)
    print(json.dumps(summary)) if as_json else _print_repair(summary)


def _rules(trees: file.TreesFile, own: book.Properties | None) -> tuple[Rules, dict[int, Tree]]:
    """The rules for a run's trees, and the trees by agent; a game that cannot be made here is not needed for all."""
    try:
        game = catalogue.make(trees.game, trees.parameters)
    except InputError as error:
        scene = Scene.of_file(trees, str(error).rstrip("."))
        about = book.shipped(trees.game, any("phase 1 is green" in agent.features for agent in trees.agents))
        if own is None and about is None:
            raise
        rules = resolve(own or about or book.Properties((), (), (), True, ""), scene, about)
        return rules, dict(enumerate(trees.trees))
    students = trees.students(game)
    about = book.shipped(game.name, isinstance(game, HasPhases))
    scene = Scene.of(game).with_trees(students)
    if own is None and about is None:
        raise InputError(f"no properties ship for {game.name}: pass a file of your own (docs/verify.md).")
    return resolve(own or about or book.Properties((), (), (), True, ""), scene, about), students


def _print_answers(rules: Rules, students: Mapping[int, Tree], answers: list[Answer]) -> None:
    table = Table("property", "answer", "cases", "broken", "seconds")
    for answer in answers:
        word = "not decided" if answer.holds is None else "holds" if answer.holds else "does not hold"
        table.add_row(answer.property, word, str(answer.cases), str(answer.broken), f"{answer.seconds:.2f}")
    out.print(table)
    for answer in answers:
        shown = answer.counterexamples[:3]
        for example in shown:
            out.print(f"\n{answer.property}\n  {example.rule.words}", highlight=False, soft_wrap=True)
            out.print(f"  but {in_words(rules, example, students)}", highlight=False, soft_wrap=True)
        left = len(answer.counterexamples) - len(shown)
        if left > 0:
            out.print(f"  ... and {left} more cases (see --json)", highlight=False)
        for problem in answer.problems[:5]:
            out.print(f"\n{answer.property}: {problem}", highlight=False, soft_wrap=True)


def _target(run: Path, folder: Path | None) -> Path:
    """A folder that is not there yet."""
    if folder is None:
        base = (run if run.is_dir() else run.parent).resolve()
        number = 1
        while (folder := base.with_name(f"{base.name}-repaired-{number}")).exists():
            number += 1
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} already holds something: pass a new folder with --out.")
    return folder


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
    try:
        if noted:
            file.write_whole(folder / "settings.json", json.dumps(noted, indent=1))
        if own is not None:
            file.write_whole(folder / "properties.toml", own.source)
        file.write_whole(folder / "summary.json", json.dumps(summary, indent=1))
        file.save(document, folder / "trees.json")
    except OSError as error:
        raise InputError(f"{folder} cannot be used ({error.strerror}): pass another folder with --out.") from None


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
        out.print("note: there were too many ways to mend a leaf to look at all; a smaller change may exist.")
    out.print(f"trees: {summary['out']}/trees.json", highlight=False, soft_wrap=True)
