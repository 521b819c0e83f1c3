"""The command line: `hydraviper COMMAND`; each module holds a few commands and adds them to the application."""

import errno
import json
import os
import sys
from contextvars import copy_context
from typing import Any

from hydraviper.cli.everywhere import CONFIG, EVERYWHERE

__all__ = ["main"]


def main() -> None:
    """Run the command line: 0 done, 1 the job failed, 2 the call or its input was wrong, 130 stopped by Ctrl-C."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument not in EVERYWHERE]
    try:
        code = copy_context().run(_answer, arguments)  # what a call chooses, such as an engine, ends with it
        sys.stdout.flush()  # a full disk or a closed pipe shows here, and not when the process ends
        if code == 130:  # typer has caught Ctrl-C
            raise KeyboardInterrupt
    except SystemExit:
        raise
    except BaseException as error:
        code, sentence = _in_words(error)
        if debug and code != 130:
            import traceback

            traceback.print_exception(error)
        if sentence is None:
            _let_go_of_the_output()
        else:
            _tell(sentence, code, "--json" in sys.argv)
    sys.exit(code)


def _answer(arguments: list[str]) -> int:
    """Run a command and return its exit code; imports happen here, so that Ctrl-C during them is handled as well."""
    if arguments == ["--version"]:
        from hydraviper.version import __version__

        print(f"hydraviper {__version__}")
        return 0
    from hydraviper.cli.application import loaded
    from hydraviper.cli.terminal import prepare
    from hydraviper.kernels import cache as kernel_cache

    prepare()
    if any(argument.partition("=")[0] == CONFIG for argument in arguments):
        from hydraviper.cli.configuring import expanded

        arguments = expanded(arguments)
        # what reads the call later reads the whole of it: a run's folder keeps a command that needs no other file
        sys.argv[1:] = [*arguments, *(word for word in sys.argv if word in EVERYWHERE)]
    if kernel_cache.note:
        _print_line(f"Note: {kernel_cache.note}")
    return loaded(arguments)(arguments or ["--help"], prog_name="hydraviper", standalone_mode=False) or 0


def _in_words(error: BaseException) -> tuple[int, str | None]:
    """The exit code of an error, and the sentence for the user; None if the reader of our output has gone."""
    if isinstance(error, KeyboardInterrupt):
        return 130, "stopped."
    if isinstance(error, BrokenPipeError):
        return 1, None
    from typer.exceptions import Abort, TyperException

    from hydraviper.data import InputError, JobError

    if isinstance(error, Abort):
        return 130, "stopped."
    if isinstance(error, InputError | JobError):
        return (2 if isinstance(error, InputError) else 1), str(error)
    if isinstance(error, TyperException):  # a call that the options do not allow
        return 2, _about_the_call(error)
    if isinstance(error, OSError):
        # a name that no file can have was given by the user
        code = 2 if error.errno in (errno.ENAMETOOLONG, errno.ELOOP) else 1
        return code, f"{error.strerror or error}: {error.filename or 'the output, or a file without a name'}."
    return 1, f"{type(error).__name__}: {error} (repeat with --debug to see where)"


def _about_the_call(error: Any) -> str:
    """What is wrong with a call, in words; typer's message names Python types, which users need not know."""
    wrong = error.__cause__.errors()[0] if hasattr(error.__cause__, "errors") else {"type": ""}
    kind = {"int": "a whole number", "float": "a number"}.get(wrong["type"].partition("_")[0])
    if kind is not None:
        value = str(wrong["input"])
        return f"{error.param.opts[0]} must be {kind}, not {value if len(value) < 50 else value[:50] + '...'!r}."
    sentence = " ".join(error.format_message().split()).removesuffix(".").replace("Value error, ", "")
    return sentence if sentence.endswith("?") else f"{sentence}: see --help."


def _tell(sentence: str, code: int, as_json: bool) -> None:
    """Print an error: a sentence on stderr, and with --json also an object on stdout."""
    sentence = sentence.encode("utf-8", "backslashreplace").decode()  # half a character is no JSON that others read
    _print_line(f"hydraviper: {sentence}")
    try:
        if as_json:
            print(json.dumps({"error": sentence, "exit_code": code}))
        sys.stdout.flush()
    except OSError:
        _let_go_of_the_output()


def _print_line(line: str) -> None:
    if "hydraviper.cli.common" not in sys.modules:  # stopped while things were being imported
        print(line, file=sys.stderr)
        return
    from hydraviper.cli.common import err

    err.print(line, soft_wrap=True)


def _let_go_of_the_output() -> None:
    """Send stdout to /dev/null: its reader has gone, or its disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
