"""`hydraviper edit`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from hydraviper.cli import options
from hydraviper.cli.application import app
from hydraviper.cli.common import open_run, out
from hydraviper.cli.options import number
from hydraviper.data import InputError
from hydraviper.records import to_json
from hydraviper.runs import edit as edits
from hydraviper.runs import edit_files
from hydraviper.runs.edit import Edited
from hydraviper.runs.folder import point_to_latest
from hydraviper.settings import EPISODES
from hydraviper.trees.edit import Wish
from hydraviper.trees.text import to_text

Agent = Annotated[str | None, typer.Option(help="Whose tree.")]
Node = Annotated[int | None, typer.Option(help="The node's number, as `show` gives it.")]
Threshold = Annotated[float | None, typer.Option(help="A new threshold.")]
Feature = Annotated[str | None, typer.Option(help="Another feature to ask for.")]
Action = Annotated[str | None, typer.Option(help="A leaf's new answer; with --cut, the new leaf's.")]
Cut = Annotated[bool, typer.Option("--cut", help="Make a leaf of the node and all below it.")]
Split = Annotated[str | None, typer.Option(help='A new question before the node: "FEATURE <= VALUE".')]
Left = Annotated[str | None, typer.Option(help="The split's answer where yes; default: what was there.")]
Right = Annotated[str | None, typer.Option(help="The split's answer where no; default: what was there.")]
TakeBack = Annotated[bool, typer.Option("--undo", help="Take back the last edit.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what it would cost and write nothing.")]
ComparedOn = Annotated[int | None, number("--episodes", EPISODES, "Episodes to compare on; default: as of the run.")]
Out = Annotated[
    Path | None, typer.Option("--out", help="A new folder for the edited run; default: RUN itself, see --undo.")
]


@app.command()
def edit(
    run: options.RunPath,
    agent: Agent = None,
    node: Node = None,
    threshold: Threshold = None,
    feature: Feature = None,
    action: Action = None,
    cut: Cut = False,
    split: Split = None,
    left: Left = None,
    right: Right = None,
    undo: TakeBack = False,
    dry_run: DryRun = False,
    episodes: ComparedOn = None,
    seed: options.Seed = 0,
    expert: options.ExpertName = None,
    workers: options.Workers = options.CORES,
    out_folder: Out = None,
    as_json: options.AsJson = False,
) -> None:
    """Change a tree by hand, see what that costs on the same episodes, keep a record, undo it."""
    run = edit_files.home(run)
    edit_files.finish(run)
    saved = open_run(run, expert, workers)
    if undo:
        others = agent, node, threshold, feature, action, split, left, right, out_folder
        if dry_run or cut or any(value is not None for value in others):
            raise InputError("--undo takes back the last edit, whatever it was: pass it alone.")
        _print_undone(edits.undo(saved), as_json)
        return
    if agent is None or node is None:
        raise InputError("say which node to change: pass --agent and --node (`hydraviper show` lists them), or --undo.")
    wish = Wish(node, threshold, feature, action, cut, split, left, right)
    edited = edits.edit(saved, agent, wish, episodes=episodes, seed=seed, out=out_folder, dry_run=dry_run)
    _print_edited(edited, dry_run, as_json)


def _print_edited(edited: Edited, dry_run: bool, as_json: bool) -> None:
    if not dry_run:
        _now_latest(edited.path)
    if as_json:
        record = {key: value for key, value in to_json(edited.record).items() if key != "undo"}
        written = {"written": not dry_run, "report": edited.report}
        print(json.dumps({"run": edited.path, **record, **written}, default=str))
        return
    position = edited.trees.place(edited.record.agent)
    words = to_text(edited.trees.agents[position], edited.trees.trees[position])
    out.print(words, soft_wrap=True)
    out.print(edits.in_words(edited.record), soft_wrap=True)
    if dry_run:
        out.print("Nothing was written (--dry-run).")
    else:
        _print_written(edited)


def _print_undone(edited: Edited, as_json: bool) -> None:
    _now_latest(edited.path)
    record, left = edited.record, len(edited.trees.edits)
    if as_json:
        undone = {key: to_json(record)[key] for key in ("agent", "node", "what", "before", "after")}
        told = {"run": edited.path, "undone": undone, "edits_left": left, "report": edited.report}
        print(json.dumps(told, default=str))
        return
    node = f"node {record.node} of {record.agent}"
    out.print(f"{node} is {record.before!r} again; edits left: {left}", soft_wrap=True)
    _print_written(edited)


def _now_latest(run: Path) -> None:
    if run.is_dir():  # a trees.json by itself is no run
        point_to_latest(run)


def _print_written(edited: Edited) -> None:
    run, report = edited.path, edited.report
    trees = run / "trees.json" if run.is_dir() else run
    out.print(f"written: {trees}{f', {report}' if report else ''}", soft_wrap=True)
    if report is None and (run / "report.html").is_file():
        out.print("report.html shows the trees before: there is no summary.json to make it again from.")
