"""Turn a run's trees into code or models, in one file or one per agent."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hydraviper.controllers import Controller
from hydraviper.data import InputError
from hydraviper.export import FORMATS, Format, only
from hydraviper.export.common import identifiers
from hydraviper.games.traffic_facts import looks_like_signals
from hydraviper.protocols import offers
from hydraviper.runs.draw import tree_svg
from hydraviper.runs.folder import as_input_error, check_file
from hydraviper.runs.run import Run, Source, opened
from hydraviper.trees.file import TreesFile, write_whole

ALONE = "The trees alone: what keeps yellow, minimum green and the longest red is not in this file."


def export(
    run: Source,
    to: str,
    *,
    agent: str | None = None,
    out: Path | str | None = None,
    force: bool = False,
    trees_only: bool = False,
    tell: Callable[[str], None] = lambda sentence: None,
) -> dict[Path, str | bytes]:
    """Turn trees into code or a model for another machine (c, python, onnx, st, json, dot or svg), by file.

    C and Structured Text of traffic signals hold the whole controllers: trees, and the state machines behind them;
    with `trees_only` the trees alone, for which the game is not needed. With `out`, a file or a folder, the files are
    written as well; `force` writes over those that are there.
    """
    run = opened(run)
    if to not in FORMATS:
        raise InputError(f"trees cannot be turned into {to!r}: choose one of {', '.join(FORMATS)}.")
    trees = run.trees if agent is None else only(run.trees, run.trees.place(agent))
    form = FORMATS[to]
    if to == "svg":
        form = replace(form, write=lambda part: tree_svg(run, part, tell))
    elif has_controllers(run, to):
        write, control, note = form.write, form.control, form.comment.format(ALONE)
        if trees_only:
            form = replace(form, write=lambda part: f"{note}\n{write(part)}")
        elif control is not None:
            controllers = _controllers(run, trees)
            form = replace(form, write=lambda part: control(part, controllers))
    path = None if out is None else Path(out)
    with as_input_error(path or Path()):
        files = _files(trees, form, path)
    if path is None:
        return {name: form.write(part) for name, part in files.items()}
    if not force and (there := [name for name in files if name.exists()]):
        raise InputError(f"{there[0]} already exists: pass another --out, or --force to write over it.")
    for name in files:
        check_file(name)
    contents = {name: form.write(part) for name, part in files.items()}  # all of them before the first is written
    for name, content in contents.items():
        try:
            write_whole(name, content)
        except OSError as error:
            raise InputError(f"{name} cannot be written ({error.strerror}): pass another --out.") from None
    return contents


def has_controllers(run: Run, to: str) -> bool:
    """Whether an export holds whole controllers, or the trees alone if they are asked for."""
    return FORMATS[to].control is not None and looks_like_signals(run.trees.agents)


def _controllers(run: Run, trees: TreesFile) -> dict[str, Controller]:
    """What turns the choices of signals into lights, by their names."""
    try:
        game = run.game
        students = trees.students(game)  # raises if the trees belong to another version of the game
    except InputError as error:
        raise InputError(
            f"whole controllers need the game of the trees ({str(error).rstrip('.')}); --trees-only exports the trees "
            "without what keeps yellow, minimum green and the longest red."
        ) from None
    return {game.agents[i].name: one for i, one in enumerate(offers(game).controllers) if i in students}


def _files(trees: TreesFile, form: Format, path: Path | None) -> dict[Path, TreesFile]:
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
