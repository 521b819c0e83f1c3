"""The commands by name; the module of a command is loaded when it is called, so that help is quick."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer

# name -> the module that adds it, and what it does: the first sentence of its own help
COMMANDS = {
    "distill": ("distilling", "Distill an expert into small trees, score them on unseen episodes and write a report."),
    "evaluate": ("distilling", "Score trees, expert and yardsticks on the same unseen episodes."),
    "compare": ("distilling", "Compare algorithms side by side, with intervals over seeds."),
    "edit": ("editing", "Change a tree by hand, see what that costs on the same episodes, keep a record, undo it."),
    "explain": (
        "explaining",
        "Say why a tree answers as it does: the path in words, how sure it is, and the smallest change that flips it.",
    ),
    "show": ("showing", "Show trees as text, as a picture (SVG) or as a graph (DOT), with the numbers of their nodes."),
    "map": ("showing", "Draw a road network with its signals numbered (SVG), before anything is trained."),
    "replay": (
        "replaying",
        "Show an episode with the trees in charge: in SUMO's own window, or as a film where there is no screen.",
    ),
    "export": ("exporting", "Turn trees into code or a model for another machine: the same answers, bit for bit."),
    "verify": (
        "proving",
        "Prove properties of trees, or show observations at which they break: 0 all hold, 1 some do not.",
    ),
    "repair": (
        "proving",
        "Change trees as little as lets them have all properties, and say what that costs; RUN itself stays as it is.",
    ),
    "refine": ("refining", "Search directly for better trees; never worse on held-out episodes than those of the run."),
    "study": (
        "studying",
        "Make a table or figure of the paper, with the published numbers beside; call again to continue.",
    ),
    "studio": ("presenting", "Open a web page to look at runs, question them, correct them and compare them."),
    "runs": ("presenting", "List the runs of a folder, finished or under way, with their scores."),
    "games": ("training", "List what can be distilled, with sizes."),
    "train": ("training", "Train an expert for a game."),
    "critic": (
        "valuing",
        "Fit joint critics to an expert or a rule, so that it can be split into teams and weighed as one.",
    ),
    "completion": (
        "completing",
        "Print a script that completes calls in bash, zsh or fish: commands, options, games, runs, studies.",
    ),
}


@dataclass(frozen=True)
class Option:
    """An option of a command (`--depth`), or an argument (`game`)."""

    metavar: str  # of an argument: GAME, RUN, ...
    is_flag: bool = False
    turns_off: str = ""  # of a flag: the name that turns it off, if there is one
    repeats: bool = False  # may be given several times


def application() -> typer.Typer:
    """An application without commands."""
    app = typer.Typer(
        help="Small decision trees, one per agent, that coordinate, from any trained multi-agent policy. Every command "
        "also knows --config FILE (options from a TOML file), --debug (where an error came from), --trust-path (open a "
        "file that a run of somebody else names) and --trust (run the code that an expert's file holds: pickles are "
        "refused without it).",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(lambda: None)  # else a single command would lose its name
    return app


app = application()


def loaded(arguments: list[str]) -> typer.Typer:
    """The application with the command that the arguments name; for plain help, only names and sentences."""
    name = next((argument for argument in arguments if not argument.startswith("-")), None)
    if name is None and (not arguments or arguments == ["--help"]):
        return _listing()
    for module in [COMMANDS[name][0]] if name in COMMANDS else {module for module, _ in COMMANDS.values()}:
        import_module(f"hydraviper.cli.{module}")
    return app


def options_of(commands: Iterable[str]) -> dict[str, dict[str, Option]]:
    """The options and arguments of commands by name; their modules are loaded."""
    for command in commands:
        import_module(f"hydraviper.cli.{COMMANDS[command][0]}")
    group: Any = typer.main.get_command(app)
    return {command: _options(group.commands[command].params) for command in commands}


def _options(parameters: Iterable[Any]) -> dict[str, Option]:
    found = {}
    for parameter in parameters:
        if parameter.opts[0].startswith("-"):
            off = parameter.secondary_opts
            found[parameter.opts[0]] = Option("", parameter.is_flag, off[0] if off else "", parameter.multiple)
        else:
            metavar = (parameter.metavar or parameter.name).strip("[]")
            found[metavar.lower()] = Option(metavar)
    return found


def _listing() -> typer.Typer:
    """An application that lists the commands and can run none."""
    listed = application()
    for name, (_, sentence) in COMMANDS.items():
        listed.command(name, help=sentence)(lambda: None)
    return listed
