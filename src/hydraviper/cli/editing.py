"""`hydraviper edit`."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from hydraviper.cli.application import app
from hydraviper.cli.common import (
    CORES,
    AsJson,
    ExpertFile,
    RunPath,
    Seed,
    Workers,
    engine_for,
    expert_of,
    game_of,
    out,
    within,
)
from hydraviper.data import InputError
from hydraviper.runs import edit as edits
from hydraviper.runs.folder import new_folder, point_to_latest
from hydraviper.settings import EPISODES
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
    episodes: Annotated[
        int | None,
        typer.Option(help="Episodes to compare on; default: as of the run.", callback=within("--episodes", EPISODES)),
    ] = None,
    seed: Seed = 0,
    expert: ExpertFile = None,
    workers: Workers = CORES,
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="A new folder for the edited run; default: RUN itself, see --undo.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change a tree by hand, see what that costs on the same episodes, keep a record, undo it."""
    run = edits.home(run)
    edits.finish(run)
    trees = file.load(run)
    summary = edits.read_summary(run)
    if undo:
        others = agent, node, threshold, feature, action, split, left, right, out_folder
        if dry_run or cut or any(value is not None for value in others):
            raise InputError("--undo takes back the last edit, whatever it was: pass it alone.")
        _undo(run, trees, summary, as_json)
        return
    if agent is None or node is None:
        raise InputError("say which node to change: pass --agent and --node (`hydraviper show` lists them), or --undo.")
    wish = tree_edit.Wish(node, threshold, feature, action, cut, split, left, right)
    place = trees.place(agent)
    game = game_of(trees)
    teacher = expert_of(run, trees, game, expert, workers)
    episodes = edits.usual_episodes(trees, game) if episodes is None else episodes
    other = nullcontext() if out_folder is None or dry_run else new_folder(out_folder, Path("runs"), "edited")
    with other as folder, engine_for(game, workers) as engine:
        bench = edits.Bench(game, teacher, engine, episodes, seed)
        measured = edits.measure(trees, agent, wish, bench, summary)
        if folder is not None:
            edits.copy(run, folder)
            run = folder
    report = None
    if not dry_run:
        with edits.odd_files(run):
            fields = edits.after_edit(summary, measured.fields)
        report = edits.save(run, trees, measured.trees, fields, game)
        _now_latest(run)
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
    game = game_of(trees) if summary else None  # it draws itself in the report
    report = edits.save(run, trees, back, edits.after_undo(summary), game)
    _now_latest(run)
    if as_json:
        undone = {key: last[key] for key in ("agent", "node", "what", "before", "after")}
        left = len(back.edits)
        print(json.dumps({"run": str(run), "undone": undone, "edits_left": left, "report": _path(report)}))
        return
    node = f"node {last['node']} of {last['agent']}"
    out.print(f"{node} is {last['before']!r} again; edits left: {len(back.edits)}", highlight=False, soft_wrap=True)
    _tell(run, report)


def _now_latest(run: Path) -> None:
    if run.is_dir():  # a trees.json by itself is no run
        point_to_latest(run)


def _tell(run: Path, report: Path | None) -> None:
    where = run / "trees.json" if run.is_dir() else run
    out.print(f"written: {where}{f', {report}' if report else ''}", highlight=False, soft_wrap=True)
    if report is None and (run / "report.html").is_file():
        out.print(
            "report.html shows the trees before: there is no summary.json to make it again from.", highlight=False
        )


def _path(path: Path | None) -> str | None:
    return None if path is None else str(path)
