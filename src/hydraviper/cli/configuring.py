"""`--config FILE`: options of a command from a TOML file; what the command line says itself wins."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from hydraviper.cli.application import COMMANDS, Option, options_of
from hydraviper.cli.everywhere import CONFIG
from hydraviper.data import InputError
from hydraviper.expressions.names import nearest


def expanded(arguments: Sequence[str]) -> list[str]:
    """A call with --config FILE as the call that says the same without it."""
    name, rest = _taken(arguments)
    command = next((word for word in rest if not word.startswith("-")), "")
    if command not in COMMANDS:
        raise InputError(f"{CONFIG} belongs behind a command: hydraviper distill {CONFIG} {name}.")
    known = options_of([command])[command]
    own = [word for k, word in enumerate(rest) if k != rest.index(command)]
    given, subjects = _said(own, known)
    places = [key for key in known if not key.startswith("-")]
    given |= set(places[: len(subjects)])
    words, arguments_of_file = [], {}
    for key, value in _read(Path(name), command).items():
        option = _named(key, known, name, command)
        if option in given:
            continue
        if option in places:
            arguments_of_file[option] = str(value)
        else:
            words += _words(option, known[option], value, name)
    # arguments stand in their order; those of the command line come first, as they fill the first places
    subjects = [*subjects, *(arguments_of_file[key] for key in places if key in arguments_of_file)]
    return [command, *subjects, *words, *_options(own, known)]


def _taken(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """The file's name, and the call without it."""
    rest, names = [], []
    words = iter(arguments)
    for word in words:
        option, _, value = word.partition("=")
        if option == CONFIG:
            names.append(value or next(words, ""))
        else:
            rest.append(word)
    if len(names) != 1 or not names[0]:
        raise InputError(f"{CONFIG} takes one file: pass {CONFIG} FILE.toml once.")
    return names[0], rest


def _split(words: Sequence[str], known: Mapping[str, Option]) -> list[list[str]]:
    """The words of a call, an option together with its value."""
    parts, rest = [], iter(words)
    for word in rest:
        name, equals, _ = word.partition("=")
        takes_value = name in known and not known[name].is_flag and not equals and name.startswith("--")
        parts.append([word, *([next(rest, "")] if takes_value else [])])
    return parts


def _options(words: Sequence[str], known: Mapping[str, Option]) -> list[str]:
    return [word for part in _split(words, known) if part[0].startswith("-") for word in part]


def _said(words: Sequence[str], known: Mapping[str, Option]) -> tuple[set[str], list[str]]:
    """The options that a call names, whichever way a flag is turned, and its arguments."""
    parts = _split(words, known)
    off = {option.turns_off: name for name, option in known.items() if option.turns_off}
    named = {part[0].partition("=")[0] for part in parts if part[0].startswith("-")}
    return {off.get(name, name) for name in named}, [part[0] for part in parts if not part[0].startswith("-")]


def _read(path: Path, command: str) -> dict[str, object]:
    """The keys for a command: those of the file itself and those of its table [COMMAND]."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): pass a TOML file with {CONFIG}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not TOML ({error}): write lines such as depth = 4.") from None
    tables = {key: document.pop(key) for key in COMMANDS if isinstance(document.get(key), dict)}
    return document | tables.get(command, {})


def _named(key: str, known: Mapping[str, Option], file: str, command: str) -> str:
    """The option or the argument that a key stands for: `train-budget` or `train_budget`, `game`."""
    plain = key.replace("_", "-")
    for name in (f"--{plain}", plain):
        if name in known:
            return name
    names = [name.removeprefix("--") for name in known]
    raise InputError(f"{file}: {command} has no option {key!r}: {nearest(plain, names)}")


def _words(name: str, option: Option, value: object, file: str) -> list[str]:
    """An option of a file as words of a call."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise InputError(f"{file}: {name[2:]} must be true or false, not {value!r}.")
        return [name] if value else [option.turns_off] if option.turns_off else []
    values = value if isinstance(value, list) else [value]
    if any(isinstance(one, bool) or not isinstance(one, str | int | float) for one in values):
        raise InputError(f"{file}: {name[2:]} must be a text or a number, or a list of such, not {value!r}.")
    texts = [str(one) for one in values]
    return [f"{name}={text}" for text in (texts if option.repeats else [",".join(texts)])]
