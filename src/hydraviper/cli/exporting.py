"""`hydraviper export`."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hydraviper.cli.application import app
from hydraviper.cli.common import AgentName, AsJson, RunPath, out
from hydraviper.cli.showing import drawing
from hydraviper.cli.terminal import print_document
from hydraviper.data import InputError
from hydraviper.export import FORMATS, Format, only
from hydraviper.export.common import identifiers
from hydraviper.runs.folder import as_input_error, check_file
from hydraviper.trees import file
from hydraviper.version import __version__


class Target(StrEnum):
    """What trees can be turned into."""

    c = "c"
    python = "python"
    onnx = "onnx"
    st = "st"
    json = "json"
    dot = "dot"
    svg = "svg"


@app.command()
def export(
    run: RunPath,
    to: Annotated[Target, typer.Option(help="Code (c, python, st: Structured Text), a model or a drawing.")],
    agent: AgentName = None,
    out_path: Annotated[
        Path | None,
        typer.Option("--out", help="A file, or a folder for trees.c, trees.py, ...; default: the terminal."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over files that are there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Turn trees into code or a model for another machine: the same answers, bit for bit."""
    trees = file.load(run)
    if agent is not None:
        trees = only(trees, trees.place(agent))
    form = replace(FORMATS["svg"], write=drawing) if to is Target.svg else FORMATS[to.value]
    with as_input_error(out_path or Path()):
        files = _files(trees, form, out_path)
    if out_path is None:
        if as_json:
            raise InputError("--json tells which files were written: pass --out FILE.")
        if len(files) > 1:
            names = ", ".join(own.name for own in trees.agents)
            raise InputError(
                f"an {to.value} file holds one tree: choose an --agent of {names}, or a folder with --out."
            )
        content = form.write(trees)
        if isinstance(content, bytes):
            raise InputError(f"{to.value} is not text: pass a file with --out, e.g. --out trees.{form.ending}.")
        print_document(content)
        return
    if not force and (there := [path for path in files if path.exists()]):
        raise InputError(f"{there[0]} already exists: pass another --out, or --force to write over it.")
    for path in files:
        check_file(path)
    contents = {path: form.write(part) for path, part in files.items()}  # all of them before the first is written
    for path, content in contents.items():
        try:
            file.write_whole(path, content)
        except OSError as error:
            raise InputError(f"{path} cannot be written ({error.strerror}): pass another --out.") from None
    if as_json:
        names = [own.name for own in trees.agents]
        print(json.dumps({"to": to.value, "agents": names, "files": list(map(str, files)), "version": __version__}))
    else:
        for path in files:
            out.print(f"written: {path}", highlight=False, soft_wrap=True)


def _files(trees: file.TreesFile, form: Format, path: Path | None) -> dict[Path, file.TreesFile]:
    """What goes where: one file, or one per agent in a folder."""
    path = path or Path()
    is_folder = path.is_dir() or (form.one_agent and len(trees.agents) > 1) or (not path.suffix and not path.exists())
    if is_folder and path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file, and there is one to write per agent: pass a folder with --out.")
    if not is_folder:
        return {path: trees}
    if not form.one_agent:
        return {path / f"trees.{form.ending}": trees}
    words = identifiers(agent.name for agent in trees.agents)
    return {path / f"{word}.{form.ending}": only(trees, k) for k, word in enumerate(words)}
