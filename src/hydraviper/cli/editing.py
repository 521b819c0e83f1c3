"""`hydraviper edit`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from hydraviper import edits
from hydraviper.cli.common import (
    CORES,
    AsJson,
    ExpertFile,
    RunPath,
    Seed,
    Workers,
    app,
    engine_for,
    expert_of,
    out,
)
from hydraviper.data import InputError
from hydraviper.games import catalogue
from hydraviper.settings import check_seed
from hydraviper.trees import edit as tree_edit
from hydraviper.trees import file
from hydraviper.trees.words import to_text


@app.command()
def edit(
    run: RunPath,
    agent: Annotated[str | None, typer.Option(help="Whose tree.")] = None,
    node: Annotated[int | None, typer.Option(help="The node's number, as `show` gives it.")] = None,
    threshold: Annotated[float | None, typer.Option(help="A new threshold.")] = None,
    feature: Annotated[str | None, typer.Option(help="Another feature to ask for.")] = None,
    action: Annotated[str | None, typer.Option(help="A leaf's new answer; with --cut, the new leaf's.")] = None,
    cut: Annotated[bool, typer.Option("--cut", help="Make a leaf of the node and all below it.")] = False,
    split: Annotated[str | None, typer.Option(help='A new question before the node: "FEATURE <= VALUE".')] = None,
    left: Annotated[str | None, typer.Option(help="The split's answer where yes; default: what was there.")] = None,
    right: Annotated[str | None, typer.Option(help="The split's answer where no; default: what was there.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take back the last edit.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would cost and write nothing.")] = False,
    episodes: Annotated[int | None, typer.Option(help="Episodes to compare on; default: as of the run.")] = None,
    seed: Seed = 0,
    expert: ExpertFile = None,
    workers: Workers = CORES,
    as_json: AsJson = False,
) -> None:
    """Change a tree by hand, see what that costs on the same episodes, keep a record, undo it."""
    trees = file.load(run)
    run = edits.home(run)
    summary = edits.read_summary(run)
    if undo:
        if dry_run or cut or any(v is not None for v in (agent, node, threshold, feature, action, split, left, right)):
            raise InputError("--undo takes back the last edit, whatever it was: pass it alone.")
        _undo(run, trees, summary, as_json)
        return
    if agent is None or node is None:
        raise InputError("say which node to change: pass --agent and --node (`hydraviper show` lists them), or --undo.")
    wish = tree_edit.Wish(node, threshold, feature, action, cut, split, left, right)
    check_seed(seed)
    place = trees.place(agent)
    game = catalogue.make(trees.game, trees.parameters)
    teacher = expert_of(run, trees, game, expert, workers)
    episodes = edits.usual_episodes(trees, game) if episodes is None else episodes
    with engine_for(game, workers) as engine:
        bench = edits.Bench(game, teacher, engine, episodes, seed)
        measured = edits.measure(trees, agent, wish, bench, summary)
    report = None
    if not dry_run:
        report = edits.save(run, trees, measured.trees, edits.after_edit(summary, measured.fields), game)
    record = {key: value for key, value in measured.trees.edits[-1].items() if key != "undo"}
    if as_json:
        print(json.dumps({"run": str(run), **record, "written": not dry_run, "report": _path(report)}))
        return
    out.print(to_text(trees.agents[place], measured.trees.trees[place]), highlight=False, soft_wrap=True)
    out.print(edits.in_words(record), highlight=False, soft_wrap=True)
    if dry_run:
        out.print("Nothing was written (--dry-run).", highlight=False)
    else:
        _tell(run, report)


def _undo(run: Path, trees: file.TreesFile, summary: dict[str, Any], as_json: bool) -> None:
    back = edits.undo(trees)
    last = trees.edits[-1]
    game = catalogue.make(trees.game, trees.parameters) if summary else None  # it draws itself in the report
    report = edits.save(run, trees, back, edits.after_undo(summary), game)
    if as_json:
        undone = {key: last[key] for key in ("agent", "node", "what", "before", "after")}
        left = len(back.edits)
        print(json.dumps({"run": str(run), "undone": undone, "edits_left": left, "report": _path(report)}))
        return
    node = f"node {last['node']} of {last['agent']}"
    out.print(f"{node} is {last['before']!r} again; edits left: {len(back.edits)}", highlight=False, soft_wrap=True)
    _tell(run, report)


def _tell(run: Path, report: Path | None) -> None:
    where = run / "trees.json" if run.is_dir() else run
    out.print(f"written: {where}{f', {report}' if report else ''}", highlight=False, soft_wrap=True)
    if report is None and (run / "report.html").is_file():
        out.print(
            "report.html shows the trees before: there is no summary.json to make it again from.", highlight=False
        )


def _path(path: Path | None) -> str | None:
    return None if path is None else str(path)
