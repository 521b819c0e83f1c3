"""The command line: `hydraviper COMMAND`; each module holds a few commands and adds them to the application."""

from __future__ import annotations

import sys
import traceback

import typer
from typer.exceptions import TyperException

from hydraviper.cli import (  # each adds its commands
    distilling,
    editing,
    explaining,
    exporting,
    proving,
    refining,
    showing,
    studying,
    training,
    valuing,
)
from hydraviper.cli.common import app, err
from hydraviper.cli.terminal import prepare
from hydraviper.data import InputError, JobError
from hydraviper.version import __version__

__all__ = [
    "app",
    "distilling",
    "editing",
    "explaining",
    "exporting",
    "main",
    "proving",
    "refining",
    "showing",
    "studying",
    "training",
    "valuing",
]


def main() -> None:
    """Run the command line: 0 done, 1 the job failed, 2 the call or its input was wrong, 130 stopped by Ctrl-C."""
    prepare()
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    if arguments == ["--version"]:
        print(f"hydraviper {__version__}")
        return
    try:
        sys.exit(app(arguments or ["--help"], standalone_mode=False) or 0)
    except TyperException as error:  # a call that the options do not allow
        sentence = getattr(error, "format_message", error.__str__)()
        _fail(error, debug, 2, f"{sentence.removesuffix('.')}: see --help.")
    except (InputError, JobError) as error:
        _fail(error, debug, 2 if isinstance(error, InputError) else 1, str(error))
    except (KeyboardInterrupt, typer.Abort):
        _fail(None, False, 130, "stopped.")
    except OSError as error:
        _fail(error, debug, 1, f"{error.strerror or error}: {error.filename or 'a file'}.")
    except Exception as error:
        _fail(error, debug, 1, f"{type(error).__name__}: {error} (repeat with --debug to see where)")


def _fail(error: BaseException | None, debug: bool, code: int, sentence: str) -> None:
    if debug and error is not None:
        traceback.print_exception(error)
    err.print(f"hydraviper: {sentence}", highlight=False, soft_wrap=True)
    sys.exit(code)
